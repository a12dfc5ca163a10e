"""`kiviat model list` and `show`: the modelled machines; known, assumed and unknown parameters of one."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from kiviat.analysis.aggregate.calibration import calibrated, in_short
from kiviat.analysis.aggregate.known_errors import PAGE, in_words, known_errors, short_text
from kiviat.cli.options.files import print_name
from kiviat.cli.options.request import ModelListRequest, ModelShowRequest
from kiviat.cli.text.table import bold, dim, print_csv, print_json, print_rows, print_table
from kiviat.machine.modelled.machine import (
    LEVELS,
    Machine,
    about,
    find_machine,
    load_machine,
    machines,
    places,
)
from kiviat.machine.modelled.quantity import Quantity
from kiviat.record import write_whole
from kiviat.record.published import Fact, papers
from kiviat.record.units import counted, format_value
from kiviat.report.table import Column, tabled
from kiviat.report.topology.text import Shape, described, sketch

_NARROW, _WIDE = 72, 110

_MEANINGS = {
    "node.count": "nodes",
    "node.sockets": "sockets of a node",
    "node.cores": "cores of a socket",
    "node.memory": "memory of a node",
    "node.cache": "largest cache",
    "core.flops": "arithmetic of a core",
    "core.memory_bandwidth": "memory traffic of one core",
    "core.copy_bandwidth": "a core that copies messages",
    "memory.bandwidth": "memory bus, all cores together",
    "memory.passes": "times a message in a node crosses the bus",
    "memory.message_cache": "cache of a node that messages fit into",
    "memory.cold_passes": "times that what exceeds it crosses memory",
    "memory.network_passes": "times a message that leaves crosses the bus",
    "interconnect.bandwidth": "between sockets",
    "nic.bandwidth": "network adapter, each way",
    "nic.host_bus": "bus of the adapter",
    "nic.bucket_out": "what an idle link lets out at once",
    "nic.bucket_in": "what an idle link lets in at once",
    "nic.packet": "packet of a link with a bucket",
    "nic.trailer_from": "messages that wait for all their tokens",
    "nic.frame": "bytes of a message in a frame of such a link",
    "nic.header": "bytes of a frame's headers",
    "topology.link": "cable, each way",
    "topology.hop": "each switch, or node that forwards",
    "mpi.eager": "smallest message that waits for its receiver",
    "mpi.crossing_ranks": "ranks of a node from which on messages cross",
    "mpi.collective.block": "packing a block of a collective",
    "mpi.collective.per_byte": "packing a byte of a collective",
    "mpi.collective.allgather_short": "largest block of a short allgather",
    "mpi.shared_memory.latency": "collectives in shared memory: call and signal",
    "mpi.shared_memory.flag": "collectives in shared memory: each further flag",
    "mpi.shared_memory.bandwidth": "collectives in shared memory: copying of a core",
    "mpi.shared_memory.largest": "collectives in shared memory: largest vector",
    "power.node": "power of a node",
}
_OPTIONAL = (
    *("core.copy_bandwidth", "interconnect.bandwidth", "nic.host_bus", "power.node"),
    *(f"mpi.in_flight.{level}" for level in LEVELS),
)


def execute(request: ModelListRequest | ModelShowRequest) -> int:
    """Print all modelled machines, or the parameters of one; with `-o`, draw its network instead."""
    return _show(request) if isinstance(request, ModelShowRequest) else _list(request)


def _list(request: ModelListRequest) -> int:
    found = [load_machine(path) for path in machines().values()]
    if request.format != "table":
        print_rows([_entry(machine) for machine in found], request.format)
        return 0
    columns: list[Column[Machine]] = [
        Column("name", lambda machine: machine.name),
        Column("nodes × sockets × cores", _size, side=">"),
        Column("network", lambda machine: machine.topology_kind),
        Column("calibration", in_short),
        Column(f"error ({PAGE})", lambda machine: short_text(known_errors(machine))),
        Column("machine", lambda machine: machine.title),
    ]
    print_table(tabled("Modelled machines", columns, found))
    return 0


def _size(machine: Machine) -> str:
    return f"{machine.nodes} × {machine.whole('node.sockets')} × {machine.whole('node.cores')}"


def _entry(machine: Machine) -> dict[str, Any]:
    return {**about(machine), "known_error": short_text(known_errors(machine)), "file": str(machine.path)}


def _show(request: ModelShowRequest) -> int:
    machine = find_machine(request.machine)
    if request.output:
        _draw(machine, Path(request.output))
    elif request.format == "json":
        print_json(_whole(machine))
    elif request.format == "csv":
        print_csv([{"number": place, **asdict(quantity)} for place, quantity in places(machine)])
    else:
        _print(machine)
    return 0


def shape_of(machine: Machine) -> Shape:
    """Return the network of a machine for its picture."""
    return Shape(
        machine.topology_kind,
        machine.nodes,
        machine.topology_parameters,
        machine.number("topology.link"),
        machine.number("topology.hop"),
    )


def _draw(machine: Machine, path: Path) -> None:
    from kiviat.report.topology.picture import picture

    write_whole(picture(shape_of(machine), machine.title), path, "picture")
    print_name(path)


def _whole(machine: Machine) -> dict[str, Any]:
    return {
        **_entry(machine),
        "known_errors": _errors(machine),
        "variants": _variants(machine),
        "numbers": {place: asdict(quantity) for place, quantity in places(machine)},
        "words": dict(machine.words),
        "switches": machine.switches,
        "algorithms": dict(machine.algorithms),
        "sources": dict(machine.sources),
        "open_questions": list(machine.open_questions),
        "losses": list(machine.losses),
        "published": [{"machine": machine, "mode": mode} for machine, mode in machine.published],
    }


def _errors(machine: Machine) -> list[dict[str, Any]]:
    return [
        {
            "kind": one.kind,
            "fitted": one.fitted,
            "median": one.middle,
            "worst": one.worst,
            "rows": len(one.errors),
        }
        for one in known_errors(machine).kinds
    ]


def _meaning(machine: Machine, place: str) -> str:
    if place in _MEANINGS:
        return _MEANINGS[place]
    if place.startswith("mpi.in_flight."):
        return "bytes on their way at once"
    level, _, rest = place.removeprefix("mpi.").partition("[")
    index, _, key = rest.partition("].")
    start = machine.segments[level][int(index)].start_bytes
    where = {"socket": "in a socket", "node": "in a node", "network": "between nodes"}[level]
    since = f" from {start:g} B" if len(machine.segments[level]) > 1 else ""
    return f"{where}{since}: {key.replace('_', ' ')}"


def _print(machine: Machine) -> None:
    print(bold(machine.title))
    print(machine.summary)
    print()
    for heading, words in _about(machine):
        _wrapped(heading, words)
        if heading == "network":
            for line in sketch(shape_of(machine)):
                print(f"{'':17}{line}")
    found = list(places(machine))
    known = [entry for entry in found if entry[1].confidence in ("high", "medium")]
    fitted = [entry for entry in found if entry[1].confidence == "calibrated"]
    guessed = [entry for entry in found if entry[1].confidence in ("low", "assumed")]
    _print_numbers(machine, f"Known: {counted(len(known), 'number')}", known)
    _print_numbers(machine, f"Fitted to measurements: {counted(len(fitted), 'number')}", fitted)
    _print_numbers(machine, f"Assumed: {counted(len(guessed), 'number')}", guessed)
    unknown = [_OPTIONAL_WORDS.get(place, place) for place in _OPTIONAL if place not in dict(found)]
    _print_list("Unknown, or not there", unknown)
    _print_list("Open questions", machine.open_questions)
    _print_list("What the model cannot express", machine.losses)
    used = {source for _, quantity in found for source in quantity.source}
    _print_list("Sources", [f"{key}: {text}" for key, text in machine.sources.items() if key in used])


_OPTIONAL_WORDS = {
    "core.copy_bandwidth": "core.copy_bandwidth: a core that copies messages is no limit of its own",
    "interconnect.bandwidth": "interconnect.bandwidth: what lies between sockets is no limit of its own",
    "nic.host_bus": "nic.host_bus: the bus of the network adapter is no limit of its own",
    "power.node": "power.node",
    **{
        f"mpi.in_flight.{level}": f"mpi.in_flight.{level}: distance does not slow a stream down there"
        for level in LEVELS
    },
}


def _about(machine: Machine) -> Iterator[tuple[str, str]]:
    yield "name", f"{machine.name}, version {machine.version}, hash {machine.hash[:12]}"
    yield "file", str(machine.path)
    if machine.base:
        yield "variant of", machine.base
    if variants := _variants(machine):
        yield "variants", ", ".join(variants)
    yield "network", "; ".join(described(shape_of(machine)))
    if machine.uncalibrated:
        yield "uncalibrated", machine.uncalibrated
    facts = {fact.id: (paper.short, fact) for paper in papers() for s in paper.systems for fact in s.facts}
    rows = [_row(name, *facts[name]) if name in facts else name for name in machine.calibrated_on]
    yield "calibrated", ": ".join(filter(None, (calibrated(machine), "; ".join(rows))))
    yield "known errors", in_words(known_errors(machine))
    words = {**machine.words, **{f"mpi.algorithms.{k}": v for k, v in machine.algorithms.items()}}
    choices = [f"{place} {word}" for place, word in sorted(words.items())]
    yield "choices", ", ".join([*choices, *(f"mpi.{key}" for key, on in machine.switches.items() if on)])
    if machine.published:
        names = (" ".join(filter(None, both)) for both in machine.published)
        yield "published as", ", ".join(names)


def _row(row: str, paper: str, fact: Fact) -> str:
    value = ("" if fact.relation == "=" else f"{fact.relation} ") + format_value(fact.value, fact.unit)
    return f"{row} ({paper}, {fact.location}: {fact.metric} {value})"


def _variants(machine: Machine) -> list[str]:
    return [other for other, path in machines().items() if load_machine(path).base == machine.name]


def _width() -> int:
    return min(max(shutil.get_terminal_size((_WIDE, 24)).columns, _NARROW), _WIDE)


def _wrapped(heading: str, words: str) -> None:
    lines = textwrap.wrap(words, _width() - 15, break_on_hyphens=False) or [""]
    for number, line in enumerate(lines):
        print(f"{'' if number else heading:15}{line}")


def _print_numbers(machine: Machine, heading: str, found: Sequence[tuple[str, Quantity]]) -> None:
    if not found:
        return
    print(f"\n{bold(heading)}")
    columns: list[Column[tuple[str, Quantity]]] = [
        Column("number", lambda one: one[0]),
        Column("what", lambda one: _meaning(machine, one[0])),
        Column("value", lambda one: one[1].text, side=">"),
        Column("confidence", lambda one: one[1].confidence),
        Column("source", lambda one: ", ".join(one[1].source)),
    ]
    print_table(tabled(heading, columns, found))
    for place, quantity in found:
        if quantity.note:
            for line in textwrap.wrap(f"{place}: {quantity.note}", _width() - 2, subsequent_indent="  "):
                print(dim(line))


def _print_list(heading: str, entries: Sequence[str]) -> None:
    if not entries:
        return
    print(f"\n{bold(heading)}")
    for entry in entries:
        print(
            textwrap.fill(
                entry, _width(), initial_indent="- ", subsequent_indent="  ", break_on_hyphens=False
            )
        )
