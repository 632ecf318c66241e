"""The Java package: a class for each group of methods, with its options inside, and records."""

from __future__ import annotations

import re
from typing import Dict, Iterator, List

from . import pages
from .model import Api, Field, Group, Maker, Method, Option, Parameter, Part, Record
from .text import GENERATED, WIDTH, call, camel, filled, joined, pascal, sentence, worded, wrapped

FOLDER = "packaging/java/src/main/java/io/lockwheel/"

TYPES = {
    "text": "String", "integer": "long", "number": "double", "flag": "boolean", "duration": "Duration",
    "instant": "Instant", "texts": "List<String>", "keys": "List<String>", "servers": "List<Integer>",
    "clients": "Clients", "rule_clients": "Clients", "action": "Action", "state": "String", "bytes": "byte[]", "bulk": "String",
    "time": "String", "level": "Level",
}

RESULTS = {
    "text": "String", "integer": "long", "number": "double", "flag": "boolean", "instant": "Instant",
    "duration": "Duration", "ttl": "Duration",
}

BOXES = {"long": "Long", "double": "Double", "boolean": "Boolean"}

READERS = {"text": "text", "integer": "number", "flag": "flag", "instant": "instant"}

OWN = ("locks", "semaphores", "latches", "rates")

SHARED = ("level", "direction")
"""Choices whose types are written by hand."""

NAMES = {"wait": "await"}


def files(api: Api) -> Dict[str, str]:
    """The files of the package, by their paths."""
    found = {f"{FOLDER}{pascal(it.name)}.java": joined(group_class(it)) for it in api.groups if it.name != "server"}
    found[f"{FOLDER}ServerMethods.java"] = joined(server_class(api))
    found[f"{FOLDER}Action.java"] = joined(action_class(api))
    found[f"{FOLDER}Clients.java"] = joined(clients_class(api))
    found[f"{FOLDER}ProgramOptions.java"] = joined(program_options(api))
    found |= {f"{FOLDER}{it.name}.java": joined(record_class(it)) for it in api.records}
    return found | pages.page(api, PAGE)


def name_of(name: str) -> str:
    """A name of a method or a parameter."""
    return camel(NAMES.get(name, name))


def type_of(parameter: Parameter, owner: str = "") -> str:
    """The type of a parameter."""
    if parameter.type == "choice":
        return pascal(parameter.name)
    return TYPES[parameter.type]


def head(imports: List[str], body: str) -> Iterator[str]:
    """The beginning of a file with the imports that it needs."""
    yield f"// {GENERATED}\n\npackage io.lockwheel;\n"
    needed = [it for it in imports if re.search(rf"\b{it.rsplit('.', 1)[1]}\b", body)]
    if needed:
        yield "\n".join(f"import {it};" for it in sorted(needed)) + "\n"


IMPORTS = [
    "java.time.Duration", "java.time.Instant", "java.util.List", "java.util.Map", "java.util.function.UnaryOperator",
    "java.nio.file.Path",
]


def doc(text: str, indent: str = "    ") -> str:
    """A comment."""
    text = re.sub(r"`([^`]+)`", lambda it: f"{{@code {camel(it[1]) if re.fullmatch('[a-z]+_[a-z_]+', it[1]) else it[1]}}}", text)
    line = f"{indent}/** {text} */"
    return line if len(line) <= WIDTH else f"{indent}/**\n{wrapped(text, indent + ' * ')}\n{indent} */"


def result(type_: str) -> str:
    """The type of a result."""
    base = type_.rstrip("?*%")
    of = "void" if base == "ok" else RESULTS.get(base, base)
    boxed = BOXES.get(of, of)
    return {"*": f"List<{boxed}>", "%": f"Map<String, {boxed}>", "?": boxed}.get(type_[-1], of)


def reader(type_: str, reply: str) -> str:
    """The expression that reads a reply."""
    base = type_.rstrip("?*%")
    if type_ == "integer*":
        return f"Reply.numbers({reply})"
    if type_[-1] in "*%":
        return f"Reply.{'list' if type_[-1] == '*' else 'byName'}({base}.class, {reply})"
    return f"Reply.{READERS[base]}({reply})" if base in READERS else f"Reply.read({base}.class, {reply})"


def group_class(group: Group) -> Iterator[str]:
    """The class of a group."""
    name = pascal(group.name)
    body = [doc(group.about, ""), f"public final class {name} {{", "    private final Steering steering;\n"]
    body += [f"    {name}(Steering steering) {{", "        this.steering = steering;", "    }"]
    for method in group.methods:
        body += method_lines(method)
    if group.name == "faults":
        body += ["", doc("Sets whether rules ignore the requests of {@link LockwheelServer#command}. By default they do.")]
        body += ["    public void exempt(boolean isExempt) {", "        steering.setExempt(isExempt);", "    }"]
    body += nested(group.methods)
    body.append("}")
    text = "\n".join(body)
    yield from head(IMPORTS, text)
    yield text


def method_lines(method: Method) -> Iterator[str]:
    """A method, and its forms without optional arguments."""
    leading = method.form.leading
    required = [it for it in leading if it.is_required]
    shapes = [(leading[:count], False) for count in range(len(required), len(leading) + 1)]
    shapes += [(leading, True)] if method.options else []
    for arguments, has_options in shapes:
        yield ""
        yield doc(sentence(method, "null", lambda it: name_of(it.name)))
        parameters = [f"{type_of(it)} {name_of(it.name)}" for it in arguments]
        parameters += [f"UnaryOperator<{method.options}> options"] if has_options else []
        yield call(f"public {result(method.gives)} {name_of(method.name)}", parameters, " {", "    ")
        if method.prepares:
            yield "        steering.prepare();"
        words = [f'"{method.command}"']
        for part in method.form.parts:
            words += expression(part, arguments)
        words += [f"options.apply(new {method.options}())"] if has_options else []
        verb = "until" if method.is_wait else "own" if method.group in OWN else "ask"
        if method.avoids:
            verb, words = "askAvoiding", [f"(int) {method.avoids}", *words]
        ask = call(f"steering.{verb}", words, "", "")
        read = ask if method.gives == "ok" else reader(method.gives, ask)
        line = f"        {'' if method.gives == 'ok' else 'return '}{read};"
        if len(line) > WIDTH or "\n" in ask:
            at = read.index(f"steering.{verb}(")
            start = f"        {'' if method.gives == 'ok' else 'return '}{read[:at]}steering.{verb}("
            closing = ");" if method.gives == "ok" else "));"
            line = "\n".join([start, *filled(words, "                ")]) + closing
        yield line
        yield "    }"


def expression(part: Part, arguments: List[Parameter]) -> List[str]:
    """The expressions of a part of a request."""
    it = part.parameter
    if it is None:
        return [f'"{part.word}"']
    if it.is_option:
        return []
    if it not in arguments:
        return [f'"{part.otherwise}"'] if part.otherwise else [str(it.default)] if it.default is not None else []
    return ([f'"{part.word}"'] if part.word else []) + value(it)


def value(it: Parameter) -> List[str]:
    """The expressions of the words of a parameter."""
    name = name_of(it.name)
    if it.type == "duration" and it.unit == "s":
        return [f"Words.seconds({name})"]
    functions = {"servers": f"Words.places({name})", "state": f"Words.state({name})", "rule_clients": f"{name}.ofRule()"}
    if it.type == "keys":
        return [f"{name}.size()", name]
    return [functions.get(it.type, name)]


def nested(methods: List[Method]) -> Iterator[str]:
    """The types of the options and choices of a group."""
    seen: Dict[str, List[Method]] = {}
    choices: Dict[str, Parameter] = {}
    for method in methods:
        if method.options:
            seen.setdefault(method.options, []).append(method)
        for it in method.form.parameters:
            if it.type == "choice" and it.name not in SHARED:
                choices.setdefault(it.name, it)
    for name, it in choices.items():
        yield ""
        yield doc(it.about)
        yield f"    public enum {pascal(name)} {{"
        yield from (f"        /** {word} */\n        {word}{',' if word != it.choices[-1] else ''}" for word in it.choices)
        yield "    }"
    for name, of in seen.items():
        yield ""
        yield doc("Options of " + " and ".join(f"`{name_of(it.name)}`" for it in of) + ".")
        yield f"    public static final class {name} extends Options<{name}> {{"
        yield f"        {name}() {{}}"
        for part in of[0].form.parts:
            if part.parameter is not None and part.parameter.is_option:
                yield ""
                yield from option(of[0], part)
        yield "    }"


def option(method: Method, part: Part) -> Iterator[str]:
    """A method of options."""
    it = part.parameter
    yield doc(worded(it.about, method.form, lambda other: name_of(other.name)), "        ")
    words = [f'"{part.word}"'] if part.word else []
    parameter = f"{type_of(it)} {name_of(it.name)}" if it.type not in ("flag", "argument") else ""
    if it.type == "argument":
        parameter, words = "int index, Object value", ['"ARG"', "index", "value"]
    elif it.type != "flag":
        words += value(it)
    yield f"        public {method.options} {name_of(it.name)}({parameter}) {{"
    yield f"            return with({', '.join(words)});"
    yield "        }"


def server_class(api: Api) -> Iterator[str]:
    """The base of the server, with its groups."""
    groups = [group for group in api.groups if group.name != "server"]
    own = next(group for group in api.groups if group.name == "server")
    body = [doc("The groups of methods of a server.", ""), "public abstract class ServerMethods {", "    private Steering steering;"]
    body += [f"    private {pascal(it.name)} {camel(it.name)};" for it in groups]
    body += ["", "    ServerMethods() {}"]
    body += ["", doc("Sets the server that the methods steer."), "    final void steer(Steering server) {"]
    body += ["        steering = server;"] + [f"        {camel(it.name)} = new {pascal(it.name)}(server);" for it in groups]
    body += ["    }"]
    for it in groups:
        sentence = it.about.split(". ")[0].split(":")[0].rstrip(".")
        body += ["", doc(f"{sentence}."), f"    public {pascal(it.name)} {camel(it.name)}() {{"]
        body += [f"        return {camel(it.name)};", "    }"]
    for method in own.methods:
        body += method_lines(method)
    body += nested(own.methods)
    body.append("}")
    text = "\n".join(body)
    yield from head(IMPORTS, text)
    yield text


def constructor(maker: Maker, name: str, makes: str) -> Iterator[str]:
    """A constructor, and its form without the option."""
    options = maker.form.options
    for has_options in [False, True][: 2 if options else 1]:
        yield ""
        yield doc(" ".join([maker.about, *(it.about for it in options if has_options)]))
        arguments = [*maker.form.leading, *(options if has_options else [])]
        words: List[str] = []
        for part in maker.form.words:
            if part.parameter is None or part.parameter in arguments:
                words += [f'"{part.word}"'] if part.word else []
                words += [] if part.parameter is None else value(part.parameter)
        parameters = ", ".join(f"{type_of(it)} {name_of(it.name)}" for it in arguments)
        yield f"    public static {name} {name_of(maker.name)}({parameters}) {{"
        yield f"        return {makes.format(', '.join(words))};"
        yield "    }"


def action_class(api: Api) -> Iterator[str]:
    """The class of actions."""
    body = [doc("The action of a rule. Durations are of the monotonic clock.\n", "").replace("\n */", " */")]
    body = ["/**\n * The action of a rule. Durations are of the monotonic clock.\n *\n * @param words its words, behind {@code DO}\n */"]
    body += ["public record Action(List<Object> words) {", "    private static Action of(Object... words) {"]
    body += ["        return new Action(List.of(Words.of(words)));", "    }"]
    for maker in api.actions:
        body += constructor(maker, "Action", "of({})")
    body.append("}")
    text = "\n".join(body)
    yield from head(IMPORTS, text)
    yield text


def clients_class(api: Api) -> Iterator[str]:
    """The class of clients."""
    body = [doc("Some clients.", ""), "public final class Clients {", "    private final List<Object> words;"]
    body += [doc("The words of a rule; null if a rule cannot name these clients."), "    private final List<Object> ofRule;\n"]
    body += ["    private Clients(List<Object> words, List<Object> ofRule) {", "        this.words = words;"]
    body += ["        this.ofRule = ofRule;", "    }"]
    for maker in api.clients:
        rule = "null"
        if maker.rule is not None:
            words: List[str] = []
            for part in maker.rule.words:
                words += ([f'"{part.word}"'] if part.word else []) + ([] if part.parameter is None else value(part.parameter))
            rule = f"List.of({', '.join(words)})"
        body += constructor(maker, "Clients", "new Clients(List.of({}), " + rule.replace("{", "{{") + ")")
    body += ["", "    List<Object> words() {", "        return words;", "    }\n", "    List<Object> ofRule() {"]
    body += ["        if (ofRule == null) {"]
    body += ['            throw new IllegalArgumentException("a rule names clients by id, name or lib");', "        }"]
    body += ["        return ofRule;", "    }", "}"]
    text = "\n".join(body)
    yield from head(IMPORTS, text)
    yield text


def program_options(api: Api) -> Iterator[str]:
    """The options of the program that the package passes on."""
    body = [doc("Options of the program that the package passes on.", ""), "interface ProgramOptions {"]
    body += [doc("These options, with a parameter of the program."), "    ServerOptions with(String parameter, Object value);"]
    for it in api.options:
        if it.parameter:
            body += ["", doc(it.about), f"    default ServerOptions {camel(it.name)}({TYPES[it.type]} {camel(it.name)}) {{"]
            body += [f'        return with("{it.parameter}", {camel(it.name)});', "    }"]
    body.append("}")
    text = "\n".join(body)
    yield from head(IMPORTS, text)
    yield text


def record_class(record: Record) -> Iterator[str]:
    """A type of results."""
    comment = [f"/**\n * {record.about}\n *"]
    for field in record.fields:
        comment.append(wrapped(f"@param {camel(field.name)} {field.about[:1].lower()}{field.about[1:].rstrip('.')}", " *     ")
                       .replace(" *     ", " * ", 1))
    text = "\n".join(comment)
    text = re.sub(r"`([^`]+)`", lambda it: f"{{@code {camel(it[1]) if '_' in it[1] else it[1]}}}", text) + "\n */"
    components = [component(field) for field in record.fields]
    annotation = "@Reply.Positions\n" if record.has_positions else ""
    body = annotation + call(f"public record {record.name}", components, " {}", "", step="        ")
    yield from head(IMPORTS, body)
    yield text
    yield body


def component(field: Field) -> str:
    """A component of a record."""
    of = RESULTS.get(field.base, field.base)
    if (field.name, field.about.startswith("`violation`")) == ("level", True):
        of = "Level"
    if field.is_list:
        of = f"List<{BOXES.get(of, of)}>"
    elif field.type.endswith("?"):
        of = BOXES.get(of, of)
    notes = f'@Reply.Name("{field.wire}") ' if field.wire != camel(field.name) else ""
    notes += "@Reply.TimeLeft " if field.base == "ttl" else ""
    return f"{notes}{of} {camel(field.name)}"


def page_method(method: Method) -> str:
    """A method as the page shows it."""
    parameters = [f"{type_of(it)} {name_of(it.name)}{'' if it.is_required else '?'}" for it in method.form.leading]
    names = ", ".join(name_of(it.name) for it in method.form.options)
    return f"{result(method.gives)} {name_of(method.name)}({', '.join([*parameters, *([f'it -> it.{names}'] if names else [])])})"


PAGE = pages.Language(
    title="Java",
    path="java",
    start="java",
    units="Durations are a `Duration`. `it -> it.limit, key` stands for options, such as `it -> it.limit(duration).key(\"jobs\")`; they may be left out, and so may arguments with `?`.",
    group=lambda group: "server" if group.name == "server" else f"server.{camel(group.name)}()",
    method=page_method,
    maker=lambda name, it: f"{name}.{name_of(it.name)}({', '.join(f'{type_of(p)} {name_of(p.name)}' + ('?' if p.is_option else '') for p in it.form.parameters)})",
    option=lambda it: f"{camel(it.name)}({TYPES.get(it.type, 'String')})" if it.name != "args" else "args(String...)",
    field=lambda it: component(it).split(") ")[-1].replace("@Reply.TimeLeft ", ""),
    parameter=lambda it: f"{'int index, Object' if it.type == 'argument' else type_of(it)} {name_of(it.name)}",
    name=lambda it: name_of(it.name),
    named=name_of,
    nothing="`null`",
)
