"""The plan that the command line asks for."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from kiviat.plan import (
    COMMAND_LINE,
    Benchmark,
    Overrides,
    Plan,
    RankRule,
    expand_ranks,
    find_benchmarks,
    load_plan,
    names_plan,
    plan_in,
)
from kiviat.record import InputError
from kiviat.record.types import Scalar

_DEFAULT_PLAN = "quick"


def named_plan(arguments: Namespace) -> str | None:
    """The plan that a word names, if any; whether the words are benchmarks is seen later."""
    words = [word for word in arguments.benchmarks if names_plan(word)]
    return arguments.plan or (words[0] if words else None)


def asked_plan(arguments: Namespace, known: list[dict[str, Any]], available: int) -> Plan:
    """`available` ranks are used where the command line names no number."""
    ranks = arguments.ranks
    if ranks is not None:
        available = max(expand_ranks(ranks, available, RankRule(), "-n"))
    named, benchmarks = plan_in(arguments.benchmarks, known, arguments.plan)
    if ranks is not None:
        _refuse_ranks_that_do_not_fit(ranks, available, benchmarks, known)
    overrides = Overrides(
        benchmarks=benchmarks,
        bytes=arguments.sizes,
        ranks=None if ranks is None or ranks.isdecimal() else ranks,
        launches=arguments.launches,
        seed=arguments.seed,
        controls=_controls(arguments),
        axes=_axes(arguments),
    )
    return load_plan(named or _DEFAULT_PLAN, known, available, overrides)


def _refuse_ranks_that_do_not_fit(
    ranks: str, available: int, names: list[str], known: list[dict[str, Any]]
) -> None:
    """Who wants a program on 12 ranks that can do with 8 or 16 is told, and does not get 8."""
    for benchmark in find_benchmarks([Benchmark.from_json(entry) for entry in known], names, COMMAND_LINE):
        rule = benchmark.ranks
        if rule.numbers != "any" and not expand_ranks(ranks, available, rule, "-n", strict=False):
            raise InputError(f"-n {ranks} does not fit: {benchmark.name} runs on {rule}")


def _controls(arguments: Namespace) -> dict[str, Scalar]:
    given = {
        "mode": _mode(arguments),
        "sync": arguments.sync,
        "target": None if arguments.target is None else arguments.target / 100,
        "budget_s": arguments.budget,
        "iterations": arguments.iterations,
        "warmup": arguments.warmup,
        "watts": arguments.watts,
    }
    return {name: value for name, value in given.items() if value is not None}


def _mode(arguments: Namespace) -> str | None:
    if getattr(arguments, "once", False):
        return "once"
    return "pallas2" if arguments.pallas2 else "fixed" if arguments.iterations is not None else None


def _axes(arguments: Namespace) -> dict[str, Any]:
    axes: dict[str, Any] = {}
    for word in arguments.set:
        name, equals, value = word.partition("=")
        if not (name and equals and value):
            raise InputError(
                f"--set {word!r} is not of the form AXIS=VALUE; `kiviat list BENCH` shows the axes"
            )
        axes[name] = value
    if arguments.memory is not None:
        axes["memory"] = arguments.memory
    if arguments.problem_class is not None:
        axes["class"] = arguments.problem_class.upper()
    return axes | ({} if arguments.multi is None else {"group": arguments.multi})


_ALONGSIDE_RESUME = {
    *("resume", "mpi", "report", "output", "module", "command"),
    *("launcher", "on", "script", "ppn", "place", "bind", "timeout", "dry_run", "lammps"),
}


def refuse_other_options(arguments: Namespace) -> None:
    """A run goes on with the plan it began with."""
    for name, value in vars(arguments).items():
        if name not in _ALONGSIDE_RESUME and value not in (None, False, []):
            raise InputError(f"--resume takes the plan from the run; leave {name} ({value!r}) out")
