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
        """Adds a rule: the action acts on requests that match all conditions. If several rules match, the oldest acts.

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
        """Releases what a rule holds, oldest first, at most `count` of it. Returns the number released."""
        return self._ask(faults.go(name, count))

    def list(self) -> List[Rule]:
        """Returns the rules, oldest first."""
        return self._ask(faults.rules())

    def remove(self, name: str) -> bool:
        """Removes a rule and releases what it holds. Returns whether the rule existed."""
        return self._ask(faults.remove(name))

    def clear(self) -> int:
        """Removes all rules and releases what they hold. Returns the number of rules."""
        return self._ask(faults.clear())

    def seed(self, begin: int) -> None:
        """Sets the seed of the draws for `prob`."""
        self._ask(faults.seed(begin))

    def exempt(self, exempt: bool = True) -> None:
        """Sets whether rules ignore the requests of `Server.command`. By default they do."""
        self._exempt(exempt)

    def freeze_client(self, clients: Clients, duration: Optional[Duration] = None) -> int:
        """Freezes clients: the server reads nothing from them and writes nothing to them. This lasts for `duration` on
        the monotonic clock, or until `thaw_client`. Returns the number of clients."""
        return self._ask(faults.freeze_client(clients, duration))

    def thaw_client(self, clients: Clients) -> int:
        """Thaws frozen clients. Returns their number."""
        return self._ask(faults.thaw_client(clients))

    def partition(self, clients: Clients, direction: str = "BOTH") -> int:
        """Cuts clients off, including their new connections: their requests (`IN`), what the server sends them (`OUT`),
        or both. Returns the present number of clients."""
        self._prepare()
        return self._ask(faults.partition(clients, direction))

    def heal(self) -> int:
        """Ends all partitions. Returns their number."""
        return self._ask(faults.heal())

    def lag(self, key: Optional[str] = None) -> None:
        """Stops the replication of later writes, or of those to keys that match `key`."""
        self._ask(faults.lag(key))

    def failover(self, *, tokens: bool = False) -> None:
        """Simulates a failover: restores the keys as at `lag`, forgets the scripts, and cuts all other connections.
        With `tokens`, grant numbers start anew."""
        self._ask(faults.failover(tokens))

    def restart(
        self, down: Optional[Duration] = None, *, keep: bool = False, tokens: bool = False
    ) -> None:
        """Simulates a restart without persistence: drops keys, scripts and connections, and refuses connections for
        `down`. With `keep`, it drops only the connections. With `tokens`, grant numbers start anew."""
        self._prepare()
        self._ask(faults.restart(down, keep, tokens))

    # Faults of the servers of a topology. The servers are numbered from 0.

    def down(self, server: int, back_after: Optional[Duration] = None, *, keep: bool = False) -> None:
        """Kills a server: cuts its clients and links, drops its data, and refuses connections for `back_after`, or
        until `up`. With `keep`, the server comes back with its data."""
        self._ask(faults.down(server, back_after, keep))

    def up(self, server: int) -> bool:
        """Brings a killed server back. Returns whether the server was down."""
        return self._ask(faults.up(server))

    def part(self, servers: Sequence[int], others: Optional[Sequence[int]] = None) -> int:
        """Cuts servers off from these others, or from all others, until `heal`. Returns the number of connections
        that are held."""
        return self._ask(faults.part(servers, others))

    def part_from_clients(self, servers: Sequence[int], direction: str = "BOTH") -> int:
        """Cuts servers off from their clients, including new ones, until `heal`. Returns the number of clients."""
        self._prepare()
        return self._ask(faults.part_from_clients(servers, direction))

    def lag_by(self, lag: Duration) -> None:
        """Delays replication by `lag` on the clock that all servers share."""
        self._ask(faults.lag_by(lag))

    def failover_to(self, replica: int, *, tokens: bool = False) -> None:
        """Makes a replica the master, with the data that it has. Cuts the clients of the old master, which then
        follows the new one."""
        self._ask(faults.failover_to(replica, tokens))
