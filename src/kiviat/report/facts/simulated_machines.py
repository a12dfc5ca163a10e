"""Facts of the machine models of simulated runs, from run.json."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from kiviat.analysis.aggregate.calibration import calibrated
from kiviat.analysis.aggregate.known_errors import in_words, known_errors
from kiviat.record.errors import InputError
from kiviat.record.run import Model, Run
from kiviat.record.units import counted, format_bytes
from kiviat.report.html.figure import RunLabel
from kiviat.report.topology.picture import picture
from kiviat.report.topology.text import Shape, described, in_short, name

Facts = list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Modelled:
    """A simulated machine: components, network, losses and open questions of its model.

    `picture` is empty if this version does not know the kind of network.
    """

    run: int
    label: str
    title: str
    summary: str
    facts: Facts
    picture: Markup
    caption: str
    uncalibrated: str
    losses: tuple[str, ...]
    open_questions: tuple[str, ...]


def modelled(runs: Sequence[Run], labels: Sequence[RunLabel]) -> list[Modelled]:
    """Return the simulated machines; models shared by several runs appear once."""
    found: dict[tuple[str, str], Modelled] = {}
    for place, run in enumerate(runs):
        if model := run.machine.model:
            one = _modelled(place, run, model, labels[place].label)
            found.setdefault((model.name, model.hash), one)
    return list(found.values())


def _modelled(place: int, run: Run, model: Model, label: str) -> Modelled:
    shape = Shape(
        model.topology.kind,
        model.nodes,
        model.topology.parameters,
        model.link_bandwidth,
        model.hop_s,
    )
    drawing, caption = _network(shape)
    return Modelled(
        run=place,
        label=label,
        title=model.title,
        summary=model.summary,
        facts=_facts(run, model),
        picture=drawing,
        caption=caption,
        uncalibrated=model.uncalibrated or "",
        losses=model.losses,
        open_questions=model.open_questions,
    )


def _network(shape: Shape) -> tuple[Markup, str]:
    """Return the network's picture and its description; no picture of one that this version cannot build."""
    try:
        return Markup(picture(shape)), "; ".join(described(shape))
    except InputError as error:
        return Markup(""), f"{in_short(shape)}; no picture: {error}"


def _facts(run: Run, model: Model) -> Facts:
    facts = [
        ("Model", f"{model.name}, version {model.version}"),
        ("Hash", model.hash),
        ("Variant of", model.base or ""),
        ("Nodes", nodes(model)),
        ("Memory", format_bytes(run.machine.memory_bytes) if run.machine.memory_bytes else ""),
        ("Collectives", f"algorithms of {model.collectives}" if model.collectives != "default" else ""),
        ("Calibrated", calibrated(model)),
        ("Known errors", in_words(known_errors(model))),
        ("Assumed", ", ".join(model.assumed) or "nothing"),
    ]
    return [(name, value) for name, value in facts if value]


def nodes(model: Model) -> str:
    """Return "63, each of 2 sockets of 1 core"."""
    sockets, cores = model.sockets, model.cores
    return f"{model.nodes:,}, each of {counted(sockets, 'socket')} of {counted(cores, 'core')}"


def network(model: Model) -> str:
    """Return the name of a model's network topology."""
    return name(model.topology.kind)
