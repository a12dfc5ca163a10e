"""Mapping by Scotch's program: its input files, and behaviour without it."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from benchmarks import graphs
from kiviat.launch.programs import scotch
from kiviat.placement.graph import Graph
from kiviat.placement.search import cost
from kiviat.placement.target import of_shape


@pytest.fixture
def installed() -> None:
    if scotch.program() is None:
        pytest.skip("no scotch_gmap on PATH (Debian: scotch)")


@pytest.mark.parametrize("network", ["crossbar", "torus"])
def test_its_mapping_is_one_of_little_cost(installed: None, network: str) -> None:
    """Scotch's mapping has a low cost compared with random mappings; on unequal distances the whole
    decomposition of the network is passed.
    """
    source = random.Random(4)
    traffic = graphs.traffic(source, "square", 64)
    target = graphs.target(source, network, 64, 8)
    graph = Graph.of_traffic(traffic)
    node = scotch.mapped(graph, target.room, target.hops)
    assert node is not None and (np.bincount(node, minlength=target.nodes) <= target.room).all()
    chance = [np.random.default_rng(seed).permutation(64) % target.nodes for seed in range(9)]
    assert cost(graph, node, target.hops) < 0.7 * min(cost(graph, each, target.hops) for each in chance)


def test_bytes_beyond_32_bits_are_scaled(installed: None) -> None:
    graph = Graph.of_edges(
        np.ones(4, dtype=np.int64),
        np.array([0, 1, 2, 3]),
        np.array([1, 0, 3, 2]),
        np.array([1e13, 1e13, 1e3, 1e3]),
    )
    node = scotch.mapped(graph, np.array([2, 2]), of_shape("2x2").apart)
    assert node is not None and node[0] == node[1] != node[2] == node[3]


def test_without_it_and_with_one_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = Graph.of_traffic(graphs.traffic(random.Random(1), "ring", 8))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert scotch.program() is None
    assert scotch.mapped(graph, np.array([4, 4]), of_shape("2x4").apart) is None
    broken = tmp_path / "scotch_gmap"
    for text in ("#!/bin/sh\nexit 1\n", "#!/bin/sh\necho 3 > $3\n"):
        broken.write_text(text)
        broken.chmod(0o755)
        assert scotch.mapped(graph, np.array([4, 4]), of_shape("2x4").apart) is None
