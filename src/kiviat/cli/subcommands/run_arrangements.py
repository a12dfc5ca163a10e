"""Runs several arrangements of ranks, of a plan or of `-n 2x1,4x2`: a run for each, one report about all."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from kiviat.cli.options.request import RunRequest
from kiviat.launch.substrates.substrate import Substrate
from kiviat.placement import parse_shape
from kiviat.plan import Arrangement
from kiviat.record import InputError, NotStartedError
from kiviat.store import call_run

# Executes a run; returns its exit code and directory, None in a dry run.
Run = Callable[[RunRequest], tuple[int, Path | None]]


def run_arranged(
    plan: str, arrangements: Sequence[Arrangement], request: RunRequest, substrate: Substrate, run: Run
) -> int:
    """Run all arrangements; return the worst exit code. Arrangements that do not fit are named and skipped.

    Raise InputError if none fits, or if the command line gives a placement as well.
    """
    where = request.where
    given = {"-n": request.what.ranks, "--ppn": where.ppn, "--place": where.place, "--bind": where.bind}
    for option, value in given.items():
        if value is not None:
            raise InputError(
                f"plan {plan} says itself where ranks go: leave {option} {value} out, or name its benchmarks "
                "without it"
            )
    return _run_each(plan, f"plan {plan}", arrangements, request, substrate, run)


def shapes_of(request: RunRequest) -> tuple[Arrangement, ...]:
    """Return an arrangement for each number of ranks per node of `-n 2x1,4x2`, none if all are the same."""
    if request.resume or not request.what.ranks or "x" not in request.what.ranks.lower():
        return ()
    by_node: dict[int, list[str]] = {}
    for word in request.what.ranks.split(","):
        by_node.setdefault(parse_shape(word.strip()).per_node, []).append(word.strip())
    where = request.where
    each = (Arrangement(",".join(words), where.place, where.bind) for words in by_node.values())
    return tuple(each) if len(by_node) > 1 else ()


def run_shapes(shapes: Sequence[Arrangement], request: RunRequest, substrate: Substrate, run: Run) -> int:
    """Run each of the shapes of the command line; return the worst exit code.

    Raise InputError if none fits, or if `--ppn` says otherwise.
    """
    if request.where.ppn is not None:
        raise InputError(f"-n {request.what.ranks} says the ranks on a node: leave --ppn out")
    return _run_each("shapes", f"-n {request.what.ranks}", shapes, request, substrate, run)


def _run_each(
    name: str,
    what: str,
    arrangements: Sequence[Arrangement],
    request: RunRequest,
    substrate: Substrate,
    run: Run,
) -> int:
    code, paths, left_out, quiet = 0, [], [], request.verbosity == "quiet"
    possible = _possible(arrangements, substrate)
    for arrangement in possible:
        if not quiet:
            print(f"\n{arrangement.name}")
        try:
            ended, path = run(_with(request, arrangement))
        except NotStartedError as error:
            left_out.append(f"{arrangement.name}: {error}")
            print(f"left out: {error}", file=sys.stderr if quiet else None)
            continue
        paths += [path] if path else []
        code = max(code, ended)
        if ended > 1:
            return ended
    if left_out and len(left_out) == len(possible):
        raise InputError(f"{what} has no arrangement for this machine: {left_out[0]}")
    if paths:
        report = Path(request.report or paths[0].parent / f"{name}.html")
        from kiviat.cli.text.run_page import report_on  # it takes longer to import than a dry run

        report_on(paths, report)
        if not quiet:
            _tell(paths, report)
    return code


def _possible(arrangements: Sequence[Arrangement], substrate: Substrate) -> list[Arrangement]:
    """Return the arrangements without binding if nodes share cores, because their ranks cannot be bound."""
    if substrate.shares_cores:
        return list(dict.fromkeys(replace(arrangement, bind=None) for arrangement in arrangements))
    return list(arrangements)


def _with(request: RunRequest, arrangement: Arrangement) -> RunRequest:
    return replace(
        request,
        what=replace(request.what, ranks=arrangement.shape),
        where=replace(request.where, place=arrangement.place, bind=arrangement.bind),
        arrangement=arrangement.name,
        report=None,
    )


def _tell(paths: Sequence[Path], report: Path) -> None:
    print(f"\nall {len(paths)}   {' '.join(call_run(path) for path in paths)}")
    print(f"report  {report}")
    sys.stdout.flush()
