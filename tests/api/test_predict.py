"""Predictions of a modelled machine, and scaling and balance of simulated runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import kiviat
from kiviat.analysis.aggregate.summary import summarise
from kiviat.api.predict import Predicted, PredictionResult, _places
from kiviat.launch.mpi.build import build
from kiviat.launch.mpi.toolchain import Toolchain, find_toolchain
from kiviat.launch.mpi.vendors import SIMULATOR
from kiviat.machine.modelled.machine import find_machine, load_machine
from kiviat.record.rows import Rows
from tests.api.notebook import code_cells, executed
from tests.report.synthetic import row, with_launches

SMALL = Path(__file__).parents[1] / "simulated" / "small.toml"
NOTEBOOK = Path(__file__).parents[2] / "docs" / "tutorial" / "python.ipynb"


@pytest.fixture
def simgrid() -> Toolchain:
    try:
        found = find_toolchain(SIMULATOR)
    except kiviat.InputError as error:
        pytest.skip(str(error))
    build(found)
    return found


def test_cases_are_predicted(simgrid: Toolchain) -> None:
    cases = [kiviat.Case("pingpong", bytes=8), kiviat.Case("allreduce", ranks=4, bytes=1024)]
    result = kiviat.predict("altix-bx2", cases)
    assert [(one.benchmark, one.ranks, one.metric) for one in result.values] == [
        ("pingpong", 2, "time"),
        ("allreduce", 4, "time"),
    ]
    times = [row["model"] for row in result.rows()]
    assert 0 < times[0] < times[1] < 1e-3
    assert [row["measured"] for row in result.rows()] == [None, None]
    assert "not measured" in result._repr_html_()


def test_what_has_no_result_says_why(simgrid: Toolchain) -> None:
    (one,) = kiviat.predict("altix-bx2", [kiviat.Case("pingpung", bytes=8)]).values
    assert one.model is None
    assert one.reason and "pingpung" in one.reason


def test_a_measured_zero_has_no_relative_error() -> None:
    """`kiviat model predict` once divided by zero: sick_links measures 0 slow ranks if no link is slow."""
    about: dict[str, Any] = {"case": "sick_links/ranks=2", "benchmark": "sick_links", "bytes": None}
    (measured,) = summarise(Rows.of([row("run-a", "slow_ranks", "1", "lower", 0.0, **about)]))
    predicted = Predicted(
        **about, ranks=2, axes={}, metric="slow_ranks", unit="1", model=0.0, measured=measured
    )
    assert measured.median == 0 and predicted.error is None
    assert PredictionResult(find_machine("altix-bx2"), (predicted,)).median_errors() == {}


@pytest.mark.parametrize(
    ("sockets", "places", "told"),
    [
        (("0", "1", "0"), "n0 0 0\nn0 1 0\nn1 0 0\n", False),
        (("1", "1", "0"), "n0 1 0\nn0 1 1\nn1 0 0\n", False),
        (("0-1", "0-1", "0-1"), "n0\nn0\nn1\n", True),
        (("0", "2", "0"), "n0\nn0\nn1\n", True),
    ],
)
def test_ranks_are_predicted_on_the_sockets_where_they_ran(
    sockets: tuple[str, ...], places: str, told: bool, tmp_path: Path
) -> None:
    """A pair on two sockets was once compared with the model's time within one."""
    ranks = [
        {"rank": rank, "host": f"n{node}", "node": node, "sockets": socket}
        for rank, (node, socket) in enumerate(zip((0, 0, 1), sockets, strict=True))
    ]
    run = with_launches([{"ranks": ranks}], run="x")
    files, warnings = _places(load_machine(SMALL), run, tmp_path)
    assert files[3].read_text() == places
    assert any("on which socket" in warning for warning in warnings) is told


def test_no_case_is_refused() -> None:
    with pytest.raises(kiviat.InputError, match="no case to predict"):
        kiviat.predict("altix-bx2", [])
    with pytest.raises(kiviat.InputError, match="no machine 'altix'"):
        kiviat.predict("altix", [kiviat.Case("pingpong")])


def test_every_cell_of_the_tutorial_works(
    openmpi: Toolchain, simgrid: Toolchain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build(openmpi)
    monkeypatch.setenv("MPICXX", str(openmpi.mpicxx))
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {}
    shown = []
    for cell in code_cells(json.loads(NOTEBOOK.read_text(encoding="utf-8"))):
        shown += executed("".join(cell["source"]), namespace)
    drawn = [output for output in shown if "text/html" in output.get("data", {})]
    assert len(drawn) == 6  # a run, two frames, a comparison, predictions, scaling
    assert (tmp_path / "report.html").stat().st_size > 0
