"""Writes fitted machine files; each number is marked as measured, given or assumed."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from kiviat.machine.modelled.machine import MPICH_VERSIONS
from kiviat.model.bucket import Bucket
from kiviat.model.fit import Fitted, eager_of
from kiviat.model.numbers import quoted, text_of
from kiviat.record.units import format_value

# Memory passes of a message within a node, with a shared buffer: a read and a write by each rank.
_PASSES = 4
# Memory of a core, and the largest cache, if the run does not tell.
_USUAL_MEMORY_BYTES, _USUAL_CACHE_BYTES = 10**9, 1 << 20
_HALVES = "an emulated link takes only processor time; half of it at each end"
_TRAILER = "from this size on, messages wait for tokens even for their last packet"
_AFTER = "a ping-ping took so much longer than a ping-pong"
_CROSSING = "messages both ways at once took so much longer than a ping-pong"


@dataclass(frozen=True)
class Structure:
    """Properties of a machine other than message times. `link` is the rate of a stream on a link, in B/s.

    `link_source` names its source. Rates and sizes that are None are assumed. `source` and `about` describe
    the runs and their MPI; `mpi_version`: for example "4.0.2". `collectives` is `mpi.collectives` in the
    file, empty if the algorithms of the MPI are unknown. `wire_s`: latency of a link, if known. `left_out`:
    names of disturbed sizes. `one_connection`: two ranks of different nodes use one connection.
    """

    nodes: int
    sockets: int
    cores: int
    memory_bytes: int | None
    cache_bytes: int | None
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
    collectives: str = ""
    one_connection: bool = False


def machine_file(name: str, structure: Structure, levels: Mapping[str, Fitted]) -> str:
    """Return the text of `name`.toml. A level that was not measured is copied from another one."""
    near, far = levels.get("node") or levels.get("socket"), levels.get("network")
    link = structure.link or (far or near or _one_of(levels)).best_bandwidth
    text = _Text()
    text.add('schema = "kiviat.machine/1"')
    text.add(f"name = {quoted(name)}")
    text.add(f"title = {quoted(structure.about)}")
    text.add(f"summary = {quoted(_shape(structure) + ', fitted by `kiviat model fit`')}")
    text.add("version = 1")
    text.add(f"open_questions = [{', '.join(map(quoted, _questions(structure, levels)))}]")
    text.table("sources")
    text.add(f"run = {quoted(structure.source)}")
    text.add(f"given = {quoted(structure.link_source or 'given on the command line')}")
    text.add('guess = "not measured; see the notes"')

    text.table("node")
    text.number("count", structure.nodes, "run", "high")
    text.number("sockets", structure.sockets, "run", "high")
    text.number("cores", structure.cores, "run", "high")
    cores = structure.sockets * structure.cores
    text.size("memory", structure.memory_bytes, cores * _USUAL_MEMORY_BYTES)
    text.size("cache", structure.cache_bytes, _USUAL_CACHE_BYTES)
    _compute(text, structure, near or far or _one_of(levels))

    text.table("nic")
    of_network = ("run", "calibrated") if far else ("guess", "assumed")
    origin = ("given", "high") if structure.link else of_network
    text.number("bandwidth", text_of(link, "B/s"), *origin)
    if bucket := structure.bucket:
        text.number("bucket_out", text_of(bucket.out_bytes, "B"), "given", "high")
        text.number("bucket_in", text_of(bucket.in_bytes, "B"), "given", "high")
        text.number("packet", text_of(bucket.packet_bytes, "B"), "given", "high")
        if bucket.trailer_from < math.inf:
            text.number("trailer_from", text_of(bucket.trailer_from, "B"), "run", "calibrated", _TRAILER)
        if bucket.header_bytes:
            text.number("frame", text_of(bucket.frame_bytes, "B"), "given", "high")
            text.number("header", text_of(bucket.header_bytes, "B"), "given", "high")
    text.table("topology")
    text.add('kind = "crossbar"')
    text.number("link", text_of(link, "B/s"), *origin)
    text.number("hop", "0 s", *of_network, "included in the latency of the segments")

    text.table("mpi")
    eager, detected = eager_of(levels)
    text.number("eager", f"{eager} B", *(("run", "calibrated") if detected else ("guess", "assumed")))
    text.add(f"collectives = {quoted(_collectives(structure))}")
    if _node_aware(structure):
        text.add("node_aware = true")
    if structure.one_connection:
        text.add("one_connection = true")
    text.segments("socket", levels.get("socket"), None)
    text.segments("node", levels.get("node"), levels.get("socket") or far)
    text.segments("network", far, near, structure.wire_s)
    return text.text()


def _one_of(levels: Mapping[str, Fitted]) -> Fitted:
    return next(iter(levels.values()))


def _compute(text: _Text, structure: Structure, near: Fitted) -> None:
    """Write the tables of cores and memory; an unknown memory is fast enough for messages within a node."""
    enough = 2 * _PASSES * near.best_bandwidth
    # One core cannot exceed all cores together.
    core = structure.core_memory_bandwidth or min(enough, structure.memory_bandwidth or math.inf)
    memory = structure.memory_bandwidth or core * structure.sockets * structure.cores
    note = "high enough not to limit messages between two ranks"
    text.table("core")
    if structure.flops:
        text.number("flops", text_of(structure.flops, "flop/s"), "given", "high")
    else:
        text.number("flops", "1 Gflop/s", "guess", "assumed", "computing is not modelled")
    text.rate("memory_bandwidth", core, structure.core_memory_bandwidth, note)
    text.table("memory")
    text.add('buses = "node"')
    text.rate("bandwidth", max(core, memory), structure.memory_bandwidth, note)
    text.number("passes", _PASSES, "guess", "assumed", "the ranks use a shared buffer")
    text.number("network_passes", 1, "guess", "assumed")


def _shape(structure: Structure) -> str:
    return f"{structure.nodes} nodes of {structure.sockets} x {structure.cores} cores"


def _version(structure: Structure) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", structure.mpi_version)[:2])


def _collectives(structure: Structure) -> str:
    """Return `mpi.collectives`: for MPICH 3 and later, the newest version known that is not newer."""
    if structure.mpi == "MPICH":
        known = [name for name, version in MPICH_VERSIONS.items() if (version,) <= _version(structure)]
        if known:
            return known[-1]
    return structure.collectives or "default"


def _node_aware(structure: Structure) -> bool:
    """Return True for MPICH 1.1 to 2: collectives are node-aware since then (CHANGES).

    Those of `mpich3` and `mpich4` are so without the key.
    """
    return structure.mpi == "MPICH" and (1, 1) <= _version(structure) < (3,)


def _questions(structure: Structure, levels: Mapping[str, Fitted]) -> list[str]:
    questions = list(structure.left_out)
    if not structure.collectives:
        questions.append(
            f"the algorithms of the collectives of {structure.mpi} are unknown: they are SMPI's default ones"
        )
    for level, others in (("node", ("socket", "network")), ("network", ("node", "socket"))):
        if level not in levels:
            other = next(one for one in others if one in levels)
            questions.append(f"no pair of level {level} was measured: it is copied from level {other}")
    for level, fitted in levels.items():
        worst, time = max(fitted.fitted_to, key=lambda point: abs(fitted.time(point[0]) / point[1] - 1))
        questions.append(
            f"{level}: the segments are off by {100 * fitted.median_error:.1f} % in the median over sizes, "
            f"by {100 * fitted.max_error:.0f} % at {worst} B (for {format_value(time, 's')})"
        )
    far = levels.get("network")
    if structure.bucket and far and (untold := {size for size, _ in far.points} - dict(far.fitted_to).keys()):
        questions.append(
            f"network: the link's bucket decided the times of messages of {min(untold)} to {max(untold)} B; "
            "their cost in MPI is unknown"
        )
    elif structure.link and not structure.bucket and far and far.quick(structure.link):
        questions.append(
            "short messages were faster than the link's rate: an idle link lets some bytes pass at once "
            "(nic.bucket_out), which is missing in the model"
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
        shown = value if isinstance(value, int) else quoted(value)
        said = f", note = {quoted(note)}" if note else ""
        self.add(f'{key} = {{ value = {shown}, source = "{source}", confidence = "{confidence}"{said} }}')

    def size(self, key: str, seen: int | None, usual: int) -> None:
        if seen is None:
            self.number(key, f"{usual} B", "guess", "assumed", "the run does not tell")
        else:
            self.number(key, f"{seen} B", "run", "high")

    def rate(self, key: str, value: float, given: float | None, note: str) -> None:
        if given is None:
            self.number(key, text_of(value, "B/s"), "guess", "assumed", note)
        else:
            self.number(key, text_of(given, "B/s"), "given", "high")

    def segments(
        self, level: str, fitted: Fitted | None, instead: Fitted | None, wire_s: float | None = None
    ) -> None:
        """Write the segments of a level, copied from `instead` if it was not measured.

        If the latency of the wire is known, the rest of the latency is processor time, half at each end.
        """
        used = fitted or instead
        if used is None:
            return
        origin = ("run", "calibrated") if fitted else ("guess", "assumed")
        for line in used.lines:
            of_processors_s = 0.0
            if fitted and wire_s is not None:
                of_processors_s = max(0.0, line.latency_s - wire_s)
            self._lines += ["", f"[[mpi.{level}]]"]
            self.number("from", f"{line.from_bytes} B", *origin)
            self.number("latency", text_of(line.latency_s - of_processors_s, "s"), *origin)
            self.number("bandwidth", text_of(line.bandwidth, "B/s"), *origin)
            if of_processors_s:
                for end in ("send", "receive"):
                    self.number(end, text_of(of_processors_s / 2, "s"), "run", "assumed", _HALVES)
                if line.exchange_s:
                    after_s = (wire_s or 0.0) + line.exchange_s
                    self.number("after", text_of(after_s, "s"), "run", "calibrated", _AFTER)
            elif fitted and (line.crossing_s or line.crossing_s_per_byte):
                self.number("crossing", text_of(line.crossing_s, "s"), "run", "calibrated", _CROSSING)
                per_byte = text_of(line.crossing_s_per_byte, "s/B")
                self.number("crossing_per_byte", per_byte, "run", "calibrated", _CROSSING)
