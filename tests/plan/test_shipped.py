"""The shipped plans, expanded with the shipped descriptions (checked by cli/test_nothing_compiled.py)."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

import kiviat.plan
from kiviat.launch.programs.lammps import described as of_lammps
from kiviat.plan import (
    Overrides,
    estimate,
    load_arrangements,
    load_plan,
    plan_names,
    reload_plan,
    shipped_benchmarks,
)
from kiviat.record import data_path, schema


@pytest.fixture(scope="module")
def real() -> list[dict[str, Any]]:
    return [*shipped_benchmarks(), *of_lammps()]


def test_they_follow_their_schema() -> None:
    assert plan_names() == [
        *(
            "applications",
            "full",
            "gears",
            "gears-quick",
            "hpcc",
            "hpcc-modelled",
            "hpcc-quick",
            "hpccg",
            "hpccg-quick",
        ),
        *("lammps", "lj", "lj-quick", "network-sharing", "npb", "npb-quick", "quick", "standard"),
    ]
    validator = Draft202012Validator(schema("plan"))
    for name in plan_names():
        data = tomllib.loads((data_path("plans") / f"{name}.toml").read_text())
        assert list(validator.iter_errors(data)) == []


@pytest.mark.parametrize("ranks", [2, 3, 8])
@pytest.mark.parametrize("name", plan_names())
def test_they_expand_on_any_machine(name: str, ranks: int, real: list[dict[str, Any]]) -> None:
    plan = load_plan(name, real, ranks)
    assert max(case.world for case in plan.cases) <= ranks
    assert plan.name == name


@pytest.mark.parametrize("name", plan_names())
def test_each_group_contributes(name: str, real: list[dict[str, Any]]) -> None:
    """A group whose cases all stood in earlier groups had no effect, nor had its controls."""
    plan = load_plan(name, real, 16)
    groups = plan.definition["cases"]
    for index, group in enumerate(groups):
        if others := [*groups[:index], *groups[index + 1 :]]:
            assert reload_plan({**plan.definition, "cases": others}, real).cases != plan.cases, group


def test_the_study_of_sharing_has_the_paper_s_arrangements() -> None:
    named = [arrangement.name for arrangement in load_arrangements("network-sharing")]
    assert named == [
        *("16x1", "8x2-cyclic-co-processor", "8x2-cyclic-virtual-processor"),
        *("4x4-cyclic", "4x4-blocked", "16x4-cyclic", "16x4-blocked"),
    ]
    assert not any(load_arrangements(name) for name in plan_names() if name != "network-sharing")


def test_standard_and_full_leave_no_benchmark_out(real: list[dict[str, Any]]) -> None:
    # Kernels of HPC Challenge, NAS programs and applications have their own plans.
    elsewhere = ("app/", "hpcc/", "npb/")
    everything = {benchmark["name"] for benchmark in real if not benchmark["file"].startswith(elsewhere)}
    for name in ("standard", "full"):
        plan = load_plan(name, real, 4)
        assert {case.benchmark for case in plan.cases} == everything
        assert max(case.bytes or 0 for case in plan.cases) == 16 << 20


def test_quick_is_quick(real: list[dict[str, Any]]) -> None:
    assert estimate(load_plan("quick", real, 2)).at_most_s < 180
    assert estimate(load_plan("standard", real, 2)).at_most_s < 30 * 60


def test_challenges_have_every_kernel_in_every_scope(real: list[dict[str, Any]]) -> None:
    kernels = [entry for entry in real if entry["file"].startswith("hpcc/")]
    wanted = {(kernel["name"], scope) for kernel in kernels for scope in scopes(kernel)} | {("ring", None)}
    assert len(kernels) == 7
    for name in ("hpcc", "hpcc-quick"):
        cases = load_plan(name, real, 2).cases
        default = {kernel["name"]: default_scope(kernel) for kernel in kernels}
        assert {
            (case.benchmark, case.axes.get("scope", default.get(case.benchmark))) for case in cases
        } == wanted


def test_challenges_end_in_time(real: list[dict[str, Any]]) -> None:
    assert estimate(load_plan("hpcc-quick", real, 2)).likely_s < 60
    assert estimate(load_plan("hpcc", real, 2)).likely_s < 15 * 60


def test_nas_programs_are_in_their_plans_once(real: list[dict[str, Any]]) -> None:
    programs = sorted(entry["name"] for entry in real if entry["file"].startswith("npb/"))
    assert programs == ["bt", "cg", "ep", "ft", "is", "lu", "mg", "sp"]
    for name, problem_class in (("npb", "A"), ("npb-quick", "W")):
        cases = load_plan(name, real, 5).cases
        assert sorted((case.benchmark, case.ranks) for case in cases) == [
            (program, 5 if program in ("ep", "lu") else 4) for program in programs
        ]
        assert {case.axes.get("class", "A") for case in cases} == {problem_class}


def test_estimates_heed_the_problem_class(real: list[dict[str, Any]]) -> None:
    """Classes S and B were once estimated to take as long as class A."""
    small, own, large = (
        estimate(load_plan("npb", real, 4, Overrides(axes={"class": one}))).likely_s for one in "SAB"
    )
    assert small < own / 10 and own * 4 < large < own * 5
    assert own == estimate(load_plan("npb", real, 4)).likely_s


def test_hpccg_grows_with_the_ranks_and_stays_the_same(real: list[dict[str, Any]]) -> None:
    for name, points in (("hpccg", None), ("hpccg-quick", 16)):
        cases = load_plan(name, real, 3).cases
        assert {(case.ranks, case.axes.get("scaling", "weak")) for case in cases} == {
            (ranks, scaling) for ranks in (1, 2, 3) for scaling in ("weak", "strong")
        }
        assert {case.axes.get("nx") for case in cases} == {points}


def test_the_liquid_grows_with_the_ranks_and_stays_the_same(real: list[dict[str, Any]]) -> None:
    for name, cells in (("lj", None), ("lj-quick", 10)):
        cases = load_plan(name, real, 3).cases
        assert {(case.ranks, case.axes.get("scaling", "weak")) for case in cases} == {
            (ranks, scaling) for ranks in (1, 2, 3) for scaling in ("weak", "strong")
        }
        assert {case.axes.get("nx") for case in cases} == {cells}


def test_lammps_likewise_with_both_of_its_problems() -> None:
    cases = load_plan("lammps", of_lammps(), 3).cases
    assert {(case.benchmark, case.ranks, case.axes.get("scaling", "weak")) for case in cases} == {
        (name, ranks, scaling)
        for name in ("lammps-lj", "lammps-rhodo")
        for ranks in (1, 2, 3)
        for scaling in ("weak", "strong")
    }
    assert {case.program for case in cases} == {"lammps"}


def test_gears_are_few_on_each_rank_and_many_in_all(real: list[dict[str, Any]]) -> None:
    for name, steps in (("gears", None), ("gears-quick", 31)):
        cases = load_plan(name, real, 3).cases
        assert {(case.ranks, case.axes.get("scaling", "weak")) for case in cases} == {
            (ranks, scaling) for ranks in (1, 2, 3) for scaling in ("weak", "strong")
        }
        assert {case.axes.get("steps") for case in cases} == {steps}


def test_applications_are_the_plans_of_each(real: list[dict[str, Any]]) -> None:
    def cases_of(name: str) -> set[str]:
        return {case.id for case in load_plan(name, real, 3).cases}

    # The liquid of 4,194,304 atoms (four per cell) is too large for a plan on a small machine.
    large = {case for case in cases_of("applications") if "nx=128" in case}
    assert large == {f"lj/ranks={ranks}/nx=128/ny=128/nz=64/scaling=strong" for ranks in (1, 2, 3)}
    assert cases_of("applications") - large == cases_of("hpccg") | cases_of("gears") | cases_of("lj")


def scopes(kernel: dict[str, Any]) -> list[str | None]:
    return next((axis["values"] for axis in kernel["axes"] if axis["name"] == "scope"), [None])


def default_scope(kernel: dict[str, Any]) -> str | None:
    return next((axis["default"] for axis in kernel["axes"] if axis["name"] == "scope"), None)


def test_pairs_at_a_distance_meet_both_partners_by_default() -> None:
    """Pairs at a distance alternate between both partners, as published first and last phases are equal.

    With `disjoint`, each phase has only half of the pairs.
    """
    lines = Path(kiviat.plan.__file__).with_name("benchmarks.json").read_text(encoding="utf-8")
    (pairwise,) = (one for one in json.loads(lines) if one["name"] == "dense_pairwise")
    assert {axis["name"]: axis["default"] for axis in pairwise["axes"]}["matching"] == "halves"
