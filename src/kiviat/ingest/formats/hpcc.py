"""HPC Challenge: the summary sections of hpccoutf.txt, versions 1.0 to 1.5; each run appends one."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kiviat.ingest.reported import Case, metric, record
from kiviat.record import InputError, Metric, Record
from kiviat.record.types import Scalar

NAME = "HPC Challenge (hpccoutf.txt)"

_BEGIN, _END = "Begin of Summary section.", "End of Summary section."
_TITLES = (_BEGIN, "HPC Challenge Benchmark", "Begin of HPL section.")
_NAME = re.compile(r"[A-Za-z]\w*")
# Limits of HPCC's checks: the scaled residual of HPL and PTRANS, the fraction of wrong words of RandomAccess.
_PASSES, _WRONG = 16.0, 0.01


def sniff(text: str) -> bool:
    """True for text with the title of an HPC Challenge output."""
    return any(title in text for title in _TITLES)


def parse(text: str, where: str, ranks: int | None = None) -> list[Record]:
    """Return the records of all summaries, which have the number of ranks; InputError without a summary."""
    _, *summaries = text.split(_BEGIN)
    if not summaries:
        raise InputError(
            f"{where} has no summary section: this run of HPC Challenge did not end; give one that did"
        )
    try:
        return [found for summary in summaries for found in _records(_Summary(_values(summary)))]
    except ValueError as error:
        raise InputError(f"{where}: {error}; is the file complete?") from None


def _values(text: str) -> dict[str, str]:
    """Return the values of the summary that a text begins with."""
    lines = (line.partition("=") for line in text.partition(_END)[0].splitlines())
    return {name: value.strip() for name, _, value in lines if _NAME.fullmatch(name)}


@dataclass(frozen=True, slots=True)
class _Summary:
    values: Mapping[str, str]

    def number(self, name: str) -> float | None:
        """Return a value, None if it is missing or marks a kernel that was not run."""
        number = self._float(name)
        return None if number is None or not math.isfinite(number) or number < 0 else number

    def error(self, name: str) -> float | None:
        """Return what a check has computed, like `number`, but infinity if that is no number.

        Results that overflowed are wrong, not unchecked.
        """
        number = self._float(name)
        return math.inf if number is not None and not math.isfinite(number) else self.number(name)

    def _float(self, name: str) -> float | None:
        text = self.values.get(name)
        try:
            return None if text is None else float(text)
        except ValueError:
            raise ValueError(f"{name}={text} is not a number") from None

    def whole(self, name: str) -> int | None:
        number = self.number(name)
        return None if number is None else round(number)

    @property
    def ranks(self) -> int:
        ranks = self.whole("CommWorldProcs")
        if not ranks:
            raise ValueError("CommWorldProcs, the number of processes, is missing")
        return ranks

    @property
    def threads(self) -> dict[str, Scalar]:
        threads = self.whole("omp_get_max_threads") or 0
        return {"threads": threads} if threads > 1 else {}


def _records(summary: _Summary) -> Iterator[Record]:
    yield from _hpl(summary)
    for scope, name in (("star", "Star"), ("single", "Single")):
        yield from _single_or_star(summary, scope, name)
    yield from _ptrans(summary)
    yield from _random_access(summary)
    yield from _fft(summary)
    yield from _messages(summary)


def _hpl(summary: _Summary) -> Iterator[Record]:
    rate, order = _rate(summary, "HPL_Tflops", 1e12, "flop/s"), summary.number("HPL_N")
    if rate is None or not order:
        return
    p, q = summary.whole("HPL_nprow") or 1, summary.whole("HPL_npcol") or summary.ranks
    axes = _axes(n=round(order), nb=summary.whole("HPL_NB"), p=p, q=q)
    metrics = [rate]
    seconds = summary.number("HPL_time")
    if seconds:
        metrics.append(metric("time", "s", seconds, 1))
    residual = _hpl_residual(summary, order)
    metrics += _residual(residual)
    metrics.append(metric("order", "1", order, 1, better="higher"))
    check = None if residual is None else residual < _PASSES
    yield _record(Case("hpl", p * q, None, {**axes, **summary.threads}), metrics, check)


def _hpl_residual(summary: _Summary, order: float) -> float | None:
    names = ("HPL_RnormI", "HPL_eps", "HPL_AnormI", "HPL_XnormI", "HPL_BnormI")
    values = [summary.error(name) for name in names]
    if None in values:
        return None
    if math.inf in values:
        return math.inf
    error, eps, a, x, b = (value or 0.0 for value in values)
    scale = eps * (a * x + b) * order
    return error / scale if scale else None


def _single_or_star(summary: _Summary, scope: str, name: str) -> Iterator[Record]:
    """Yield the kernels that processes run independently, in a single one or in all at once (star)."""
    ranks = summary.ranks
    chosen: dict[str, Scalar] = {} if scope == "star" else {"scope": scope}
    if dgemm := _rate(summary, f"{name}DGEMM_Gflops", 1e9, "flop/s"):
        axes = chosen | _axes(n=summary.whole("DGEMM_N")) | summary.threads
        yield _record(Case("dgemm", ranks, None, axes), [dgemm])
    loops = ("Triad", "Copy", "Scale", "Add")
    stream = [
        rate for loop in loops if (rate := _rate(summary, f"{name}STREAM_{loop}", 1e9, "B/s", loop.lower()))
    ]
    if stream:
        elements = summary.whole("STREAM_VectorSize")
        axes = chosen | _axes(memory=elements and 24 * elements) | summary.threads
        yield _record(Case("stream", ranks, None, axes), stream)
    if updates := _rate(summary, f"{name}RandomAccess_GUPs", 1e9, "1/s", "updates"):
        words = summary.whole("RandomAccess_N")
        axes = _scoped(scope) | _axes(memory=words and 8 * words)
        yield _record(Case("random_access", ranks, None, axes), [updates])
    if fft := _rate(summary, f"{name}FFT_Gflops", 1e9, "flop/s"):
        axes = _scoped(scope) | _axes(n=summary.whole("FFT_N"))
        yield _record(Case("fft", ranks, None, axes), [fft])


def _ptrans(summary: _Summary) -> Iterator[Record]:
    if rate := _rate(summary, "PTRANS_GBs", 1e9, "B/s"):
        residual = summary.error("PTRANS_residual")
        metrics = [rate, *_residual(residual)]
        axes = _axes(
            n=summary.whole("PTRANS_n"),
            nb=summary.whole("PTRANS_nb"),
            p=summary.whole("PTRANS_nprow"),
            q=summary.whole("PTRANS_npcol"),
        )
        check = None if residual is None else residual < _PASSES
        yield _record(Case("ptrans", summary.ranks, None, axes), metrics, check)


def _random_access(summary: _Summary) -> Iterator[Record]:
    if updates := _rate(summary, "MPIRandomAccess_GUPs", 1e9, "1/s", "updates"):
        wrong, words = summary.error("MPIRandomAccess_ErrorsFraction"), summary.whole("MPIRandomAccess_N")
        metrics = [updates]
        if wrong is not None and wrong < math.inf:
            metrics.append(metric("errors", "%", 100 * wrong, 1, better="lower"))
        axes = _axes(memory=words and 8 * words // summary.ranks)
        check = None if wrong is None else wrong <= _WRONG
        yield _record(Case("random_access", summary.ranks, None, axes), metrics, check)


def _fft(summary: _Summary) -> Iterator[Record]:
    if rate := _rate(summary, "MPIFFT_Gflops", 1e9, "flop/s"):
        n, error = summary.whole("MPIFFT_N"), summary.error("MPIFFT_maxErr")
        check = None
        metrics = [rate]
        if error is not None and n is not None and n > 1:
            residual = error / (math.log(n) * 2.0**-53)
            metrics += _residual(residual)
            check = residual < _PASSES
        ranks = summary.whole("MPIFFT_Procs") or summary.ranks
        yield _record(Case("fft", ranks, None, _axes(n=n)), metrics, check)


def _messages(summary: _Summary) -> Iterator[Record]:
    orders = (("RandomlyOrdered", "random"), ("NaturallyOrdered", "natural"))
    rings = [
        rate
        for theirs, ours in orders
        for rate in (
            _rate(summary, f"{theirs}RingBandwidth_GBytes", 1e9, "B/s", f"{ours}_bandwidth"),
            _rate(summary, f"{theirs}RingLatency_usec", 1e-6, "s", f"{ours}_latency"),
        )
        if rate
    ]
    if rings:
        yield _record(Case("ring", summary.ranks, None, {}), rings)
    statistics = (("Avg", "mean"), ("Min", "min"), ("Max", "max"))
    pairs = [
        rate
        for theirs, ours in statistics
        for rate in (
            _rate(summary, f"{theirs}PingPongLatency_usec", 1e-6, "s", f"latency_{ours}"),
            _rate(summary, f"{theirs}PingPongBandwidth_GBytes", 1e9, "B/s", f"bandwidth_{ours}"),
        )
        if rate
    ]
    if pairs:
        yield _record(Case("pair_pingpong", summary.ranks, None, {}), pairs)


def _rate(summary: _Summary, theirs: str, factor: float, unit: str, name: str = "rate") -> Metric | None:
    """Return a value as a metric, None for 0 and negative numbers, which mark kernels that were not run."""
    number = summary.number(theirs)
    return metric(name, unit, number * factor, 1) if number else None


def _residual(residual: float | None) -> list[Metric]:
    """Return the metric of a residual; none if it was not computed, or overflowed."""
    return [] if residual is None or residual == math.inf else [metric("residual", "1", residual, 1)]


def _record(case: Case, metrics: list[Metric], check: bool | None = None) -> Record:
    return record(case, metrics, check=check, wrong="HPC Challenge's own check failed")


def _scoped(scope: str) -> dict[str, Scalar]:
    return {"scope": scope}


def _axes(**axes: int | None) -> dict[str, Scalar]:
    return {name: value for name, value in axes.items() if value}
