"""Options that are none, and the lines to which failures point."""

import asyncio

import pytest

import lockwheel


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda it: lockwheel.Server(tim="manual"), "Server has no option 'tim'; did you mean 'time'? It has time, "),
        (lambda it: lockwheel.aio.Server(sed=1), "Server has no option 'sed'; did you mean 'seed'? It has time, "),
        (lambda it: it.await_.blocked(1, timeout=30), "blocked has no option 'timeout'; did you mean 'limit_seconds'? It "),
        (lambda it: it.await_.blocked(1, foo=30), "blocked has no option 'foo'. It has exact, atmost, key, limit_seconds"),
        (lambda it: it.await_.event("lost", kye="k"), "event has no option 'kye'; did you mean 'key'?"),
        (lambda it: it.clock.advance(1, setle=1), "advance has no option 'setle'; did you mean 'settle_seconds'?"),
        (lambda it: it.clock.next(cout=1), "next has no option 'cout'; did you mean 'count'?"),
        (lambda it: it.faults.add("x", lockwheel.Action.hold(), command="GET"), "did you mean 'on'?"),
        (lambda it: it.faults.restart(dwon=1), "did you mean 'down_seconds'?"),
        (lambda it: it.history.entries(cont=1), "did you mean 'count'?"),
        (lambda it: it.verify(leve="lint"), "verify has no option 'leve'; did you mean 'level'? It has key, level"),
        (lambda it: it.reset(keepclients=True), "did you mean 'keep_clients'?"),
        (lambda it: lockwheel.Action.drop_reply(close_afer=1), "Action.drop_reply has no option 'close_afer'; did you "),
        (lambda it: it.clock.advance("8"), "a duration is seconds or a timedelta, not '8'"),
        (lambda it: lockwheel.Server(time=0), "time is 'real', 'manual' or an instant, not 0"),
        (lambda it: lockwheel.Server(args="--port 0"), "args is a list of words, not '--port 0'"),
        (lambda it: lockwheel.Server(args=2), "args is a list of words, not 2"),
        (lambda it: lockwheel.Server(args=["--threads", 2]), "args is a list of words such as ['--threads', '2']: 2 is no"),
        (lambda it: lockwheel.Server(binary=2), "binary is the path of a program, not 2"),
        (
            lambda it: lockwheel.Server(topology=["sentinel", "3"]),
            "topology is a string such as 'sentinel 3 --replicas 1', not ['sentinel', '3']",
        ),
        (lambda it: it.clock.set("x"), "an instant is a datetime with a time zone, not 'x'"),
        (lambda it: it.verify(level=2), "level is a word such as 'violation', not 2"),
        (lambda it: it.await_.key("k", None), "the state of a key is a word such as 'EXISTS', not None"),
        (lambda it: it.faults.add("x", lockwheel.Action.hold(), client=3), "such as Clients.id(3), not 3"),
        (lambda it: it.faults.add("x", lockwheel.Action.hold(), arg="PX"), "its value such as (2, 'PX'), not 'PX'"),
        (lambda it: it.faults.freeze_client("x"), "such as Clients.id(3), not 'x'"),
        (lambda it: it.faults.part(1), "servers are a list of their places such as [0, 1], not 1"),
    ],
)
def test_unknown_options_are_refused_with_the_nearest_known(own, ask, said):
    with pytest.raises(TypeError) as refused:
        ask(own)
    assert said in str(refused.value)


def test_an_unknown_level_is_refused_with_the_nearest_known():
    with pytest.raises(ValueError, match="is one of off, violation, suspect, not 'violatoin'; did you mean 'violation'"):
        lockwheel.Server(verify="violatoin")
    with pytest.raises(ValueError, match="verify is one of off, violation, suspect, not 'None'"):
        lockwheel.Server(verify=None)


def test_a_server_that_has_ended_says_so():
    server = lockwheel.Server()
    server.stop()
    same = lockwheel.aio.Server.of(server)
    for ask in (server.clock.info, lambda: server.command("PING"), lambda: asyncio.run(same.clock.info())):
        with pytest.raises(ConnectionError, match="^the server has ended: it was stopped$"):
            ask()
    with lockwheel.Server() as crashed:
        with pytest.raises(OSError):
            crashed.command("SHUTDOWN", "NOSAVE")
        crashed._process._child.wait()
        with pytest.raises(ConnectionError, match="^the server has ended with code 0$"):
            crashed.clock.info()


def test_known_options_still_do_what_they_say(own):
    assert own.clock.advance(seconds=1, nowake=True).fired == 0
    own.await_.blocked(count=0, exact=True, limit_seconds=30)
    assert asyncio.run(lockwheel.aio.Server.of(own).clock.advance(1, nowake=True)).fired == 0


FAILING = """
    import asyncio

    import lockwheel
    import pytest

    def test_command(lockwheel):
        lockwheel.command("NOPE")  # here

    def test_await(lockwheel):
        lockwheel.await_.key("k", "EXISTS", limit_seconds=0.001)  # here

    def test_value(lockwheel):
        lockwheel.clock.advance(0.00001)  # here

    def test_option(lockwheel):
        lockwheel.clock.advance(1, setle=1)  # here

    def test_fault(lockwheel):
        lockwheel.faults.add("x", None, client=1)  # here

    def test_end(lockwheel):
        lockwheel.stop()
        lockwheel.command("PING")  # here

    def test_start(pytestconfig):
        lockwheel.Server(args=["--nope"])  # here

    def test_asyncio(lockwheel_aio):
        async def test():
            await lockwheel_aio.await_.key("k", "EXISTS", limit_seconds=0.001)  # here
        asyncio.run(test())
"""


def test_a_failure_points_to_the_line_of_the_test(pytester):
    path = pytester.makepyfile(FAILING)
    lines = [number for number, line in enumerate(path.read_text().splitlines(), 1) if "# here" in line]
    result = pytester.runpytest_subprocess("-p", "no:xdist")
    result.assert_outcomes(failed=8)
    for line in lines:
        result.stdout.fnmatch_lines([f"{path.name}:{line}: *"])
    # No line of the package is shown, nor of the standard library but of what runs a coroutine.
    result.stdout.no_re_match_line(r".*(lockwheel/_\w+|lockwheel/\w+/_\w+|socket|selector_events)\.py:\d+: .*")
