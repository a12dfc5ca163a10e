"""The plan requested on the command line."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

from kiviat.cli.options.request import PlanOptions, RunRequest, is_given, option_of
from kiviat.plan import (
    COMMAND_LINE,
    Benchmark,
    Overrides,
    Plan,
    RankRule,
    expand_ranks,
    find_benchmarks,
    load_plan,
    name_of_selection,
    names_plan,
    plan_in,
)
from kiviat.record import InputError
from kiviat.record.types import Scalar

_DEFAULT_PLAN = "quick"


def named_plan(options: PlanOptions) -> str | None:
    """Return the plan that a word names, None if there is none; benchmarks are recognised later."""
    words = [word for word in options.benchmarks if names_plan(word)]
    return options.plan or (words[0] if words else None)


def asked_plan(options: PlanOptions, known: list[dict[str, Any]], available: int) -> Plan:
    """Return the plan of the command line; without a number of ranks it uses `available`."""
    ranks = options.ranks
    if ranks is not None:
        available = max(expand_ranks(ranks, available, RankRule(), "-n"))
    named, benchmarks = plan_in(options.benchmarks, known, options.plan)
    if ranks is not None:
        _refuse_ranks_that_do_not_fit(ranks, available, benchmarks, known)
    overrides = Overrides(
        benchmarks=benchmarks,
        bytes=options.sizes,
        ranks=None if ranks is None or ranks.isdecimal() else ranks,
        launches=options.launches,
        interval=_share("--interval", options.interval),
        launches_max=options.launches_max,
        seed=options.seed,
        controls=_controls(options),
        axes=_axes(options),
    )
    name = None if named else name_of_selection(benchmarks)
    return load_plan(named or _DEFAULT_PLAN, known, available, overrides, name=name)


def _refuse_ranks_that_do_not_fit(
    ranks: str, available: int, names: list[str], known: list[dict[str, Any]]
) -> None:
    """Raise InputError for ranks that a benchmark cannot use, such as 12 if it needs a power of two.

    Otherwise the benchmark would silently run on 8.
    """
    for benchmark in find_benchmarks([Benchmark.from_json(entry) for entry in known], names, COMMAND_LINE):
        rule = benchmark.ranks
        if rule.numbers != "any" and not expand_ranks(ranks, available, rule, "-n", strict=False):
            raise InputError(f"-n {ranks} does not fit: {benchmark.name} runs on {rule}")


def _share(option: str, percent: float | None) -> float | None:
    if percent is not None and not 0 < percent < 100:
        raise InputError(f"{option} {percent:g}: give per cent above 0 and below 100, such as 5")
    return None if percent is None else percent / 100


def _controls(options: PlanOptions) -> dict[str, Scalar]:
    given = {
        "mode": _mode(options),
        "sync": options.sync,
        "target": _share("--target", options.target),
        "budget_s": options.budget,
        "iterations": options.iterations,
        "warmup": options.warmup,
        "watts": options.watts,
        "pages": options.pages,
    }
    return {name: value for name, value in given.items() if value is not None}


def _mode(options: PlanOptions) -> str | None:
    if options.once:
        return "once"
    return "pallas2" if options.pallas2 else "fixed" if options.iterations is not None else None


def asked_once(options: PlanOptions) -> PlanOptions:
    """Set one launch and one call, unless the command line gives others: simulated times do not vary."""
    once = options.iterations is None and not options.pallas2
    return replace(options, launches=1 if options.launches is None else options.launches, once=once)


def _axes(options: PlanOptions) -> dict[str, Any]:
    axes: dict[str, Any] = {}
    for word in options.set:
        name, equals, value = word.partition("=")
        if not (name and equals and value):
            raise InputError(
                f"--set {word!r} is not of the form AXIS=VALUE; `kiviat list BENCH` shows the axes"
            )
        axes[name] = value
    if options.memory is not None:
        axes["memory"] = options.memory
    if options.problem_class is not None:
        axes["class"] = options.problem_class.upper()
    return axes | ({} if options.groups is None else {"group": options.groups})


def refuse_other_options(request: RunRequest) -> None:
    """Raise InputError for options that contradict a resumed run, which keeps its plan and machine."""
    for name, value in {**asdict(request.what), "machine": request.machine}.items():
        if is_given(value):
            words = list(value) if isinstance(value, tuple) else [value]
            if name != "benchmarks":
                words = [part for one in words for part in (option_of(name), one) if part is not True]
            shown = " ".join(map(str, words))
            raise InputError(f"--resume takes the plan from the run; leave {shown} out")
