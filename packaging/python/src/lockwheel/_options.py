"""The refusal of options that a method does not have, with the nearest that it has."""

from __future__ import annotations

import functools
import inspect
from typing import Any, Callable, Type, TypeVar

from ._nearest import no_option
from ._server_options import ServerOptions

__tracebackhide__ = True

C = TypeVar("C")


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
