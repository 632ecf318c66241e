"""Where the server's program is."""

from __future__ import annotations

import os
import shutil
from importlib import metadata
from typing import Optional

from ._errors import LockwheelError

__tracebackhide__ = True

NAME = "lockwheel"
VARIABLE = "LOCKWHEEL_BINARY"


class NoBinaryError(LockwheelError, FileNotFoundError):
    """There is no program to start."""


def find(wanted: Optional[str] = None) -> str:
    """The path of the program: what is asked for, the environment's, the package's, the one on PATH."""
    if wanted and shutil.which(wanted) is None and not os.path.isfile(wanted):
        raise NoBinaryError(f"binary is {os.fspath(wanted)!r}: there is no file {os.path.abspath(wanted)}")
    named = None if wanted else os.environ.get(VARIABLE)
    if named and not os.path.isfile(named):
        raise NoBinaryError(f"{VARIABLE} is {named!r}: there is no file {os.path.abspath(named)}")
    found = wanted or named or installed() or shutil.which(NAME)
    if found:
        return found
    raise NoBinaryError(
        f"no lockwheel program: this package has one for linux x86_64 (glibc or musl); name one in {VARIABLE}, "
        "or put one on PATH (`cargo install --locked --path server/program` in a checkout builds it)"
    )


def installed() -> Optional[str]:
    """The program that was installed with this package, wherever the installer has put it."""
    try:
        files = metadata.files(NAME) or []
    except metadata.PackageNotFoundError:
        return None
    for file in files:
        if file.name == NAME:
            path = os.path.abspath(str(file.locate()))
            if os.access(path, os.X_OK):
                return path
    return None
