"""The pytest plugin, tried on projects of its own."""

import pytest

LEAVES_THINGS = """
    import pytest

    @pytest.mark.parametrize("n", range(20))
    def test_it(lockwheel, n):
        assert lockwheel.command("DBSIZE") == 0
        assert lockwheel.clock.info().mode == "real"
        lockwheel.command("SET", "k", n)
        lockwheel.clock.freeze()
        assert lockwheel.command("GET", "k") == str(n)
"""


def test_each_test_finds_the_server_as_at_its_start(pytester):
    pytester.makepyfile(LEAVES_THINGS)
    pytester.runpytest_subprocess("-p", "no:xdist").assert_outcomes(passed=20)


def test_workers_do_not_disturb_each_other(pytester):
    pytester.makepyfile(LEAVES_THINGS)
    pytester.runpytest_subprocess("-n", "3").assert_outcomes(passed=20)


def test_one_server_serves_all_tests_of_a_worker(pytester):
    pytester.makepyfile("""
        ports = set()

        def test_one(lockwheel):
            ports.add(lockwheel.port)

        def test_other(lockwheel):
            ports.add(lockwheel.port)
            assert len(ports) == 1
    """)
    pytester.runpytest_subprocess().assert_outcomes(passed=2)


def test_a_server_that_a_test_has_ended_is_another(pytester):
    pytester.makepyfile("""
        def test_one(lockwheel):
            lockwheel.stop()

        def test_other(lockwheel):
            assert lockwheel.command("PING") == "PONG"
    """)
    pytester.runpytest_subprocess().assert_outcomes(passed=2)


def test_a_server_that_cannot_be_reset_is_another(pytester):
    pytester.makepyfile("""
        import socket

        import pytest
        from lockwheel import ServerError

        clients = []

        def test_a_script_that_has_written_runs_for_ever(lockwheel):
            lockwheel.command("CONFIG", "SET", "busy-reply-threshold", 10)
            # It stays connected: the server ends the script of a client that has gone.
            clients.append(socket.create_connection((lockwheel.host, lockwheel.port)))
            clients[0].sendall(b"EVAL \\"redis.call('set','a','b') while true do end\\" 0\\r\\n")
            with pytest.raises(ServerError, match="^BUSY"):
                while True:
                    lockwheel.command("PING")

        def test_after_it(lockwheel):
            assert lockwheel.command("DBSIZE") == 0
            with pytest.raises(OSError):
                lockwheel.command("SHUTDOWN", "NOSAVE")

        def test_after_a_shutdown(lockwheel):
            assert lockwheel.command("PING") == "PONG"

        @pytest.mark.lockwheel(verify="suspect", args=["--lock-history", "no"])
        def test_that_cannot_be_verified(lockwheel):
            pass

        def test_that_is_skipped(lockwheel):
            pytest.skip("as asked")
    """)
    result = pytester.runpytest_subprocess()
    result.assert_outcomes(passed=3, failed=1, skipped=1)
    result.stdout.fnmatch_lines(["*FindingsError: inconclusive: the history is off: CONFIG SET lock-history yes *"])
    assert result.stdout.str().count("lockwheel on 127.0.0.1:") == 1


def test_the_ini_file_and_the_marker_have_options(pytester):
    pytester.makeini("""
        [pytest]
        lockwheel_time = manual
        lockwheel_seed = 11
        lockwheel_args = --databases 3
    """)
    pytester.makepyfile("""
        from datetime import datetime, timezone
        import pytest

        def test_ini(lockwheel):
            assert lockwheel.clock.info().mode == "manual"
            assert lockwheel.command("CONFIG", "GET", "databases") == ["databases", "3"]
            assert lockwheel.options.seed == 11

        @pytest.mark.lockwheel(time="2030-01-01T00:00:00Z", seed=2)
        def test_marked(lockwheel):
            assert lockwheel.clock.info().wall == datetime(2030, 1, 1, tzinfo=timezone.utc)
            assert lockwheel.command("CONFIG", "GET", "databases") == ["databases", "3"]
            assert lockwheel.options.seed == 2

        @pytest.mark.lockwheel(sede=2)
        def test_misspelt(lockwheel):
            pass
    """)
    result = pytester.runpytest_subprocess("--strict-markers")
    result.assert_outcomes(passed=2, errors=1)
    result.stdout.fnmatch_lines(["*the marker lockwheel has no option 'sede'; did you mean 'seed'? It has time, seed, args, *"])


@pytest.mark.parametrize("workers", [[], ["-n", "2"]])
def test_a_test_that_fails_has_the_report(pytester, workers):
    pytester.makepyfile("""
        def test_passes(lockwheel):
            lockwheel.command("SET", "quiet", "x")

        def test_fails(lockwheel):
            lockwheel.command("SET", "who", "me")
            assert lockwheel.command("GET", "who") == "you"
    """)
    result = pytester.runpytest_subprocess(*workers)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        ["*- lockwheel -*", "lockwheel on 127.0.0.1:*, seed 0", "clock:", "    real, *", "*: SET who me", "log:"]
    )
    result.stdout.no_fnmatch_line("*quiet*")


def test_an_error_that_has_the_report_has_it_once(pytester):
    pytester.makepyfile("""
        import pytest

        def test_waits_in_vain(lockwheel):
            lockwheel.await_.key("k", "EXISTS", limit_seconds=0.001)

        @pytest.mark.lockwheel(verify="violation")
        def test_overlaps(lockwheel):
            lockwheel.history.enter("order", "one")
            lockwheel.history.enter("order", "two")
    """)
    result = pytester.runpytest_subprocess()
    result.assert_outcomes(failed=2)
    told = result.stdout.str()
    assert [told.count(one) for one in ("lockwheel on 127.0.0.1:", "\n---- lockwheel")] == [2, 0]
    # No line of a test is the one that did what is found: the line where it begins is told.
    result.stdout.re_match_lines([r">.*lockwheel\(verify=|>.*test_overlaps\(", r".*\.py:(6|7): FindingsError"])


def test_a_seed_that_is_no_number_is_refused_by_its_name(pytester):
    pytester.makeini("[pytest]\nlockwheel_seed = eleven")
    pytester.makepyfile("def test_any(lockwheel): pass")
    result = pytester.runpytest_subprocess()
    result.stdout.fnmatch_lines(["*lockwheel_seed is a whole number, not 'eleven'"])


def test_a_fixture_of_the_users_own_is_reported_too(pytester):
    pytester.makepyfile("""
        import lockwheel, pytest

        @pytest.fixture
        def mine():
            with lockwheel.Server(seed=42) as server:
                yield server

        def test_fails(mine):
            assert not mine.command("PING")
    """)
    pytester.runpytest_subprocess().stdout.fnmatch_lines(["lockwheel on 127.0.0.1:*, seed 42"])


def test_the_same_server_is_there_for_asyncio(pytester):
    pytester.makepyfile("""
        import asyncio

        def test_it(lockwheel, lockwheel_aio):
            assert asyncio.run(lockwheel_aio.command("INCR", "n")) == 1
            assert lockwheel.command("INCR", "n") == 2
            assert lockwheel.url == lockwheel_aio.url
    """)
    pytester.runpytest_subprocess().assert_outcomes(passed=1)


def test_no_server_is_started_for_a_test_that_asks_for_none(pytester):
    pytester.makepyfile("def test_it(): pass")
    monkey = pytester._monkeypatch
    monkey.setenv("LOCKWHEEL_BINARY", "/bin/false")
    pytester.runpytest_subprocess().assert_outcomes(passed=1)
