"""Findings in the history, as errors and lines of a report."""

from __future__ import annotations

from typing import List, Optional

from ._errors import LockwheelError
from ._nearest import not_one_of
from ._types import Verdict

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


def is_clean(verdict: Verdict) -> bool:
    """Whether nothing was found, in a history that is whole."""
    return not verdict.findings and verdict.verdict != "inconclusive"


def verdict_lines(told: Verdict) -> List[str]:
    """A verdict as a report shows it: the findings, or that there are none."""
    verdict = f"{told.verdict}: {told.reason}" if told.reason else told.verdict
    found = [f"{it.level} {it.invariant}{f' of {it.key}' if it.key else ''}: {it.text}" for it in told.findings]
    return (found or [verdict]) + ([f"and {told.left_out} more"] if told.left_out else [])
