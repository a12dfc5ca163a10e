"""The native program's own tests, under 1, 2 and 4 ranks."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .conftest import Native


def passes_under(native: Native, ranks: int) -> None:
    done = native.run(ranks, native.tests)
    if done.returncode == 1:  # one repetition, because other programs can disturb tests that measure time
        done = native.run(ranks, native.tests)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    listed = json.loads(native.alone_tests("--list").stdout)
    here = {test["name"] for test in listed if ranks in test["ranks"]}
    # A wrong launcher would start several worlds of one rank without an error.
    assert f"{len(here)} tests, 0 failed, {ranks} ranks" in done.stdout
    assert set(re.findall(rf"^passed (\w+) \({ranks} ranks", done.stdout, re.MULTILINE)) == here


@pytest.mark.parametrize("ranks", [1, 2])
def test_native_tests_pass(native: Native, ranks: int) -> None:
    passes_under(native, ranks)


def test_native_tests_pass_under_four_ranks(native_openmpi: Native) -> None:
    passes_under(native_openmpi, 4)


@pytest.mark.full
@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_native_tests_pass_with_the_wheel(native_wheel: Native, ranks: int) -> None:
    """The native tests also pass with MPICH of the PyPI wheel, with four ranks on two cores, because it can
    be told to yield (Debian's MPICH spins).
    """
    passes_under(native_wheel, ranks)


def test_every_native_test_runs_somewhere(native_openmpi: Native) -> None:
    listed = json.loads(native_openmpi.alone_tests("--list").stdout)
    assert len(listed) > 50
    assert all(test["ranks"] and set(test["ranks"]) <= {1, 2, 4, 7} for test in listed)
    names = [test["name"] for test in listed]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("ranks", [1, 2])
def test_the_harness_notices(native: Native, ranks: int) -> None:
    """The test harness reports a failure on any rank with location, values and rank; a test without checks
    counts as failed.
    """
    check = native.testing("kiviat-harness-check")
    names = ["fails_on_the_last_rank", "checks_nothing", "throws_on_rank_0", "passes"]
    done = native.run(ranks, check, *names)
    last = ranks - 1
    assert done.returncode == 1
    assert f"FAILED fails_on_the_last_rank ({ranks} ranks" in done.stdout
    assert re.search(
        rf"harness_check\.cpp:\d+: rank {last}: rank != world\.size - 1  \[{last} != {last}\]", done.stdout
    )
    assert re.search(r"FAILED checks_nothing .*\n.*not a single EXPECT", done.stdout)
    assert re.search(r"FAILED throws_on_rank_0 .*\n.*rank 0: .*\[out of ideas\]", done.stdout)
    assert ("passed passes" in done.stdout) == (ranks == 1)
    assert native.run(ranks, check, "no_such_test").returncode == 1


def test_the_harness_ends_a_test_that_hangs(native: Native) -> None:
    check = native.testing("kiviat-harness-check")
    done = native.run(2, check, "waits_for_nobody", preload={"KIVIAT_TEST_LIMIT_S": "1"}, limit_s=30)
    assert done.returncode != 0
    assert "FAILED waits_for_nobody: took too long" in done.stdout
