"""Scotch's mapping, by its program scotch_gmap: a starting point for Kiviat's, and a comparison.

File formats are described in the Scotch and libScotch User's Guide, chapter 5. The program is used instead of
the library, because it may be missing, of any version and any integer width, and cannot crash kiviat.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np

from kiviat.launch.process import children
from kiviat.placement.dual_bisection import division, uniform
from kiviat.placement.graph import Floats, Graph, Integers
from kiviat.record.scratch import scratch_folder

# Scotch sums weights in 32 bits.
_MOST_WEIGHT = 2**29
_TIMEOUT_S = 60.0
# The distances of all pairs are written to a file.
_MOST_NODES = 2048


def program() -> str | None:
    """Return the path of Scotch's mapper, None if it is not installed; Debian's package is scotch."""
    return shutil.which("scotch_gmap")


def mapped(graph: Graph, room: Integers, distance: Floats, options: Sequence[str] = ()) -> Integers | None:
    """Return the node of each rank; None if Scotch is missing, fails, or takes longer than a minute.

    `options` of scotch_gmap select its strategy. Nodes may exceed their room by a few ranks if bisection
    cannot avoid that.
    """
    gmap = program()
    if gmap is None or len(room) < 2 or graph.vertices < 2 or not len(graph.weight):
        return None
    if not uniform(distance) and len(room) > _MOST_NODES:
        return None
    with scratch_folder() as name:
        folder = Path(name)
        source, target, output = (folder / file for file in ("source.grf", "target.tgt", "mapping.map"))
        for path, content in zip((source, target), files(graph, room, distance), strict=True):
            path.write_text(content)
        try:
            children.run(
                [gmap, source, target, output, "-b0.0", *options],
                environment={**os.environ, "SCOTCH_PTHREAD_NUMBER": "1"},
                timeout_s=_TIMEOUT_S,
            ).check_returncode()
            lines = output.read_text().split()
        except (OSError, subprocess.SubprocessError):
            return None
    pairs = np.array(lines[1:], dtype=np.int64).reshape(-1, 2)
    if len(pairs) != graph.vertices:
        return None
    node = np.zeros(graph.vertices, dtype=np.int64)
    node[pairs[:, 0]] = pairs[:, 1]
    return node


def files(graph: Graph, room: Integers, distance: Floats) -> tuple[str, str]:
    """Return the texts of Scotch's graph and target."""
    return _graph(graph), _weights(room) if uniform(distance) else _decomposition(room, distance)


def _graph(graph: Graph) -> str:
    """Return the graph in Scotch's format.

    Version; number of vertices and arcs; base 0 and a flag for edge weights; for each vertex its degree and
    edges.
    """
    scale = max(1.0, float(graph.weight.sum()) / _MOST_WEIGHT)
    weights = np.maximum(1, np.rint(graph.weight / scale)).astype(np.int64).tolist()
    ends, first = graph.neighbour.tolist(), graph.first.tolist()
    lines = ["0", f"{graph.vertices} {len(ends)}", "0 010"]
    for begin, end in pairwise(first):
        words = [str(end - begin)]
        for at in range(begin, end):
            words += [str(weights[at]), str(ends[at])]
        lines.append(" ".join(words))
    return "\n".join(lines) + "\n"


def _weights(room: Integers) -> str:
    """Return an architecture of nodes with different weights, all equally far apart."""
    return f"cmpltw {len(room)} {' '.join(map(str, room.tolist()))}\n"


def _decomposition(room: Integers, distance: Floats) -> str:
    """Return an architecture of arbitrary distances in Scotch's format ("deco 0").

    It lists the nodes, their recursive bisection (the halves of domain i are 2 i and 2 i + 1), and the lower
    triangle of distances.
    """
    domain = [0] * len(room)
    parts = [(0, len(room), 1)]
    while parts:
        first, last, number = parts.pop()
        if last - first == 1:
            domain[first] = number
            continue
        middle = first + division(distance[first:last, first:last])
        parts += [(first, middle, 2 * number), (middle, last, 2 * number + 1)]
    lines = ["deco 0", f"{len(room)} {max(domain)}"]
    lines += [f"{node} {int(room[node])} {domain[node]}" for node in range(len(room))]
    whole = np.rint(distance).astype(np.int64)
    lines += [" ".join(map(str, whole[node, :node].tolist())) for node in range(1, len(room))]
    return "\n".join(lines) + "\n"
