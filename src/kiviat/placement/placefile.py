"""Placement files: one line for each rank, from rank 0 on.

    n1          # rank 0 runs on n1, not bound
    n2 0 3      # or: on n2, bound to core 3 of socket 0, both counted from 0

Empty lines and comments after # are ignored, and so are lines beyond the last rank: one file serves several
numbers of ranks.
"""

from __future__ import annotations

import re
from collections import Counter
from difflib import get_close_matches
from pathlib import Path

from kiviat.machine.topology import Topology
from kiviat.placement.layout import Place
from kiviat.record import InputError
from kiviat.record.files import read_text

_NUMBER = re.compile(r"[0-9]{1,9}")
_FORM = "write NODE, or NODE SOCKET CORE counted from 0"


def read_places(topology: Topology, path: Path, ranks: int, oversubscribe: bool) -> list[Place]:
    """Return the places of the first `ranks` lines. Raise InputError for unknown places or too few lines.

    Unless `oversubscribe`, ranks beyond a node's slots and shared cores are errors too.
    """
    try:
        lines = read_text(path, errors="replace").splitlines()
    except OSError as error:
        raise InputError(f"cannot read placement {path}: {error.strerror}; see --place file:PATH") from error
    places: list[Place] = []
    for number, line in enumerate(lines, 1):
        words = line.partition("#")[0].split()
        if words and len(places) < ranks:
            places.append(_place(topology, words, f"{path}:{number}"))
    if len(places) < ranks:
        raise InputError(f"{path} places {len(places)} of {ranks} ranks; add a line for each of them")
    _refuse_half_bound(places, path)
    if not oversubscribe:
        _refuse_crowds(topology, places, path)
    return places


def _place(topology: Topology, words: list[str], where: str) -> Place:
    index = topology.index(words[0])
    if index is None:
        names = [node.name for node in topology.nodes]
        near = get_close_matches(words[0], names, n=1)
        some = ", ".join(names[:8]) + (" …" if len(names) > 8 else "")
        hint = f"did you mean {near[0]!r}?" if near else f"known: {some}"
        raise InputError(f"{where}: no node is named {words[0]!r}; {hint}")
    if len(words) == 1:
        return Place(index)
    if len(words) != 3 or not all(map(_NUMBER.fullmatch, words[1:])):
        raise InputError(f"{where}: {' '.join(words)!r} cannot be read; {_FORM}")
    socket, core = int(words[1]), int(words[2])
    sockets = topology.nodes[index].sockets
    if not topology.nodes[index].cores:
        raise InputError(f"{where}: the cores of {words[0]} are unknown; write just the node")
    if socket >= len(sockets):
        raise InputError(f"{where}: no socket {socket}, {words[0]} has {len(sockets)}; {_FORM}")
    if core >= len(sockets[socket]):
        have = len(sockets[socket])
        raise InputError(f"{where}: no core {core}, socket {socket} of {words[0]} has {have}; {_FORM}")
    return Place(index, socket, sockets[socket][core])


def _refuse_half_bound(places: list[Place], path: Path) -> None:
    """Raise InputError if only some ranks have cores: no launcher binds some ranks and not others."""
    bound = [place.core is not None for place in places]
    if any(bound) and not all(bound):
        raise InputError(
            f"{path} gives rank {bound.index(True)} a core and rank {bound.index(False)} none; "
            "give all ranks one, or none"
        )


def _refuse_crowds(topology: Topology, places: list[Place], path: Path) -> None:
    for index, count in Counter(place.node for place in places).items():
        node = topology.nodes[index]
        if count > node.slots:
            raise InputError(
                f"{path} places {count} ranks on {node.name}, which has {node.slots} slots; move some"
            )
    cores: dict[Place, int] = {}
    for rank, place in enumerate(places):
        if place.core is not None and (first := cores.setdefault(place, rank)) != rank:
            name = topology.nodes[place.node].name
            raise InputError(
                f"{path} gives ranks {first} and {rank} the same core of {name}; give each its own"
            )
