"""What happened to locks, and what is wrong in it."""

import asyncio
import json

import pytest

import lockwheel as package
from lockwheel import AwaitTimeoutError, FindingsError, aio


def held_and_expired(server):
    server.command("LOCK.ACQUIRE", "order:42", "first", "PX", 8000)
    server.clock.advance(8)
    server.command("LOCK.ACQUIRE", "order:42", "second", "PX", 8000)


def events(server, **filters):
    return [(it.event, it.owner) for it in server.history.entries(**filters).entries if it.key]


def test_it_tells_who_took_a_lock_and_how_it_ended(own):
    held_and_expired(own)
    assert events(own) == [("acquired", "first"), ("lost", "first"), ("acquired", "second")]
    told = own.history.entries(key="order:*", owner="first")
    acquired, lost = told.entries
    assert (acquired.kind, acquired.mode, acquired.holds, acquired.ttl.total_seconds()) == ("native", "exclusive", 1, 8)
    assert (lost.cause, lost.grant) == ("expired", acquired.grant)
    assert lost.monotonic - acquired.monotonic == acquired.ttl == lost.wall - acquired.wall
    assert not told.truncated and told.first == 1 and told.last > lost.seq
    assert events(own, since=lost.seq) == [("acquired", "second")]
    assert len(own.history.entries(count=1).entries) == 1


def test_it_is_there_as_json_and_as_edn(own):
    held_and_expired(own)
    told = json.loads(own.history.json(owner="second"))
    assert [entry["event"] for entry in told["entries"]] == ["acquired"]
    edn = own.history.edn(key="order:42")
    assert ":process" in edn and ":invoke" in edn and ":ok" in edn


def test_a_test_writes_into_it(own):
    own.history.mark("the second begins")
    own.history.enter("room", "a")
    own.history.enter("room", "b", token=7)
    assert own.history.leave("room", "a") and not own.history.leave("room", "a")
    told = own.history.entries().entries
    assert [it.text for it in told if it.event == "mark"] == ["the second begins"]
    assert [it.grant for it in told if it.event == "entered"] == [None, 7]
    own.history.observe("my:*")
    own.command("SET", "my:lock", "me")
    own.history.unobserve("my:*")
    own.command("SET", "my:other", "me")
    assert ("acquired", "me") in events(own, key="my:lock") and events(own, key="my:other") == []


def test_an_event_is_awaited(own):
    held_and_expired(own)
    seq = own.await_.event("lost", key="order:*", owner="first")
    assert own.history.entries(since=seq - 1, count=1).entries[0].event == "lost"
    assert own.await_.event("acquired", count=2) > seq
    with pytest.raises(AwaitTimeoutError, match="AWAIT.EVENT lost SINCE"):
        own.await_.event("lost", since=seq, limit_seconds=0.01)


def test_counts_of_other_kinds_are_awaited(own):
    own.command("SET", "k", "v")
    own.await_.calls("SET", 1)
    own.await_.clients(1)
    own.await_.clients(0, name="nobody", exact=True)
    own.await_.blocked(0, exact=True)
    own.await_.waiters("k", 3, atmost=True)
    own.await_.subscribers("news", 0, exact=True)
    own.await_.idle(0.01, name="nobody")
    with pytest.raises(ValueError, match="either"):
        own.await_.blocked(1, exact=True, atmost=True)


def overlap(server):
    """Two are in a section that a lock protects."""
    server.history.enter("order:42", "first")
    server.history.enter("order:42", "second")


def test_two_in_a_section_are_found(own):
    assert own.verify().verdict == "ok" and own.verify().findings == ()
    overlap(own)
    verdict = own.verify(key="order:*", level="violation")
    (found,) = verdict.findings
    assert (verdict.verdict, verdict.truncated) == ("violated", False)
    assert (found.level, found.invariant, found.key) == ("violation", "mutual-exclusion", "order:42")
    assert set(found.owners) == {"first", "second"} and found.seqs and found.evidence and found.text
    assert own.verify(key="other").findings == () and verdict.reason is None
    own.check()
    with pytest.raises(FindingsError, match="violation mutual-exclusion"):
        own.check(level="lint")
    own.command("CONFIG", "SET", "lock-history", "no")
    off = own.verify()
    assert off.verdict == "inconclusive"
    assert f"\nfindings:\n    {': '.join(filter(None, (off.verdict, off.reason)))}\n" in own.report()


def test_a_server_that_verifies_fails_at_its_end():
    with pytest.raises(FindingsError, match="violation mutual-exclusion of order:42: ") as error:
        with package.Server(verify="violation") as server:
            overlap(server)
    assert isinstance(error.value, AssertionError) and len(error.value.findings) == 1
    assert "\nhistory:\n" in str(error.value)
    with package.Server(verify="suspect") as server:
        server.command("LOCK.ACQUIRE", "k", "me", "PX", 1000)
    with pytest.raises(ValueError, match="verify is one of off, violation, suspect, not 'all'"):
        package.Server(verify="all")


def gives_back_late(server):
    """A fault refuses a renewal, so that the lease ends; the owner gives back what another has had since."""
    server.faults.add("renewals", package.Action.error("ERR as asked"), on="LOCK.RENEW")
    server.faults.exempt(False)
    server.command("LOCK.ACQUIRE", "order:42", "first", "PX", 1000)
    with pytest.raises(package.ServerError, match="as asked"):
        server.command("LOCK.RENEW", 1, "order:42", "first", "PX", 1000)
    server.clock.advance(1)
    server.command("LOCK.ACQUIRE", "order:42", "second")
    server.command("LOCK.RELEASE", "order:42", "second")
    with pytest.raises(package.ServerError, match="LOCKLOST"):
        server.command("LOCK.RELEASE", "order:42", "first")


def test_what_is_only_suspect_fails_a_test_that_minds_it():
    with pytest.raises(package.FindingsError) as failure:
        with package.Server(verify="suspect", time="manual") as server:
            gives_back_late(server)
    told = str(failure.value)
    assert told.startswith("suspect ")
    assert "renewals (ON LOCK.RENEW DO ERROR ERR as asked): hits=1" in told
    with package.Server(verify="violation", time="manual") as server:
        gives_back_late(server)


def test_what_the_block_raises_comes_first():
    with pytest.raises(ZeroDivisionError):
        with package.Server(verify="violation") as server:
            overlap(server)
            _ = 1 / 0
    assert not server.is_running


def test_a_report_has_history_findings_and_faults(own):
    own.faults.add("refuse", package.Action.error("ERR as asked"), on="GET")
    own.faults.exempt(False)
    with pytest.raises(package.ServerError):
        own.command("GET", "k")
    held_and_expired(own)
    overlap(own)
    report = own.report()
    assert "\nfaults that acted:\n    refuse (ON GET DO ERROR ERR as asked): hits=1 held=0\n" in report
    assert "\nfindings:\n    violation mutual-exclusion of order:42: " in report
    assert " 8000 ms lost order:42 " in report and "owner=first" in report
    for number in range(200):
        own.history.mark(f"line {number}")
    report = own.report()
    assert " earlier entries)\n" in report and "line 199" in report and "line 50" not in report


def test_the_same_for_asyncio():
    async def main():
        async with aio.Server(time="manual") as server:
            await server.command("LOCK.ACQUIRE", "k", "me", "PX", 1000)
            seq = await server.await_.event("acquired", key="k")
            assert [it.seq for it in (await server.history.entries(key="k")).entries] == [seq]
            assert (await server.verify()).verdict == "ok"
            await server.check()

    asyncio.run(main())
    with pytest.raises(FindingsError):

        async def fails():
            async with aio.Server(verify="violation") as server:
                await server.history.enter("k", "a")
                await server.history.enter("k", "b")

        asyncio.run(fails())


def test_a_fixture_that_verifies_fails_its_test(pytester):
    pytester.makeini("[pytest]\nlockwheel_verify = violation\n")
    pytester.makepyfile("""
        import pytest

        def overlap(server):
            server.history.enter("order:42", "first")
            server.history.enter("order:42", "second")

        def test_passes(lockwheel):
            lockwheel.history.enter("order:42", "first")

        def test_fails(lockwheel):
            overlap(lockwheel)

        @pytest.mark.lockwheel(verify="off")
        def test_off(lockwheel):
            overlap(lockwheel)

        def test_asyncio(lockwheel_aio):
            overlap(lockwheel_aio.blocking)
    """)
    result = pytester.runpytest_subprocess("--strict-markers")
    result.assert_outcomes(passed=2, failed=2)
    result.stdout.fnmatch_lines(["*FindingsError: violation mutual-exclusion of order:42: *"])
