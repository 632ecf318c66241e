"""Faults in what goes between a server and its clients, for tests that block."""

from __future__ import annotations

from typing import Callable, List, Optional, Sequence, Tuple

from ._asked import Ask, Duration, faults
from ._asked.faults import Action, Clients, Rule
from ._options import refuses_unknown_options
from ._resp import Argument

__tracebackhide__ = True


@refuses_unknown_options
class Faults:
    """Makes faults: by rules for single requests, and for whole clients or the whole server. The package's own
    connections are exempt unless `exempt` says otherwise. A reset of the server ends every fault."""

    def __init__(self, ask: Ask, exempt: Callable[[bool], None], prepare: Callable[[], None]) -> None:
        self._ask = ask
        self._exempt = exempt
        self._prepare = prepare

    def add(
        self,
        name: str,
        action: Action,
        *,
        on: Optional[str] = None,
        script: Optional[str] = None,
        contains: Optional[str] = None,
        key: Optional[str] = None,
        channel: Optional[str] = None,
        arg: Optional[Tuple[int, Argument]] = None,
        client: Optional[Clients] = None,
        result: Optional[str] = None,
        skip: Optional[int] = None,
        times: Optional[int] = None,
        prob: Optional[float] = None,
    ) -> None:
        """Adds a rule: requests that match all that is named meet the action. Of several rules the oldest acts.

        A request matches by its command (`on`), its script's digest (`script`) or text (`contains`), patterns of its
        keys and channels, an argument (`arg=(2, "PX")`), its client, and for actions on the reply by its `result`:
        `OK`, `ERROR` or `NIL`. The first `skip` matches pass, after `times` hits the rule rests, and with `prob` the
        seed draws.
        """
        self._ask(
            faults.add(
                name, action, on, script, contains, key, channel, arg, client, result, skip, times, prob
            )
        )

    def go(self, name: str, count: Optional[int] = None) -> int:
        """Lets go on what a rule holds, the oldest first, or so many. How many there were."""
        return self._ask(faults.go(name, count))

    def list(self) -> List[Rule]:
        """The rules, the oldest first."""
        return self._ask(faults.rules())

    def remove(self, name: str) -> bool:
        """Removes a rule, if it is there; what it holds goes on."""
        return self._ask(faults.remove(name))

    def clear(self) -> int:
        """Removes all rules; what they hold goes on. How many there were."""
        return self._ask(faults.clear())

    def seed(self, begin: int) -> None:
        """Draws for `prob` from this seed from now on."""
        self._ask(faults.seed(begin))

    def exempt(self, exempt: bool = True) -> None:
        """Whether rules leave out what `Server.command` sends; they do unless told."""
        self._exempt(exempt)

    def freeze_client(self, clients: Clients, duration: Optional[Duration] = None) -> int:
        """Reads nothing from clients and writes nothing to them, as if their processes stood still: for so long on the
        monotonic clock, or until `thaw_client`. How many there are."""
        return self._ask(faults.freeze_client(clients, duration))

    def thaw_client(self, clients: Clients) -> int:
        """Lets frozen clients go on. How many there are."""
        return self._ask(faults.thaw_client(clients))

    def partition(self, clients: Clients, direction: str = "BOTH") -> int:
        """Cuts clients off, new connections of theirs too: what they send (`IN`), what they are sent (`OUT`), or both.
        How many there are now."""
        self._prepare()
        return self._ask(faults.partition(clients, direction))

    def heal(self) -> int:
        """Ends all partitions. How many there were."""
        return self._ask(faults.heal())

    def lag(self, key: Optional[str] = None) -> None:
        """From now on writes, of keys like this if one is given, reach no replica."""
        self._ask(faults.lag(key))

    def failover(self, *, tokens: bool = False) -> None:
        """A replica takes over: keys are as they were at `lag`, the scripts are gone, every other connection is cut.
        With `tokens` the numbers of grants go back too."""
        self._ask(faults.failover(tokens))

    def restart(
        self, down: Optional[Duration] = None, *, keep: bool = False, tokens: bool = False
    ) -> None:
        """As a restart without persistence: keys, scripts and connections are gone, and nobody is let in for `down`.
        With `keep` the connections alone are gone. With `tokens` the numbers of grants begin anew."""
        self._prepare()
        self._ask(faults.restart(down, keep, tokens))

    # Of members of a topology, each named by its place, from 0.

    def down(self, server: int, back_after: Optional[Duration] = None, *, keep: bool = False) -> None:
        """Kills a server as if its process had ended: its clients and links are cut, its data is gone, and nobody is
        let in for so long, or until `up`. With `keep` it comes back with its data."""
        self._ask(faults.down(server, back_after, keep))

    def up(self, server: int) -> bool:
        """Lets a server that was killed come back. Whether it was down."""
        return self._ask(faults.up(server))

    def part(self, servers: Sequence[int], others: Optional[Sequence[int]] = None) -> int:
        """Cuts servers off from these others, or from all, until `heal`. How many connections between them that
        holds."""
        return self._ask(faults.part(servers, others))

    def part_from_clients(self, servers: Sequence[int], direction: str = "BOTH") -> int:
        """Cuts servers off from their clients, new ones included, until `heal`. How many there are now."""
        self._prepare()
        return self._ask(faults.part_from_clients(servers, direction))

    def lag_by(self, lag: Duration) -> None:
        """From now on replicas are told everything so much later, on the clock that all share."""
        self._ask(faults.lag_by(lag))

    def failover_to(self, replica: int, *, tokens: bool = False) -> None:
        """A replica takes over with what it has; clients of its master are cut, and that follows it."""
        self._ask(faults.failover_to(replica, tokens))
