"""The Go module: methods, types of results, and options as structs."""

from __future__ import annotations

import re
from typing import Dict, Iterator, List, Tuple

from . import pages
from .model import Api, Field, Group, Maker, Method, Option, Parameter, Part, Record
from .text import GENERATED, joined, sentence, worded, wrapped

FOLDER = "packaging/go/"

TYPES = {
    "text": "string", "integer": "int64", "number": "float64", "flag": "bool", "duration": "time.Duration",
    "instant": "time.Time", "texts": "[]string", "keys": "[]string", "servers": "[]int", "clients": "Clients",
    "rule_clients": "*Clients", "action": "Action", "argument": "Argument", "state": "string", "bytes": "string", "bulk": "string",
    "time": "string", "level": "Level",
}

RESULTS = {
    "text": "string", "integer": "int64", "number": "float64", "flag": "bool", "instant": "time.Time",
    "duration": "time.Duration", "ttl": "*time.Duration",
}

INITIALS = {
    word: word.upper() for word in ("db", "ttl", "id", "edn", "json", "ok", "nx", "gt")
} | {"ids": "IDs", "atmost": "AtMost", "nowake": "NoWake", "noreenter": "NoReenter"}

OWN = ("locks", "semaphores", "latches", "rates")

CLIENTS = {"id": "ClientID", "named": "ClientsNamed", "lib": "ClientsOfLib", "addr": "ClientsAt", "all": "AllClients"}

CONSTANTS = {"direction": "{}", "level": "{}"}
"""The forms of the names of constants; others begin with their type."""


def files(api: Api) -> Dict[str, str]:
    """The files of the module, by their paths."""
    return {
        f"{FOLDER}methods.go": joined(methods(api)),
        f"{FOLDER}types.go": joined(types(api)),
        **pages.page(api, PAGE),
    }


def pascal(name: str) -> str:
    """A name of Go."""
    return "".join(INITIALS.get(word, word.capitalize()) for word in name.split("_"))


def camel(name: str) -> str:
    """A name of a parameter."""
    first, *rest = name.split("_")
    found = first + "".join(INITIALS.get(word, word.capitalize()) for word in rest)
    return {"type": "kind", "range": "interval"}.get(found, found)


def type_of(parameter: Parameter) -> str:
    """The type of a parameter."""
    if parameter.type == "integer" and parameter.name in ("count", "server", "replica", "index", "length"):
        return "int"
    return pascal(parameter.name) if parameter.type == "choice" else TYPES[parameter.type]


def is_variadic(method: Method, parameter: Parameter) -> bool:
    """Whether an optional argument is the last parameter, which may be left out."""
    of_options = method.form.options
    return not parameter.is_required and not of_options and parameter.type not in ("choice", "duration")


def signature(method: Method) -> List[str]:
    """The parameters of a method, those of one type in a row together."""
    found: List[Tuple[str, str]] = []
    for it in method.form.leading:
        type_ = type_of(it)
        if is_variadic(method, it) and it.default is None:
            type_ = "..." + type_.removeprefix("[]")
        found.append((camel(it.name), type_))
    if method.options:
        found.append(("options", f"...{method.options}"))
    rows: List[str] = []
    for index, (name, type_) in enumerate(found):
        follows = found[index + 1][1] if index + 1 < len(found) else ""
        rows.append(name if follows == type_ else f"{name} {type_}")
    return rows


def expression(method: Method, part: Part) -> List[str]:
    """The expressions of a part of a request."""
    if part.parameter is None:
        return [f'"{part.word}"']
    it = part.parameter
    if it.is_option:
        return []
    name = camel(it.name)
    if it.type == "duration" and it.unit == "s":
        name = f"wholeSeconds({name})"
    if it.type == "state":
        name = f"keyState({name})"
    if it.type == "keys":
        return [f"len({name})", name]
    if part.otherwise:
        return [f'orElse({name}, "{part.otherwise}")']
    if not it.is_required and it.default is None and is_variadic(method, it):
        if it.type == "servers":
            return [f'optionalList("{part.word}", {name})']
        return [f'optional("{part.word}", {name})']
    if not it.is_required and it.default is None and it.type != "choice":
        return [f'option("{part.word}", {name})']
    return ([f'"{part.word}"'] if part.word else []) + [name]


def words(method: Method) -> str:
    """The arguments of a request."""
    found = [f'"{method.command}"']
    for part in method.form.parts:
        found += expression(method, part)
    return ", ".join([*found, *(["options"] if method.options else [])])


def result(type_: str) -> str:
    """The type of a result."""
    base = type_.rstrip("?*%")
    of = RESULTS.get(base, base)
    return {"?": f"*{of}", "*": f"[]{of}", "%": f"map[string]{of}"}.get(type_[-1], of)


def methods(api: Api) -> Iterator[str]:
    """The file of the methods."""
    yield f"// {GENERATED}\n\npackage lockwheel\n\nimport (\n\t\"time\"\n)\n"
    groups = [group for group in api.groups if group.name != "server"]
    yield "// Groups are the groups of methods of a server.\ntype Groups struct {"
    for group in groups:
        yield f"\t// {pascal(group.name)} {lowered(group.about.split('. ')[0].split(':')[0]).rstrip('.')}."
        yield f"\t{pascal(group.name)} *{pascal(group.name)}"
    yield "}\n\nfunc groupsOf(s *Server) Groups {"
    yield "\treturn Groups{" + ", ".join(f"&{pascal(group.name)}{{s}}" for group in groups) + "}\n}\n"
    for group in api.groups:
        if group.name != "server":
            yield comment(f"{pascal(group.name)} {lowered(group.about)}")
            yield f"type {pascal(group.name)} struct{{ server *Server }}\n"
        for method in group.methods:
            yield from method_lines(group, method)


def lowered(text: str) -> str:
    """A sentence behind its subject."""
    text = re.sub(r"`([a-z_]+)`", lambda found: f"`{pascal(found[1])}`", text)
    return text[:1].lower() + text[1:]


def comment(text: str, indent: str = "") -> str:
    """A comment."""
    return wrapped(text, f"{indent}// ")


def about(method: Method) -> str:
    """The comment of a method."""
    return f"{pascal(method.name)} {lowered(sentence(method, 'nil', parameter_name, 'It returns'))}"


def parameter_name(it: Parameter) -> str:
    """The name of a parameter, or of the field of an option."""
    return pascal(it.name) if it.is_option else camel(it.name)


def returned(method: Method) -> str:
    """The types that a method returns."""
    of = "" if method.gives == "ok" else result(method.gives)
    if method.group in OWN:
        return f" ({of}, error)" if of else " error"
    return f" {of}" if of else ""


def method_lines(group: Group, method: Method) -> Iterator[str]:
    """A method."""
    of = result(method.gives) if method.gives != "ok" else ""
    me, server = ("s", "s") if group.name == "server" else (group.name[0], f"{group.name[0]}.server")
    receiver = "Server" if group.name == "server" else pascal(group.name)
    yield comment(about(method))
    yield f"func ({me} *{receiver}) {pascal(method.name)}({', '.join(signature(method))}){returned(method)} {{"
    if group.name in OWN:
        yield f"\treturn readOr[{of}]({server}.own({words(method)}))" if of else f"\t_, err := {server}.own({words(method)})\n\treturn err"
    else:
        yield f"\t{server}.test.Helper()"
        if method.prepares:
            yield f"\t{server}.prepare()"
        ask = f"{server}.until({words(method)})" if method.is_wait else f"{server}.ask({words(method)})"
        if method.avoids:
            ask = f"{server}.askAvoiding({method.avoids}, {words(method)})"
        if not of:
            yield f"\t{ask}"
        elif method.is_wait:
            yield f"\treturn {ask}"
        else:
            yield f"\treturn read[{of}]({ask})"
    yield "}\n"


def types(api: Api) -> Iterator[str]:
    """The file of the types."""
    yield f"// {GENERATED}\n\npackage lockwheel\n\nimport (\n\t\"time\"\n)\n"
    for maker in api.actions:
        yield from action_lines(maker)
    for maker in api.clients:
        yield from client_lines(maker)
    yield from choices(api)
    seen: List[str] = []
    for method in (method for group in api.groups for method in group.methods):
        if method.options and method.options not in seen:
            seen.append(method.options)
            sharing = [f"[{receiver(it)}.{pascal(it.name)}]" for group in api.groups for it in group.methods if it.options == method.options]
            yield comment(f"{method.options} are the options of {' and '.join(sharing)}. A zero value is left out.")
            rows = [option_row(method, part) for part in method.form.parts if part.parameter is not None and part.parameter.is_option]
            yield from struct(method.options, rows)
    for record in api.records:
        yield comment(f"{record.name} is {lowered(record.about)}" if not record.about.startswith(("Figures", "Permits", "Grants")) else f"{record.name} are {lowered(record.about)}")
        rows = [field_row(record, index, field) for index, field in enumerate(record.fields)]
        yield from struct(record.name, rows)
    yield comment("Options of a server. The zero value is right: a free port, the system's time, seed 0.")
    yield from struct("Options", [server_option(it) for it in api.options])


def receiver(method: Method) -> str:
    """The type of a method."""
    return "Server" if method.group == "server" else pascal(method.group)


def maker_parameters(maker: Maker) -> List[str]:
    """The parameters of a constructor."""
    found = [f"{camel(it.name)} {type_of(it)}" for it in maker.form.leading]
    return found + [f"{camel(it.name)} ...{type_of(it)}" for it in maker.form.options]


def maker_words(maker: Maker, parts: List[Part]) -> str:
    """The words of a constructor."""
    found = []
    for part in parts:
        if part.parameter is None:
            found.append(f'"{part.word}"')
        elif part.parameter.is_option:
            found.append(f'optional("{part.word}", {camel(part.parameter.name)})')
        else:
            found += [f'"{part.word}"'] if part.word else []
            found.append(camel(part.parameter.name))
    return ", ".join(found)


def action_name(name: str) -> str:
    """The name of the constructor of an action."""
    return {"error": "ReplyError"}.get(name, pascal(name))


def action_lines(maker: Maker) -> Iterator[str]:
    """The constructor of an action."""
    name = action_name(maker.name)
    options = "".join(f" `{camel(it.name)}`: {it.about}" for it in maker.form.options)
    yield comment(f"{name} {lowered(maker.about)}{options}")
    head = f"func {name}({', '.join(maker_parameters(maker))}) Action"
    yield short(head, f"return Action{{{maker_words(maker, maker.form.words)}}}") + "\n"


def client_lines(maker: Maker) -> Iterator[str]:
    """The constructor of clients."""
    name = CLIENTS[maker.name]
    yield comment(f"{name} names {lowered(maker.about)}")
    made = [f"[]any{{{maker_words(maker, maker.form.words)}}}"]
    made.append(f"[]any{{{maker_words(maker, maker.rule.words)}}}" if maker.rule is not None else "nil")
    yield f"func {name}({', '.join(maker_parameters(maker))}) Clients {{"
    yield f"\treturn Clients{{{', '.join(made)}}}\n}}\n"


def choices(api: Api) -> Iterator[str]:
    """The types of parameters that are one of a few words."""
    found: Dict[str, Parameter] = {}
    for it in (it for group in api.groups for method in group.methods for it in method.form.parameters):
        if it.type == "choice" and it.name != "level":
            found.setdefault(it.name, it)
    for name, it in found.items():
        type_ = pascal(name)
        yield comment(f"{type_} is one of the words below. {it.about}")
        yield f"type {type_} string\n\n// The values of [{type_}].\nconst ("
        constants = [(CONSTANTS.get(name, type_ + "{}").format(pascal(word.lower())), word) for word in it.choices]
        width = max(len(constant) for constant, _ in constants)
        yield from (f'\t{constant.ljust(width)} {type_} = "{word}"' for constant, word in constants)
        yield ")\n"
        known = ", ".join(f'{{"{constant}", "{word}"}}' for constant, word in constants)
        yield short(f"func ({type_}) words() []word", f"return []word{{{known}}}") + "\n"


def short(head: str, body: str) -> str:
    """A function, on one line where gofmt leaves it there."""
    return f"{head} {{ {body} }}" if len(head) + len(body) <= 100 else f"{head} {{\n\t{body}\n}}"


def option_type(it: Parameter) -> str:
    """The type of the field of an option."""
    return {"integer": "int64", "number": "*float64"}.get(it.type, type_of(it))


def option_row(method: Method, part: Part) -> Tuple[str, str, str, str]:
    """A field of options."""
    it = part.parameter
    type_ = option_type(it)
    word = {"argument": "ARG", "rule_clients": ""}.get(it.type, part.word)
    about_ = worded(it.about, method.form, parameter_name).replace("0 waits for ever", "[Forever] waits for ever")
    return pascal(it.name), type_, f'`word:"{word}"`', about_


def field_row(record: Record, index: int, field: Field) -> Tuple[str, str, str, str]:
    """A field of a result."""
    of = RESULTS.get(field.base, field.base)
    if (record.name, field.name) == ("Finding", "level"):
        of = "Level"
    if field.is_list:
        of = f"[]{of}"
    elif field.type.endswith("?") and field.base != "text":
        of = f"*{of}"
    wire = str(index) if record.has_positions else field.wire
    tag = f"{wire},left" if field.base == "ttl" else wire
    return pascal(field.name), of, f'`reply:"{tag}"`', re.sub(r"`([a-z]+_[a-z_]+)`", lambda it: f"`{pascal(it[1])}`", field.about)


def server_option(it: Option) -> Tuple[str, str, str, str]:
    """A field of the options of a server."""
    type_ = {"flag": "*bool", "texts": "[]string"}.get(it.type, TYPES[it.type])
    return pascal(it.name), type_, f'`parameter:"{it.parameter}"`' if it.parameter else "", it.about


def struct(name: str, rows: List[Tuple[str, str, str, str]]) -> Iterator[str]:
    """A struct, in columns. Long comments stand above their fields."""
    yield f"type {name} struct {{"
    block: List[Tuple[str, str, str, str]] = []
    for row in [*rows, ("", "", "", "")]:
        is_long = len("    ".join(row)) > 115
        if row[0] and not is_long:
            block.append(row)
            continue
        yield from columns(block)
        block = []
        if row[0]:
            yield comment(row[3], "\t")
            block.append((*row[:3], ""))
    yield "}\n"


def columns(block: List[Tuple[str, str, str, str]]) -> Iterator[str]:
    """Fields in columns."""
    # A last cell does not widen its column.
    ended = [row[: 3 if row[3] else 2 if row[2] else 1] for row in block]
    widths = [max((len(row[at]) for row in ended if len(row) > at), default=0) for at in range(3)]
    has_tags = any(row[2] for row in block)
    for name, type_, tag, text in block:
        line = f"\t{name.ljust(widths[0])} {type_.ljust(widths[1])}"
        line += f" {tag.ljust(widths[2])}" if has_tags else ""
        yield f"{line} // {text}" if text else line.rstrip()


PAGE = pages.Language(
    title="Go",
    path="go",
    start="go",
    units="Durations are a `time.Duration`. A method that fails ends the test, at its line; those with an `error` return it.",
    group=lambda group: "server" if group.name == "server" else f"server.{pascal(group.name)}",
    method=lambda it: f"{pascal(it.name)}({', '.join(signature(it))}){returned(it)}",
    maker=lambda name, it: f"{action_name(it.name) if name == 'Action' else CLIENTS[it.name]}({', '.join(maker_parameters(it))})",
    option=lambda it: " ".join(server_option(it)[:2]),
    field=lambda it: f"{pascal(it.name)} {RESULTS.get(it.base, it.base)}",
    parameter=lambda it: f"{parameter_name(it)} {option_type(it) if it.is_option else type_of(it)}",
    named=pascal,
    name=parameter_name,
    nothing="`nil`, or empty",
)
