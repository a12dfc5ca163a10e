"""Records of earlier versions, whose metrics had other names, are read like current ones."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from kiviat.plan.benchmark import shipped_benchmarks
from kiviat.record import OLDER_RECORD_SCHEMAS, UNSEALED_RECORD_SCHEMA, Record
from kiviat.record.earlier_metrics import RENAMED
from kiviat.record.schema import RENAMED_RECORD_SCHEMAS
from kiviat.store import RunDirectory
from kiviat.store.query import connect
from kiviat.store.read import load
from tests.store.made_up import launch, metric, record
from tests.store.test_checksum import made_older

CASES = [(benchmark, *names) for benchmark, renamed in RENAMED.items() for names in renamed.items()]


@pytest.fixture(params=OLDER_RECORD_SCHEMAS)
def earlier(run: RunDirectory, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Create a run of an earlier version with one record for each metric that has been renamed."""
    monkeypatch.setattr("kiviat.store.checksum.RECORD_SCHEMA", request.param)
    run.set_launch(launch(0, 0))
    for benchmark, old, now in CASES:
        name = old if request.param in RENAMED_RECORD_SCHEMAS else now
        run.append(record(run.id, f"{benchmark}/ranks=2/{old}", metrics=(metric(name), metric("residual"))))
    run.close()
    if request.param == UNSEALED_RECORD_SCHEMA:
        made_older(run)
    return run.path


def _rows(path: Path) -> list[tuple[str, str | None]]:
    return [(row.benchmark, row.metric) for row in load(path)[1]]


def _view(name: str, column: str) -> Callable[[Path], list[tuple[str, str | None]]]:
    def queried(path: Path) -> list[tuple[str, str | None]]:
        with connect([path]) as connection:
            return connection.sql(f"SELECT benchmark, {column} FROM {name}").fetchall()

    return queried


def _records(path: Path) -> list[tuple[str, str | None]]:
    lines = (path / "records.jsonl").read_text().splitlines()
    read = [Record.from_json(json.loads(line)) for line in lines]
    return [(one.benchmark, metric.name) for one in read for metric in one.metrics]


@pytest.mark.parametrize("read", [_rows, _records, _view("metrics", "name"), _view("samples", "metric")])
def test_earlier_records_have_the_names_of_today(
    earlier: Path, read: Callable[[Path], list[tuple[str, str | None]]]
) -> None:
    assert set(read(earlier)) == {
        (benchmark, name) for benchmark, _, now in CASES for name in (now, "residual")
    }


def test_names_of_today_are_those_of_the_benchmarks() -> None:
    measured = {
        entry["name"]: {metric["name"] for metric in entry["metrics"]} for entry in shipped_benchmarks()
    }
    for benchmark, old, now in CASES:
        assert now in measured[benchmark] and old not in measured[benchmark]
