"""What goes wrong."""


class LockwheelError(Exception):
    """Every error of this package."""


class ServerError(LockwheelError):
    """The server has refused a request; the text is its own, as `ERR syntax error`."""


class StartError(LockwheelError):
    """The server did not start; the text has what it said."""


class AwaitTimeoutError(LockwheelError, TimeoutError):
    """A state did not come within its limit; the text has the server's report."""
