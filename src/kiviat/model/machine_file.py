"""A fitted machine as a machine file: what was measured, what is known, and what is assumed, each named."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from kiviat.model.bucket import Bucket
from kiviat.model.fit import Fitted, eager_of
from kiviat.model.numbers import text_of
from kiviat.record.units import format_value

# What a message within a node does to memory: written and read by the sender, written and read by the
# receiver, where a shared buffer lies between them.
_PASSES = 4
_HALVES = "an emulated link takes no time but that of processors; a half of it each"
_AFTER = "a ping-ping took so much longer than a ping-pong"
_COLLECTIVES = {"MPICH": "mpich", "Open MPI": "ompi", "MVAPICH2": "mvapich2", "Intel MPI": "impi"}


@dataclass(frozen=True)
class Structure:
    """What is known of a machine beside its messages. `link` is what a stream gets of a link, in B/s.

    `link_source` says how that is known. Rates that are None are assumed. `source` and `about` say which
    runs, of which MPI and when; `mpi_version` is that of the MPI, such as "4.0.2". `bucket` is what an idle
    link lets pass at once, `wire_s` how long one is, where that is known. `left_out` says which sizes were
    disturbed.
    """

    nodes: int
    sockets: int
    cores: int
    memory_bytes: int
    cache_bytes: int
    mpi: str
    source: str
    about: str
    link: float | None = None
    link_source: str = ""
    flops: float | None = None
    core_memory_bandwidth: float | None = None
    memory_bandwidth: float | None = None
    mpi_version: str = ""
    bucket: Bucket | None = None
    wire_s: float | None = None
    left_out: tuple[str, ...] = ()


def machine_file(name: str, structure: Structure, levels: Mapping[str, Fitted]) -> str:
    """The text of `name`.toml. A level that was not measured is taken to be like the other one."""
    near, far = levels.get("node") or levels.get("socket"), levels.get("network")
    link = structure.link or (far or near or _one_of(levels)).best_bandwidth
    text = _Text()
    text.add('schema = "kiviat.machine/1"')
    text.add(f"name = {_quoted(name)}")
    text.add(f"title = {_quoted(structure.about)}")
    text.add(f"summary = {_quoted(_shape(structure) + ', fitted by `kiviat model fit`')}")
    text.add("version = 1")
    text.add(f"open_questions = [{', '.join(map(_quoted, _questions(structure, levels)))}]")
    text.table("sources")
    text.add(f"run = {_quoted(structure.source)}")
    text.add(f"given = {_quoted(structure.link_source or 'given on the command line')}")
    text.add('guess = "nobody has measured it; see the notes"')

    text.table("node")
    text.number("count", structure.nodes, "run", "high")
    text.number("sockets", structure.sockets, "run", "high")
    text.number("cores", structure.cores, "run", "high")
    text.number("memory", f"{structure.memory_bytes} B", "run", "high")
    text.number("cache", f"{structure.cache_bytes} B", "run", "high")
    _compute(text, structure, near or far or _one_of(levels))

    text.table("nic")
    known = ("given", "high") if structure.link else ("run", "calibrated")
    text.number("bandwidth", text_of(link, "B/s"), *known)
    if bucket := structure.bucket:
        text.number("bucket_out", text_of(bucket.out_bytes, "B"), "given", "high")
        text.number("bucket_in", text_of(bucket.in_bytes, "B"), "given", "high")
        text.number("packet", text_of(bucket.packet_bytes, "B"), "given", "high")
    text.table("topology")
    text.add('kind = "crossbar"')
    text.number("link", text_of(link, "B/s"), *known)
    text.number("hop", "0 s", "run", "calibrated", "the latency of the network is that of its segments")

    text.table("mpi")
    eager, seen = eager_of(levels)
    text.number("eager", f"{eager} B", *(("run", "calibrated") if seen else ("guess", "assumed")))
    text.add(f"collectives = {_quoted(_COLLECTIVES.get(structure.mpi, 'default'))}")
    if _node_aware(structure):
        text.add("node_aware = true")
    text.segments("socket", levels.get("socket"), None)
    text.segments("node", near, far)
    text.segments("network", far, near, structure.wire_s)
    return text.text()


def _one_of(levels: Mapping[str, Fitted]) -> Fitted:
    return next(iter(levels.values()))


def _compute(text: _Text, structure: Structure, near: Fitted) -> None:
    """Memory that messages within a node cannot exhaust, where nothing is known of it."""
    one = structure.core_memory_bandwidth or 2 * _PASSES * near.best_bandwidth
    all_ = structure.memory_bandwidth or one * structure.sockets * structure.cores
    note = "such that messages between two ranks are no burden to it"
    text.table("core")
    if structure.flops:
        text.number("flops", text_of(structure.flops, "flop/s"), "given", "high")
    else:
        text.number("flops", "1 Gflop/s", "guess", "assumed", "computing is not modelled")
    text.rate("memory_bandwidth", one, structure.core_memory_bandwidth, note)
    text.table("memory")
    text.add('buses = "node"')
    text.rate("bandwidth", max(one, all_), structure.memory_bandwidth, note)
    text.number("passes", _PASSES, "guess", "assumed", "a shared buffer lies between the ranks")
    text.number("network_passes", 1, "guess", "assumed")


def _shape(structure: Structure) -> str:
    return f"{structure.nodes} nodes of {structure.sockets} x {structure.cores} cores"


def _node_aware(structure: Structure) -> bool:
    """MPICH's reductions, barriers and broadcasts are from version 1.1 on (its CHANGES)."""
    version = tuple(int(part) for part in re.findall(r"\d+", structure.mpi_version)[:2])
    return structure.mpi == "MPICH" and version >= (1, 1) and structure.sockets * structure.cores > 1


def _questions(structure: Structure, levels: Mapping[str, Fitted]) -> list[str]:
    questions = list(structure.left_out)
    for level, other in (("node", "network"), ("network", "node")):
        if level not in levels and not (level == "node" and "socket" in levels):
            questions.append(f"no pair of the level {level} was measured: it is taken to be as the {other}")
    for level, fitted in levels.items():
        worst, time = max(fitted.fitted_to, key=lambda point: abs(fitted.time(point[0]) / point[1] - 1))
        questions.append(
            f"{level}: the segments are off by {100 * fitted.median_error:.1f} % in the median over sizes, "
            f"by {100 * fitted.max_error:.0f} % at {worst} B (for {format_value(time, 's')})"
        )
    far = levels.get("network")
    if structure.bucket and far and (untold := {size for size, _ in far.points} - dict(far.fitted_to).keys()):
        questions.append(
            f"network: how long messages of {min(untold)} to {max(untold)} B take was decided by the link's "
            "bucket, so that what they cost MPI is not known"
        )
    elif structure.link and not structure.bucket and far and far.quick(structure.link):
        questions.append(
            "short messages were quicker than the link's rate: it lets some bytes pass at once when it has "
            "been idle (nic.bucket_out), which nobody has told the model"
        )
    return questions


class _Text:
    def __init__(self) -> None:
        self._lines: list[str] = []

    def text(self) -> str:
        return "\n".join(self._lines) + "\n"

    def add(self, line: str) -> None:
        self._lines.append(line)

    def table(self, name: str) -> None:
        self._lines += ["", f"[{name}]"]

    def number(self, key: str, value: str | int, source: str, confidence: str, note: str = "") -> None:
        shown = value if isinstance(value, int) else _quoted(value)
        said = f", note = {_quoted(note)}" if note else ""
        self.add(f'{key} = {{ value = {shown}, source = "{source}", confidence = "{confidence}"{said} }}')

    def rate(self, key: str, value: float, given: float | None, note: str) -> None:
        if given is None:
            self.number(key, text_of(value, "B/s"), "guess", "assumed", note)
        else:
            self.number(key, text_of(given, "B/s"), "given", "high")

    def segments(
        self, level: str, fitted: Fitted | None, instead: Fitted | None, wire_s: float | None = None
    ) -> None:
        """Where it is known how long the wire is, all that a message takes beside it and its bytes is time of
        the two processors, half of it each.
        """
        used = fitted or instead
        if used is None:
            return
        known = ("run", "calibrated") if fitted else ("guess", "assumed")
        for line in used.lines:
            of_processors_s = 0.0
            if fitted and wire_s is not None:
                of_processors_s = max(0.0, line.latency_s - wire_s)
            self._lines += ["", f"[[mpi.{level}]]"]
            self.number("from", f"{line.from_bytes} B", *known)
            self.number("latency", text_of(line.latency_s - of_processors_s, "s"), *known)
            self.number("bandwidth", text_of(line.bandwidth, "B/s"), *known)
            if of_processors_s:
                for end in ("send", "receive"):
                    self.number(end, text_of(of_processors_s / 2, "s"), "run", "assumed", _HALVES)
                if line.exchange_s:
                    after_s = (wire_s or 0.0) + line.exchange_s
                    self.number("after", text_of(after_s, "s"), "run", "calibrated", _AFTER)


def _quoted(text: str) -> str:
    """A JSON string is a TOML one, but for what JSON leaves bare."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
