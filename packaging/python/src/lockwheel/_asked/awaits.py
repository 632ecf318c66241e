"""What is asked of a server to wait for a state."""

from __future__ import annotations

from typing import List, Optional

from .._errors import AwaitTimeoutError
from .._resp import Argument
from . import Duration, Request, T, maybe, milliseconds, named, number, within

__tracebackhide__ = True


def counted(count: int, exact: bool, atmost: bool) -> List[Argument]:
    """So many: at least, exactly or at most."""
    if exact and atmost:
        raise ValueError("a number is either exact or atmost")
    return [count, *(["EXACT"] if exact else []), *(["ATMOST"] if atmost else [])]


def blocked(count: int, key: Optional[str], exact: bool, atmost: bool, limit: Optional[Duration]) -> Request[Optional[int]]:
    """AWAIT.BLOCKED."""
    return awaited("BLOCKED", *counted(count, exact, atmost), *named({"KEY": key}), *within(limit))


def waiters(key: str, count: int, exact: bool, atmost: bool, limit: Optional[Duration]) -> Request[Optional[int]]:
    """AWAIT.WAITERS."""
    return awaited("WAITERS", key, *counted(count, exact, atmost), *within(limit))


def subscribers(channel: str, count: int, exact: bool, atmost: bool, limit: Optional[Duration]) -> Request[Optional[int]]:
    """AWAIT.SUBSCRIBERS."""
    return awaited("SUBSCRIBERS", channel, *counted(count, exact, atmost), *within(limit))


def clients(count: int, name: Optional[str], exact: bool, atmost: bool, limit: Optional[Duration]) -> Request[Optional[int]]:
    """AWAIT.CLIENTS."""
    return awaited("CLIENTS", *counted(count, exact, atmost), *named({"NAME": name}), *within(limit))


def key_state(key: str, state: str, limit: Optional[Duration]) -> Request[Optional[int]]:
    """AWAIT.KEY; the state is EXISTS, GONE or a type, as TYPE names it."""
    if not isinstance(state, str):
        raise TypeError(f"the state of a key is a word such as 'EXISTS', not {state!r}")
    wanted: List[Argument] = [state] if state.upper() in ("EXISTS", "GONE") else ["TYPE", state]
    return awaited("KEY", key, *wanted, *within(limit))


def calls(command: str, count: int, key: Optional[str], limit: Optional[Duration]) -> Request[Optional[int]]:
    """AWAIT.CALLS."""
    return awaited("CALLS", command, count, *named({"KEY": key}), *within(limit))


def idle(quiet: Duration, name: Optional[str], limit: Optional[Duration]) -> Request[Optional[int]]:
    """AWAIT.IDLE."""
    return awaited("IDLE", milliseconds(quiet), *named({"NAME": name}), *within(limit))


def event(
    event: str,
    key: Optional[str],
    owner: Optional[str],
    since: Optional[int],
    count: Optional[int],
    limit: Optional[Duration],
) -> Request[Optional[int]]:
    """AWAIT.EVENT."""
    options = named({"KEY": key, "OWNER": owner, "SINCE": since, "COUNT": count})
    return awaited("EVENT", event, *options, *within(limit))


def fault(name: str, count: int, limit: Optional[Duration]) -> Request[Optional[int]]:
    """AWAIT.FAULT."""
    return awaited("FAULT", name, count, *within(limit))


def held(name: str, count: int, limit: Optional[Duration]) -> Request[Optional[int]]:
    """AWAIT.HELD."""
    return awaited("HELD", name, count, *within(limit))


def awaited(verb: str, *arguments: Argument) -> Request[Optional[int]]:
    """What answers an integer when the state is there, and null at the limit."""
    return Request((f"AWAIT.{verb}", *arguments), lambda reply: maybe(reply, number), is_wait=True)


def not_in_time(request: Request[T], report: str) -> AwaitTimeoutError:
    """What is raised when a state did not come, with the server's report."""
    return AwaitTimeoutError(f"{' '.join(map(str, request.arguments))}: not within the limit\n{report}")
