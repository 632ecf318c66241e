"""What a fixture makes of findings in the history."""

from __future__ import annotations

from typing import Optional

from ._asked.history import Verdict, verdict_lines
from ._errors import LockwheelError
from ._options import not_one_of

__tracebackhide__ = True

OFF = "off"
LEVELS = (OFF, "violation", "suspect")
"""From which level on findings fail a test."""


class FindingsError(LockwheelError, AssertionError):
    """The history has findings of the level that the server was started with, or is not whole and has none; the text has
    them, or the reason, and the report."""

    def __init__(self, verdict: Verdict, report: str) -> None:
        super().__init__("\n".join([*verdict_lines(verdict), report]))
        self.findings = verdict.findings


def checked(level: str) -> str:
    """A level; ValueError for what is none."""
    if level not in LEVELS:
        raise ValueError(not_one_of("verify", level, list(LEVELS)))
    return level


def asked(level: str) -> Optional[str]:
    """The level to ask for; None: nothing is asked."""
    return None if level == OFF else level
