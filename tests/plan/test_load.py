from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kiviat.analysis.published.question import Case as ClaimCase
from kiviat.launch.run.simulated_runner import SimulatedCase
from kiviat.machine.modelled.machine import find_machine
from kiviat.plan import Plan, load_plan, reload_plan
from kiviat.record import InputError

Load = Callable[..., Plan]


def ids(plan: Plan) -> list[str]:
    return [case.id for case in plan.cases]


def test_a_case_is_named_and_spelled_as_the_native_program_reads_it(load: Load) -> None:
    plan = load(
        """
        seed = 17
        [[cases]]
        benchmarks = "uniband"
        bytes = 8
        axes.window = 16
        controls = { target = 0.05, budget_s = 2 }
        """
    )
    (case,) = plan.cases
    assert case.id == "uniband/ranks=4/bytes=8/window=16"
    assert case.line() == (
        "uniband/ranks=4/bytes=8/window=16 uniband ranks=4 bytes=8 window=16 target=0.05 budget_s=2 seed=17"
    )


def test_what_a_benchmark_finds_itself_may_be_given_or_bounded(load: Load) -> None:
    plan = load('[[cases]]\nbenchmarks = "hpl"\naxes.memory = ["auto", "64M", 5000, "auto:2G"]\n')
    assert ids(plan) == [
        "hpl/ranks=4",
        f"hpl/ranks=4/memory={64 << 20}",
        "hpl/ranks=4/memory=5000",
        f"hpl/ranks=4/memory=auto:{2 << 30}",
    ]
    asked = load('[[cases]]\nbenchmarks = "hpl"\naxes.memory = "64M"\n', axes={"memory": "1M"})
    assert ids(asked) == [f"hpl/ranks=4/memory={1 << 20}"]


def test_axes_at_their_default_are_left_out_and_lists_multiply(load: Load) -> None:
    plan = load(
        '[[cases]]\nbenchmarks = "uniband"\nbytes = [8, 16]\naxes = { window = [64, 1], cache = "off" }'
    )
    assert ids(plan) == [
        "uniband/ranks=4/bytes=8/cache=off",
        "uniband/ranks=4/bytes=16/cache=off",
        "uniband/ranks=4/bytes=8/cache=off/window=1",
        "uniband/ranks=4/bytes=16/cache=off/window=1",
    ]


def test_whole_numbers_of_axes_may_have_units(load: Load) -> None:
    """Integer axes accept units, as -m does: `--set long=64K`."""
    asked = load('[[cases]]\nbenchmarks = "uniband"\nbytes = 8', axes={"window": "2K"})
    assert ids(asked) == ["uniband/ranks=4/bytes=8/window=2048"]


def test_sizes_of_reductions_are_whole_elements_and_a_barrier_has_none(load: Load) -> None:
    plan = load('[[cases]]\nbenchmarks = ["allreduce", "barrier"]\nbytes = "0:8"')
    assert ids(plan) == ["allreduce/ranks=4/bytes=4", "allreduce/ranks=4/bytes=8", "barrier/ranks=4"]


def test_a_case_that_two_groups_give_stays_as_the_first_gives_it(load: Load) -> None:
    plan = load(
        """
        [[cases]]
        benchmarks = "pingpong"
        bytes = 8
        controls.budget_s = 5
        [[cases]]
        benchmarks = "pt2pt/*"
        bytes = [8, 16]
        """
    )
    assert [(case.id, case.controls.get("budget_s")) for case in plan.cases if case.bytes == 8] == [
        ("pingpong/ranks=2/bytes=8", 5),
        ("uniband/ranks=4/bytes=8", None),
    ]


def test_patterns_take_what_fits_and_leave_the_rest(load: Load) -> None:
    plan = load('[[cases]]\nbenchmarks = "*"\nbytes = 8\nranks = 4\naxes.window = 1')
    assert ids(plan) == ["uniband/ranks=4/bytes=8/window=1"]
    plan = load('[[cases]]\nbenchmarks = "collective/[!i]*"\nbytes = 8')
    assert {case.benchmark for case in plan.cases} == {"allreduce", "barrier"}


def test_names_of_other_suites_are_understood(load: Load) -> None:
    assert ids(load("cases = []", benchmarks=["OSU_latency"], bytes="8")) == ["pingpong/ranks=2/bytes=8"]


def test_back_to_back_collectives_are_cases_of_their_own(load: Load) -> None:
    text = '[[cases]]\nbenchmarks = ["pingpong", "allreduce"]\nbytes = 8'
    assert ids(load(text, controls={"mode": "pallas2"})) == [
        "pingpong/ranks=2/bytes=8",
        "allreduce/ranks=4/bytes=8/mode=pallas2",
    ]


def test_in_groups_the_rule_is_for_each_group(load: Load) -> None:
    text = '[[cases]]\nbenchmarks = "pingpong"\nbytes = 8\naxes.group = 2'
    assert ids(load(text, ranks=5)) == ["pingpong/ranks=4/bytes=8/group=2"]
    with pytest.raises(InputError, match=r"group of pingpong is 3 .*; give a group of exactly 2 ranks, or 0"):
        load(text.replace("= 2", "= 3"))


def test_each_number_of_ranks_has_its_own_launch_unless_a_subset_is_asked_for(load: Load) -> None:
    text = '[[cases]]\nbenchmarks = "allreduce"\nbytes = 8\nranks = "doubling"\n'
    assert [(case.id, case.world) for case in load(text).cases] == [
        ("allreduce/ranks=2/bytes=8", 2),
        ("allreduce/ranks=4/bytes=8", 4),
    ]
    subset = load(text + "subset = true")
    assert [(case.id, case.world) for case in subset.cases] == [
        ("allreduce/ranks=2/bytes=8/world=4", 4),
        ("allreduce/ranks=4/bytes=8", 4),
    ]
    assert "world" not in subset.cases[0].line().split(" ", 1)[1]


def test_a_distance_needs_a_launch_that_reaches_as_far(load: Load) -> None:
    plan = load('[[cases]]\nbenchmarks = "pingpong"\nbytes = 8\naxes.distance = "doubling"', ranks=8)
    assert [(case.axes.get("distance", 1), case.ranks, case.world) for case in plan.cases] == [
        (1, 2, 2),
        (2, 2, 8),
        (4, 2, 8),
        (7, 2, 8),
    ]
    with pytest.raises(InputError, match=r"distance of pingpong is 9 in plan .*, too far for 8 ranks"):
        load('[[cases]]\nbenchmarks = "pingpong"\naxes.distance = 9', ranks=8)


@pytest.mark.parametrize(("ranks", "group", "distance"), [(2, 0, 3), (4, 2, 3)])
def test_a_distance_takes_one_rank_more_than_it_reaches(
    ranks: int, group: int, distance: int, load: Load
) -> None:
    """A distance of d between n ranks needs (n - 1) d + 1 ranks: four ranks 3 apart are 0, 3, 6 and 9.

    Plans, models and simulations once had different rules.
    """
    least = (ranks - 1) * distance + 1
    axes = {"distance": distance} | ({"group": group} if group else {})
    words = ", ".join(f"{name} = {value}" for name, value in axes.items())
    plan = f'[[cases]]\nbenchmarks = "pingpong"\nranks = {ranks}\nbytes = 8\naxes = {{ {words} }}'
    assert [case.world for case in load(plan, ranks=least).cases] == [least]
    with pytest.raises(InputError, match=f"is {distance} in plan .* need a launch of {least}"):
        load(plan, ranks=least - 1)
    assert ClaimCase("pingpong", ranks, 8, axes).reach == least
    assert SimulatedCase(find_machine("altix-bx2"), "pingpong", ranks, 8, axes).case().world == least


def test_groups_complete_the_controls_of_the_plan(load: Load) -> None:
    """A plan without benchmarks of the command line was refused, and the command line was blamed."""
    text = """
        [controls]
        iterations = 100
        [[cases]]
        benchmarks = "pingpong"
        bytes = 8
        controls.mode = "fixed"
        """
    (case,) = load(text).cases
    assert (case.controls["iterations"], case.controls["mode"]) == (100, "fixed")


def test_sizes_of_the_command_line_do_not_make_the_plan_s_faults_its_own(load: Load) -> None:
    text = '[[cases]]\nbenchmarks = "pingpong"\nranks = 3\n'
    with pytest.raises(InputError, match="ranks 3 in plan"):
        load(text, bytes="8")


def test_the_command_line_wins(load: Load) -> None:
    text = """
        launches = 3
        [controls]
        budget_s = 1
        [[cases]]
        benchmarks = ["pingpong", "allreduce"]
        bytes = 64
        controls.budget_s = 2
        """
    plan = load(
        text,
        benchmarks=["allreduce", "uniband"],
        bytes="8",
        asked_ranks="2,4",
        launches=7,
        seed=5,
        controls={"budget_s": 3.0},
        axes={"window": "1,64"},
    )
    assert ids(plan) == [
        "allreduce/ranks=2/bytes=8",
        "allreduce/ranks=4/bytes=8",
        "uniband/ranks=2/bytes=8/window=1",
        "uniband/ranks=4/bytes=8/window=1",
        "uniband/ranks=2/bytes=8",
        "uniband/ranks=4/bytes=8",
    ]
    assert {case.controls["budget_s"] for case in plan.cases} == {3.0}
    assert (plan.launches, plan.seed) == (7, 5)


def test_ranks_of_the_command_line_do_not_drop_a_benchmark_that_needs_two(load: Load) -> None:
    text = '[[cases]]\nbenchmarks = ["pingpong", "allreduce"]\nbytes = 8'
    plan = load(text, asked_ranks="4,8", ranks=8)
    assert ids(plan) == [
        "pingpong/ranks=2/bytes=8",
        "allreduce/ranks=4/bytes=8",
        "allreduce/ranks=8/bytes=8",
    ]


def test_impossible_plans_are_refused_with_the_reason(load: Load, describe: list[dict[str, Any]]) -> None:
    describe[3]["ranks"]["min"] = 8
    plan = load('[[cases]]\nbenchmarks = ["barrier", "pingpong"]\nbytes = 8')
    assert ids(plan) == ["pingpong/ranks=2/bytes=8"]
    assert plan.left_out == ("barrier needs at least 8 ranks",)
    with pytest.raises(InputError, match="no case for -n 1: pingpong needs exactly 2 ranks; give another"):
        load('[[cases]]\nbenchmarks = "pingpong"', ranks=1)


def test_a_plan_may_ask_for_narrow_intervals(load: Load, describe: list[dict[str, Any]]) -> None:
    """The command line has precedence, a reloaded plan keeps its limits, and the hash covers the interval."""
    asked = load("interval = 0.1\n" + GROUP)
    assert (asked.interval, asked.launches_max) == (0.1, 25)
    assert load("interval = 0.1\n" + GROUP, interval=0.05, launches_max=40).launches_max == 40
    assert asked.hash != load(GROUP).hash != load("interval = 0.2\n" + GROUP).hash
    again = reload_plan(load(GROUP, interval=0.05, launches_max=7).definition, describe)
    assert (again.interval, again.launches_max) == (0.05, 7)


def test_an_interrupted_run_finds_its_plan_again(load: Load, describe: list[dict[str, Any]]) -> None:
    plan = load(
        '[[cases]]\nbenchmarks = "pt2pt/*"',
        bytes="0:64",
        asked_ranks="2,4",
        controls={"target": 0.1},
        axes={"window": "1"},
    )
    assert reload_plan(plan.definition, describe) == plan


GROUP = '[[cases]]\nbenchmarks = "pingpong"\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("launchs = 5\n", r"unknown key 'launchs' in plan .*mine.toml; did you mean 'launches'\?"),
        (GROUP + "byte = 5\n", r"unknown key 'byte' in plan .*, cases\[0\]; did you mean 'bytes'"),
        (GROUP + "subset = 1\n", r"subset is 1 in plan .*, cases\[0\]; give true or false"),
        ("launches = true\n" + GROUP, "launches is True in plan .*; give a whole number"),
        ("launches = 0\n" + GROUP, "launches is 0 in plan .*; give at least 1"),
        ("interval = 5\n" + GROUP, "interval is 5 in plan .*; give a fraction between 0 and 1"),
        ("launches_max = 9\n" + GROUP, "launches_max is 9 in plan .*, but interval is not given"),
        ("interval = 0.1\nlaunches_max = 5\n" + GROUP, "launches_max is 5 in plan .*; give at least 6"),
        (
            "interval = 0.1\nlaunches = 9\nlaunches_max = 8\n" + GROUP,
            "launches_max is 8 in plan .*; give at least 9",
        ),
        ("cases = [1]\n", r"cases\[0\] is 1 in plan .*; write \[\[cases\]\]"),
        ("[[cases]]\nbytes = 8\n", r"benchmarks is missing in plan .*, cases\[0\]"),
        (
            '[[cases]]\nbenchmarks = "pingpog"\n',
            r"unknown benchmark 'pingpog' in plan .*; did you mean 'pingpong'\?",
        ),
        (
            GROUP + "axes.windw = 1\n",
            "pingpong has no axis 'windw' in plan .*; its axes: distance, group, cache",
        ),
        (GROUP + 'axes.cache = "warm"\n', "cache of pingpong is 'warm' in plan .*; give hot or off"),
        (
            GROUP + 'axes.distance = "far"\n',
            "distance of pingpong is 'far' in plan .*; give a whole number from 1 on",
        ),
        (
            '[[cases]]\nbenchmarks = "hpl"\naxes.memory = "much"\n',
            r"memory of hpl is 'much' in plan .*, cases\[0\]; give 1 KiB to 1 PiB, auto or auto:BYTES",
        ),
        (
            '[[cases]]\nbenchmarks = "hpl"\nnominal_s = 0\n',
            r"nominal_s is 0 in plan .*, cases\[0\]; give seconds above 0",
        ),
        (
            f'[[cases]]\nbenchmarks = "hpl"\nnominal_s = {10**400}\n',
            r"nominal_s is 10+ in plan .*, cases\[0\]; give seconds above 0, at most 1e9",
        ),
        (GROUP + "ranks = 3\n", r"ranks 3 in plan .*, cases\[0\], for pingpong does not fit"),
        ("[controls]\ntarget = 2\n", "target is 2 in plan .*; give a fraction between 0 and 1"),
        ("[controls]\nbudgets = 2\n", "unknown control 'budgets' in plan .*; did you mean 'budget_s'"),
        ("[controls]\niterations = 5\n" + GROUP, 'iterations is 5 in plan .*, but mode is "adaptive"'),
        (
            "[controls]\nmin_samples = 2000\n" + GROUP,
            "min_samples is 2000 in plan .*, above max_samples 1000",
        ),
        (f"launches = {10**12}\n" + GROUP, "launches is 10{12} in plan .*; give at least 1, at most 1000000"),
        (f"seed = {10**20}\n" + GROUP, "seed is 10{20} in plan .*; give a whole number of at most 9007"),
        (
            "[controls]\nbudget_s = 1e308\n" + GROUP,
            "budget_s is 1e\\+308 in plan .*; give seconds above 0, at most",
        ),
        (
            f"[controls]\nmax_samples = {10**20}\n" + GROUP,
            "max_samples is 10{20} in .*; give .* at most 9007",
        ),
        (
            GROUP + "".join(f"axes.{axis} = {[*range(1, 1001)]}\n" for axis in ("distance", "group")),
            r"the axes of pingpong have 1000000 combinations in plan .*, cases\[0\]; give fewer values",
        ),
        ("launches = \n", "plan .*mine.toml is not TOML: .*line 2"),
        ("", "plan .*mine.toml has no case"),
    ],
)
def test_bad_plans_are_refused_in_one_line(load: Load, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as refusal:
        load(text)
    assert "\n" not in str(refusal.value)


def test_a_plan_of_another_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "old.toml"
    path.write_text('schema = "kiviat.plan/9"\n')
    with pytest.raises(InputError, match=r"'kiviat.plan/9'; this kiviat reads 'kiviat.plan/1'"):
        load_plan(path, [], 2)


def test_an_unknown_plan_is_named_with_those_that_there_are() -> None:
    with pytest.raises(InputError, match=r"no plan 'quikc'; did you mean 'quick'\?"):
        load_plan("quikc", [], 2)


@pytest.mark.parametrize(
    ("names", "given", "said"),
    [
        (["hpl"], {"bytes": "8"}, "-m 8 is not used by hpl; hpl takes --set memory/group/cache"),
        (["hpl", "dense"], {"controls": {"budget_s": 2.0}}, "--budget 2.0 is not used by hpl, dense; hpl"),
        (["hpl"], {"controls": {"mode": "fixed", "iterations": 3}}, "-i 3 is not used by hpl"),
        (["iallreduce"], {"controls": {"mode": "pallas2"}}, "--pallas2 is not used by iallreduce"),
        (["pingpong"], {"controls": {"sync": "barrier"}}, "--sync barrier is not used by pingpong"),
        (["pingpong"], {"controls": {"mode": "once", "target": 0.05}}, "--target 5 has no effect in mode o"),
        (
            ["pingpong"],
            {"controls": {"mode": "fixed", "iterations": 3, "budget_s": 1.0}},
            "--budget 1.0 has no effect in mode fixed",
        ),
    ],
)
def test_an_option_that_nothing_uses_is_refused(
    names: list[str], given: dict[str, Any], said: str, load: Load
) -> None:
    """An option that no selected benchmark uses is refused; it was once ignored.

    Examples are `-m 8` for HPL, and sampling options for studies.
    """
    plan = f"[[cases]]\nbenchmarks = {names}\nbytes = 8"
    with pytest.raises(InputError, match=re.escape(said)):
        load(plan, benchmarks=names, **given)


def test_an_option_that_one_of_several_uses_is_no_mistake(load: Load) -> None:
    names = ["hpl", "pingpong"]
    plan = load(f"[[cases]]\nbenchmarks = {names}\nranks = 2", benchmarks=names, bytes="8")
    assert ids(plan) == ["hpl/ranks=2", "pingpong/ranks=2/bytes=8"]


def test_a_study_beside_others_keeps_its_sizes(load: Load) -> None:
    """A study that is run together with other benchmarks keeps its own default sizes.

    `b_eff dense` once expanded to 97 cases, because the quick plan's sizes were applied to the studies.
    """
    text = 'bytes = "0:4M"\n[[cases]]\nbenchmarks = "pingpong"'
    found = load(text, benchmarks=["hpl", "dense"])
    assert ids(found) == ["hpl/ranks=4", "dense/ranks=4/bytes=1024", "dense/ranks=4/bytes=65536"]
    assert ids(load(text, benchmarks=["hpl", "dense"], bytes="8"))[1:] == ["dense/ranks=4/bytes=8"]
    in_plan = load('bytes = [8, 64]\n[[cases]]\nbenchmarks = "dense"')
    assert ids(in_plan) == ["dense/ranks=4/bytes=8", "dense/ranks=4/bytes=64"]


def test_a_size_that_a_benchmark_cannot_have_is_named(load: Load) -> None:
    """A message size that a benchmark cannot have is refused by name.

    `-m 3,8` once silently measured 8 B only.
    """
    plan = load('[[cases]]\nbenchmarks = "allreduce"', bytes="3,8")
    assert plan.left_out == ("allreduce needs sizes in multiples of 4 bytes, not 3",)
