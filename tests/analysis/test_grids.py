"""Tables aggregated over launches, and the curves and matrices derived from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from kiviat.analysis.aggregate.nodes import Nodes
from kiviat.analysis.aggregate.pair_matrices import MOST_CELLS, b_eff_curves, curve_of, matrix_of, sick
from kiviat.analysis.aggregate.tables import Grid, grids
from kiviat.record import Table, TableRow


def table_row(launch: int, values: Sequence[float | None], **changes: Any) -> TableRow:
    axes = changes.pop("table_axes", (("phase", tuple(str(k) for k in range(1, len(values) + 1))),))
    name = changes.pop("name", "bandwidth")
    fields: dict[str, Any] = {
        "run": "r",
        "launch": launch,
        "clock": "wall",
        "case": "dense_pairwise/ranks=4/bytes=8",
        "benchmark": "dense_pairwise",
        "ranks": 4,
        "bytes": 8,
        "axes": {},
        "outcome": "ok",
        "check": "passed",
        "oversubscribed": False,
    }
    return TableRow(**fields | changes, table=Table(name, "B/s", "higher", axes, tuple(values)))


def test_medians_over_launches_with_their_range() -> None:
    rows = [table_row(launch, (10.0 + launch, 20.0, None if launch == 2 else 5.0)) for launch in range(5)]
    (grid,) = grids(rows)
    assert grid.launches == 5 and grid.low is not None and grid.high is not None
    assert grid.median.tolist() == [12.0, 20.0, 5.0]
    assert grid.low[:2].tolist() == [10.0, 20.0] and grid.high[:2].tolist() == [14.0, 20.0]
    assert np.isnan(grid.low[2])  # one launch lacks this cell, so no 95 % interval
    curve = curve_of(grid)
    assert curve.points == ((1.0, 12.0), (2.0, 20.0), (3.0, 5.0))
    assert curve.band == ((10.0, 14.0), (20.0, 20.0), None)


def test_four_launches_have_no_interval() -> None:
    (grid,) = grids(table_row(launch, (1.0, None)) for launch in range(4))
    assert grid.low is None and grid.high is None
    assert curve_of(grid).points == ((1.0, 1.0),) and curve_of(grid).band == ()


def test_what_failed_does_not_count_and_what_came_again_replaces() -> None:
    rows = [
        table_row(0, (1.0,)),
        table_row(0, (3.0,)),
        table_row(1, (100.0,), outcome="failed"),
        table_row(2, (100.0,), check="failed"),
        table_row(3, (5.0,)),
    ]
    (grid,) = grids(rows)
    assert (grid.launches, grid.median.tolist()) == (2, [4.0])


def test_other_dimensions_are_another_grid() -> None:
    assert [grid.launches for grid in grids([table_row(0, (1.0,)), table_row(1, (1.0, 2.0))])] == [1, 1]


def b_eff(rate: Any, launches: int = 5) -> Grid:
    """Return the b_eff table of four ranks; `rate(pattern, size, method, launch)` returns each cell."""
    patterns = ("rings of 2", "rings of 4", "rings of 4", "random 0", "random 1", "worst order", "2-D grid")
    sizes, methods = (1, 1024), ("sendrecv", "alltoallv")
    axes = (("pattern", patterns), ("bytes", tuple(map(str, sizes))), ("method", methods))
    cells = [(p, s, m) for p in range(len(patterns)) for s in sizes for m in range(len(methods))]
    (grid,) = grids(
        table_row(launch, [rate(*cell, launch) for cell in cells], table_axes=axes, benchmark="b_eff")
        for launch in range(launches)
    )
    return grid


def test_b_eff_by_size_is_per_process_and_of_the_best_method() -> None:
    curves = {curve.name: curve for curve in b_eff_curves(b_eff(lambda p, s, m, _: s * (p + 1) * (m + 1)))}
    assert list(curves) == ["rings", "random order", "worst order", "2-D grid"]
    # mean per process of 2, 4 and 6 B/s in total
    assert curves["rings"].points == ((1.0, 1.0), (1024.0, 1024.0))
    assert curves["rings"].band[0] == (0.5, 1.5) and curves["rings"].meaning == "all 3 patterns"
    assert curves["random order"].points[0] == (1.0, 2.25) and curves["random order"].band[0] == (2.0, 2.5)


def test_single_patterns_of_b_eff_have_their_interval() -> None:
    curves = {curve.name: curve for curve in b_eff_curves(b_eff(lambda p, s, m, launch: 100.0 + launch))}
    assert curves["worst order"].points[0] == (1.0, 25.5)
    assert curves["worst order"].band[0] == (25.0, 26.0) and curves["worst order"].meaning == "95 %"
    without = {curve.name: curve for curve in b_eff_curves(b_eff(lambda p, s, m, launch: 1.0, launches=4))}
    assert without["worst order"].band == ()


def pairs(ranks: int, value: Any, launches: int = 5) -> Grid:
    names = tuple(map(str, range(ranks)))
    values = [None if a == b else value(a, b) for a in range(ranks) for b in range(ranks)]
    axes = (("rank", names), ("partner", names))
    (grid,) = grids(
        table_row(launch, values, table_axes=axes, benchmark="all_pairs", ranks=ranks)
        for launch in range(launches)
    )
    return grid


def test_a_matrix_shows_where_nodes_begin() -> None:
    matrix = matrix_of(pairs(4, lambda a, b: 10.0 * a + b), Nodes((0, 0, 1, 1)))
    assert matrix.labels == ("0", "1", "2", "3") and matrix.boundaries == (2.0,)
    assert matrix.nodes == (0, 0, 1, 1)
    assert np.isnan(matrix.values[1, 1]) and matrix.values[1, 3] == 13.0
    assert matrix_of(pairs(4, lambda a, b: 1.0), None).boundaries == ()
    assert matrix_of(pairs(4, lambda a, b: 1.0), Nodes((0, 1, 0, 1))).boundaries == ()  # lines would hide all


def test_a_matrix_of_many_ranks_is_drawn_in_blocks() -> None:
    ranks = 2 * MOST_CELLS
    matrix = matrix_of(
        pairs(ranks, lambda a, b: 1.0 if a // 2 == b // 2 else 7.0, 1), Nodes((0,) * 3 + (1,) * (ranks - 3))
    )
    assert len(matrix.labels) == MOST_CELLS and matrix.labels[1] == "2–3"
    # the two ranks of a block, and ranks of different blocks
    assert matrix.values[0, 0] == 1.0 and matrix.values[0, 1] == 7.0
    assert matrix.boundaries == (1.5,) and matrix.nodes is None


def sick_tables(launch: int, links: Sequence[str], ranks: Sequence[int]) -> list[TableRow]:
    of = ("of", ("latency", "bandwidth"))
    changes = {"benchmark": "sick_links", "case": "sick_links/ranks=4", "bytes": None}
    confidences = [0.9 - 0.1 * launch if rank == 3 else 0.0 for rank in range(4) for _ in range(2)]
    named = [value for _ in ranks for value in (None, 2.0 + launch)]
    pairs = [value for _ in links for value in (4.0 + launch, 0.999 - 0.001 * launch)]
    tables = (
        ("rank_confidence", (("rank", ("0", "1", "2", "3")), of), confidences),
        ("slow_ranks", (("rank", tuple(map(str, ranks))), of), named),
        ("slow_links", (("link", tuple(links)), ("quantity", ("factor", "confidence"))), pairs),
    )
    return [table_row(launch, values, table_axes=axes, name=name, **changes) for name, axes, values in tables]


def test_the_sick_are_named_with_the_launches_that_named_them() -> None:
    found = [(["0-2 latency"], [3]), ([], [3]), (["0-2 latency", "1-3 bandwidth"], [3])]
    rows = [row for launch, named in enumerate(found) for row in sick_tables(launch, *named)]
    rank, link, once = sick(grids(rows))
    assert (once.what, once.of, once.found, once.factor) == ("link 1-3", "bandwidth", 1, 6.0)
    assert (rank.what, rank.of, rank.found, rank.launches) == ("rank 3", "bandwidth", 3, 3)
    assert rank.factor == 3.0 and rank.confidence == pytest.approx(0.8)
    assert (link.what, link.of, link.found, link.launches) == ("link 0-2", "latency", 2, 3)
    assert link.factor == 5.0 and link.confidence == pytest.approx(0.998)


def test_the_healthy_are_not_named() -> None:
    assert sick(grids(sick_tables(0, [], []))) == []
