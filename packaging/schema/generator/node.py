"""The npm package: a table of methods, and their types for TypeScript."""

from __future__ import annotations

import re
from typing import Dict, Iterator, List

from . import pages
from .model import Api, Field, Form, Group, Maker, Method, Option, Parameter, Part, Record
from .text import GENERATED, WIDTH, call, camel, described, filled, joined, pascal, sentence, wrapped

FOLDER = "packaging/npm/lib/"

TYPES = {
    "text": "string", "integer": "number | bigint", "number": "number", "flag": "boolean", "duration": "number",
    "instant": "Date | number", "texts": "readonly string[]", "keys": "readonly string[]",
    "servers": "readonly number[]", "clients": "Clients", "rule_clients": "Clients", "action": "Action",
    "argument": "readonly [index: number, value: string | number]", "state": "'EXISTS' | 'GONE' | (string & {})",
    "bytes": "string | Uint8Array", "bulk": "string | Uint8Array", "time": "'real' | 'manual' | Date | (string & {})",
    "level": "'off' | 'violation' | 'suspect'",
}

KINDS = {"bulk": "bytes", "duration": "ms", "keys": "keys", "rule_clients": "ruleClients"}

RESULTS = {
    "text": ("string", "text"), "integer": ("number", "integer"), "number": ("number", "number"),
    "flag": ("boolean", "flag"), "instant": ("Date", "date"), "duration": ("number", "integer"),
    "ttl": ("number | null", "timeLeft"), "ok": ("void", "done"),
}

OWN = ("locks", "semaphores", "latches", "rates")


def files(api: Api) -> Dict[str, str]:
    """The files of the package, by their paths."""
    return {
        f"{FOLDER}methods.js": joined(script(api)),
        f"{FOLDER}methods.d.ts": joined(declarations(api)),
        **pages.page(api, PAGE),
    }


def named(parameter: Parameter) -> str:
    """The name of a parameter: that of a duration says the unit."""
    if parameter.type != "duration":
        return camel(parameter.name)
    return "milliseconds" if parameter.name in ("by", "duration") else f"{camel(parameter.name)}Ms"


def option_name(option: Option) -> str:
    """The name of an option of the server."""
    return f"{camel(option.name)}Ms" if option.type == "duration" else camel(option.name)


def field_name(field: Field) -> str:
    """The name of a field: that of a duration says the unit."""
    return f"{camel(field.name)}Ms" if field.base in ("duration", "ttl") else camel(field.name)


def kind(parameter: Parameter) -> str:
    """The name of the function that makes the words of a parameter."""
    if parameter.type == "choice":
        known = ", ".join(f"'{word}'" for word in parameter.choices)
        return f"oneOf('{named(parameter)}', {known})"
    if parameter.type == "duration" and parameter.unit == "s":
        return "wholeSeconds"
    if parameter.type in ("texts", "keys"):
        return f"{parameter.type}('{named(parameter)}')"
    return KINDS.get(parameter.type, parameter.type)


def part(it: Part) -> str:
    """A part of a request that stands before the options."""
    if it.parameter is None:
        return f"'{it.word}'"
    parameter = it.parameter
    if parameter.is_required:
        return ", ".join(filter(None, [it.word and f"'{it.word}'", kind(parameter)]))
    more = f", '{it.word}'" if it.word else ""
    if it.otherwise:
        more = f", '', '{it.otherwise}'"
    if parameter.default is not None:
        more = f", '', {parameter.default}"
    return f"optional({kind(parameter)}{more})"


def option(it: Part) -> str:
    """An option: its word, and the function that makes the words of its value."""
    if it.parameter.type == "flag":
        return f"{named(it.parameter)}: ['{it.word}']"
    return f"{named(it.parameter)}: ['{it.word}', {kind(it.parameter)}]"


def parts(form: Form) -> List[str]:
    """The parts before the options."""
    return [part(it) for it in form.parts if it.parameter is None or not it.parameter.is_option]


def options_of(form: Form) -> List[str]:
    """The options."""
    return [option(it) for it in form.parts if it.parameter is not None and it.parameter.is_option]


def reader(type_: str) -> str:
    """The function that reads a result."""
    base = type_.rstrip("?*%")
    read = RESULTS.get(base, ("", base))[1]
    wrap = {"?": "maybe", "*": "list", "%": "byName"}.get(type_[-1])
    return f"{wrap}({read})" if wrap else read


def record_type(field: Field) -> str:
    """The type of a field."""
    of = RESULTS.get(field.base, (field.base, ""))[0]
    return f"{of}[]" if field.is_list else f"{of} | null" if field.type.endswith("?") else of


def result(method: Method) -> str:
    """The type of a result."""
    of = RESULTS.get(method.gives.rstrip("?*%"), (method.gives.rstrip("?*%"), ""))[0]
    return {"?": f"{of} | null", "*": f"{of}[]", "%": f"Record<string, {of}>"}.get(method.gives[-1], of)


def script(api: Api) -> Iterator[str]:
    """The module of the methods."""
    yield f"'use strict';\n// The methods of a server. {GENERATED}\n"
    yield HEAD
    for record in api.ordered_records():
        yield from record_lines(record)
    for group in api.groups:
        yield from group_lines(group)
    for name, all_ in (("ACTIONS", api.actions), ("CLIENTS", api.clients)):
        yield f"const {name} = {{"
        for maker in all_:
            forms = [form_words(it) for it in (maker.form, maker.rule) if it is not None]
            yield call(f"  {camel(maker.name)}: made", forms, ",", "", step="    ")
        yield "};\n"
    yield "/** The parameters of the program for the options that the package passes on. */\nconst PARAMETERS = {"
    yield from (f"  {option_name(it)}: '{it.parameter}'," for it in api.options if it.parameter)
    yield "};\n"
    names = [f"'{option_name(it)}'" for it in api.options]
    yield "\n".join(["const OPTIONS = [", *filled(names, "  "), "];"]).replace("\n];", ",\n];\n")
    exported = [pascal(group.name) for group in api.groups if group.name != "server"]
    exported += [record.name for record in api.records] + ["ACTIONS", "CLIENTS", "OPTIONS", "PARAMETERS", "serverMethods"]
    yield "\n".join(["module.exports = {", *(f"  ...{{ {row.strip().rstrip(',')} }}," for row in filled(sorted(exported), " " * 12)), "};"])


def form_words(form: Form) -> str:
    """The parts and the options of a form."""
    found = f"[{', '.join(parts(form))}]"
    return f"{found}, {{ {', '.join(options_of(form))} }}" if options_of(form) else f"{found}, {{}}"


def record_lines(record: Record) -> Iterator[str]:
    """The reader of a type of results."""
    head = f"const {record.name} = {'tuple' if record.has_positions else 'record'}"
    fields = []
    for field in record.fields:
        read = reader(field.type)
        fields.append(f"{field_name(field)}: " + (f"['{field.wire}', {read}]" if field.wire != field_name(field) else read))
    line = f"{head}({{ {', '.join(fields)} }});"
    yield line if len(line) <= WIDTH else "\n".join([head + "({", *filled(fields, "  "), "});"]).replace("\n});", ",\n});")
    yield ""


def group_lines(group: Group) -> Iterator[str]:
    """The table of the methods of a group."""
    is_server = group.name == "server"
    yield f"const {'serverMethods' if is_server else pascal(group.name)} = {'' if is_server else f'group({chr(39)}{group.name}{chr(39)}, '}{{"
    for method in group.methods:
        found = [f"['{method.command}'" + "".join(f", {it}" for it in parts(method.form)) + "]"]
        found.append(f"{{ {', '.join(options_of(method.form))} }}" if options_of(method.form) else "{}")
        found.append(reader(method.gives))
        extra = (["avoids: true"] if method.avoids else []) + (["prepares: true"] if method.prepares else [])
        found += [f"{{ {', '.join(extra)} }}"] if extra else []
        yield from method_entry(f"{camel(method.name)}: {'wait' if method.is_wait else 'ask'}", found)
    if group.name == "faults":
        yield "  exempt,"
    more = ", { isOwn: true }" if group.name in OWN else ""
    yield f"}}{'' if is_server else more + ')'};\n"


def method_entry(head: str, found: List[str]) -> Iterator[str]:
    """An entry of the table, on one line if it fits."""
    line = f"  {head}({', '.join(found)}),"
    if len(line) <= WIDTH:
        yield line
        return
    yield f"  {head}("
    for it in found:
        entries = re.findall(r"\w+: \[(?:[^\[\]]|\([^()]*\))*\]", it)
        yield f"    {it}," if len(it) < WIDTH - 6 else "\n".join(["    {", *filled(entries, "      "), "    },"]).replace("\n    },", ",\n    },")
    yield "  ),"


# TypeScript.


def type_of(parameter: Parameter) -> str:
    """The type of a parameter."""
    return " | ".join(f"'{word}'" for word in parameter.choices) if parameter.choices else TYPES[parameter.type]


def signature(form: Form) -> List[str]:
    """The parameters of a method."""
    found = [f"{named(it)}{'' if it.is_required else '?'}: {type_of(it)}" for it in form.leading]
    options = "; ".join(f"{named(it)}?: {type_of(it)}" for it in form.options)
    return [*found, f"options?: {{ {options} }}"] if options else found


def declarations(api: Api) -> Iterator[str]:
    """The module of the types."""
    yield f"// The types of the methods of a server. {GENERATED}\n"
    yield comment("The action of a rule. An action on the request comes before it is executed, and one on the reply after.", "")
    yield from class_lines("Action", api.actions)
    yield comment("Some clients.", "")
    yield from class_lines("Clients", api.clients)
    for group in api.groups:
        yield comment(group.about or "The methods of a server that belong to no group.", "")
        yield f"export interface {'ServerMethods' if group.name == 'server' else pascal(group.name)} {{"
        for method in group.methods:
            about = renamed(sentence(method, "null", named))
            about = " ".join([about, *described(method.form, method.form.parameters, named)])
            yield comment(about, "  ")
            yield typed(camel(method.name), signature(method.form), f": Promise<{result(method)}>;", "  ")
        if group.name == "faults":
            yield comment("Sets whether rules ignore the requests of `server.command`. By default they do.", "  ")
            yield "  exempt(isExempt?: boolean): Promise<void>;"
        yield "}\n"
    for record in api.records:
        yield comment(renamed(record.about), "")
        yield f"export interface {record.name} {{"
        for field in record.fields:
            yield f"  /** {renamed(field.about)} */ {field_name(field)}: {record_type(field)};"
        yield "}\n"
    yield comment("The options of a server.", "")
    yield "export interface ServerOptions {"
    for it in api.options:
        yield comment(it.about, "  ")
        yield f"  {option_name(it)}?: {'readonly (string | number)[]' if it.name == 'args' else TYPES[it.type]};"
    yield "}"


def renamed(text: str) -> str:
    """A text whose names are those of the language."""
    return re.sub(r"`([a-z]+_[a-z_]+)`", lambda found: f"`{camel(found[1])}`", text)


def typed(name: str, parameters: List[str], tail: str, indent: str) -> str:
    """A signature, with each parameter on a line if it is long."""
    line = f"{indent}{name}({', '.join(parameters)}){tail}"
    if len(line) <= WIDTH:
        return line
    inner = "\n".join(wrapped(f"{it},", indent + "    ")[2:] for it in parameters)
    return f"{indent}{name}(\n{inner}\n{indent}){tail}"


def comment(text: str, indent: str) -> str:
    """A comment of a declaration."""
    line = f"{indent}/** {text} */"
    return line if len(line) <= WIDTH else wrapped(f"{text} */", indent + " * ").replace(indent + " * ", indent + "/** ", 1)


def class_lines(name: str, all_: List[Maker]) -> Iterator[str]:
    """A class with a constructor for each form."""
    yield f"export class {name} {{"
    yield "  private constructor();"
    for maker in all_:
        yield comment(" ".join([maker.about, *described(maker.form, maker.form.options, named)]), "  ")
        yield typed(f"static {camel(maker.name)}", signature(maker.form), f": {name};", "  ")
    yield "}\n"


HEAD = """\
const { ask, exempt, group, made, optional, wait } = require('./group.js');
const { byName, date, done, flag, integer, list, maybe, number, record, text, timeLeft, tuple } = require('./records.js');
const { action, argument, bytes, clients, instant, keys, ms, oneOf, ruleClients, servers } = require('./words.js');
const { state, texts, wholeSeconds } = require('./words.js');
"""

PAGE = pages.Language(
    title="Node",
    path="node",
    start="node",
    units="Every method returns a promise. Durations are milliseconds, and their names say so.",
    group=lambda group: "server" if group.name == "server" else f"server.{group.name}",
    method=lambda it: f"{camel(it.name)}({', '.join(signature(it.form))}): Promise<{result(it)}>",
    maker=lambda name, it: f"{name}.{camel(it.name)}({', '.join(signature(it.form))})",
    option=lambda it: f"{option_name(it)}: {TYPES[it.type]}",
    field=lambda it: f"{field_name(it)}: {record_type(it)}",
    parameter=named,
    named=camel,
    nothing="`null`",
)
