"""The refusal of options that a method does not have, with the nearest that it has."""

from __future__ import annotations

import functools
import inspect
import re
from typing import Any, Callable, Iterable, List, Type, TypeVar

from ._server_options import ServerOptions

__tracebackhide__ = True

C = TypeVar("C")

MEANT = {
    **dict.fromkeys(("timeout", "within", "wait"), ("limit_seconds",)),
    **dict.fromkeys(("command", "cmd"), ("on",)),
    **dict.fromkeys(("at_most", "max"), ("atmost",)),
    "clients": ("client",),
    "count": ("times",),
    "exactly": ("exact",),
}
"""Names of other libraries, and what they mean here."""

NEAR = 2
"""The most edits between two words of which one may be meant for the other."""


def refuses_unknown_options(cls: Type[C]) -> Type[C]:
    """Makes the public methods of a class refuse options that they do not have, by a TypeError."""
    for name, member in list(vars(cls).items()):
        shown = cls.__name__ if name == "__init__" else name
        if isinstance(member, classmethod):
            setattr(cls, name, classmethod(checked(f"{cls.__name__}.{name}", member.__func__)))
        elif inspect.isfunction(member) and not shown.startswith("_"):
            setattr(cls, name, checked(shown, member))
    return cls


def checked(shown: str, method: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the function with a check of the names of its options; `shown` is its name in a refusal."""
    parameters = list(inspect.signature(method).parameters.values())[1:]
    names = {each.name for each in parameters}
    options = [each.name for each in parameters if each.default is not each.empty]
    if any(each.kind is each.VAR_KEYWORD for each in parameters):
        # The options of a server are those of a type.
        options = list(ServerOptions.__annotations__)
        names.update(options)
    if not options:
        return method

    @functools.wraps(method)
    def refusing(*arguments: Any, **given: Any) -> Any:
        for word in given:
            if word not in names:
                raise TypeError(no_option(shown, word, options))
        return method(*arguments, **given)

    return refusing


def no_option(shown: str, word: str, options: List[str]) -> str:
    """The refusal of an option: its name, the nearest one, and all that there are."""
    return f"{shown} has no option '{word}'{perhaps(word, options) or '.'} It has {', '.join(options)}"


def not_one_of(what: str, word: str, known: List[str]) -> str:
    """The refusal of a word that is not known."""
    return f"{what} is one of {', '.join(known)}, not '{word}'{perhaps(str(word), known)}"


def perhaps(word: str, known: Iterable[str]) -> str:
    """Asks whether the nearest of the known words was meant; empty if no word is near."""
    names = list(known)
    meant: List[str] = [name for name in MEANT.get(word.lower(), ()) if name in names]
    # A duration has its unit behind its name.
    near = [(edits(word.lower(), re.sub("_seconds$", "", name.lower())), name) for name in names]
    near += [(edits(word.lower(), name.lower()), name) for name in names]
    near = [(distance, name) for distance, name in near if distance <= NEAR and distance < len(word)]
    nearest = meant[:1] or [name for _, name in sorted(near, key=lambda each: each[0])][:1]
    return f"; did you mean '{nearest[0]}'?" if nearest else ""


def edits(one: str, other: str) -> int:
    """The number of letters to insert, delete or replace to make one word the other."""
    row = list(range(len(other) + 1))
    for index, letter in enumerate(one, 1):
        above, row = row, [index]
        for at, wanted in enumerate(other, 1):
            row.append(min(above[at] + 1, row[-1] + 1, above[at - 1] + (letter != wanted)))
    return row[-1]
