"""Quality and speed of `kiviat place`: compared with Scotch's mapping, and on 4,096 ranks.

`python -m benchmarks.placement NUMBER FOLDER` prints one of the generated problems, from 0 on, with the cost
of Kiviat's construction and of each of Scotch's mappings, and writes Scotch's input into the folder.
"""

from __future__ import annotations

import random
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks import graphs
from benchmarks.finding import Finding, Verdict, judged, not_measured
from benchmarks.setting import Setting
from kiviat.launch.programs import scotch
from kiviat.placement import place
from kiviat.placement.automatic import automatic
from kiviat.placement.graph import Floats, Graph, Integers
from kiviat.placement.prediction import predicted
from kiviat.placement.swaps import repaired
from kiviat.placement.target import Target
from kiviat.profile import Traffic

ROW = "placement"
_LARGE_S = 10.0
_WITHIN = 1.02
# Strategies of scotch_gmap: quality before speed; the same with enforced balance; recursive bipartitioning
# only.
_STRATEGIES = (["-cq"], ["-cqb"], ["-cqr"])
_SEEDS = 5
_PROBLEMS = 200
_RANKS = (8, 16, 24, 32, 48, 64, 100, 128, 200, 256)


def measure(setting: Setting) -> Iterator[Finding]:
    yield from _beside_scotch(setting)
    yield from _large(setting)


def _problems(count: int) -> list[tuple[str, Traffic, Target, str]]:
    """Return the generated problems with objectives that Scotch supports, too: it does not know links."""
    return [problem for problem in graphs.problems(count, _RANKS) if problem[3] != "max-link"]


def _beside_scotch(setting: Setting) -> Iterator[Finding]:
    """Compare Kiviat's own construction with Scotch's mapping.

    `kiviat place` normally starts from Scotch's mapping if available.
    """
    problems = _problems(20 if setting.brief else _PROBLEMS)
    if scotch.program() is None:
        yield not_measured(ROW, "beside Scotch", "within 2 %", "no scotch_gmap on PATH")
        return
    ratios, worse, lines, full, failed = [], 0, [], 0, 0
    ours_s = theirs_s = 0.0
    for number, (name, traffic, target, objective) in enumerate(setting.progress(problems, ROW)):
        simple = [place(target.topology, traffic.ranks, policy) for policy in ("cyclic", "blocked")]
        begun = time.monotonic()
        ours = predicted(traffic, automatic(traffic, target, objective, simple).node, target).by(objective)
        between = time.monotonic()
        mappings = list(_scotch(traffic, target, objective))
        ours_s, theirs_s = ours_s + between - begun, theirs_s + time.monotonic() - between
        if not mappings:
            failed += 1
            continue
        theirs = min(mapping.cost for mapping in mappings)
        full += any(mapping.crowded for mapping in mappings)
        nodes = [np.array([where.node for where in layout.places]) for layout in simple]
        worse += ours > min(predicted(traffic, node, target).by(objective) for node in nodes)
        # Two costs of 0 count as equal.
        ratio = ours / theirs if theirs else 1.0 if not ours else np.inf
        ratios.append(ratio)
        if ratio > _WITHIN:
            lines.append(f"{ratio:.3f}: problem {number}, {name}")
    if not ratios:
        yield not_measured(ROW, "beside Scotch", "within 2 %", "scotch_gmap failed in all problems")
        return
    far = sum(ratio > _WITHIN for ratio in ratios)
    compared = np.array([ratio for ratio in ratios if 0 < ratio < np.inf])
    yield Finding(
        ROW,
        f"{len(ratios)} graphs and networks, Kiviat alone: cost more than 2 % above Scotch's",
        f"{far}; geometric mean {np.exp(np.log(compared).mean()):.3f} of Scotch's, "
        f"at most {max(ratios):.3f}; {ours_s:.0f} s, Scotch {theirs_s:.0f} s",
        "0",
        judged(far == 0),
        [
            *lines,
            f"Scotch: the best of {_SEEDS} vertex orders with each of scotch_gmap's "
            f"{', '.join(' '.join(options) for options in _STRATEGIES)}, over all nodes and over the fewest",
            f"the mean is that of {len(compared)} ratios; {ratios.count(0)} are 0 and {ratios.count(np.inf)} "
            f"infinite; Scotch failed in {failed} further problems",
            f"Scotch put too many ranks on a node in {full} problems; they were moved where it costs least",
        ],
        {"ratios": ratios},
        [
            ".venv/bin/python -m benchmarks.placement 0 FOLDER  "
            f"# all costs; problems 0 to {len(problems) - 1}",
            "SCOTCH_PTHREAD_NUMBER=1 scotch_gmap FOLDER/0.grf "
            f"FOLDER/{problems[0][2].nodes}.tgt -b0.0 -Cf -cq",
            f"# {_version()}: writes a mapping, whose cost the first command prints; 0.grf to "
            f"{_SEEDS - 1}.grf are vertex orders, N.tgt are N nodes",
        ],
    )
    yield Finding(
        ROW, "of those: worse than the best of cyclic and blocked", f"{worse}", "0", judged(worse == 0)
    )


@dataclass(frozen=True)
class Mapping:
    """A mapping of Scotch's onto the first `nodes`: its cost in bytes, or bytes times hops; `crowded` if it
    did not fit.
    """

    nodes: int
    seed: int
    options: Sequence[str]
    cost: float
    crowded: bool


def _scotch(traffic: Traffic, target: Target, objective: str) -> Iterator[Mapping]:
    """Yield Scotch's mappings, those that do not fit repaired.

    With balanced loads Scotch uses all nodes that it gets, so it gets all of them and, if these are more than
    necessary, the fewest that hold the ranks. Its seed is fixed (-Cf); each seed here numbers the vertices in
    another random order.
    """
    graph = Graph.of_traffic(traffic)
    distance = _distance(target, objective)
    for nodes in _numbers_of_nodes(traffic, target):
        for seed in range(_SEEDS):
            order = _order(seed, traffic.ranks)
            for options in _STRATEGIES:
                mapped = _mapped(graph.part(order), target.room[:nodes], distance[:nodes, :nodes], options)
                if mapped is None:
                    continue  # Scotch failed
                node = np.empty_like(mapped)
                node[order] = mapped
                crowded = bool((np.bincount(node, minlength=target.nodes) > target.room).any())
                fitting = repaired(graph, node, target.room, distance)
                cost = predicted(traffic, fitting, target).by(objective)
                yield Mapping(nodes, seed, options, cost, crowded)


def _mapped(graph: Graph, room: Integers, distance: Floats, options: Sequence[str]) -> Integers | None:
    """Return Scotch's mapping; on one node there is but one."""
    if len(room) == 1:
        return np.zeros(graph.vertices, dtype=np.int64)
    return scotch.mapped(graph, room, distance, ["-Cf", *options])


def _numbers_of_nodes(traffic: Traffic, target: Target) -> list[int]:
    """Return the number of all nodes and, if smaller, the number of first nodes that hold all ranks."""
    fewest = int(np.searchsorted(np.cumsum(target.room), traffic.ranks)) + 1
    return sorted({target.nodes, fewest}, reverse=True)


def _distance(target: Target, objective: str) -> Floats:
    return target.apart if objective == "bytes" else target.hops


def _order(seed: int, ranks: int) -> Integers:
    return np.random.default_rng(seed).permutation(ranks) if seed else np.arange(ranks)


def _large(setting: Setting) -> Iterator[Finding]:
    """Measure the whole search on 4,096 ranks, which includes Scotch if installed; compare Kiviat's own
    construction with Scotch's mapping.
    """
    source = random.Random(2)
    ranks = 512 if setting.brief else 4096
    shapes = (
        ("cube", "crossbar", 16),
        ("random", "fat-tree", 8),
        ("geometric", "dragonfly", 16),
        ("square", "torus", 4),
    )
    for kind, network, slots in shapes:
        traffic = graphs.traffic(source, kind, ranks)
        for objective in ("bytes", "hop-bytes", "max-link"):
            target = graphs.target(source, network, traffic.ranks, slots)
            begun = time.monotonic()
            simple = [place(target.topology, traffic.ranks, policy) for policy in ("cyclic", "blocked")]
            automatic(traffic, target, objective, simple, scotch.mapped)
            took = time.monotonic() - begun
            beside = ""
            if scotch.program() and objective != "max-link":
                alone = automatic(traffic, target, objective, simple).node
                ours = predicted(traffic, alone, target).by(objective)
                theirs = min(
                    (mapping.cost for mapping in _scotch(traffic, target, objective)), default=np.nan
                )
                beside = f"; Kiviat alone {ours / theirs:.3f} of Scotch's cost, {theirs:.5g}"
            yield Finding(
                ROW,
                f"{kind} of {traffic.ranks} ranks, {target.label}, {objective}",
                f"{took:.1f} s{beside}",
                f"{_LARGE_S:.0f} s at most",
                Verdict.STATED if setting.brief else judged(took <= _LARGE_S),
            )


def _version() -> str:
    said = subprocess.run([str(scotch.program()), "-V"], capture_output=True, text=True, check=False)
    found = re.search(r"version (\S+)", said.stdout + said.stderr)
    return f"Scotch {found[1]}" if found else "Scotch of unknown version"


def _main(number: str, folder: str) -> None:
    name, traffic, target, objective = _problems(_PROBLEMS)[int(number)]
    simple = [place(target.topology, traffic.ranks, policy) for policy in ("cyclic", "blocked")]
    ours = automatic(traffic, target, objective, simple).node
    print(f"{name}: Kiviat {predicted(traffic, ours, target).by(objective):.6g}")
    for mapping in _scotch(traffic, target, objective):
        crowded = ", repaired" if mapping.crowded else ""
        files = f"{mapping.seed}.grf, {mapping.nodes}.tgt"
        print(f"Scotch, {files}, {' '.join(mapping.options)}: {mapping.cost:.6g}{crowded}")
    graph, into = Graph.of_traffic(traffic), Path(folder)
    into.mkdir(parents=True, exist_ok=True)
    for seed in range(_SEEDS):
        part = graph.part(_order(seed, traffic.ranks))
        for nodes in _numbers_of_nodes(traffic, target):
            distance = _distance(target, objective)[:nodes, :nodes]
            source, goal = scotch.files(part, target.room[:nodes], distance)
            (into / f"{seed}.grf").write_text(source)
            (into / f"{nodes}.tgt").write_text(goal)


if __name__ == "__main__":
    _main(*sys.argv[1:])
