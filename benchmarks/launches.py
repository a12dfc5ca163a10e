"""Why launches of the same program differ: spread of their medians when one thing at a time is changed.

Each condition has launches of its own, in turns with all others. A launch measures each size many times, each
time as a case of its own with new buffers, which tells differences between launches from those within one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import log
from statistics import fmean, median, variance

from benchmarks.finding import Finding, Verdict, not_measured
from benchmarks.mpi import LaunchError, Mpi
from benchmarks.setting import Setting
from kiviat.record.units import format_bytes

ROW = "launches"
_SIZES = (8, 64 << 10, 1 << 20)
_AGAIN = 5
_CASE = "pingpong ranks=2 budget_s=0.05"


@dataclass(frozen=True, eq=False)  # each is itself only: its variables cannot be hashed
class Condition:
    """One change to a launch: words before the program, environment, controls of the cases."""

    name: str
    prefix: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    controls: str = ""


_ANY = (
    Condition("as they are"),
    Condition("same addresses (setarch -R)", ("setarch", "-R")),
    Condition("small pages", controls=" pages=small"),
)
_OF_MPI: Mapping[str, Sequence[Condition]] = {
    "openmpi": (
        Condition("ranks not bound", variables={"OMPI_MCA_hwloc_base_binding_policy": "none"}),
        Condition(
            "messages copied twice, without CMA",
            variables={"OMPI_MCA_btl_vader_single_copy_mechanism": "none"},
        ),
    ),
    "mpich": (
        Condition("ranks bound", variables={"HYDRA_BINDING": "core"}),
        Condition("messages copied twice, without CMA", variables={"MPIR_CVAR_CH4_CMA_ENABLE": "0"}),
    ),
}


def measure(setting: Setting) -> Iterator[Finding]:
    yield from setting.under_each_mpi(ROW, _under)


def _under(mpi: Mpi, setting: Setting) -> Iterator[Finding]:
    conditions = [*_ANY, *_OF_MPI.get(mpi.key, ())]
    found: dict[Condition, list[Mapping[int, list[float]]]] = {one: [] for one in conditions}
    failed: dict[Condition, str] = {}
    for launch in setting.progress(range(setting.times(25, least=3)), f"{ROW}: {mpi.name}"):
        for one in conditions if launch % 2 else conditions[::-1]:
            if one not in failed:
                try:
                    found[one].append(_launch(mpi, one))
                except LaunchError as error:  # such as setarch in a container that refuses it
                    failed[one] = str(error)
    for one, launches in found.items():
        if one in failed:
            yield not_measured(ROW, f"{one.name}, {mpi.name}", "", failed[one])
            continue
        spreads = [_spread([times[size] for times in launches]) for size in _SIZES]
        middle_s = {size: median(median(times[size]) for times in launches) for size in _SIZES}
        yield Finding(
            ROW,
            f"{one.name}, {mpi.name}",
            "; ".join(
                f"{format_bytes(size)} {between:.1%} between launches, {within:.1%} within"
                for size, (between, within) in zip(_SIZES, spreads, strict=True)
            ),
            "",
            Verdict.STATED,
            [
                f"standard deviations over {len(launches)} launches of {_AGAIN} cases each; medians: "
                + ", ".join(f"{format_bytes(size)} {1e6 * middle_s[size]:.3f} µs" for size in _SIZES)
            ],
            {str(size): [times[size] for times in launches] for size in _SIZES},
        )


def _launch(mpi: Mpi, condition: Condition) -> dict[int, list[float]]:
    """Return the medians of a launch's cases by message size, in seconds."""
    cases = [
        f"{size}/{again} {_CASE} bytes={size}{condition.controls}"
        for again in range(_AGAIN)
        for size in _SIZES
    ]
    events = mpi.measure(cases, variables=condition.variables, prefix=condition.prefix)
    return {
        size: [events.metric(f"{size}/{again}", "time")["p50"] for again in range(_AGAIN)] for size in _SIZES
    }


def _spread(launches: Sequence[Sequence[float]]) -> tuple[float, float]:
    """Return the relative standard deviations between launches and between the cases of a launch.

    Components of variance of the logarithms: the variance of launches' means contains a part of that within.
    """
    logs = [[log(time) for time in times] for times in launches]
    within = fmean(variance(times) for times in logs)
    between = variance(list(map(fmean, logs))) - within / len(logs[0])
    return max(0.0, between) ** 0.5, within**0.5
