"""Placement of ranks on nodes and cores: pure functions, and their translation for each launcher."""

from kiviat.placement.binding import BINDINGS
from kiviat.placement.emit import Emitted, emit
from kiviat.placement.layout import Layout, Place
from kiviat.placement.observed import differences, ranks_on_nodes
from kiviat.placement.placing import place
from kiviat.placement.shape import Shape, parse_shape

__all__ = [
    "BINDINGS",
    "Emitted",
    "Layout",
    "Place",
    "Shape",
    "differences",
    "emit",
    "parse_shape",
    "place",
    "ranks_on_nodes",
]
