"""Changes of a machine in the notation of `kiviat what-if --set`: "nic.bandwidth=2x", "topology.hop=+10%".

They are translated into the `changes` of kiviat.machine.modelled.machine.load_machine.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from kiviat.machine.modelled.machine import (
    LEVELS,
    NUMBERS,
    PARTS,
    SWITCHES,
    WORDS,
    Machine,
    Segment,
    unit_of,
    with_changes,
)
from kiviat.machine.modelled.quantity import Quantity, parse_value, quantity_json
from kiviat.model.numbers import text_of
from kiviat.model.shapes import WITH_RADIX, fitting
from kiviat.record import InputError
from kiviat.record.plain import whole_number

SOURCE = "what-if"
_FACTOR = re.compile(r"(\d+(?:\.\d+)?)x")
_PERCENT = re.compile(r"([+-]\d+(?:\.\d+)?)\s*%")
_SHORT = {"nodes": "node.count", "topology": "topology.kind", "radix": "topology.radix"}
_POSITIONS = {"true": True, "false": False}  # load_machine refuses anything else


def changes(machine: Machine, settings: Sequence[str]) -> dict[str, Any]:
    """Return the merged changes of all settings; InputError names an invalid one."""
    merged: dict[str, Any] = {"sources": {SOURCE: "changed by --set"}}
    given: dict[str, str] = {}
    for setting in settings:
        place, equals, value = (part.strip() for part in setting.partition("="))
        if not (place and equals and value):
            raise InputError(f"--set {setting!r} is not of the form PLACE=VALUE, such as nic.bandwidth=2x")
        place = _SHORT.get(place, place)
        if place in given:
            raise InputError(f"--set {setting!r}: {place} is changed twice; give it once")
        given[place] = value
    costs: dict[str, dict[str, str]] = {}
    for place, value in given.items():
        if place.startswith("topology.") and place not in machine.numbers:
            continue
        if cost := _cost(place):
            costs.setdefault(cost[0], {})[cost[1]] = value
            continue
        _merge(merged, _change(machine, place, value))
    for level, parts in costs.items():  # a level's segments are one list, which is replaced as a whole
        segments = [_segment(segment, level, parts) for segment in machine.segments[level]]
        _merge(merged, {"mpi": {level: segments}})
    if topology := _topology(machine, given):
        _merge(merged, {"topology": topology})
    return merged


def changed(base: Machine, settings: Sequence[str]) -> Machine:
    """Return the machine with all settings; InputError names what is invalid, or contradicts the rest."""
    given = changes(base, settings)
    try:
        return with_changes(base, given)
    except InputError as error:
        reason = str(error).replace(str(base.path), f"{base.name} so changed")
        raise InputError(f"--set {', '.join(settings)}: {reason}") from None


def scaled(machine: Machine, place: str, factor: float) -> dict[str, Any]:
    """Return the change that multiplies a number by `factor`; `place` is one of `assumed_places`."""
    return {**changes(machine, [f"{place}={factor:g}x"]), "sources": {SOURCE: "varied"}}


def assumed_places(machine: Machine) -> list[str]:
    """Return the places of the numbers with confidence "low" or "assumed", those of messages included."""
    return _places_of(machine, ("low", "assumed"))


def calibrated_places(machine: Machine) -> list[str]:
    """Return the places of the numbers that were fitted, those of messages included."""
    return _places_of(machine, ("calibrated",))


def _places_of(machine: Machine, confidences: Sequence[str]) -> list[str]:
    places = [place for place, number in machine.numbers.items() if number.confidence in confidences]
    for level, number in machine.in_flight.items():
        if number.confidence in confidences:
            places.append(f"mpi.in_flight.{level}")
    for level, segments in machine.segments.items():
        if level == "socket" and segments == machine.segments["node"]:
            continue
        for part in PARTS:
            quantities = [getattr(segment, part) for segment in segments]
            if any(
                number is not None and number.value and number.confidence in confidences
                for number in quantities
            ):
                places.append(f"mpi.{level}.{part}")
    # Counts cannot be scaled: a quarter of a node is meaningless.
    return [place for place in places if place not in machine.numbers or machine.numbers[place].unit != "1"]


def _change(machine: Machine, place: str, value: str) -> dict[str, Any]:
    table, _, key = place.partition(".")
    unit = unit_of(place)
    if place in machine.numbers or place in NUMBERS:
        changed: dict[str, Any] = _json(_changed(machine.numbers.get(place), value, place))
        for name in reversed(place.split(".")):
            changed = {name: changed}
        return changed
    if place in WORDS:
        return {table: {key: value}}
    if table == "mpi" and key in SWITCHES:
        return {table: {key: _POSITIONS.get(value, value)}}
    if place.startswith("mpi.algorithms."):
        return {"mpi": {"algorithms": {key.partition(".")[2]: value}}}
    level, _, part = key.partition(".")
    if level == "in_flight" and unit:
        return {"mpi": {"in_flight": {part: _json(_changed(machine.in_flight.get(part), value, place))}}}
    raise InputError(
        f"--set {place}={value}: {machine.name} has no such number; "
        f"it has {', '.join(sorted(_example_places(machine)))}"
    )


def _example_places(machine: Machine) -> list[str]:
    levels = [f"mpi.{level}.{part}" for level in ("node", "network") for part in ("latency", "bandwidth")]
    return [*machine.numbers, "topology.kind", *levels]


def _changed(quantity: Quantity | None, value: str, place: str) -> Quantity:
    """Return the changed quantity: "2x" and "+10%" are relative, anything else is the new value.

    A machine file may omit the number (`quantity` is None); then only a value can be given.
    """
    unit = quantity.unit if quantity else unit_of(place)
    assert unit is not None
    relative, percent = _FACTOR.fullmatch(value), _PERCENT.fullmatch(value)
    if quantity is None and (relative or percent):
        raise InputError(
            f"--set {place}={value}: the machine file omits {place}, so there is nothing to change; "
            f"give a value{'' if unit == '1' else f' in {unit}'}"
        )
    if quantity and relative:
        number = quantity.value * float(relative[1])
    elif quantity and percent:
        number = quantity.value * (1 + float(percent[1]) / 100)
    else:
        whole = whole_number(value)
        number = parse_value(value if whole is None else whole, unit, f"--set {place}")
    return Quantity(number, unit, text_of(number, unit), (SOURCE,), "assumed")


def _json(quantity: Quantity) -> dict[str, Any]:
    data = quantity_json(quantity)
    return data | (
        {"value": int(quantity.value)} if quantity.unit == "1" and quantity.value.is_integer() else {}
    )


def _cost(place: str) -> tuple[str, str] | None:
    """Return level and part of a cost of messages, such as "mpi.network.latency"; None for other places."""
    table, _, key = place.partition(".")
    level, _, part = key.partition(".")
    return (level, part) if table == "mpi" and level in LEVELS and part in PARTS else None


def _segment(segment: Segment, level: str, parts: Mapping[str, str]) -> dict[str, Any]:
    data: dict[str, Any] = {
        "from": {"value": f"{segment.start_bytes:.12g} B", "source": SOURCE, "confidence": "assumed"}
    }
    for name in PARTS:
        quantity: Quantity | None = getattr(segment, name)
        if name in parts:
            quantity = _changed(quantity, parts[name], f"mpi.{level}.{name}")
        if quantity is not None:
            data[name] = _json(quantity)
    return data


def _topology(machine: Machine, given: Mapping[str, str]) -> dict[str, Any]:
    """Return kind and parameters; without parameters, those that fit the number of nodes and the radix.

    If only the number of nodes is given, the network keeps its shape, such as a taper, as far as possible.
    """
    named = {
        place.removeprefix("topology."): value
        for place, value in given.items()
        if place.startswith("topology.") and place not in machine.numbers
    }
    count = given.get("node.count")
    if not named and count is None:
        return {}
    shape_given = "kind" in named or "radix" in named
    kind = named.pop("kind", machine.topology_kind)
    radix = _whole(named.pop("radix"), "topology.radix") if "radix" in named else None
    if radix is not None and (named or kind not in WITH_RADIX):
        why = f"{', '.join(named)} determine the topology" if named else f"a {kind} has no radix"
        raise InputError(f"--set radix={radix}: {why}; leave it out")
    parameters: dict[str, Any] = {name: _listed(value, f"topology.{name}") for name, value in named.items()}
    if not parameters and (kind != machine.topology_kind or count is not None or radix is not None):
        nodes = (
            machine.nodes
            if count is None
            else round(_changed(machine.numbers["node.count"], count, "node.count").value)
        )
        present = None if shape_given else machine.topology_parameters
        if present is not None and nodes == machine.nodes:
            return {}
        parameters = dict(fitting(kind, nodes, radix, present))
    return {"kind": kind, **parameters}


def _listed(value: str, place: str) -> list[int]:
    return [_whole(word, place) for word in value.strip("[] ").split(",")]


def _whole(word: str, place: str) -> int:
    number = whole_number(word)
    if number is None:
        raise InputError(f"--set {place}={word}: give whole numbers, such as 4 or 8,4")
    return number


def _merge(into: dict[str, Any], more: Mapping[str, Any]) -> None:
    for key, value in more.items():
        if isinstance(value, dict) and isinstance(into.get(key), dict) and "value" not in value:
            _merge(into[key], value)
        else:
            into[key] = value
