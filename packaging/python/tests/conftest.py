"""What the tests of the package share."""

import pytest

import lockwheel as package


@pytest.fixture
def own():
    """A server of one test, with a clock that stands."""
    with package.Server(time="manual", seed=7) as server:
        yield server
