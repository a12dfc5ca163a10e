"""HPL: the tables of HPL.out, of versions 1 and 2 and vendors' versions with the same lines."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence

from kiviat.ingest.formats import hpcc
from kiviat.ingest.reported import Case, metric, record
from kiviat.record import InputError, Record
from kiviat.record.types import Scalar

NAME = "HPL (HPL.out)"

_TITLE = re.compile(r"^(HPLinpack|T/V +N +NB +P +Q +Time +Gflops)", re.MULTILINE)
# Variant, N, NB, P, Q, seconds, Gflop/s; NVIDIA's has the rate of a GPU behind, in parentheses.
_RESULT = re.compile(
    r"^(W\w+)\s+(\d+)\s+(\d+)\s+(\d+)\s+(\d+)\s+([\d.]+)\s+([\d.]+(?:[eE][-+]?\d+)?)(?:\s+\(.*\))?\s*$"
)
_LIKE_RESULT = re.compile(r"^W\w*\s+\d.*$", re.MULTILINE)
# Version 2 checks one residual, version 1 three: all must pass.
_CHECK = re.compile(r"^\|\|Ax-b\|\|_oo.*=\s*(\S+)\s*\.{3,}\s*(PASSED|FAILED)")


def sniff(text: str) -> bool:
    """True for text with the title line of HPL, but not for HPC Challenge's output, which contains HPL's."""
    return _TITLE.search(text) is not None and not hpcc.sniff(text)


def parse(text: str, where: str, ranks: int | None = None) -> list[Record]:
    """Return a record for each result; the number of ranks is P × Q.

    Raise InputError, which quotes the first line that looks like a result, if no line is one.
    """
    records = list(_records(text))
    if not records and (like := _LIKE_RESULT.search(text)):
        line = text.count("\n", 0, like.start()) + 1
        raise InputError(
            f"{where} line {line}: {' '.join(like[0].split())[:80]!r} is no result of HPL that kiviat reads: "
            "variant, N, NB, P, Q, seconds and Gflop/s; is the file complete?"
        )
    return records


def _records(text: str) -> Iterator[Record]:
    result_words: list[str] | None = None
    checks: list[tuple[float, bool]] = []
    for line in text.splitlines():
        if result := _RESULT.match(line):
            if result_words:
                yield _record(result_words, checks)
            result_words, checks = list(result.groups()), []
        elif check := _CHECK.match(line):
            checks.append((_number(check[1]), check[2] == "PASSED"))
    if result_words:
        yield _record(result_words, checks)


def _record(words: Sequence[str], checks: Sequence[tuple[float, bool]]) -> Record:
    variant, n, nb, p, q, seconds, rate = words
    axes: dict[str, Scalar] = {"n": int(n), "nb": int(nb), "p": int(p), "q": int(q), "variant": variant}
    metrics = [metric("rate", "flop/s", float(rate) * 1e9, 1)]
    if float(seconds):
        metrics.append(metric("time", "s", float(seconds), 1))
    if checks and all(math.isfinite(residual) for residual, _ in checks):
        metrics.append(metric("residual", "1", max(residual for residual, _ in checks), 1))
    metrics.append(metric("order", "1", float(n), 1, better="higher"))
    return record(
        Case("hpl", int(p) * int(q), None, axes),
        metrics,
        check=all(passed for _, passed in checks) if checks else None,
        wrong="HPL's residual check FAILED",
    )


def _number(word: str) -> float:
    """Return a residual; anything unreadable is infinite, which fails the check and is no metric."""
    try:
        return float(word)
    except ValueError:
        return float("inf")
