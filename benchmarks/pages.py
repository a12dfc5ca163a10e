"""Effect of huge pages: Kiviat's kernels and peers with and without them, in turns.

Kiviat's kernels request huge pages (`pages=huge`) or forbid them (`pages=small`). Peers get them through
glibc's malloc, or run as their users run them, which means small pages on most systems.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks import hpcc, hpccg, npb
from benchmarks.finding import Finding, Verdict, not_measured
from benchmarks.mpi import LaunchError, Mpi
from benchmarks.peers import find_program
from benchmarks.setting import Setting
from kiviat.ingest.formats.hpcc import parse

ROW = "pages"
RANKS = 2
_PROGRAMS = ("cg", "is", "mg")
# The block size of hpcc, which is not tuned here.
_BLOCK = 128


@dataclass(frozen=True)
class Side:
    """Kiviat or a peer: its kernels' rates by name, for `pages` "huge" or as in `without`.

    `without` is "small" for Kiviat, "default" for peers. `repeat`: commands for either.
    """

    name: str
    without: str
    rates: Callable[[str], Mapping[str, float]]
    repeat: Callable[[str], Sequence[str]] = lambda pages: ()


def measure(setting: Setting) -> Iterator[Finding]:
    for mpi in setting.mpis:
        for side in (_ours(mpi, setting), *_peers(mpi, setting)):
            if isinstance(side, Finding):
                yield side
            else:
                yield from _compared(mpi, setting, side)


def _compared(mpi: Mpi, setting: Setting, side: Side) -> Iterator[Finding]:
    name, without = side.name, side.without
    found: dict[str, dict[str, list[float]]] = {}
    try:
        for _ in setting.progress(range(setting.times(3, least=1)), f"{ROW}: {name}, {mpi.name}"):
            for pages in ("huge", without):
                for kernel, rate in side.rates(pages).items():
                    found.setdefault(kernel, {"huge": [], without: []})[pages].append(rate)
    except LaunchError as error:
        yield not_measured(ROW, f"{name}, {RANKS} ranks, {mpi.name}", "", str(error))
        return
    repeat = tuple(dict.fromkeys((*side.repeat("huge"), *side.repeat(without))))
    for kernel, samples in found.items():
        with_pages, plain = median(samples["huge"]), median(samples[without])
        yield Finding(
            ROW,
            f"{kernel}, {name}, {RANKS} ranks, {mpi.name}: huge pages",
            f"{with_pages / plain:.2f} times {without} ({with_pages / 1e9:.4g} and {plain / 1e9:.4g} G/s)",
            "",
            Verdict.STATED,
            data=samples,
            repeat=repeat,
        )
        repeat = ()  # once is enough: they are the same for all kernels


def _ours(mpi: Mpi, setting: Setting) -> Side:
    """Return Kiviat's kernels with the sizes used in the comparisons with peers."""
    order = hpcc.order_in(setting)
    memory = order * order * 8 // RANKS
    problem_class = _class(setting)
    cases = {
        "STREAM triad": (f"stream stream memory={memory}", "triad"),
        "PTRANS": (f"ptrans ptrans n={order // 2}", "rate"),
        "FFT": (f"fft fft memory={memory // 4}", "rate"),
        "RandomAccess": (f"random_access random_access memory={memory // 2} time_s=2", "updates"),
        "HPCCG": (f"hpccg hpccg nx={hpccg.POINTS} ny={hpccg.POINTS} nz={hpccg.POINTS}", "rate_27"),
        **{name.upper(): (f"{name} {name} class={problem_class}", "rate") for name in _PROGRAMS},
    }

    def rates(pages: str) -> Mapping[str, float]:
        events = mpi.measure([f"{case} pages={pages}" for case, _ in cases.values()], RANKS)
        return {
            title: events.metric(case.split()[0], metric)["p50"] for title, (case, metric) in cases.items()
        }

    return Side("Kiviat", "small", rates)


def _peers(mpi: Mpi, setting: Setting) -> Iterator[Side | Finding]:
    """Yield the peers that are installed, and a finding for each that is not."""
    program = hpcc.peer(mpi)
    if isinstance(program, str):
        yield _absent("hpcc", mpi, program)
    else:
        yield _of_hpcc(mpi, program, hpcc.order_in(setting))
    reference = find_program("HPCCG_DIR", "test_HPCCG", mpi)
    if isinstance(reference, str):
        yield _absent("HPCCG's reference", mpi, reference)
    else:
        yield _of_hpccg(mpi, reference)
    found = [(name, find_program("NPB_DIR", f"{name}.{_class(setting)}.x", mpi)) for name in _PROGRAMS]
    pairs = [
        npb.Pair(name, RANKS, _class(setting), program)
        for name, program in found
        if not isinstance(program, str)
    ]
    yield from (
        _absent(f"NAS reference, {name.upper()}", mpi, program)
        for name, program in found
        if isinstance(program, str)
    )
    if pairs:
        yield Side(
            "NAS reference",
            "default",
            lambda pages: {pair.name.upper(): pair.theirs(mpi, pages) for pair in pairs},
            lambda pages: [pair.repeat(mpi, pages) for pair in pairs],
        )


def _of_hpcc(mpi: Mpi, program: Path, order: int) -> Side:
    tuning = hpcc.Tuning(_BLOCK, 1, RANKS, hpcc.core_of(hpcc.blas_of(mpi)))

    def rates(pages: str) -> Mapping[str, float]:
        records = parse(tuning.output(mpi, program, order, pages), "hpccoutf.txt")
        return {figure.title: figure.theirs(records) for figure in hpcc.FIGURES}

    return Side("hpcc", "default", rates, lambda pages: tuning.repeat(mpi, program, order, pages))


def _of_hpccg(mpi: Mpi, reference: Path) -> Side:
    return Side(
        "HPCCG's reference",
        "default",
        lambda pages: {"HPCCG": hpccg.theirs(mpi, RANKS, reference, pages)},
        lambda pages: [hpccg.repeat(mpi, RANKS, reference, pages)],
    )


def _absent(name: str, mpi: Mpi, reason: str) -> Finding:
    return not_measured(ROW, f"{name}, {RANKS} ranks, {mpi.name}", "", reason)


def _class(setting: Setting) -> str:
    return "S" if setting.brief else "A"
