"""What goes wrong."""


class LockwheelError(Exception):
    """Every error of this package."""


class ServerError(LockwheelError):
    """The server has refused a request; the text is its own, as `ERR syntax error`."""


HANGING = ("BUSY", "LOADING", "MASTERDOWN")
"""How the refusals begin of a server that refuses nearly all, for a while."""


def is_hanging(refusal: ServerError) -> bool:
    """Whether a refusal is that of a server which refuses nearly all, and has done nothing."""
    return str(refusal).split(" ", 1)[0] in HANGING


class StartError(LockwheelError):
    """The server did not start; the text has what it said."""


class AwaitTimeoutError(LockwheelError, TimeoutError):
    """A state did not come within its limit; the text has the server's report."""
