"""`kiviat model fit`: fits a machine file to measurements."""

from __future__ import annotations

import re
import statistics
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

from kiviat.analysis.aggregate.curves import size_of
from kiviat.analysis.aggregate.summary import Summary, summarise
from kiviat.cli.options.request import ModelFitRequest, TableFormat
from kiviat.cli.subcommands.model_published import fit_to_rows
from kiviat.cli.text.table import print_table
from kiviat.cli.text.warnings import print_warnings
from kiviat.launch.emulated.shaping import shaping_of
from kiviat.launch.emulated.spec import Spec, parse_spec
from kiviat.launch.mpi.vendors import collectives_of
from kiviat.launch.run.simulated_runner import SimulatedCase, simulate
from kiviat.machine.modelled.machine import Machine, load_machine
from kiviat.machine.modelled.quantity import parse_value
from kiviat.model.bucket import Bucket, with_trailer
from kiviat.model.disturbed import is_disturbed, refuse_bad_fit, refuse_off_link, undisturbed
from kiviat.model.fit import CLOSE, Fitted, fit_level, waits_from, with_exchange
from kiviat.model.machine_file import Structure, machine_file
from kiviat.model.pairs import curves
from kiviat.record import InputError, write_whole
from kiviat.record.run import Run
from kiviat.record.scratch import scratch_folder
from kiviat.report.table import Column, tabled
from kiviat.store import find_run
from kiviat.store.read import load

# Stream payload and headers of a frame of 1514 bytes (docs/howto/emulated.md).
_FRAME_PAYLOAD_BYTES, _HEADERS_BYTES = 1448, 66
# Header of a message of MPI over TCP, by the rate of short ping-pongs: 8 to 12 B with Open MPI 4 and MPICH 4.
_MPI_HEADER_BYTES = 10
_PAYLOAD = _FRAME_PAYLOAD_BYTES / (_FRAME_PAYLOAD_BYTES + _HEADERS_BYTES)


def execute(request: ModelFitRequest) -> int:
    """Fit each level of the machine, write its file, and print how well it agrees with the measurements.

    Raise InputError for simulated and ingested runs, several runs of one level, and runs without a ping-pong.
    """
    path = Path(request.output)
    _refuse_mixed(request)
    if not re.fullmatch(r"[a-z][a-z0-9-]*\.toml", path.name):
        raise InputError(
            f"-o {request.output!r}: a machine has the name of its file; give lower-case letters, digits "
            "and -, then .toml"
        )
    if request.published:
        return fit_to_rows(request, request.published, path)
    loaded = [load(find_run(name)) for name in request.runs]
    print_warnings(warning for _, _, warnings in loaded for warning in warnings)
    runs = [run for run, _, _ in loaded]
    for run in runs:
        if run.clock != "wall":
            raise InputError(
                f"run {run.id} is {run.substrate}, but machines are fitted to what Kiviat measured; "
                "give such a run"
            )
    if request.nodes is not None and request.nodes < 1:
        raise InputError(f"--nodes {request.nodes}: give how many nodes the machine has, at least 1")
    structure = _structure(runs, request)
    points: dict[str, Sequence[Summary]] = {}
    exchanges: dict[str, Sequence[Summary]] = {}
    rested: dict[int, float] = {}
    senders: list[Summary] = []
    left_out = []
    for run, rows, _ in loaded:
        summaries = summarise(rows)
        for level, found in curves(run, summaries).items():
            if level in points:
                raise InputError(
                    f"run {run.id} and another have ping-pongs of the level {level!r}; give one of them"
                )
            believed = undisturbed(found, level)
            points[level] = believed.points
            left_out += [believed.left_out] if believed.left_out else []
        both_ways = {**curves(run, summaries, "sendrecv"), **curves(run, summaries, "pingping")}
        for level, found in both_ways.items():
            exchanges[level] = tuple(point for point in found if not is_disturbed(point))
        # Between two ranks, a broadcast is one message; each call begins after a rest, but in loops. Even if
        # launches differ, their median says more than other sizes do.
        singles = curves(run, summaries, "bcast").get("network", [])
        rested |= {size_of(point): point.median for point in singles if point.sync != "back-to-back"}
        senders += curves(run, summaries, "bcast", "time_rank_min").get("network", [])
    if not points:
        raise InputError(
            f"{', '.join(request.runs)}: no ping-pong was measured; measure one with `kiviat run pingpong`"
        )
    structure = replace(structure, left_out=tuple(left_out))
    if (shaped := structure.bucket) and structure.link:
        shaped = with_trailer(shaped, points.get("network", ()), structure.link, rested)
        structure = replace(structure, bucket=shaped)
    if structure.link_source and structure.link and "network" in points:
        refuse_off_link(points["network"], structure.link, structure.bucket)
    levels = {}
    for level, kept in points.items():
        link, bucket = (structure.link, structure.bucket) if level == "network" else (None, None)
        fitted = fit_level(kept, link, bucket, rested)
        if level == "network" and (seen := waits_from(senders)):
            fitted = replace(fitted, waits_from=seen)
        levels[level] = with_exchange(fitted, exchanges.get(level, []), link, bucket)
    text = machine_file(path.stem, structure, levels)
    _print_agreement(_drafted(text, path), levels, request.format)
    write_whole(text, path, "machine file")
    machine = load_machine(path)
    told = [*left_out, f"{path}: {machine.summary}, hash {machine.hash[:16]}"]
    print("\n".join(told), file=sys.stdout if request.format == "table" else sys.stderr)
    return 0


def _refuse_mixed(request: ModelFitRequest) -> None:
    """Raise InputError unless there are either runs, or a machine with published rows."""
    of_runs = (
        request.nodes,
        request.link,
        request.flops,
        request.core_memory_bandwidth,
        request.memory_bandwidth,
    )
    if request.published and (request.runs or any(one is not None for one in of_runs)):
        raise InputError("--published fits a machine to published rows: leave runs and their options out")
    if not request.published and (request.rows or request.free):
        raise InputError("--rows and --free need the machine to fit: kiviat model fit --published MACHINE …")
    if not request.published and not request.runs:
        raise InputError("fit needs runs, or --published MACHINE: kiviat model fit RUN -o mine.toml")


def _drafted(text: str, path: Path) -> Machine:
    """Write the file if it is a valid machine whose predictions are close; return the machine."""
    with scratch_folder() as folder:
        draft = Path(folder) / path.name
        try:
            write_whole(text, draft, "machine file")
            return load_machine(draft)
        except InputError as error:
            raise InputError(str(error).replace(str(draft), f"{path} (not written)")) from None


def _structure(runs: Sequence[Run], request: ModelFitRequest) -> Structure:
    """Return the structure of the machine; the runs must have one machine and one MPI."""
    mpis = {(launch.mpi, launch.mpi_version) for run in runs for launch in run.launches}
    mpis.discard((None, None))
    if len(mpis) != 1:
        listed = ", ".join(sorted(f"{name} {version}" for name, version in mpis)) or "no MPI"
        raise InputError(f"the runs were made with {listed}; fit a machine to measurements with one MPI")
    (mpi, version), first = mpis.pop(), runs[0]
    source = "; ".join(f"run {run.id} of kiviat {run.version}, {run.created}" for run in runs)
    machine = first.machine
    about = f"{machine.name}, {mpi} {version}"
    caches = [cache.bytes for cache in machine.caches]
    link = _rate(request.link, "B/s", "--link")
    nodes, sockets, cores = _shape(runs)
    link_source, bucket, wire_s = "", None, None
    if (spec := _emulated_links(runs)) is not None:
        bucket, wire_s = _bucket(spec), spec.delay_s or 0.0
        if link is None and spec.rate_bit_per_s is not None:
            link = spec.rate_bit_per_s / 8 * _PAYLOAD
            link_source = (
                "what a stream gets of the emulated link's rate, and its bucket: docs/howto/emulated.md"
            )
    return Structure(
        nodes=request.nodes or nodes,
        sockets=sockets,
        cores=cores,
        memory_bytes=(machine.memory_bytes or 0) // _sharing(runs, nodes) or None,
        cache_bytes=max(caches, default=None),
        mpi=mpi or "",
        mpi_version=version or "",
        collectives=collectives_of(mpi or ""),
        source=source,
        about=about,
        link=link,
        link_source=link_source,
        bucket=bucket,
        one_connection=bucket is not None,  # of TCP
        wire_s=wire_s,
        flops=_rate(request.flops, "flop/s", "--flops"),
        core_memory_bandwidth=_rate(request.core_memory_bandwidth, "B/s", "--core-memory-bandwidth"),
        memory_bandwidth=_rate(request.memory_bandwidth, "B/s", "--memory-bandwidth"),
    )


def _rate(given: str | None, unit: str, option: str) -> float | None:
    return None if given is None else parse_value(given, unit, option)


def _emulated(run: Run) -> str | None:
    """Return the specification of an emulated cluster, else None; its nodes are one real machine.

    Raise InputError if `--machine` replaced it and `--on` named a kept cluster.
    """
    if run.substrate != "emulated":
        return None
    for text in (run.machine.name, str(run.where.get("on"))):
        kind, _, spec = text.partition(":")
        if kind == "emulated" and spec[:1].isdigit():
            return spec
    raise InputError(
        f"run {run.id} is named {run.machine.name!r}, not after its emulated cluster, so the rate of its "
        "links is unknown; fit a run without --machine"
    )


def _emulated_links(runs: Sequence[Run]) -> Spec | None:
    """Return the specification of the emulated clusters with links, which must be equal; None without any.

    Runs on one node, emulated or not, contain no information on links.
    """
    specs = [parse_spec(spec) for run in runs if (spec := _emulated(run))]
    linked = [spec for spec in specs if spec.nodes > 1]
    if len({(spec.rate_bit_per_s, spec.delay_s) for spec in linked}) > 1:
        listed = ", ".join(str(_emulated(run)) for run in runs if _emulated(run))
        raise InputError(
            f"the runs are of links of several rates or delays: {listed}; fit one machine at a time"
        )
    return linked[0] if linked else None


def _bucket(spec: Spec) -> Bucket | None:
    """Return the token bucket of a cluster's links: bursts of nodes and of the bridge, packets, and frames.

    None if links are not shaped.
    """
    shaping = shaping_of(spec)
    if shaping is None:
        return None
    frames = max(1, (shaping.segment_bytes - _HEADERS_BYTES) // _FRAME_PAYLOAD_BYTES)
    return Bucket(
        shaping.bucket_bytes * _PAYLOAD,
        shaping.bridge_bucket_bytes * _PAYLOAD,
        frames * _FRAME_PAYLOAD_BYTES,
        _FRAME_PAYLOAD_BYTES,
        _HEADERS_BYTES + _MPI_HEADER_BYTES,
    )


def _sharing(runs: Sequence[Run], nodes: int) -> int:
    return nodes if any(map(_emulated, runs)) else 1


def _shape(runs: Sequence[Run]) -> tuple[int, int, int]:
    """Return nodes, sockets per node and cores per socket: the largest that any of the runs had."""
    found = []
    for run in runs:
        if spec := _emulated(run):
            parsed = parse_spec(spec)
            found.append((parsed.nodes, 1, parsed.slots))
            continue
        hosts = {rank.host for launch in run.launches for rank in launch.ranks}
        sockets = run.machine.sockets or 1
        found.append((max(1, len(hosts)), sockets, max(1, (run.machine.cores or 1) // sockets)))
    nodes, sockets, cores = (max(numbers) for numbers in zip(*found, strict=True))
    return nodes, sockets, cores


@dataclass(frozen=True, slots=True)
class _Agreement:
    """The measured and the simulated ping-pong of one size."""

    level: str
    bytes: int
    measured_s: float
    simulated_s: float | None

    @property
    def error(self) -> float | None:
        return None if self.simulated_s is None else self.simulated_s / self.measured_s - 1


_COLUMNS: tuple[Column[_Agreement], ...] = (
    Column(None, lambda one: one.level, key="level"),
    Column("bytes", lambda one: one.bytes, "B", key="bytes"),
    Column("measured", lambda one: one.measured_s, "s", key="measured_s"),
    Column("simulated", lambda one: one.simulated_s, "s", key="simulated_s"),
    Column("error", lambda one: one.error, "error", key="error"),
)


def _print_agreement(machine: Machine, levels: Mapping[str, Fitted], form: TableFormat) -> None:
    """Simulate the model's ping-pong and print it next to the measured one."""
    asked, shown = [], []
    for level, fitted in levels.items():
        distance = _distance(machine, level)
        if distance is None:
            print(f"{level}: the machine has no two ranks so far apart; not simulated", file=sys.stderr)
            continue
        axes = {} if distance == 1 else {"distance": distance}
        for size, time in fitted.points:
            asked.append(SimulatedCase(machine, "pingpong", 2, size, axes))
            shown.append((level, size, time))
    records = simulate(asked)
    lines = [
        _Agreement(level, size, measured, metric.p50 if (metric := record.metric("time")) else None)
        for (level, size, measured), record in zip(shown, records, strict=True)
    ]
    if form != "table":
        print_table(tabled("Agreement", _COLUMNS, lines), form)
    for level, group in groupby(lines, key=lambda line: line.level):
        found = list(group)
        errors = [abs(line.error) for line in found if line.error is not None]
        median = statistics.median(errors) if errors else None
        if form == "table":
            print(f"\nping-pong of the level {level}")
            print_table(tabled(level, _COLUMNS, found))
            if median is not None:
                print(f"median error over sizes {100 * median:.1f} %")
        if median is not None:
            refuse_bad_fit(level, median, levels[level].spread, CLOSE)


def _distance(machine: Machine, level: str) -> int | None:
    """Return the distance from rank 0 to the nearest rank of that level, in a blocked placement."""
    per_socket, per_node = machine.whole("node.cores"), machine.cores_per_node
    nearest = {"socket": 1 if per_socket > 1 else None, "network": per_node if machine.nodes > 1 else None}
    nearest["node"] = per_socket if machine.whole("node.sockets") > 1 else nearest["socket"]
    return nearest[level]
