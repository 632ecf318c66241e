"""The Python package: types, and the methods for tests that block and for asyncio."""

from __future__ import annotations

from typing import Dict, Iterator, List

from . import pages
from .model import Api, Field, Form, Group, Maker, Method, Option, Parameter, Part, Record
from .text import GENERATED, WIDTH, call, described, joined, pascal, sentence, wrapped

FOLDER = "packaging/python/src/lockwheel/"

TYPES = {
    "text": "str", "integer": "int", "number": "float", "flag": "bool", "duration": "Duration", "instant": "datetime",
    "texts": "Sequence[str]", "keys": "Sequence[str]", "servers": "Sequence[int]", "clients": "Clients",
    "rule_clients": "Clients", "action": "Action", "argument": "Tuple[int, Argument]", "choice": "str",
    "state": "str", "bytes": "Argument", "bulk": "Argument", "time": "Union[str, datetime]", "level": "str",
}

RESULTS = {
    "text": ("str", "text"), "integer": ("int", "number"), "number": ("float", "decimal"), "flag": ("bool", "flag"),
    "instant": ("datetime", "at"), "duration": ("timedelta", "span"), "ttl": ("Optional[timedelta]", "time_left"),
    "ok": ("None", "done"),
}

BASES = {"faults": "FaultGroup"}
OWN = ("locks", "semaphores", "latches", "rates")
ATTRIBUTES = {"await": "await_"}


def files(api: Api) -> Dict[str, str]:
    """The files of the package, by their paths."""
    return {
        f"{FOLDER}_types.py": joined(types(api)),
        f"{FOLDER}_server_options.py": joined(options(api.options)),
        f"{FOLDER}_methods.py": joined(methods(api, False)),
        f"{FOLDER}aio/_methods.py": joined(methods(api, True)),
        **pages.page(api, PAGE),
    }


def named(parameter: Parameter) -> str:
    """The name of a parameter: that of a duration says the unit."""
    if parameter.type != "duration":
        return parameter.name
    return "seconds" if parameter.name in ("by", "duration") else f"{parameter.name}_seconds"


def option_name(option: Option) -> str:
    """The name of an option of the server."""
    return f"{option.name}_seconds" if option.type == "duration" else option.name


def declared(parameter: Parameter) -> str:
    """A parameter in a signature."""
    name, type_ = named(parameter), TYPES[parameter.type]
    if parameter.is_required:
        return f"{name}: {type_}"
    if parameter.type == "flag":
        return f"{name}: bool = False"
    if parameter.default is not None:
        return f"{name}: {type_} = {parameter.default!r}"
    return f"{name}: Optional[{type_}] = None"


def signature(form: Form) -> List[str]:
    """The parameters of a method behind `self`."""
    options = [declared(it) for it in form.options]
    return [*(declared(it) for it in form.leading), *(["*", *options] if options else [])]


def value(parameter: Parameter) -> str:
    """The expression of a parameter's words."""
    name = named(parameter)
    if parameter.type == "duration":
        return f"whole_seconds({name})" if parameter.unit == "s" else f"ms({name})"
    if parameter.type == "choice":
        known = ", ".join(f'"{word}"' for word in parameter.choices)
        return f'one_of("{name}", {name}, {known})'
    functions = {
        "instant": f"since_epoch({name})", "servers": f"places({name})", "texts": f'texts("{name}", {name})',
        "keys": f'counted("{name}", {name})', "argument": f"argument_is({name})", "state": f"state_of_key({name})",
        "clients": f"clients_of({name})", "rule_clients": f"clients_of_rule({name})",
        "action": f"action_of({name})",
    }
    return functions.get(parameter.type, name)


def word(part: Part) -> str:
    """The expression of a part of a request."""
    if part.parameter is None:
        return f'"{part.word}"'
    if part.otherwise:
        return f'"{part.otherwise}" if {named(part.parameter)} is None else {value(part.parameter)}'
    if part.word and part.parameter.is_required:
        return f'"{part.word}", {value(part.parameter)}'
    return f'("{part.word}", {value(part.parameter)})' if part.word else value(part.parameter)


def result(type_: str) -> List[str]:
    """The type of a result, and its reader."""
    base = type_.rstrip("?*%")
    of, read = RESULTS.get(base, (base, f"{base}.read"))
    if type_.endswith("?"):
        return [f"Optional[{of}]", f"optional({read})"]
    if type_.endswith("*"):
        return [f"List[{of}]", f"several({read})"]
    if type_.endswith("%"):
        return [f"Dict[str, {of}]", f"by_name({read})"]
    return [of, read]


def types(api: Api) -> Iterator[str]:
    """The module of the types."""
    yield f'"""The types of results, actions, clients and options.\n\n{GENERATED}\n"""\n'
    yield HEAD_OF_TYPES
    names = ", ".join(f'"{name}"' for name in ["Action", "Clients", *(it.name for it in api.records)])
    yield wrapped(f"__all__ = [{names}]", "    ")[4:] + "\n\n"
    yield from makers("Action", api.actions, ACTION)
    yield from makers("Clients", api.clients, CLIENTS)
    for record in ordered(api):
        yield from record_class(record)


def ordered(api: Api) -> List[Record]:
    """The records, each behind those of its fields."""
    found: List[Record] = []

    def add(record: Record) -> None:
        for inner in filter(None, (api.record(field.base) for field in record.fields)):
            add(inner)
        if record not in found:
            found.append(record)

    for record in api.records:
        add(record)
    return found


def makers(name: str, all_: List[Maker], head: str) -> Iterator[str]:
    """A class with a constructor for each form."""
    yield head
    for maker in all_:
        parameters = signature(maker.form)
        yield ""
        yield "    @classmethod"
        yield call(f"def {maker.name}", ["cls", *parameters], f" -> {name}:", "    ")
        about = " ".join([maker.about, *described(maker.form.options, named)])
        yield wrapped(f'"""{about}"""', "        ")
        parts = [f"words([{', '.join(word(part) for part in maker.form.words)}])"]
        if maker.rule is not None:
            parts.append(f"words([{', '.join(word(part) for part in maker.rule.words)}])")
        yield call("return cls", parts, "", "        ")
    yield "\n"


def record_class(record: Record) -> Iterator[str]:
    """The class of a result."""
    yield "@dataclass(frozen=True)"
    yield f"class {record.name}(Record):"
    yield f'    """{record.about}"""\n'
    if record.has_positions:
        yield "    has_positions = True"
    for field in record.fields:
        line = f"    {field.name}: {field_type(field)} = {field_reader(field)}"
        yield f"{line}  # {field.about}" if len(f"{line}  # {field.about}") <= WIDTH else f"    # {field.about}\n{line}"
    yield "\n"


def field_type(field: Field) -> str:
    """The type of a field."""
    of = RESULTS.get(field.base, (field.base, ""))[0]
    if field.is_list:
        return f"Tuple[{of}, ...]"
    return f"Optional[{of}]" if field.type.endswith("?") else of


def field_reader(field: Field) -> str:
    """The declaration of the reader of a field."""
    read = RESULTS.get(field.base, ("", f"{field.base}.read"))[1]
    read = f"many({read})" if field.is_list else f"optional({read})" if field.type.endswith("?") else read
    return f'of({read}, "{field.wire}")' if field.wire != field.name else f"of({read})"


def options(all_: List[Option]) -> Iterator[str]:
    """The module of the options of a server."""
    yield f'"""The options of a server.\n\n{GENERATED}\n"""\n'
    yield HEAD_OF_OPTIONS
    yield "class ServerOptions(TypedDict, total=False):"
    yield '    """The options of a server."""\n'
    for option in all_:
        type_ = f"Optional[{TYPES[option.type]}]" if option.name in ("binary", "topology") else TYPES[option.type]
        yield f"    {option_name(option)}: {type_}"
        yield wrapped(f'"""{option.about}"""', "    ")
    yield "\n"
    yield "PARAMETERS = {"
    for option in (option for option in all_ if option.parameter):
        yield f'    "{option_name(option)}": "{option.parameter}",'
    yield "}"
    yield '"""The parameters of the program for the options that the package passes on."""'


def methods(api: Api, is_async: bool) -> Iterator[str]:
    """The module of the methods."""
    kind = "for asyncio" if is_async else "for tests that block"
    yield f'"""The methods of a server, {kind}.\n\n{GENERATED}\n"""\n'
    yield HEAD_OF_METHODS.replace("from ._", "from .._").replace(".._group", "._group") if is_async else HEAD_OF_METHODS
    for group in api.groups:
        yield from group_class(group, is_async)
    yield from server_class(api, is_async)


def class_name(group: Group) -> str:
    """The name of the class of a group."""
    return pascal(group.name)


def group_class(group: Group, is_async: bool) -> Iterator[str]:
    """The class of a group."""
    if group.name == "server":
        return
    yield "@refuses_unknown_options"
    yield f"class {class_name(group)}({BASES.get(group.name, 'Group')}):"
    yield wrapped(f'"""{group.about}"""', "    ")
    if group.name in OWN:
        yield "\n    _is_own = True"
    for method in group.methods:
        yield from method_lines(method, is_async)
    yield "\n"


def method_lines(method: Method, is_async: bool) -> Iterator[str]:
    """A method."""
    type_, read = result(method.gives)
    start, wait = ("async def", "await ") if is_async else ("def", "")
    yield ""
    yield call(f"{start} {method.name}", ["self", *signature(method.form)], f" -> {type_}:", "    ")
    about = sentence(method, lambda name: name, "None")
    if not is_async:
        about = " ".join([about, *described(method.form.parameters, named)])
    yield wrapped(f'"""{about}"""', "        ")
    flags = [it.name for it in method.form.options if it.name in ("exact", "atmost")]
    if flags:
        yield f"        either({', '.join(f'{name}={name}' for name in flags)})"
    parts = [f'"{method.command}"', *(word(part) for part in method.form.words)]
    parts += [f"avoid={method.avoids}"] if method.avoids else []
    parts += ["prepares=True"] if method.prepares else []
    returns = "" if method.gives == "ok" else "return "
    if method.is_wait:
        yield call(f"{returns}{wait}self._until", parts, "", "        ")
    else:
        yield call(f"{returns}{wait}self._ask", [read, *parts], "", "        ")


def server_class(api: Api, is_async: bool) -> Iterator[str]:
    """The base of the server, with its groups."""
    groups = [group for group in api.groups if group.name != "server"]
    yield "@refuses_unknown_options"
    yield "class ServerMethods(Steering, Group):"
    yield '    """The groups of methods of a server."""\n'
    yield "    def __init__(self) -> None:"
    yield "        Group.__init__(self, self)"
    for group in groups:
        attribute = ATTRIBUTES.get(group.name, group.name)
        yield f"        self.{attribute} = {class_name(group)}(self)"
        yield f'        """{first_sentence(group.about)}"""'
    for group in api.groups:
        if group.name == "server":
            for method in group.methods:
                yield from method_lines(method, is_async)


def first_sentence(text: str) -> str:
    """The first sentence of a text, without what follows a colon."""
    return text.split(". ")[0].split(":")[0].rstrip(".") + "."


HEAD_OF_OPTIONS = """\
from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Optional, Sequence, TypedDict, Union

if TYPE_CHECKING:
    from ._words import Duration

"""

HEAD_OF_TYPES = """\
from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Optional, Tuple

from ._options import refuses_unknown_options
from ._resp import Argument
from ._words import Duration, Record, at, decimal, flag, many, ms, number, of, optional, span, text, time_left, words

__tracebackhide__ = True

"""

ACTION = '''\
@refuses_unknown_options
@dataclass(frozen=True)
class Action:
    """The action of a rule. An action on the request comes before it is executed, and one on the reply after."""

    words: Tuple[Argument, ...]'''

CLIENTS = '''\
@refuses_unknown_options
@dataclass(frozen=True)
class Clients:
    """Some clients."""

    words: Tuple[Argument, ...]
    rule: Tuple[Argument, ...] = ()
    """The words that name them in a rule; none if a rule cannot name them."""'''

HEAD_OF_METHODS = """\
from __future__ import annotations

from datetime import datetime
from typing import Dict, List, Optional, Sequence, Tuple

from ._group import FaultGroup, Group, Steering
from ._options import refuses_unknown_options
from ._resp import Argument
from ._kinds import action_of, clients_of, clients_of_rule
from ._types import (
    Action, Clients, ClockAdvance, ClockInfo, Entries, Fence, Grant, Grants, LatchOpening, LockGraph, LockInfo, LockPage,
    LockStats, Permits, RateDecision, Rule, SemaphoreInfo, ThrottleDecision, Verdict
)
from ._words import (
    Duration, argument_is, at, by_name, counted, done, either, flag, ms, number, one_of, optional, places, several,
    since_epoch, state_of_key, text, texts, whole_seconds
)

__tracebackhide__ = True

"""

PAGE = pages.Language(
    name="Python",
    path="python",
    start="python",
    units="Durations are a `timedelta` or seconds. In `lockwheel.aio`, every method is awaited.",
    group=lambda group: "server" if group.name == "server" else f"server.{ATTRIBUTES.get(group.name, group.name)}",
    method=lambda it: f"{it.name}({', '.join(signature(it.form))}) -> {result(it.gives)[0]}",
    maker=lambda name, it: f"{name}.{it.name}({', '.join(signature(it.form))})",
    option=lambda it: f"{option_name(it)}: {TYPES[it.type]}",
    field=lambda it: f"{it.name}: {field_type(it)}",
    parameter=named,
    named=lambda name: name,
    nothing="`None`",
)
