"""Pictures of networks have the right content and are deterministic."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence

import pytest

from kiviat.machine.modelled.networks import KINDS, build
from kiviat.report.topology.picture import picture
from kiviat.report.topology.text import Shape, cables, described, distances, joined, sketch

SHAPES: Mapping[str, Shape] = {
    "crossbar": Shape("crossbar", 64, {}),
    "full-mesh": Shape("full-mesh", 16, {}),
    "kautz": Shape("kautz", 12, {"degree": [3], "diameter": [2]}),
    "large-kautz": Shape("kautz", 324, {"degree": [3], "diameter": [5]}),
    "fat-tree": Shape("fat-tree", 128, {"down": [16, 8], "up": [1, 8], "cables": [1, 2], "planes": [1]}),
    "large-tree": Shape(
        "fat-tree", 512, {"down": [8, 8, 8], "up": [1, 4, 2], "cables": [1, 1, 1], "planes": [1]}
    ),
    "torus": Shape("torus", 64, {"dimensions": [4, 4, 4]}),
    "large-torus": Shape("torus", 1000, {"dimensions": [10, 10, 10]}),
    "dragonfly": Shape("dragonfly", 72, {"groups": [9], "routers": [4], "nodes": [2], "cables": [1]}),
    "altix": Shape("altix", 256, {"nodes_per_brick": [4], "groups": [4], "boxes": [1]}),
}
SVG = "{http://www.w3.org/2000/svg}"
every_shape = pytest.mark.parametrize("name", SHAPES)


def drawn(name: str, title: str = "") -> ET.Element:
    return ET.fromstring(picture(SHAPES[name], title))


def of_class(picture: ET.Element, kind: str) -> list[ET.Element]:
    return [element for element in picture.iter() if element.get("class") == kind]


def ends(lines: Sequence[ET.Element]) -> list[str]:
    """Return every straight line in the paths."""
    return [line for path in lines for line in re.findall(r"M[^M]+", path.get("d", ""))]


def test_every_kind_of_network_is_tried() -> None:
    assert {shape.kind for shape in SHAPES.values()} == set(KINDS)


@every_shape
def test_the_same_each_time(name: str) -> None:
    assert picture(SHAPES[name], "a title") == picture(SHAPES[name], "a title")


@every_shape
def test_nothing_lies_outside(name: str) -> None:
    whole = drawn(name)
    width, height = (float(part) for part in whole.get("viewBox", "").split()[2:])
    for element in whole.iter():
        for key, most in (("cx", width), ("cy", height), ("x", width), ("y", height)):
            assert 0 <= float(element.get(key, 0)) <= most, (name, element.attrib)
        for number, value in enumerate(re.findall(r"-?[\d.]+", element.get("d", ""))):
            assert 0 <= float(value) <= (height if number % 2 else width), (name, element.attrib)
    for text in whole.iter(f"{SVG}text"):
        # In most fonts, letters are about 0.5 em wide.
        length = 0.5 * 13 * len(text.text or "")
        start = {"start": 0, "middle": length / 2, "end": length}[text.get("text-anchor", "start")]
        left = float(text.get("x", 0)) - start
        assert left >= 0 and left + length <= width, (name, text.text)


@every_shape
def test_a_file_of_its_own_needs_nothing_else(name: str) -> None:
    whole = drawn(name, "Made <up> & drawn")
    style = whole.find(f"{SVG}style")
    assert style is not None and "var(" not in (style.text or "")
    used = {element.get("class") for element in whole.iter() if element.get("class")} - {"topology"}
    assert all(f".{kind}{{" in (style.text or "") for kind in used), used
    assert "Made <up> & drawn" in [text.text for text in whole.iter(f"{SVG}text")]


def test_a_crossbar_has_a_line_to_each_node() -> None:
    whole = drawn("crossbar")
    assert len(of_class(whole, "node")) == 64 and len(of_class(whole, "switch")) == 1
    assert len(ends(of_class(whole, "cable"))) == 64
    assert {text.text for text in of_class(whole, "name")} == {f"n{node}" for node in range(64)}


def test_a_kautz_digraph_has_an_arrow_for_each_arc() -> None:
    whole = drawn("kautz")
    assert len(of_class(whole, "node")) == 12
    assert (len(of_class(whole, "head")), len(of_class(whole, "hot-head"))) == (33, 3)
    first = of_class(whole, "node")[0]
    here = f"M{first.get('cx')} {first.get('cy')}Q"
    assert all(path.get("d", "").startswith(here) for path in of_class(whole, "hot"))
    tips = {head.get("points", "").split()[0:2][0] for head in of_class(whole, "head")}
    assert len(tips) > 12, "arrows that lie on each other cannot be told apart"


def test_a_large_digraph_shows_what_one_node_reaches() -> None:
    whole = drawn("large-kautz")
    assert len(of_class(whole, "node")) == 324
    assert "3, 8, 24, 72, 216 nodes" in "".join(whole.itertext())


def test_a_full_mesh_joins_all_pairs() -> None:
    whole = drawn("full-mesh")
    assert len(ends(of_class(whole, "hot"))) == 15
    assert len(ends(of_class(whole, "cable"))) == 15 * 14 // 2


def test_a_fat_tree_has_its_levels() -> None:
    whole = drawn("fat-tree")
    assert (len(of_class(whole, "node")), len(of_class(whole, "switch"))) == (128, 16)
    assert len(ends(of_class(whole, "cable"))) == 128 + 64
    assert len({box.get("y") for box in of_class(whole, "switch")}) == 2
    cables = {path.get("stroke-width") for path in of_class(whole, "cable")}
    assert len(cables) == 2, "two cables side by side are a thicker line"


def test_what_does_not_fit_is_drawn_together_and_says_so() -> None:
    whole = drawn("large-tree")
    said = "".join(whole.itertext())
    assert "512 nodes" in said and "4 in each mark" in said
    assert len(of_class(whole, "node")) == 128
    assert len(of_class(whole, "switch")) == 64 + 32 + 8
    assert "nodes are left out" in "".join(drawn("large-torus").itertext())
    assert "nodes are left out" not in "".join(drawn("torus").itertext())


def test_a_torus_has_every_node_and_open_ends() -> None:
    whole = drawn("torus")
    assert len(of_class(whole, "node")) == 64
    lines = ends([*of_class(whole, "cable"), *of_class(whole, "faint")])
    assert len(lines) == 3 * 4 * 4 * 3
    assert len(ends(of_class(whole, "wrap"))) == 3 * 4 * 4 * 2


def test_a_dragonfly_has_its_groups_and_the_cables_between_them() -> None:
    whole = drawn("dragonfly")
    assert len(of_class(whole, "group")) == 9 + 1
    assert len(of_class(whole, "switch")) == 9 * 4 + 4
    assert len(ends(of_class(whole, "hot"))) == 8
    assert len(ends(of_class(whole, "faint"))) == 9 * 8 // 2 - 8


def test_words_and_numbers() -> None:
    kautz = build("kautz", 12, {"degree": [3], "diameter": [2]}, "here")
    assert distances(12, cables(kautz)) == (1, 2)
    assert len(cables(kautz)) == 36
    assert "36 arcs of one direction" in described(SHAPES["kautz"])
    assert sketch(SHAPES["kautz"])[0] == "n0 → n9, n10, n11"
    assert sketch(SHAPES["fat-tree"]) == [
        "8 switches      each joined to 8 below",
        "8 switches      each joined to 8 above and 16 below",
        "128 nodes       each joined to 1 above",
    ]


def test_a_long_cable_is_one_cable() -> None:
    """A dragonfly cable between groups counts once, despite the relays that make routes avoid it."""
    shape = SHAPES["dragonfly"]
    network = build(shape.kind, shape.nodes, shape.parameters, "here")
    assert len(joined(network)) == 72 + 9 * 6 + 36
    assert distances(72, cables(network)) == (2, 5)
    assert "36 switches" in described(shape)
