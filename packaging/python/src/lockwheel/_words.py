"""The words of requests, and the readers of replies, which the generated methods use."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Callable, ClassVar, Dict, Generic, Iterable, List, Optional, Sequence, Tuple, Type, TypeVar, Union, overload

from ._nearest import not_one_of
from ._resp import Argument, Reply, pairs

__tracebackhide__ = True

T = TypeVar("T")
Duration = Union[timedelta, int, float]
"""A `timedelta`, or seconds; whole milliseconds."""

Part = Union[None, Argument, Sequence[Argument], Tuple[str, Union[None, bool, Argument, Sequence[Argument]]]]
"""A word, some words, or an option: its word and its value. None, and an option without a value, is left out."""

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
MILLISECOND = timedelta(milliseconds=1)


@dataclass(frozen=True)
class Request(Generic[T]):
    """A request, and the reader of its reply."""

    arguments: Tuple[Argument, ...]
    read: Callable[[Reply], T]
    avoid: Optional[int] = None
    """The place of the server that is asked last."""
    is_wait: bool = False
    """Whether it only waits: it may be asked again when its server was killed."""
    is_own: bool = False
    """Whether it goes over the connection of a test's own commands, so that faults meet it."""


def words(parts: Iterable[Part]) -> Tuple[Argument, ...]:
    """The words of a request."""
    found: List[Argument] = []
    for part in parts:
        if isinstance(part, tuple) and len(part) == 2 and isinstance(part[0], str):
            value = part[1]
            if value is None or value is False:
                continue
            found.append(part[0])
            part = None if value is True else value
        if isinstance(part, (str, bytes, int, float)):
            found.append(part)
        elif part is not None:
            found.extend(part)
    return tuple(found)


@overload
def ms(duration: Duration) -> int: ...
@overload
def ms(duration: Optional[Duration]) -> Optional[int]: ...
def ms(duration: Optional[Duration]) -> Optional[int]:
    """Whole milliseconds; ValueError for what is not, TypeError for what is no duration."""
    if duration is None:
        return None
    if isinstance(duration, timedelta):
        whole, rest = divmod(duration, MILLISECOND)
        if rest:
            raise ValueError(f"{duration!r}: not whole milliseconds")
        return whole
    if not isinstance(duration, (int, float)):
        raise TypeError(f"a duration is seconds or a timedelta, not {duration!r}")
    exact = duration * 1000
    # The sum of two floats, such as 0.1 + 0.2, is close to whole milliseconds.
    if not math.isfinite(exact) or abs(exact - round(exact)) > min(1e-3, 1e-9 * abs(exact)):
        raise ValueError(f"{duration!r} s: not whole milliseconds")
    return round(exact)


def whole_seconds(duration: Duration) -> int:
    """Whole seconds; ValueError for what is not."""
    seconds, rest = divmod(ms(duration), 1000)
    if rest:
        raise ValueError(f"{duration!r}: not whole seconds")
    return seconds


def since_epoch(instant: datetime) -> int:
    """Milliseconds since the epoch; ValueError for an instant without time zone, or finer than milliseconds; TypeError
    for what is no instant."""
    if not isinstance(instant, datetime):
        raise TypeError(f"an instant is a datetime with a time zone, not {instant!r}")
    if instant.tzinfo is None:
        raise ValueError(f"{instant!r}: without a time zone this is no instant")
    return ms(instant - EPOCH)


def one_of(name: str, given: Optional[str], *known: str) -> Optional[str]:
    """One of these words, in any case; ValueError for another one, TypeError for what is no word."""
    if given is None:
        return None
    if not isinstance(given, str):
        raise TypeError(f"{name} is a word such as {known[0]!r}, not {given!r}")
    if given.upper() not in map(str.upper, known):
        raise ValueError(not_one_of(name, given, list(known)))
    return given.upper()


def either(**flags: bool) -> None:
    """ValueError if more than one of these options is set."""
    given = [name for name, is_set in flags.items() if is_set]
    if len(given) > 1:
        raise ValueError(f"either {' or '.join(given)} may be set, not both")


def state_of_key(state: str) -> Sequence[Argument]:
    """The state of a key, as AWAIT.KEY takes it; TypeError for what is no word."""
    if not isinstance(state, str):
        raise TypeError(f"the state of a key is a word such as 'EXISTS', not {state!r}")
    return [state] if state.upper() in ("EXISTS", "GONE") else ["TYPE", state]


def listed(what: str, values: Optional[Iterable[T]]) -> Optional[List[T]]:
    """Several values; TypeError for a single one."""
    if values is None:
        return None
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise TypeError(f"{what}, not {values!r}")
    return list(values)


def places(servers: Optional[Sequence[int]]) -> Optional[str]:
    """Places of servers, as a request lists them."""
    told = listed("servers are a list of their places such as [0, 1]", servers)
    return None if told is None else ",".join(map(str, told))


def texts(name: str, values: Optional[Sequence[str]]) -> Optional[List[str]]:
    """Several texts."""
    return listed(f"{name} are a list of texts", values)


def counted(name: str, values: Sequence[str]) -> List[Argument]:
    """Several texts behind their number."""
    told = texts(name, values) or []
    return [len(told), *told]


def argument_is(arg: Optional[Tuple[int, Argument]]) -> Optional[List[Argument]]:
    """That an argument has a value."""
    told = listed("arg is the place of an argument and its value such as (2, 'PX')", arg)
    return None if told is None else ["ARG", *told]


def at(reply: Reply) -> datetime:
    """An instant in UTC."""
    return EPOCH + number(reply) * MILLISECOND


def span(reply: Reply) -> timedelta:
    """A duration."""
    return number(reply) * MILLISECOND


def time_left(reply: Reply) -> Optional[timedelta]:
    """A duration in the form of PTTL; None if there is no end."""
    return None if reply is None or number(reply) < 0 else span(reply)


def number(reply: Reply) -> int:
    """An integer; a cursor is one in a text."""
    if isinstance(reply, str):
        return int(reply)
    if isinstance(reply, int):
        return reply
    raise TypeError(f"not an integer: {reply!r}")


def decimal(reply: Reply) -> float:
    """A number."""
    if isinstance(reply, (int, float, str)):
        return float(reply)
    raise TypeError(f"not a number: {reply!r}")


def string(reply: Reply) -> str:
    """A text. The number of a client, where a key may stand, becomes one."""
    if isinstance(reply, (str, int)):
        return str(reply)
    raise TypeError(f"not a string: {reply!r}")


def flag(reply: Reply) -> bool:
    """1 or 0."""
    return bool(reply)


def done(reply: Reply) -> None:
    """A reply that says no more than that it is done."""


def maybe(reply: Reply, read: Callable[[Reply], T]) -> Optional[T]:
    """What may be null."""
    return None if reply is None else read(reply)


def items(reply: Reply) -> List[Reply]:
    """The elements of an array."""
    if isinstance(reply, list):
        return reply
    raise TypeError(f"not an array: {reply!r}")


def many(read: Callable[[Reply], T]) -> Callable[[Reply], Tuple[T, ...]]:
    """The reader of an array that may be absent."""
    return lambda reply: () if reply is None else tuple(map(read, items(reply)))


def optional(read: Callable[[Reply], T]) -> Callable[[Reply], Optional[T]]:
    """The reader of a reply that may be null."""
    return lambda reply: maybe(reply, read)


def several(read: Callable[[Reply], T]) -> Callable[[Reply], List[T]]:
    """The reader of an array."""
    return lambda reply: [read(each) for each in items(reply)]


def by_name(read: Callable[[Reply], T]) -> Callable[[Reply], Dict[str, T]]:
    """The reader of a map."""
    return lambda reply: {string(name): read(each) for name, each in pairs(reply).items()}  # type: ignore[arg-type]


R = TypeVar("R", bound="Record")


class Record:
    """A result: its fields say how they are read."""

    has_positions: ClassVar[bool] = False
    """Whether the fields are told apart by their positions."""

    @classmethod
    def read(cls: Type[R], reply: Reply) -> R:
        """Reads a reply."""
        all_ = dataclasses.fields(cls)  # type: ignore[arg-type]
        told = dict(zip([it.name for it in all_], items(reply))) if cls.has_positions else pairs(reply)
        return cls(**{it.name: it.metadata["read"](told.get(it.metadata["name"] or it.name)) for it in all_})


def of(read: Callable[[Reply], T], name: str = "") -> T:
    """A field of a result: its reader, and its name in the reply if it differs."""
    declared: T = dataclasses.field(metadata={"read": read, "name": name})
    return declared
