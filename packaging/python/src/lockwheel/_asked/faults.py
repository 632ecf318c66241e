"""What is asked of a server to make faults: rules, what they do, and whom they hit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Iterable, List, Optional, Sequence, Tuple

from .._options import refuses_unknown_options
from .._resp import Argument, Reply, pairs
from . import Duration, Request, done, items, maybe, milliseconds, named, number, text

__tracebackhide__ = True


@refuses_unknown_options
@dataclass(frozen=True)
class Action:
    """What a rule does. Actions on the request come before it is executed; those on the reply come after."""

    words: Tuple[Argument, ...]

    @classmethod
    def drop_request(cls, close_after: Optional[Duration] = None) -> Action:
        """The request is lost, and all that its connection sends and is sent from there on, until the client closes
        it, or the server cuts it after `close_after`."""
        return cls(("DROPREQUEST", *later("CLOSEAFTER", close_after)))

    @classmethod
    def drop_reply(cls, close_after: Optional[Duration] = None) -> Action:
        """The request is executed, and its reply is lost, as `drop_request` loses the request."""
        return cls(("DROPREPLY", *later("CLOSEAFTER", close_after)))

    @classmethod
    def delay(cls, by: Duration, jitter: Optional[Duration] = None) -> Action:
        """The request is executed so much later, on the monotonic clock, or up to `jitter` sooner or later than that;
        what is behind it waits too."""
        return cls(("DELAY", milliseconds(by), *later("JITTER", jitter)))

    @classmethod
    def delay_reply(cls, by: Duration, jitter: Optional[Duration] = None) -> Action:
        """The request is executed at once and answered so much later, on the monotonic clock, or up to `jitter` sooner
        or later than that."""
        return cls(("DELAYREPLY", milliseconds(by), *later("JITTER", jitter)))

    @classmethod
    def hold(cls) -> Action:
        """The request is executed when `faults.go` says so."""
        return cls(("HOLD",))

    @classmethod
    def hold_reply(cls) -> Action:
        """The request is executed at once and answered when `faults.go` says so."""
        return cls(("HOLDREPLY",))

    @classmethod
    def error(cls, answer: str) -> Action:
        """The request is not executed; this error is its reply."""
        return cls(("ERROR", answer))

    @classmethod
    def reply_null(cls) -> Action:
        """The request is executed and answered by null."""
        return cls(("REPLY", "NULL"))

    @classmethod
    def reply_ok(cls) -> Action:
        """The request is executed and answered by `OK`."""
        return cls(("REPLY", "OK"))

    @classmethod
    def reply_int(cls, answer: int) -> Action:
        """The request is executed and answered by this integer."""
        return cls(("REPLY", "INT", answer))

    @classmethod
    def reply_bulk(cls, answer: Argument) -> Action:
        """The request is executed and answered by this string."""
        return cls(("REPLY", "BULK", answer))

    @classmethod
    def reply_raw(cls, answer: Argument) -> Action:
        """The request is executed, and these bytes are sent, which need not be a reply."""
        return cls(("REPLY", "RAW", answer))

    @classmethod
    def close(cls) -> Action:
        """The connection is cut before the request is executed."""
        return cls(("CLOSE",))

    @classmethod
    def close_after(cls) -> Action:
        """The connection is cut after the request was executed; there is no reply."""
        return cls(("CLOSEAFTER",))

    @classmethod
    def reset(cls) -> Action:
        """As `close`, by a reset of TCP instead of an end of the stream."""
        return cls(("RESET",))

    @classmethod
    def reset_after(cls) -> Action:
        """As `close_after`, by a reset of TCP instead of an end of the stream."""
        return cls(("RESETAFTER",))

    @classmethod
    def slice(cls, length: int, every: Optional[Duration] = None) -> Action:
        """The reply is sent in pieces of so many bytes: one each time that `every` has passed, or else in writes of
        their own."""
        return cls(("SLICE", length, *later("EVERY", every)))

    @classmethod
    def bandwidth(cls, kilobytes: int) -> Action:
        """The reply is sent at so many kilobytes a second."""
        return cls(("BANDWIDTH", kilobytes))

    @classmethod
    def truncate(cls, length: int) -> Action:
        """The reply ends after so many bytes, and the connection is cut."""
        return cls(("TRUNCATE", length))

    @classmethod
    def duplicate(cls) -> Action:
        """The request is executed twice and answered once."""
        return cls(("DUPLICATE",))

    @classmethod
    def lose_publish(cls) -> Action:
        """The request is executed; the messages that it publishes reach nobody, or not the clients that are named."""
        return cls(("LOSEPUBLISH",))

    @classmethod
    def no_script(cls) -> Action:
        """The script that the request names is no longer cached."""
        return cls(("NOSCRIPT",))

    @classmethod
    def expire(cls) -> Action:
        """The keys of the request expire just before it is executed."""
        return cls(("EXPIRE",))

    @classmethod
    def arg_add(cls, index: int, by: int) -> Action:
        """The request is executed with this integer argument changed; 1 is the first behind the command."""
        return cls(("ARG", index, "ADD", by))

    @classmethod
    def time_shift(cls) -> Action:
        """The request is executed with every timestamp among its arguments shifted by the clock's offset."""
        return cls(("TIMESHIFT",))


@refuses_unknown_options
@dataclass(frozen=True)
class Clients:
    """Some clients."""

    words: Tuple[Argument, ...]

    @classmethod
    def id(cls, client: int) -> Clients:
        """One, by its number."""
        return cls((client,))

    @classmethod
    def named(cls, pattern: str) -> Clients:
        """Those with a name like this."""
        return cls(("NAME", pattern))

    @classmethod
    def lib(cls, pattern: str) -> Clients:
        """Those whose library has a name like this, as CLIENT SETINFO told it."""
        return cls(("LIB", pattern))

    @classmethod
    def addr(cls, address: str) -> Clients:
        """Those from this address, with or without a port."""
        return cls(("ADDR", address))

    @classmethod
    def all(cls) -> Clients:
        """All but those that are exempt."""
        return cls(("ALL",))


@dataclass(frozen=True)
class Rule:
    """A rule, and what came of it."""

    name: str
    rule: str
    """Its words behind the name."""
    matched: int
    skipped: int
    hits: int
    """How often it has acted."""
    left: Optional[int]
    """How often it can still act; None: there is no end to it."""
    held: int
    """How many requests or replies it holds."""


def add(
    name: str,
    action: Action,
    on: Optional[str],
    script: Optional[str],
    contains: Optional[str],
    key: Optional[str],
    channel: Optional[str],
    arg: Optional[Tuple[int, Argument]],
    client: Optional[Clients],
    result: Optional[str],
    skip: Optional[int],
    times: Optional[int],
    prob: Optional[float],
) -> Request[None]:
    """FAULT.ADD."""
    if not isinstance(action, Action):
        raise TypeError(f"the action of a rule is one of those that Action makes, not {action!r}")
    about = {"ON": on, "SCRIPT": script, "CONTAINS": contains, "KEY": key, "CHANNEL": channel}
    often = {"RESULT": result, "SKIP": skip, "TIMES": times, "PROB": prob}
    words = [*named(about), *argument(arg), *of(client), *named(often)]
    return Request(("FAULT.ADD", name, *words, "DO", *action.words), done)


def argument(arg: Optional[Tuple[int, Argument]]) -> List[Argument]:
    """That an argument is this."""
    if arg is not None and (isinstance(arg, (str, bytes)) or not isinstance(arg, Sequence)):
        raise TypeError(f"arg is the place of an argument and its value such as (2, 'PX'), not {arg!r}")
    return [] if arg is None else ["ARG", *arg]


def of(client: Optional[Clients]) -> List[Argument]:
    """That a request is from these clients."""
    if client is None:
        return []
    named_clients(client)
    if len(client.words) == 1 and isinstance(client.words[0], int):
        return ["CLIENT", *client.words]
    kinds = {"NAME": "CLIENTNAME", "LIB": "LIB"}
    if client.words[0] not in kinds:
        raise ValueError("a rule names clients by id, name or lib")
    return [kinds[str(client.words[0])], *client.words[1:]]


def named_clients(clients: Clients) -> Tuple[Argument, ...]:
    """The words of clients; TypeError for what are none."""
    if not isinstance(clients, Clients):
        raise TypeError(f"clients are some of those that Clients names, such as Clients.id(3), not {clients!r}")
    return clients.words


def later(word: str, duration: Optional[Duration]) -> List[Argument]:
    """A duration behind its word, if there is one."""
    return [] if duration is None else [word, milliseconds(duration)]


def go(name: str, count: Optional[int]) -> Request[int]:
    """FAULT.GO."""
    return Request(("FAULT.GO", name, *named({"COUNT": count})), number)


def rules() -> Request[List[Rule]]:
    """FAULT.LIST."""
    return Request(("FAULT.LIST",), lambda reply: [rule(entry) for entry in items(reply)])


def rule(reply: Reply) -> Rule:
    """What FAULT.LIST tells of one."""
    fields = pairs(reply)
    return Rule(
        name=text(fields["name"]),
        rule=text(fields["rule"]),
        matched=number(fields["matched"]),
        skipped=number(fields["skipped"]),
        hits=number(fields["hits"]),
        left=maybe(fields["left"], number),
        held=number(fields["held"]),
    )


def remove(name: str) -> Request[bool]:
    """FAULT.DEL."""
    return Request(("FAULT.DEL", name), lambda reply: reply == 1)


def clear() -> Request[int]:
    """FAULT.CLEAR."""
    return Request(("FAULT.CLEAR",), number)


def seed(begin: int) -> Request[None]:
    """FAULT.SEED."""
    return Request(("FAULT.SEED", begin), done)


def freeze_client(clients: Clients, duration: Optional[Duration]) -> Request[int]:
    """FAULT.FREEZECLIENT."""
    lasts: Argument = "FOREVER" if duration is None else milliseconds(duration)
    return Request(("FAULT.FREEZECLIENT", *named_clients(clients), lasts), number)


def thaw_client(clients: Clients) -> Request[int]:
    """FAULT.THAWCLIENT."""
    return Request(("FAULT.THAWCLIENT", *named_clients(clients)), number)


def partition(clients: Clients, direction: str) -> Request[int]:
    """FAULT.PARTITION."""
    return Request(("FAULT.PARTITION", *named_clients(clients), direction), number)


def heal() -> Request[int]:
    """FAULT.HEAL."""
    return Request(("FAULT.HEAL",), number)


def lag(key: Optional[str]) -> Request[None]:
    """FAULT.LAG."""
    return Request(("FAULT.LAG", *named({"KEY": key})), done)


def failover(tokens: bool) -> Request[None]:
    """FAULT.FAILOVER."""
    return Request(("FAULT.FAILOVER", *flags(TOKENS=tokens)), done)


def restart(down: Optional[Duration], keep: bool, tokens: bool) -> Request[None]:
    """FAULT.RESTART."""
    words = [*later("DOWN", down), *flags(KEEP=keep, TOKENS=tokens)]
    return Request(("FAULT.RESTART", *words), done)


def down(server: int, back_after: Optional[Duration], keep: bool) -> Request[None]:
    """FAULT.DOWN."""
    lasts = [] if back_after is None else [milliseconds(back_after)]
    # A server that runs a script without end hears of it by another.
    return Request(("FAULT.DOWN", server, *lasts, *flags(KEEP=keep)), done, avoid=server)


def flags(**given: bool) -> List[Argument]:
    """The words of the flags that are set."""
    return [word for word, is_set in given.items() if is_set]


def up(server: int) -> Request[bool]:
    """FAULT.UP."""
    return Request(("FAULT.UP", server), lambda reply: reply == 1)


def part(servers: Sequence[int], others: Optional[Sequence[int]]) -> Request[int]:
    """FAULT.PARTITION NODES."""
    beside = [] if others is None else ["FROM", places(others)]
    return Request(("FAULT.PARTITION", "NODES", places(servers), *beside), number)


def part_from_clients(servers: Sequence[int], direction: str) -> Request[int]:
    """FAULT.PARTITION NODES, from clients."""
    return Request(("FAULT.PARTITION", "NODES", places(servers), "FROM", "CLIENTS", direction), number)


def places(servers: Sequence[int]) -> str:
    """Places of servers, as a request lists them; TypeError for one place, and for what is none."""
    if isinstance(servers, (str, bytes)) or not isinstance(servers, Iterable):
        raise TypeError(f"servers are a list of their places such as [0, 1], not {servers!r}")
    return ",".join(str(server) for server in servers)


def lag_by(lag: Duration) -> Request[None]:
    """FAULT.LAG, of a topology."""
    return Request(("FAULT.LAG", milliseconds(lag)), done)


def failover_to(replica: int, tokens: bool) -> Request[None]:
    """FAULT.FAILOVER, of a topology."""
    return Request(("FAULT.FAILOVER", replica, *flags(TOKENS=tokens)), done)
