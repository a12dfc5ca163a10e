"""`kiviat ingest`: makes runs from the output of other programs, named or found in folders."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from kiviat.cli.options.request import IngestRequest
from kiviat.cli.text.hints import typeable
from kiviat.ingest import all_formats, known_formats
from kiviat.ingest.tree import Source, beside, read_log, read_tree
from kiviat.record import InputError, Record
from kiviat.record.files import read_text
from kiviat.record.plain import plain_text
from kiviat.record.units import counted
from kiviat.store import RunDirectory, call_run, runs_home

# Hosts of ranks beyond are left out of run.json: it would have megabytes of them for each launch.
_MOST_HOSTS = 1024
# If quartiles of launches differ by this factor, in half of the cases, their settings may differ.
_ODD = 2.0


def execute(request: IngestRequest) -> int:
    """Write the results in all files as runs. Raise InputError for named files of unknown formats."""
    if request.depth is not None and request.depth < 0:
        raise InputError(f"--depth {request.depth}: give a number of levels, 0 for all of a folder")
    folders = [Path(name) for name in request.files if Path(name).is_dir()]
    files = [Path(name) for name in request.files if not Path(name).is_dir()]
    named = list({path.resolve(): path for path in files}.values())  # a file named twice counts once
    made: list[_Made] = []
    if named:
        sources = [_named(path, request) for path in named]
        made += _runs(request, sources, request.machine or "unknown", "ingested")
    for folder in folders:
        for place, sources in _together(folder, request):
            machine = request.machine or (folder.resolve().name if place == "." else place)
            made += _runs(request, sources, machine, "-".join(machine.split("/")[-2:]))
    if request.format == "json":
        print(json.dumps([one.to_json() for one in made], indent=1))
    elif folders:
        _print_tree(request, made)
    else:
        for one in made:
            count = counted(len(one.records), "result")
            print(
                typeable(f"{count} in {one.run}  (`kiviat show {call_run(one.run)}`)") if one.run else count
            )
            for source in one.sources:
                if source.says:
                    print(f"kiviat: {typeable(_sentence(source))}", file=sys.stderr)
    if not any(one.records for one in made):
        raise InputError(
            f"no file in {' or '.join(request.files)} has results that kiviat reads; it reads the output of "
            + ", ".join(module.NAME for module in all_formats())
        )
    return 0


def _together(folder: Path, request: IngestRequest) -> Iterator[tuple[str, list[Source]]]:
    """Yield the sources that become runs together, and the place of their folder below `folder`."""

    def place_of(sources: list[Source]) -> str:
        parts = sources[0].path.parent.relative_to(folder).parts
        return "/".join(parts[: request.depth]) or "."

    for place, some in groupby(read_tree(folder, request.ranks), key=place_of):
        yield place, [source for sources in some for source in sources]


def _named(path: Path, request: IngestRequest) -> Source:
    """Return the results of a named file, which must have some."""
    try:
        text = read_text(path, errors="replace")
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None
    source = read_log(
        path, *known_formats(text, str(path)), {} if request.ranks else beside(path), request.ranks
    )
    if not source.records:
        raise InputError(_sentence(source))
    return source


def _sentence(source: Source) -> str:
    joint = "" if source.says.startswith(("is ", "has ", "looks ", "lists ", "cannot ", "ends ")) else ":"
    return f"{source.path}{joint} {source.says}"


# Runs


@dataclass(frozen=True, slots=True)
class _Made:
    """Sources of a folder and the run of their results; `run` is None without results, and in a dry run."""

    sources: Sequence[Source]
    run: Path | None
    machine: str

    @property
    def records(self) -> list[Record]:
        return [record for source in self.sources for record in source.records]

    def to_json(self) -> dict[str, Any]:
        return {
            "run": str(self.run) if self.run else None,
            "machine": self.machine,
            "files": [
                {
                    "file": str(source.path),
                    "kind": source.kind,
                    "format": source.format or None,
                    "results": len(source.records),
                    "says": source.says or None,
                    "ranks": source.stated.ranks,
                    "nodes": source.stated.nodes,
                    "stated_by": source.stated.source or None,
                }
                for source in self.sources
            ],
        }


def _runs(request: IngestRequest, sources: Sequence[Source], machine: str, name: str) -> Iterator[_Made]:
    """Make the runs of a folder: one for the launches that have the same placement, or one for each file."""
    machine = plain_text(machine)
    groups: dict[object, list[Source]] = {}
    for source in sources:
        if not source.records:
            groups.setdefault(None, []).append(source)
        else:
            groups.setdefault(source.path if request.each else _shape(source), []).append(source)
    for key, some in groups.items():
        run = None if key is None or request.dry_run else _run(request, some, machine, name)
        yield _Made(some, run, machine)


def _shape(source: Source) -> tuple[object, ...]:
    """Return what launches of a run must share, so that all of them tell where ranks 0, 1, … were."""
    numbers: dict[str, int] = {}
    hosts = source.stated.hosts[:_MOST_HOSTS]
    return tuple(numbers.setdefault(host, len(numbers)) for host in hosts)


def _run(request: IngestRequest, sources: Sequence[Source], machine: str, name: str) -> Path:
    home = Path(request.output) if request.output else runs_home()
    described = _unknown_machine(machine)
    parts = [(source, records) for source in sources for records in _launches(source.records)]
    with RunDirectory.create(
        home,
        name,
        machine=described,
        plan=None,
        substrate="ingested",
        clock="reported",
        launches=[_launch(source, index) for index, (source, _) in enumerate(parts)],
    ) as directory:
        directory.append_all(
            replace(record, run=directory.id, launch=index)
            for index, (_, records) in enumerate(parts)
            for record in records
        )
        directory.finish()
    return directory.path


def _launches(records: Iterable[Record]) -> list[list[Record]]:
    """Return the records of each launch in a log: a case that comes again was measured by another launch."""
    launches: list[list[Record]] = []
    seen: Counter[str] = Counter()
    for record in records:
        at = seen[record.case]
        seen[record.case] += 1
        if at == len(launches):
            launches.append([])
        launches[at].append(record)
    return launches


def _launch(source: Source, index: int) -> dict[str, Any]:
    """Return a launch with only the facts that the log or its job script states."""
    stated = source.stated
    numbers: dict[str, int] = {}
    written = datetime.fromtimestamp(source.path.stat().st_mtime, UTC)
    unknown = ("ended", "exit", "reason", "mpi", "mpi_version", "library", "compiler", "flags", "placement")
    from_ = f", ranks and nodes from {stated.source}" if stated.source and stated.ranks else ""
    return {
        **dict.fromkeys(unknown),
        **dict.fromkeys(("clock_cost_s", "oversubscribed")),
        "index": index,
        "repetition": index,
        "command": stated.command.split(),
        "environment": {},
        "started": written.isoformat(timespec="seconds").replace("+00:00", "Z"),
        "outcome": "ok",
        "embedded": False,
        "toolchain": {},
        "transport": {
            **dict.fromkeys(("near", "far", "fallback_to_tcp")),
            "evidence": plain_text(f"results from {source.path}{from_}"),
        },
        "world": stated.ranks,
        "ranks": [
            {"rank": rank, "host": host, "node": numbers.setdefault(host, len(numbers))}
            for rank, host in enumerate(stated.hosts[:_MOST_HOSTS])
        ],
    }


def _unknown_machine(name: str) -> dict[str, Any]:
    """Return a machine of which nothing but the name is known; results need not be from this machine."""
    facts = ("cpu", "sockets", "cores", "threads", "cpu_limit", "memory_bytes", "kernel", "os")
    others = ("virtualization", "governor")
    return {"name": name, **dict.fromkeys((*facts, *others)), "caches": [], "interfaces": []}


# Summary of folders


def _print_tree(request: IngestRequest, made: Sequence[_Made]) -> None:
    sources = [source for one in made for source in one.sources]
    read = [source for source in sources if source.records]
    results = sum(len(source.records) for source in read)
    runs = [one.run for one in made if one.run]
    where = f" in {counted(len(runs), 'run')}" if runs else " (dry run: no run written)"
    print(f"{len(read)} of {counted(len(sources), 'file')} have results: {counted(results, 'result')}{where}")
    for name, count in Counter(source.format for source in read).most_common():
        print(f"  {count:6}  {name}")
    rest = [source for source in sources if not source.records or source.says]
    if request.details:
        print("\nnot read, or not all of it:")
        for source in rest:
            print(typeable("  " + _sentence(source)))
    elif rest:
        print("\nnot read, with one of each (all: --details):")
        examples: dict[str, Source] = {}
        counts: Counter[str] = Counter()
        for source in rest:
            kind = _class(source)
            counts[kind] += 1
            examples.setdefault(kind, source)
        for kind, count in counts.most_common():
            print(typeable(f"  {count:6}  {_sentence(examples[kind])}"))
    odd = [(one.run, factor) for one in made if one.run and (factor := _spread(one.records)) > _ODD]
    if odd:
        most, factor = max(odd, key=lambda pair: pair[1])
        print(
            typeable(
                f"\nin {counted(len(odd), 'run')} launches of the same case differ much, most in "
                f"{call_run(most)} (quartiles {factor:.1f}-fold); "
                "if their settings differ, make a run of each file: --each"
            )
        )
    if runs:
        print(typeable(f"\n`kiviat runs` lists them, `kiviat show {call_run(runs[-1])}` shows the last"))


def _class(source: Source) -> str:
    """Return what sources with sentences of one sort share."""
    if source.kind in ("unknown", "other"):
        return source.says.split(" says ")[0].split(" begins with ")[0]
    if source.kind == "failed":
        return f"{source.kind} {source.format} {source.says.split(':')[0][:12]}"
    return source.kind


def _spread(records: Iterable[Record]) -> float:
    """Return the upper over the lower quartile of launches, the median over cases; 1 below four launches."""
    values: dict[tuple[str, str], list[float]] = {}
    for record in records:
        for metric in record.metrics[:1]:
            if metric.mean and metric.mean > 0:
                values.setdefault((record.case, metric.name), []).append(metric.mean)
    quartiles = [quantiles(some) for some in values.values() if len(some) > 3]
    return median([upper / lower for lower, _, upper in quartiles] or [1.0])
