"""The model of the interface: the rows of the commands, joined with the names of `api.toml`, and checked against each
other. The modules of the languages write it down."""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional, Tuple

FOLDER = Path(__file__).resolve().parents[1]

WORD = re.compile(r"\[|\]|\(|\)|\||<[^>]+>|[^\s\[\]()|<>]+")


class SchemaError(Exception):
    """The rows and `api.toml` do not agree."""


@dataclass
class Parameter:
    """A parameter of a method. `name` is in snake case, and has no unit."""

    name: str
    type: str
    about: str = ""
    is_required: bool = False
    is_positional: bool = False
    """Whether it has a place among the arguments, though it is optional."""
    choices: Tuple[str, ...] = ()
    default: Any = None
    unit: str = "ms"
    """The unit of a duration that the server expects."""

    @property
    def is_option(self) -> bool:
        """Whether it is named where it is given."""
        return not self.is_required and not self.is_positional


@dataclass
class Part:
    """A part of a request: a constant word, or a parameter. An option has a word and a parameter."""

    word: str = ""
    parameter: Optional[Parameter] = None
    otherwise: str = ""
    """The word that stands in the place of an absent parameter."""


@dataclass
class Form:
    """The words of a request, or of a part of one."""

    parts: List[Part]

    @property
    def words(self) -> List[Part]:
        """The parts in the order of the request, in which an action is the last."""
        return sorted(self.parts, key=lambda part: part.parameter is not None and part.parameter.type == "action")

    @property
    def parameters(self) -> List[Parameter]:
        """The parameters: the required ones first, then those without a token."""
        found = [part.parameter for part in self.parts if part.parameter is not None]
        return sorted(found, key=lambda it: 0 if it.is_required else 2 if it.is_option else 1)

    @property
    def leading(self) -> List[Parameter]:
        """The parameters that stand before the options."""
        return [it for it in self.parameters if not it.is_option]

    @property
    def options(self) -> List[Parameter]:
        """The parameters with a token."""
        return [it for it in self.parameters if it not in self.leading]


@dataclass
class Method:
    """A method of a group."""

    group: str
    name: str
    row: Dict[str, Any]
    form: Form
    gives: str
    about: str
    says: str
    is_wait: bool = False
    prepares: bool = False
    avoids: str = ""
    options: str = ""
    """The type of the options."""

    @property
    def command(self) -> str:
        """The name of the command, as it is sent."""
        return str(self.row["name"]).upper()


@dataclass
class Maker:
    """A constructor of an action, or of clients. `rule` is the form within a rule."""

    name: str
    about: str
    form: Form
    rule: Optional[Form] = None


@dataclass
class Field:
    """A field of a result. `wire` is its name in the reply."""

    name: str
    type: str
    about: str
    wire: str

    @property
    def base(self) -> str:
        """The type without its marks."""
        return self.type.rstrip("?*%")

    @property
    def is_optional(self) -> bool:
        """Whether the value may be absent."""
        return self.type.endswith("?") or self.type == "ttl"

    @property
    def is_list(self) -> bool:
        """Whether the value is a list."""
        return self.type.endswith("*")


@dataclass
class Record:
    """A type of results. The fields of some are told apart by their positions."""

    name: str
    about: str
    fields: List[Field]
    has_positions: bool = False


@dataclass
class Group:
    """A group of methods, which is a class of the packages."""

    name: str
    about: str
    methods: List[Method] = field(default_factory=list)


@dataclass
class Option:
    """An option of the server. `parameter` is the program's, if the package passes it on."""

    name: str
    type: str
    about: str
    parameter: str = ""
    choices: Tuple[str, ...] = ()


class Api:
    """The whole interface."""

    def __init__(self) -> None:
        schema = json.loads((FOLDER / "commands.json").read_text())
        self.names = tomllib.loads((FOLDER / "api.toml").read_text())
        self.rows = {row["name"]: row for row in schema["commands"]}
        self.program = {option["name"]: option for option in schema["options"]}
        self.used: Dict[str, set] = {name: set() for name in self.rows}
        self.groups = [self._group(told) for told in self.names["group"]]
        self.actions = [self._maker(name, told) for name, told in self.names["actions"].items()]
        self.clients = [self._maker(name, told) for name, told in self.names["clients"].items()]
        self.records = [self._record(name, told) for name, told in self.names["records"].items()]
        self.options = list(self._options(self.names["options"]))
        self._check()

    def record(self, name: str) -> Optional[Record]:
        """The record of this name."""
        return next((record for record in self.records if record.name == name), None)

    def ordered_records(self) -> List[Record]:
        """The records, each behind those of its fields."""
        found: List[Record] = []

        def add(record: Record) -> None:
            for inner in filter(None, (self.record(field.base) for field in record.fields)):
                add(inner)
            if record not in found:
                found.append(record)

        for record in self.records:
            add(record)
        return found

    def _group(self, told: Dict[str, Any]) -> Group:
        group = Group(told["name"], told["about"])
        for name, method in told["methods"].items():
            group.methods.append(self._method(group.name, name, method))
        return group

    def _method(self, group: str, name: str, told: Dict[str, Any]) -> Method:
        row = self.rows.get(told["row"])
        if row is None:
            raise SchemaError(f"{group}.{name}: there is no row {told['row']}")
        form = self._form(row, told.get("form", row["synopsis"]), told.get("lower", False))
        self.used[row["name"]].add("")
        for parameter in form.parameters:
            parameter.is_positional = parameter.name in told.get("positional", ())
            if parameter.name in told.get("defaults", {}):
                parameter.default = told["defaults"][parameter.name]
                parameter.is_required = False
        gives = told.get("gives", "ok")
        about = told.get("about", row["summary"])
        says = told.get("says") or said(row["reply"]) if gives not in ("ok", "wait") else ""
        return Method(
            group, name, row, form, gives.removeprefix("wait").strip() or "ok", about, says,
            gives.startswith("wait"), told.get("prepares", False), told.get("avoids", ""), told.get("options", ""),
        )

    def _maker(self, name: str, told: Dict[str, Any]) -> Maker:
        row = self.rows["fault.add" if told["form"].split()[0].split("=")[0] != "ADDR" else "fault.partition"]
        for other in ("fault.add", "fault.partition", "fault.freezeclient", "fault.thawclient"):
            self.used[other].update(tokens(told["form"]) & tokens(self.rows[other]["synopsis"]))
        rule = self._form(self.rows["fault.add"], told["rule"]) if "rule" in told else None
        form = self._form(row, told["form"], is_checked=False)
        words = [split_name(word)[0] for word in WORD.findall(told["form"])]
        about = told.get("about") or self._meaning(row, words[0], words[1:2], name)
        if not about:
            raise SchemaError(f"{name} has no meaning")
        return Maker(name, about, form, rule)

    def _record(self, name: str, told: Dict[str, Any]) -> Record:
        fields = [Field(it[0], it[1], it[2], it[3] if len(it) > 3 else it[0]) for it in told["fields"]]
        return Record(name, told["about"], fields, told.get("positions", False))

    def _options(self, told: Dict[str, Any]) -> Iterator[Option]:
        for name, option in told.items():
            if name != "program":
                yield Option(name, option["type"], option["about"])
        kinds = {"n": "integer", "ms": "duration", "yes|no": "flag", "path": "text", "version": "text"}
        for name, about in told["program"].items():
            row = self.program.get(name)
            if row is None:
                raise SchemaError(f"the program has no option {name}")
            choices = tuple(row["words"]) if row["value"] == "version" else ()
            yield Option(name.replace("-", "_"), kinds[row["value"]], (about or row["meaning"]) + ".", name, choices)

    # Forms.

    def _form(self, row: Dict[str, Any], text: str, is_lower: bool = False, is_checked: bool = True) -> Form:
        if is_checked:
            strange = tokens(text) - tokens(row["synopsis"])
            if strange:
                raise SchemaError(f"{row['name']} has no {', '.join(sorted(strange))}")
            self.used[row["name"]].update(tokens(text))
        words = WORD.findall(text)
        parts: List[Part] = []
        self._sequence(row, words, parts, is_lower)
        if words:
            raise SchemaError(f"{row['name']}: {text}: an unbalanced bracket")
        return Form(parts)

    def _sequence(self, row: Dict[str, Any], words: List[str], parts: List[Part], is_lower: bool) -> None:
        """Reads parts up to the end, or up to a closing bracket."""
        while words and words[0] not in ("]", ")"):
            word = words.pop(0)
            if word in "[(":
                self._brackets(row, word == "(", words, parts, is_lower)
            elif is_token(word):
                parts.append(Part(word))
            elif word != "numkeys":
                parts.append(Part(parameter=self._parameter(row, word, "", is_required=True)))

    def _brackets(
        self, row: Dict[str, Any], is_required: bool, words: List[str], parts: List[Part], is_lower: bool
    ) -> None:
        inner: List[str] = []
        depth = 1
        while depth:
            word = words.pop(0)
            depth += {"[": 1, "(": 1, "]": -1, ")": -1}.get(word, 0)
            inner.append(word)
        inner.pop()
        if "|" in inner and depth_of(inner, "|") == 0 and "(" not in inner:
            self._alternatives(row, is_required, inner, parts, is_lower)
            return
        first = inner[0]
        if not is_token(first):
            parts.append(Part(parameter=self._parameter(row, first, "", is_required)))
            return
        token, name = split_name(first)
        if len(inner) == 1:
            about = self._meaning(row, token, [], name)
            parts.append(Part(token, Parameter(snake(name or token), "flag", about)))
        elif inner[1] == "(":
            choice: List[Part] = []
            self._alternatives(row, is_required, inner[2:inner.index(")")], choice, is_lower)
            parts.append(Part(token, choice[0].parameter))
        else:
            parameter = self._parameter(row, inner[1], token, is_required)
            parts.append(Part(token, parameter))
            self._sequence(row, inner[2:], parts, is_lower)

    def _alternatives(
        self, row: Dict[str, Any], is_required: bool, inner: List[str], parts: List[Part], is_lower: bool
    ) -> None:
        if inner[0].endswith(":"):
            name, words = snake(inner[0][:-1]), tuple(word for word in inner[1:] if word != "|")
            words = tuple(word.lower() for word in words) if is_lower else words
            about = self._meaning(row, "", [], name)
            parts.append(Part(parameter=Parameter(name, "choice", about, is_required, choices=words)))
        elif len(inner) == 3 and is_token(inner[2]) and not is_token(inner[0]):
            parameter = self._parameter(row, inner[0], "", is_required=False)
            parts.append(Part(parameter=parameter, otherwise=inner[2]))
        else:
            for alternative in " ".join(inner).split(" | "):
                self._brackets(row, False, [*alternative.split(), "]"], parts, is_lower)

    def _parameter(self, row: Dict[str, Any], word: str, token: str, is_required: bool) -> Parameter:
        if word.startswith("<"):
            return self._special(row, word[1:-1], token, is_required)
        bare = re.sub(r":(?!text$)[a-z]+$|:-?\d*\.\.-?\d*$", "", word)
        argument, name = split_name(bare)
        type_ = "text" if name.endswith(":text") else self._type(argument)
        name = name.removesuffix(":text") or (token.lower() if token else re.sub(r"-glob$", "", argument))
        name = snake(name)
        if name == "milliseconds":
            raise SchemaError(f"{row['name']}: a duration needs a name")
        if re.search(r":\d*\.\.", word) and type_ not in ("integer", "duration", "instant"):
            raise SchemaError(f"{row['name']}: {argument} is an integer of the row, not {type_}")
        about = self._meaning(row, token, [argument], name)
        unit = "s" if argument == "seconds" else "ms"
        return Parameter(name, type_, about, is_required, unit=unit)

    def _special(self, row: Dict[str, Any], word: str, token: str, is_required: bool) -> Parameter:
        kind, name = split_name(word)
        is_required = is_required and kind not in ("argument", "rule-clients")
        types = {"ids": "texts", "rule-clients": "rule_clients", "argument": "argument"}
        names = {"rule-clients": "client", "argument": "arg"}
        name = snake(name or names.get(kind, kind))
        meanings = self.names["meanings"]
        about = meanings.get("arguments" if kind == "argument" else name, "")
        about = about or self._meaning(row, token, ["id"], name)
        if kind == "action":
            self.used[row["name"]].add("DO")
        if kind == "argument":
            self.used[row["name"]].add("ARG")
        if kind == "state":
            self.used[row["name"]].update(("EXISTS", "GONE", "TYPE"))
        return Parameter(name, types.get(kind, kind), about, is_required)

    def _type(self, argument: str) -> str:
        types = self.names["types"]
        return "integer" if argument in types["integers"] else types.get(argument, "text")

    def _meaning(self, row: Dict[str, Any], token: str, arguments: List[str], name: str) -> str:
        """The meaning of a parameter: the row's, unless the parameter has another name than the row's word."""
        instead = self.names["instead"]
        if f"{row['name']} {name}" in instead or name in instead:
            return str(instead.get(f"{row['name']} {name}") or instead[name])
        own = self.names["meanings"].get(name, "")
        told = {it["argument"]: it["meaning"] for it in row["arguments"]}
        texts = [f"{token} {argument}".strip() for argument in arguments] + [token, *arguments]
        of_row = next((told[text] for text in texts if text in told), "")
        is_renamed = name not in (token.lower(), *arguments)
        return own if own and (is_renamed or not of_row) else of_row

    def _check(self) -> None:
        """Every row and every token has a method, or stands in `left_out`, and no other stands there."""
        problems = []
        left_out = self.names["left_out"]
        for name, row in self.rows.items():
            left = left_out.get(name, [])
            if isinstance(left, str):
                if self.used[name]:
                    problems.append(f"{name} is left out, and has a method")
                continue
            missing = {""} | tokens(row["synopsis"])
            missing -= self.used[name] | set(left)
            problems += [f"{name}: no method has {token or 'this row'}" for token in sorted(missing)]
            problems += [f"{name}: {token} is left out, and is used" for token in left if token in self.used[name]]
        for parameter in (it for group in self.groups for method in group.methods for it in method.form.parameters):
            if not parameter.about:
                problems.append(f"the parameter {parameter.name} has no meaning")
        known = {record.name for record in self.records} | {"ok"}
        types = {"integer", "text", "flag", "instant", "duration", "number", "ttl"}
        for method in (method for group in self.groups for method in group.methods):
            if bool(method.options) != bool(method.form.options):
                problems.append(f"{method.name}: the type of its options is {method.options or 'missing'}")
            if method.gives.rstrip("?*%") not in known | types:
                problems.append(f"{method.name}: no type {method.gives}")
        if problems:
            raise SchemaError("\n".join(problems))


def is_token(word: str) -> bool:
    """Whether a word of a form is a token."""
    return split_name(word)[0].isupper()


def tokens(form: str) -> set:
    """The tokens of a form."""
    words = (split_name(word)[0] for word in WORD.findall(form))
    return {word for word in words if word.isupper()}


def split_name(word: str) -> Tuple[str, str]:
    """A word and the name behind it."""
    before, _, name = word.partition("=")
    return before, name


def snake(name: str) -> str:
    """A name in snake case."""
    return name.lower().replace("-", "_")


def depth_of(words: List[str], wanted: str) -> int:
    """The number of brackets around the first of these words."""
    before = words[: words.index(wanted)]
    return sum({"[": 1, "(": 1, "]": -1, ")": -1}.get(word, 0) for word in before)


def said(reply: str) -> str:
    """The result of a method, from the reply of its row: `An integer: the number of waits.` Empty for a map."""
    found = re.match(r"An integer: (.*)\.$", reply)
    return found[1] if found else ""
