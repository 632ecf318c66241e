"""The words of actions and clients; TypeError for what is neither."""

from __future__ import annotations

from typing import Optional, Sequence

from ._resp import Argument
from ._types import Action, Clients

__tracebackhide__ = True


def action_of(action: Action) -> Sequence[Argument]:
    """The words of an action."""
    if not isinstance(action, Action):
        raise TypeError(f"the action of a rule is one of those that Action makes, not {action!r}")
    return ["DO", *action.words]


def clients_of(clients: Clients) -> Sequence[Argument]:
    """The words of clients."""
    if not isinstance(clients, Clients):
        raise TypeError(f"clients are some of those that Clients names, such as Clients.id(3), not {clients!r}")
    return clients.words


def clients_of_rule(clients: Optional[Clients]) -> Sequence[Argument]:
    """The words of clients in a rule; ValueError for clients that a rule cannot name."""
    if clients is None:
        return []
    if clients_of(clients) and not clients.rule:
        raise ValueError("a rule names clients by id, name or lib")
    return clients.rule
