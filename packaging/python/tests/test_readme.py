"""What the README shows runs as it stands; it is read from the installed package, as the index shows it."""

import re
from importlib import metadata

TEXT = metadata.metadata("lockwheel").get_payload()
BLOCKS = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)


def test_its_test_passes(pytester):
    pytester.makepyfile(BLOCKS[0])
    pytester.runpytest_subprocess("--strict-markers", "-W", "error").assert_outcomes(passed=1)


def test_its_test_needs_its_clock(pytester):
    pytester.makepyfile(re.sub("lockwheel.clock.advance.*", "pass", BLOCKS[0]))
    pytester.runpytest_subprocess().assert_outcomes(failed=1)


def test_its_program_runs(pytester):
    pytester.makepyfile(program=BLOCKS[1])
    result = pytester.runpython("program.py")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["redis://127.0.0.1:*"])


def test_all_its_blocks_are_run():
    assert len(BLOCKS) == 2
