"""The Java package: classes of methods with their options, records of results, and the options of a server."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Dict, Iterable, Iterator, List, Optional, Sequence, Tuple

from . import pages
from .model import Api, Field, Form, Group, Maker, Method, Option, Parameter, Part, Record, SchemaError
from .text import GENERATED, WIDTH, camel, joined, pascal, sentence, worded, wrapped

FOLDER = "packaging/java/src/main/java/io/lockwheel/"

TYPES = {
    "text": "String", "integer": "long", "number": "double", "flag": "boolean", "duration": "Duration",
    "instant": "Instant", "texts": "List<String>", "keys": "List<String>", "servers": "List<Integer>",
    "clients": "Clients", "rule_clients": "Clients", "action": "Action", "state": "KeyState", "bytes": "byte[]", "bulk": "byte[]",
    "time": "String", "level": "Level",
}

RESULTS = {
    "text": ("String", "Replies::text"), "integer": ("long", "Replies::integer"), "flag": ("boolean", "Replies::flag"),
    "number": ("double", "Replies::number"), "instant": ("Instant", "Replies::instant"),
    "duration": ("Duration", "Replies::duration"), "ttl": ("Duration", "Replies::timeLeft"),
}

BOXES = {"long": "Long", "double": "Double", "boolean": "Boolean"}

# The enums of the choices, by the name of the parameter. `Level` is written by hand.
ENUMS = {
    "direction": "Direction", "layout": "Layout", "level": "Level", "mode": "Mode", "result": "Result",
    "state": "LockState",
}

# Names that Java has another word for. `wait` is a method of every object.
RENAMED = {"atmost": "atMost", "wait": "await"}

EXCLUSIVE = {"EXACT": "ATMOST", "ATMOST": "EXACT"}
OWN = ("locks", "semaphores", "latches", "rates")

# Fields and options with a type of their own.
FIELDS = {"level": ("Level", "Level::read")}
OPTIONS = {"args": "String...", "binary": "Path"}

IMPORTS = {
    "Consumer": "java.util.function.Consumer", "Duration": "java.time.Duration", "Instant": "java.time.Instant",
    "List": "java.util.List", "Map": "java.util.Map", "Path": "java.nio.file.Path",
}


def files(api: Api) -> Dict[str, str]:
    """The files of the package, by their paths."""
    found = {
        "Action": makers("Action", api.actions), "Clients": makers("Clients", api.clients),
        "ServerOptions": options(api.options), "ServerMethods": server_class(api),
    }
    found.update((pascal(group.name), group_class(group)) for group in api.groups if group.name != "server")
    found.update((record.name, record_class(record)) for record in api.records)
    found.update(enums(api))
    return {**{f"{FOLDER}{name}.java": source(lines) for name, lines in found.items()}, **pages.page(api, PAGE)}


def source(lines: Iterable[str]) -> str:
    """A file of Java, with the imports that it needs."""
    body = joined(lines)
    code = re.sub(r"/\*\*.*?\*/", "", body, flags=re.DOTALL)
    needed = sorted(path for name, path in IMPORTS.items() if re.search(rf"\b{name}\b", code))
    imports = "".join(f"import {path};\n" for path in needed)
    return f"// {GENERATED}\npackage io.lockwheel;\n\n{imports}{chr(10) if imports else ''}{body}"


# Names and types.


def named(name: str) -> str:
    """A name of `api.toml` in the form of Java."""
    return RENAMED.get(name) or camel(name)


def name_of(parameter: Parameter) -> str:
    """The name of a parameter."""
    return named(parameter.name)


def type_of(parameter: Parameter) -> str:
    """The type of a parameter."""
    return ENUMS[parameter.name] if parameter.choices else TYPES[parameter.type]


def declared(parameter: Parameter) -> str:
    """The declaration of a parameter."""
    if parameter.type == "argument":
        return "long index, Object value"
    return f"{type_of(parameter)} {name_of(parameter)}"


def result(type_: str) -> Tuple[str, str]:
    """The type of a result or of a field without its marks, and its reader."""
    base = type_.rstrip("?*%")
    return RESULTS.get(base, (base, f"{base}::read"))


def marked(of: str, mark: str) -> str:
    """A type that may be absent, or of several values."""
    box = BOXES.get(of, of)
    return {"?": box, "*": f"List<{box}>", "%": f"Map<String, {box}>"}.get(mark, of)


def returned(method: Method) -> str:
    """The type of the result of a method."""
    return "void" if method.gives == "ok" else marked(result(method.gives)[0], method.gives[-1])


def value(parameter: Parameter, all_choices: Dict[str, Tuple[str, ...]]) -> str:
    """The expression of a parameter's words."""
    name = name_of(parameter)
    if parameter.choices and len(parameter.choices) < len(all_choices[parameter.name]):
        enum = ENUMS[parameter.name]
        known = ", ".join(f"{enum}.{word.upper()}" for word in parameter.choices)
        return f'Words.among("{name}", {name}, List.of({known}))'
    if parameter.type in ("action", "clients", "state"):
        return f"{name}.words()"
    functions = {"keys": "counted", "servers": "places", "rule_clients": "ofRule"}
    if parameter.type == "duration" and parameter.unit == "s":
        return f"Words.seconds({name})"
    return f"Words.{functions[parameter.type]}({name})" if parameter.type in functions else name


# Layout.


def doc(text: str, indent: str = "    ", tags: Sequence[str] = ()) -> Iterator[str]:
    """A comment of Java's documentation."""
    text = coded(text)
    line = f"{indent}/** {text} */"
    if len(line) <= WIDTH and not tags:
        yield line
        return
    yield f"{indent}/**"
    yield filled(text, f"{indent} * ")
    if tags:
        yield f"{indent} *"
    for tag in tags:
        further = f"{indent} *     "
        yield f"{indent} * {filled(coded(tag), further).removeprefix(further)}"
    yield f"{indent} */"


def filled(text: str, indent: str) -> str:
    """A text in lines of the width, with marks of code unbroken."""
    whole = re.sub(r"\{@code [^}]+\}", lambda found: found[0].replace(" ", "\0"), text)
    return wrapped(whole, indent).replace("\0", " ")


def tags_of(parameters: Sequence[Parameter], form: Form) -> List[str]:
    """The tags that describe parameters, but for those that repeat the name."""
    telling = [it for it in parameters if it.about not in (f"The {it.name}.", f"The name of the {it.name}.")]
    return [f"@param {name_of(it)} {renamed(worded(it.about, form, name_of))}" for it in telling]


def coded(text: str) -> str:
    """A text with the marks of Java's documentation."""
    return re.sub(r"`([^`]+)`", r"{@code \1}", text.replace("&", "&amp;").replace("<", "&lt;"))


def renamed(text: str) -> str:
    """A text whose names are those of Java."""
    return re.sub(r"`([a-z]+_[a-z_]+)`", lambda found: f"`{camel(found[1])}`", text)


def laid_out(head: str, parts: Sequence[str], tail: str, indent: str) -> Iterator[str]:
    """`head(parts)tail` on one line, or its parts behind the first line, on one line or on one each."""
    line = f"{indent}{head}({', '.join(parts)}){tail}"
    if len(line) <= WIDTH:
        yield line
        return
    yield f"{indent}{head}("
    line = f"{indent}        {', '.join(parts)}){tail}"
    if len(line) <= WIDTH:
        yield line
        return
    for place, part in enumerate(parts, 1):
        end = "," if place < len(parts) else f"){tail}"
        if len(f"{indent}        {part}{end}") <= WIDTH:
            yield f"{indent}        {part}{end}"
        else:
            yield from call_lines(part, end, f"{indent}        ")


def call_lines(call: str, end: str, indent: str) -> Iterator[str]:
    """A call, laid out."""
    head, parts, tail = re.fullmatch(r"([^(]*)\((.*)\)([^)]*)", call).groups()
    yield from laid_out(head, split(parts), tail + end, indent)


def member(head: str, parameters: Sequence[str], body: str, indent: str = "    ") -> Iterator[str]:
    """A method whose body is one statement."""
    yield from laid_out(head, parameters, " {", indent)
    yield from call_lines(body, "", f"{indent}    ")
    yield f"{indent}}}\n"


def split(parts: str) -> List[str]:
    """The arguments of a call."""
    found, depth, begin = [], 0, 0
    for at, letter in enumerate(parts):
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if depth == 0 and parts[at : at + 2] == ", ":
            found.append(parts[begin:at])
            begin = at + 2
    return [*found, parts[begin:]] if parts else []


# Groups of methods.


class Options:
    """The options of methods, which are a class within that of the group."""

    def __init__(self, method: Method) -> None:
        self.parts = [it for it in method.form.parts if it.parameter is not None and it.parameter.is_option]
        self.name = method.options
        self.methods: List[Method] = []

    def share(self, method: Method) -> None:
        """Adds a method that has these options."""
        self.methods.append(method)
        if [self.slot(it) for it in self.parts] != [self.slot(it) for it in Options(method).parts]:
            raise SchemaError(f"{method.name} has other options than {self.name}")

    def lines(self, choices: Dict[str, Tuple[str, ...]]) -> Iterator[str]:
        """The class."""
        *others, last = (f"`{named(it.name)}`" for it in self.methods)
        yield from doc(f"Options of {', '.join(others)}{' and ' if others else ''}{last}.")
        yield f"    public static final class {self.name} extends Options<{self.name}> {{"
        yield f"        {self.name}() {{"
        yield from laid_out("super", [f'"{self.slot(it)}"' for it in self.parts], ";", " " * 12)
        yield "        }\n"
        setters = [line for part in self.parts for line in self.setter(part, choices)]
        setters[-1] = setters[-1].rstrip("\n")
        yield from setters
        yield "    }\n"

    @staticmethod
    def slot(part: Part) -> str:
        """The name of the place of an option in the request."""
        return part.word or part.parameter.name

    def setter(self, part: Part, choices: Dict[str, Tuple[str, ...]]) -> Iterator[str]:
        """A method that sets an option."""
        parameter = part.parameter
        yield from doc(renamed(worded(parameter.about, self.methods[0].form, name_of)), " " * 8)
        head, word = f"public {self.name} {name_of(parameter)}", f'"{self.slot(part)}"'
        if parameter.type == "flag":
            body = f'either({word}, "{EXCLUSIVE[part.word]}")' if part.word in EXCLUSIVE else f"flag({word})"
            yield from member(head, [], f"return {body};", " " * 8)
        elif parameter.type == "argument":
            yield from member(head, [declared(parameter)], f'return words({word}, "ARG", index, value);', " " * 8)
        else:
            function = "option" if part.word else "words"
            body = f"return {function}({word}, {value(parameter, choices)});"
            yield from member(head, [declared(parameter)], body, " " * 8)


def choices_of(group: Group) -> Dict[str, Tuple[str, ...]]:
    """All words of the choices of a group. `Level` also has OFF."""
    found = {"level": ("off", "violation", "suspect", "lint")}
    for it in (it for method in group.methods for it in method.form.parameters if it.choices):
        found[it.name] = max(found.get(it.name, ()), it.choices, key=len)
    return found


def group_class(group: Group) -> Iterator[str]:
    """The class of a group."""
    name = pascal(group.name)
    base = "FaultGroup" if group.name == "faults" else "Group"
    yield from doc(renamed(group.about), "")
    yield f"public final class {name} extends {base} {{"
    yield f"    {name}(Connections connections) {{"
    yield f"        super(connections{', true' if group.name in OWN else ''});"
    yield "    }\n"
    yield from members(group)
    yield "}"


def members(group: Group) -> Iterator[str]:
    """The methods of a group, and the classes of their options."""
    shared: Dict[str, Options] = {}
    choices = choices_of(group)
    lines: List[str] = []
    for method in group.methods:
        own: Optional[Options] = None
        if method.options:
            own = shared.setdefault(method.options, Options(method))
            own.share(method)
        lines += method_lines(method, own, choices)
    for it in shared.values():
        lines += it.lines(choices)
    lines[-1] = lines[-1].rstrip("\n")
    yield from lines


def method_lines(method: Method, own: Optional[Options], choices: Dict[str, Tuple[str, ...]]) -> Iterator[str]:
    """A method, with an overload for each optional parameter, and one with options."""
    about = renamed(sentence(method, "null", name_of))
    required = [it for it in method.form.leading if it.is_required]
    positional = [it for it in method.form.leading if not it.is_required]
    for count in range(len(positional) + 1):
        given = required + positional[:count]
        head = f"public {returned(method)} {named(method.name)}"
        declarations = [declared(it) for it in given]
        is_full = count == len(positional)
        if own is not None:
            yield from doc(about)
            body = f"{named(method.name)}({', '.join([*map(name_of, given), 'it -> {}'])});"
            yield from member(head, declarations, body if method.gives == "ok" else f"return {body}")
            declarations.append(f"Consumer<{own.name}> options")
        yield from doc(about, tags=tags_of(given, method.form) if is_full else ())
        yield from member(head, declarations, statement(method, own, given, choices))


def statement(
    method: Method, own: Optional[Options], given: List[Parameter], choices: Dict[str, Tuple[str, ...]]
) -> str:
    """The statement that sends the request, and reads its reply."""
    words = [f'"{method.command}"', *request(method.form, own, given, choices)]
    if method.is_wait:
        return f"{'' if method.gives == 'ok' else 'return '}until({', '.join(words)});"
    ask = "askPrepared" if method.prepares else "ask"
    if method.avoids:
        ask, words = "askBeside", [method.avoids, *words]
    asked = f"{ask}({', '.join(words)})"
    if method.gives == "ok":
        return f"{asked};"
    read = result(method.gives)[1]
    wrap = {"?": "maybe", "*": "list", "%": "map"}.get(method.gives[-1])
    return f"return Replies.{wrap}({asked}, {read});" if wrap else f"return {read.replace('::', '.')}({asked});"


def request(
    form: Form, own: Optional[Options], given: List[Parameter], choices: Dict[str, Tuple[str, ...]]
) -> Iterator[str]:
    """The parts of a request."""
    has_options = False
    for part in form.words:
        parameter = part.parameter
        if parameter is None:
            yield f'"{part.word}"'
        elif parameter.is_option:
            if not has_options:
                yield f"words(new {own.name}(), options)"
            has_options = True
        elif parameter in given:
            if part.word or parameter.type == "action":
                yield f'"{part.word or "DO"}"'
            yield value(parameter, choices)
        elif part.otherwise:
            yield f'"{part.otherwise}"'
        elif parameter.default is not None:
            yield str(parameter.default)


def server_class(api: Api) -> Iterator[str]:
    """The base of the server, with its groups."""
    groups = [group for group in api.groups if group.name != "server"]
    yield from doc("The groups of methods of a server.", "")
    yield "abstract class ServerMethods extends Group {"
    yield from (f"    private final {pascal(group.name)} {group.name};" for group in groups)
    yield "\n    ServerMethods(Connections connections) {"
    yield "        super(connections);"
    yield from (f"        {group.name} = new {pascal(group.name)}(connections);" for group in groups)
    yield "    }\n"
    for group in groups:
        yield from doc(group.about.split(". ")[0].split(":")[0].rstrip(".") + ".")
        yield f"    public {pascal(group.name)} {group.name}() {{"
        yield f"        return {group.name};"
        yield "    }\n"
    yield from members(next(group for group in api.groups if group.name == "server"))
    yield "}"


# Actions, clients, records, enums and options.


def makers(name: str, all_: List[Maker]) -> Iterator[str]:
    """A class with a method that makes an object for each form. An option is the last parameter of an overload."""
    yield ACTION if name == "Action" else CLIENTS
    lines: List[str] = []
    for maker in all_:
        required = [it for it in maker.form.parameters if it.is_required]
        for given in [required, *([*required, it] for it in maker.form.options)]:
            for types in ("text", "bytes") if any(it.type == "bulk" for it in given) else ("",):
                typed = [replace(it, type=types) if it.type == "bulk" else it for it in given]
                lines += doc(renamed(maker.about), tags=tags_of([it for it in given if it not in required], maker.form))
                forms = [list(form_words(it, given)) for it in (maker.form, maker.rule) if it is not None]
                made = forms[0] if name == "Action" else [f"List.of({', '.join(it)})" for it in forms]
                made += ["null"] if name == "Clients" and maker.rule is None else []
                body = f"return new {name}({', '.join(made)});"
                lines += member(f"public static {name} {named(maker.name)}", [declared(it) for it in typed], body)
    lines[-1] = lines[-1].rstrip("\n")
    yield from lines
    yield "}"


def form_words(form: Form, given: List[Parameter]) -> Iterator[str]:
    """The words of an action, or of clients."""
    names = [it.name for it in given]
    for part in form.words:
        if part.parameter is None:
            yield f'"{part.word}"'
        elif part.parameter.name in names:
            yield from ([f'"{part.word}"'] if part.word else []) + [name_of(part.parameter)]


def field(it: Field) -> Tuple[str, str]:
    """The type of a field, and the expression that reads it."""
    of, read = FIELDS.get(it.name) or result(it.type)
    reader = "list" if it.is_list else "maybe" if it.is_optional else "get"
    return marked(of, it.type[-1]), f'fields.{reader}("{it.wire}", {read})'


def record_class(record: Record) -> Iterator[str]:
    """The record of a result."""
    tags = [
        f"@param {named(it.name)} {renamed(it.about)}{' May be null.' if it.is_optional else ''}"
        for it in record.fields
    ]
    yield from doc(renamed(record.about).replace("absent", "null"), "", tags)
    parts = [f"{field(it)[0]} {named(it.name)}" for it in record.fields]
    yield from laid_out(f"public record {record.name}", parts, " {", "")
    yield f"    static {record.name} read(Object reply) {{"
    names = [f'"{it.wire}"' for it in record.fields] if record.has_positions else []
    yield from laid_out("Fields fields = new Fields", ["reply", *names], ";", " " * 8)
    yield from laid_out(f"return new {record.name}", [field(it)[1] for it in record.fields], ";", " " * 8)
    yield "    }"
    yield "}"


def enums(api: Api) -> Dict[str, Iterator[str]]:
    """The enums of the choices."""
    found: Dict[str, Parameter] = {}
    for it in (it for group in api.groups for method in group.methods for it in method.form.parameters):
        if it.choices and it.name != "level":
            found[it.name] = max(found.get(it.name, it), it, key=lambda each: len(each.choices))
    return {ENUMS[name]: enum(it) for name, it in found.items()}


def enum(parameter: Parameter) -> Iterator[str]:
    """The enum of a choice."""
    yield from doc(renamed(parameter.about), "")
    yield f"public enum {ENUMS[parameter.name]} {{"
    yield ",\n".join(f"    {word}" for word in parameter.choices)
    yield "}"


def option_types(option: Option) -> List[str]:
    """The types of an option of a server, one for each overload."""
    of = OPTIONS.get(option.name) or TYPES[option.type]
    return ["String", "Instant"] if option.type == "time" else [of]


def options(all_: List[Option]) -> Iterator[str]:
    """The class of the options of a server."""
    yield OPTIONS_HEAD
    lines: List[str] = []
    for option in all_:
        name = named(option.name)
        slot = f"--{option.parameter}" if option.parameter else name
        for of in option_types(option):
            lines += doc(renamed(option.about))
            body = f'return new ServerOptions(with("{slot}", {name}));'
            lines += member(f"public ServerOptions {name}", [f"{of} {name}"], body)
    lines[-1] = lines[-1].rstrip("\n")
    yield from lines
    yield "}"


ACTION = """\
/** The action of a rule. An action on the request comes before it is executed, and one on the reply after. */
public final class Action {
    private final List<Object> words;

    private Action(Object... parts) {
        words = Words.of(parts);
    }

    List<Object> words() {
        return words;
    }
"""

CLIENTS = """\
/** Some clients. */
public final class Clients {
    private final List<Object> words;
    /** The words that name them in a rule; null if a rule cannot name them. */
    private final List<Object> ofRule;

    private Clients(List<Object> words, List<Object> ofRule) {
        this.words = words;
        this.ofRule = ofRule;
    }

    List<Object> words() {
        return words;
    }

    List<Object> ofRule() {
        return ofRule;
    }
"""

OPTIONS_HEAD = """\
/** The options of a server. Each method returns new options, with one of them set. */
public final class ServerOptions extends StartOptions {
    /** One server in real time. */
    public ServerOptions() {
        this(Map.of());
    }

    private ServerOptions(Map<String, Object> values) {
        super(values);
    }
"""


def signature(method: Method) -> str:
    """The signature of a method, with what is optional in brackets."""
    found = bracketed(method.form.leading)
    if method.form.options:
        calls = "".join(f".{name_of(it)}({set_to(it)})" for it in method.form.options)
        found += f"[{', ' if found else ''}it -> it{calls}]"
    return f"{returned(method)} {named(method.name)}({found})"


def set_to(parameter: Parameter) -> str:
    """The types of the parameters of a method that sets an option."""
    special = {"flag": "", "argument": "long, Object"}
    return special[parameter.type] if parameter.type in special else type_of(parameter)


def maker_signature(maker: Maker) -> str:
    """The signature of a method that makes an action or clients."""
    return f"{named(maker.name)}({bracketed(maker.form.parameters)})"


def bracketed(parameters: Sequence[Parameter]) -> str:
    """Parameters, with what is optional in brackets."""
    found = ""
    for it in parameters:
        more = f"{', ' if found else ''}{declared(it)}"
        found += more if it.is_required else f"[{more}]"
    return found


PAGE = pages.Language(
    title="Java",
    path="java",
    start="java",
    units=(
        "Durations are a `java.time.Duration`, and instants a `java.time.Instant`, of whole milliseconds. "
        "What is in brackets may be left out. "
        "Options are set by a function: `server.clock().advance(by, it -> it.settle(quiet))`."
    ),
    group=lambda group: "server" if group.name == "server" else f"server.{group.name}()",
    method=signature,
    maker=lambda name, it: f"{name}.{maker_signature(it)}",
    option=lambda it: f"{named(it.name)}({' or '.join(option_types(it))})",
    field=lambda it: f"{field(it)[0]} {named(it.name)}",
    parameter=name_of,
    named=named,
    nothing="`null`",
)
