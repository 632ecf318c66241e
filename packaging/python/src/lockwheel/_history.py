"""What happened to the locks of a server, for tests that block."""

from __future__ import annotations

from typing import Optional

from ._asked import Ask, history
from ._asked.history import Entries
from ._options import refuses_unknown_options

__tracebackhide__ = True


@refuses_unknown_options
class History:
    """What happened to locks, whoever took them: `Server` starts its servers with `lock-history yes`. Patterns choose
    keys and owners, `since` what came after an entry, `count` no more than so many."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    def entries(
        self,
        *,
        key: Optional[str] = None,
        owner: Optional[str] = None,
        since: Optional[int] = None,
        count: Optional[int] = None,
    ) -> Entries:
        """The entries, the oldest first."""
        return self._ask(history.entries(key, owner, since, count))

    def json(
        self,
        *,
        key: Optional[str] = None,
        owner: Optional[str] = None,
        since: Optional[int] = None,
        count: Optional[int] = None,
    ) -> str:
        """The same as JSON."""
        return self._ask(history.formatted("JSON", key, owner, since, count))

    def edn(
        self,
        *,
        key: Optional[str] = None,
        owner: Optional[str] = None,
        since: Optional[int] = None,
        count: Optional[int] = None,
    ) -> str:
        """The operations on locks as EDN, as Jepsen's checkers read them."""
        return self._ask(history.formatted("EDN", key, owner, since, count))

    def mark(self, line: str) -> None:
        """Writes a line of the test's own."""
        self._ask(history.mark(line))

    def observe(self, pattern: str) -> None:
        """Keys like this are locks too."""
        self._ask(history.observe(pattern))

    def unobserve(self, pattern: str) -> None:
        """They are no longer, for this pattern of `observe`."""
        self._ask(history.unobserve(pattern))

    def enter(self, key: str, owner: str, *, token: Optional[int] = None) -> None:
        """Declares that an owner is now in the section that a lock protects: two there at once are a violation."""
        self._ask(history.enter(key, owner, token))

    def leave(self, key: str, owner: str) -> bool:
        """Declares that an owner has left it; whether it was there."""
        return self._ask(history.leave(key, owner))
