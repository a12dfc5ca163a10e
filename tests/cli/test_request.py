"""Each command gets one frozen request with every option of the command and nothing else.

An argparse.Namespace was once passed through 38 files, seven statements modified it, and unused options went
unnoticed.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import FrozenInstanceError, fields, is_dataclass, replace
from importlib import import_module

import pytest

from kiviat.cli.options.arguments import parsed, parser
from kiviat.cli.options.external_programs import with_plan_of_lammps
from kiviat.cli.options.plan import asked_once, refuse_other_options
from kiviat.cli.options.request import (
    REQUESTS,
    CcRequest,
    PlanOptions,
    Request,
    RunProgramRequest,
    RunReplayRequest,
    RunRequest,
    Where,
)
from kiviat.cli.options.substrate import settled_shape, substrate_of
from kiviat.cli.subcommands.run_arrangements import run_shapes, shapes_of
from kiviat.record import InputError, NotStartedError

# Options that are stored in the request under the names of the rules that they set.
STORED_ELSEWHERE = {"rules"}
# The words after `--`, and facts that commands determine themselves.
NOT_OPTIONS = {"program", "once", "arrangement"}


def commands(within: argparse.ArgumentParser, names: tuple[str, ...] = ()) -> Iterator[tuple[str, set[str]]]:
    """Return the options of each command and of each of its actions."""
    inner = [action for action in within._actions if isinstance(action, argparse._SubParsersAction)]
    if names and (not inner or not inner[0].required):
        own = {action.dest for action in within._actions if action not in inner}
        yield " ".join(names), own - {"help", *STORED_ELSEWHERE} | set(within._defaults)
    for action in inner:
        for name, command in action.choices.items():
            yield from commands(command, (*names, name))


COMMANDS = {name: options for name, options in commands(parser()) if name != "cc"}


def leaves(kind: type) -> set[str]:
    """Return the fields of a request, including those of nested requests."""
    parts = [
        leaves(field.type) if isinstance(field.type, type) and is_dataclass(field.type) else {field.name}
        for field in fields(kind)
    ]
    return set().union(*parts)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_is_a_field(name: str) -> None:
    kind = REQUESTS[name]
    held = leaves(RunReplayRequest if kind is RunRequest else kind)
    assert COMMANDS[name] - held == set()
    shared = leaves(PlanOptions) | leaves(Where)
    assert held - COMMANDS[name] - NOT_OPTIONS - shared == set()


def test_every_request_has_a_command_and_every_command_a_module() -> None:
    assert set(REQUESTS) == set(COMMANDS)
    kinds: tuple[type[Request], ...] = (*REQUESTS.values(), CcRequest, RunProgramRequest, RunReplayRequest)
    for kind in kinds:
        assert callable(import_module(f"kiviat.cli.{kind.module}").execute)


def test_requests_are_frozen() -> None:
    request = parsed(["runs"])
    with pytest.raises(FrozenInstanceError):
        request.format = "json"  # type: ignore[attr-defined]
    kinds = (*REQUESTS.values(), CcRequest, RunProgramRequest, RunReplayRequest, PlanOptions, Where)
    assert all(kind.__dataclass_params__.frozen for kind in kinds)  # type: ignore[attr-defined]  # typeshed has no such name


@pytest.mark.parametrize(
    ("words", "request_"),
    [
        (
            ["run", "pingpong", "-n", "2x1", "--set", "a=1", "--on", "native"],
            RunRequest(
                what=PlanOptions(benchmarks=("pingpong",), ranks="2x1", set=("a=1",)),
                where=Where(on="native"),
            ),
        ),
        (["run", "-n", "2", "--", "./a", "-x"], RunProgramRequest(
            what=PlanOptions(ranks="2"), program=("./a", "-x"))),
        (["run", "-q"], RunRequest(verbosity="quiet")),
        (["run", "--verbose"], RunRequest(verbosity="verbose")),
        (["run", "--"], RunProgramRequest(program=())),
        (["run", "--replay", "x.trace", "--speed", "2"], RunReplayRequest(replay="x.trace", speed=2.0)),
        (["cc", "-O2", "--help"], CcRequest(("-O2", "--help"))),
    ],
)  # fmt: skip
def test_a_command_line_becomes_a_request(words: list[str], request_: Request) -> None:
    assert parsed(words) == request_


def test_what_follows_from_a_request_leaves_it_as_it_is() -> None:
    where = Where(place="cyclic")
    assert settled_shape("8x2", where) == ("16", replace(where, ppn=2))
    assert settled_shape("16", where) == ("16", where)
    assert settled_shape("2x1,12x1", where) == ("2,12", replace(where, ppn=1))
    with pytest.raises(InputError, match="1, 2 ranks on a node; a run has one number"):
        settled_shape("2x1,4x2", where)
    assert where.ppn is None
    assert with_plan_of_lammps(PlanOptions(benchmarks=("lammps-lj",))).plan == "lammps"
    assert with_plan_of_lammps(PlanOptions(benchmarks=("lammps-lj", "pingpong"))).plan is None
    assert asked_once(PlanOptions()) == PlanOptions(launches=1, once=True)
    assert asked_once(PlanOptions(launches=0)).launches == 0  # the plan refuses it
    assert asked_once(PlanOptions(launches=3, iterations=5)) == PlanOptions(launches=3, iterations=5)


def test_unlike_shapes_are_a_run_for_each_number_of_ranks_on_a_node() -> None:
    """`-n 2x1,4x2` starts a run for each number of ranks on a node; it was once refused."""
    request = parsed(["run", "pingpong", "-n", "2x1,4x2,8x2", "--place", "cyclic", "-q"])
    assert isinstance(request, RunRequest)
    seen: list[tuple[str | None, str | None, str | None]] = []

    def run_once(one: RunRequest) -> tuple[int, None]:
        seen.append((one.what.ranks, one.where.place, one.arrangement))
        if one.what.ranks == "4x2,8x2":
            raise NotStartedError("there are 4 nodes")
        return 0, None

    shapes = shapes_of(request)
    run_shapes(shapes, replace(request, dry_run=True), substrate_of("simulated:altix-bx2"), run_once)
    assert seen == [("2x1", "cyclic", "2x1-cyclic"), ("4x2,8x2", "cyclic", "4x2-8x2-cyclic")]
    for words in (["-n", "2x1,12x1"], ["-n", "2,4"], [], ["--resume", "last"]):
        alike = parsed(["run", "pingpong", *words])
        assert isinstance(alike, RunRequest) and shapes_of(alike) == ()
    with pytest.raises(InputError, match="says the ranks on a node: leave --ppn out"):
        asked = replace(request, where=replace(request.where, ppn=1))
        run_shapes(shapes, asked, substrate_of("simulated:altix-bx2"), run_once)


def test_a_resumed_run_takes_no_plan_and_no_machine() -> None:
    refuse_other_options(RunRequest(where=Where(on="native"), mpi="openmpi", resume="last", dry_run=True))
    with pytest.raises(InputError, match="leave pingpong out"):
        refuse_other_options(RunRequest(what=PlanOptions(benchmarks=("pingpong",)), resume="last"))
    with pytest.raises(InputError, match="leave --machine x out"):
        refuse_other_options(RunRequest(machine="x", resume="last"))
    with pytest.raises(InputError, match="leave -n 8x2 out"):
        refuse_other_options(RunRequest(what=PlanOptions(ranks="8x2"), resume="last"))
    with pytest.raises(InputError, match="leave --seed 0 out"):
        refuse_other_options(RunRequest(what=PlanOptions(seed=0), resume="last"))
    with pytest.raises(InputError, match="leave --pallas2 out"):
        refuse_other_options(RunRequest(what=PlanOptions(pallas2=True), resume="last"))
