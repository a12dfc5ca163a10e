"""nccl-tests and rccl-tests: tables of all versions, tables and CSV derived from them, and their JSON files.

Buffers are in device memory. A line has two results, out of place and in place. Times are means over
iterations that are enqueued without waiting for each other, so cases have the axis `library` and are not
those of MPI. `algorithm_bandwidth` is the size over the time, `bus_bandwidth` that times a factor that
depends on operation and ranks (doc/PERFORMANCE.md of nccl-tests); both are computed, because tables print two
decimals, and the printed ones must agree.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kiviat.ingest.reported import Case, metric, number, record, whole
from kiviat.record import InputError, Record
from kiviat.record.types import Scalar
from kiviat.record.valid import parse_json

NAME = "nccl-tests and rccl-tests"

# "#   size   count   type   redop   root   time   algbw …", without "#" and with commas in derived tables.
_HEAD = re.compile(
    r"^[ \t]*(?:#[ \t]*)?size(?:[ \t]+|,)count(?:[ \t]+|,)type(?:(?:[ \t]+|,)redop)?(?:(?:[ \t]+|,)root)?"
    r"(?:[ \t]+|,)(?:cpu)?time(?:[ \t]+|,)algbw\b",
    re.MULTILINE,
)
_JSON = re.compile(r'\A\s*\{\s*"version"\s*:\s*\d+\s*,')
_OF_JSON = ('"nccl_version"', '"results"', '"args"')
_RANK = re.compile(r"^#[ \t]+Rank[ \t]+(\d+)[ \t].*\bdevice[ \t]+\d+ \[\S+\](.*)$", re.MULTILINE)
_ITERATIONS = re.compile(r"^# nThread .*?[^ _p] iters: (\d+)", re.MULTILINE)
# The program, where something names it: a line on the start of the test, a command line, a file's name.
_STARTING = re.compile(r"^# Collective test starting: (\w+?)_perf\b", re.MULTILINE)
_PROGRAM = re.compile(r"\b(\w+?)_perf\b(?!\.)")
_OURS = {
    "all_reduce": "allreduce",
    "all_gather": "allgather",
    "broadcast": "bcast",
    "reduce": "reduce",
    "reduce_scatter": "reduce_scatter",
    "alltoall": "alltoall",
    "alltoallv": "alltoallv",
    "sendrecv": "sendrecv",
    "gather": "gather",
    "scatter": "scatter",
    "hypercube": "hypercube",
}
_JOINED = {name.replace("_", ""): ours for name, ours in _OURS.items()}
_IN_NAME = re.compile(
    "|".join(rf"(?<![a-z])({name.replace('_', '[_-]?')})(?![a-z])" for name in sorted(_OURS, key=len)[::-1]),
    re.IGNORECASE,
)
# Their cases have the size of one block (per rank or pair), as in OSU and IMB; "size" is the total.
_BLOCKS = ("allgather", "alltoall", "alltoallv", "gather", "scatter", "hypercube")
_ROOTED = ("bcast", "reduce", "gather", "scatter")
_BYTES = {
    **dict.fromkeys(("int8", "uint8", "fp8_e4m3", "fp8_e5m2", "f8e4m3", "f8e5m2"), 1),
    **dict.fromkeys(("half", "bfloat16"), 2),
    **dict.fromkeys(("float", "int32", "uint32"), 4),
    **dict.fromkeys(("double", "int64", "uint64"), 8),
}
# Rounding of printed values: absolute for two decimals, relative for times of four digits.
_ROUNDED, _RELATIVE = 0.006, 0.02


def sniff(text: str) -> bool:
    """True for text with the head of a table, or with the beginning of a JSON file."""
    if _JSON.match(text) is not None and all(word in text for word in _OF_JSON):
        return True
    return _HEAD.search(text) is not None


def parse(text: str, where: str, ranks: int | None = None, command: str = "") -> list[Record]:
    """Return two records for each line. `ranks` is used for tables that lack the list of devices.

    The operation is that of the test's title, of `command`, or of the name of the file.
    """
    lines = _of_json(text, where) if _JSON.match(text) else _of_tables(text, where, ranks, command)
    return [found for line in lines for found in line.records()]


@dataclass(frozen=True, slots=True)
class _Test:
    """The facts that all lines of a table share. `iterations` is 0 if unknown."""

    operation: str
    ranks: int
    library: str
    iterations: int
    notes: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Half:
    """A result: time in µs, both bandwidths in GB/s as reported, number of wrong elements if checked."""

    time: float
    algorithm: float
    bus: float
    wrong: float | None


@dataclass(frozen=True, slots=True)
class _Line:
    test: _Test
    size: int
    count: int
    kind: str
    redop: str
    root: int
    halves: Sequence[_Half | None]
    where: str

    def records(self) -> Iterator[Record]:
        for half, in_place in zip(self.halves, (False, True), strict=True):
            if half is not None:
                yield self._record(half, in_place)

    def _record(self, half: _Half, in_place: bool) -> Record:
        test = self.test
        axes: dict[str, Scalar] = {"buffer": "device", "library": test.library}
        if in_place:
            axes["in_place"] = True
        if self.kind != "float":
            axes["datatype"] = self.kind
        if self.redop not in ("sum", "none", ""):
            axes["redop"] = self.redop
        if test.operation in _ROOTED and self.root:
            axes["root"] = self.root
        block = self.count * _BYTES.get(self.kind, 0)
        size = block if test.operation in _BLOCKS and block else self.size
        metrics = []
        if half.time > 0:
            algorithm = self.size / half.time * 1e6
            bus = algorithm * _factor(test.operation, test.ranks)
            self._refuse_other(half, algorithm, bus)
            metrics = [
                metric("time", "s", half.time * 1e-6, test.iterations),
                metric("algorithm_bandwidth", "B/s", algorithm, test.iterations),
                metric("bus_bandwidth", "B/s", bus, test.iterations),
            ]
        found = record(
            Case(test.operation, test.ranks, size, axes),
            metrics,
            check=None if half.wrong is None else half.wrong == 0,
            skipped=None if metrics else "no time in the line",
            wrong=f"{half.wrong or 0:g} elements were wrong",
        )
        return replace(found, notes=test.notes)

    def _refuse_other(self, half: _Half, algorithm: float, bus: float) -> None:
        """Raise InputError if the reported bandwidths are not those of this operation and number of ranks."""
        if self.test.operation == "alltoallv":  # its traffic may be uneven
            return
        for name, reported, computed in (("algbw", half.algorithm, algorithm), ("busbw", half.bus, bus)):
            if abs(reported - computed / 1e9) > _ROUNDED + _RELATIVE * reported:
                raise InputError(
                    f"{self.where}: {name} is {reported:g}, but {self.test.operation} of {self.size} bytes "
                    f"on {self.test.ranks} ranks in {half.time:g} us makes {computed / 1e9:.2f}; "
                    "is it another operation or number of ranks?"
                )


def _factor(operation: str, ranks: int) -> float:
    if operation in ("bcast", "reduce", "sendrecv", "hypercube"):
        return 1.0
    return (2 if operation == "allreduce" else 1) * (ranks - 1) / ranks


def _of_tables(text: str, where: str, ranks: int | None, command: str) -> Iterator[_Line]:
    heads = list(_HEAD.finditer(text))
    for at, head in enumerate(heads):
        begin = heads[at - 1].end() if at else 0
        end = heads[at + 1].start() if at + 1 < len(heads) else len(text)
        line = text.count("\n", 0, head.start()) + 1
        before = text[begin : head.start()]
        rows = text[head.start() : end].splitlines()
        if not any(row.strip()[:1].isdecimal() for row in rows):
            continue
        test = _test(before, rows, where, line, ranks, command)
        alone = "in-place" in before and "out-of-place" not in before
        for more, row in enumerate(rows):
            words = row.replace(",", " ").split()
            if not more:
                columns = _columns(row)
            elif (
                words
                and words[0].isdecimal()
                and (found := _row(test, columns, words, f"{where} line {line + more}", alone))
            ):
                yield found


def _test(before: str, rows: Sequence[str], where: str, line: int, ranks: int | None, command: str) -> _Test:
    devices = _RANK.findall(before)
    count = len({rank for rank, _ in devices}) or ranks
    operation = _operation(before, command, where) or (_deduced(rows, count) if count else None)
    if operation is None:
        raise InputError(
            f"{where} line {line}: nothing names the operation of this table; "
            "keep it in the file's name (all_reduce.out), or the job script beside the file"
        )
    if not count:
        raise InputError(f"{where} line {line}: this table lacks the number of ranks; give --ranks")
    library = "rccl" if re.search(r"rccl|AMD ", before + command, re.IGNORECASE) else "nccl"
    iterations = _ITERATIONS.search(before)
    device = devices[0][1].strip() if devices else ""
    notes = {"device": device} if device else {}
    return _Test(operation, count, library, int(iterations[1]) if iterations else 0, notes)


def _operation(before: str, command: str, where: str) -> str | None:
    """Return our name of the operation, None if nothing names a single one."""
    if title := list(_STARTING.finditer(before)):
        return _OURS.get(title[-1][1])
    for words in (before, command):
        names = {_OURS[name] for name in _PROGRAM.findall(words) if name in _OURS}
        if len(names) == 1:
            return names.pop()
    for part in reversed(where.replace("\\", "/").split("/")):
        for found in _IN_NAME.finditer(part):
            return _JOINED[found[0].lower().replace("-", "").replace("_", "")]
    return None


def _columns(head: str) -> list[str]:
    """Return the names of the columns; the "#" before the first of them may be joined to it."""
    return head.strip().removeprefix("#").replace(",", " ").split()


def _deduced(rows: Sequence[str], ranks: int) -> str | None:
    """Return the reduction that the last line's bandwidths tell: their quotient is that of one of three.

    Operations that do not reduce share quotients.
    """
    columns = _columns(rows[0])
    lines = (row.replace(",", " ").split() for row in reversed(rows) if row.strip()[:1].isdecimal())
    words = next((words for words in lines if _is_whole(words, columns)), [])
    facts = dict(zip(columns, words, strict=False))
    try:
        quotient = float(facts["busbw"]) / float(facts["algbw"])
    except (KeyError, ValueError, ZeroDivisionError):
        return None
    if facts.get("redop", "none") == "none" or ranks < 3:
        return None
    near = [
        name
        for name in ("allreduce", "reduce_scatter", "reduce")
        if abs(_factor(name, ranks) - quotient) < min(_RELATIVE, 0.4 / ranks) * quotient
    ]
    return near[0] if len(near) == 1 else None


def _is_whole(words: Sequence[str], columns: Sequence[str]) -> bool:
    return len(words) >= len([name for name in columns if name != "timestamp"])


def _row(test: _Test, columns: Sequence[str], words: Sequence[str], where: str, alone: bool) -> _Line | None:
    """Return a line; None for one that the end of the test cut, and where no element was sent.

    `alone`: a single result is the one in place.
    """
    if not _is_whole(words, columns):
        return None
    starts = [place for place, name in enumerate(columns) if name in ("time", "cputime")]
    facts = dict(zip(columns[: starts[0]], words, strict=False))
    halves = [_half(columns[start : start + 4], words[start : start + 4], where) for start in starts[:2]]
    both = halves if len(halves) == 2 else [None, *halves] if alone else [*halves, None]
    root = facts.get("root", "0")
    line = _Line(
        test,
        whole(facts["size"], where),
        whole(facts["count"], where),
        facts["type"],
        facts.get("redop", ""),
        int(root) if re.fullmatch(r"-?\d{1,9}", root) else 0,
        both,
        where,
    )
    return line if line.size else None


def _half(columns: Sequence[str], words: Sequence[str], where: str) -> _Half:
    """Return a result. Old versions print the largest error instead of the number of wrong elements."""
    time, algorithm, bus, wrong = (*words, "N/A")[:4]
    checked = columns[-1] == "#wrong" and wrong != "N/A"
    return _Half(
        number(time, where),
        number(algorithm, where),
        number(bus, where),
        number(wrong.rstrip("*"), where) if checked else None,
    )


def _of_json(text: str, where: str) -> Iterator[_Line]:
    try:
        document = parse_json(text)
        yield from _results(document, where)
    except (KeyError, TypeError, AttributeError, IndexError) as error:
        raise InputError(f"{where} is no complete JSON file of {NAME}: {error!r}") from None


def _results(document: Mapping[str, Any], where: str) -> Iterator[_Line]:
    config = document["config"]
    devices = config["devices"]
    count = len(devices) * int(config["nthreads"]) * int(config["ngpus"])  # the first device of each process
    if count < 1:
        raise InputError(f"{where}: devices × nthreads × ngpus is {count}; is the file complete?")
    operation = _operation("", " ".join(document["args"]), where)
    if operation is None:
        raise InputError(f"{where}: args name no program of {NAME}; is the file complete?")
    device = str(devices[0]["device_info"]).strip()
    library = "rccl" if "AMD " in device or "rccl" in " ".join(document["args"]) else "nccl"
    notes = {"device": device} | {"version": f"{library} {document['nccl_version']}"}
    for at, result in enumerate(document["results"]):
        test = _Test(operation, count, library, int(result.get("actual_iterations") or 0), notes)
        place = f"{where} result {at}"
        if not result["size"]:
            continue
        yield _Line(
            test,
            int(result["size"]),
            int(result["count"]),
            str(result["type"]),
            str(result["redop"]),
            int(result["root"]),
            [_json_half(result.get(name), place) for name in ("out_of_place", "in_place")],
            place,
        )


def _json_half(half: Mapping[str, Any] | None, where: str) -> _Half | None:
    if half is None:
        return None
    wrong = half["nwrong"]
    time, algorithm, bus = (
        number(str(value), where)
        for value in (half.get("time", half.get("cpu_time")), half["alg_bw"], half["bus_bw"])
    )
    return _Half(time, algorithm, bus, None if wrong is None else number(str(wrong), where))
