"""The cache of runs in the user's folder: it speeds up reading, is never wrong, and may be deleted."""

from __future__ import annotations

import json
import shutil
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

from kiviat.record import InputError
from kiviat.record.run import Run
from kiviat.store import index, kept, names, query, summaries
from kiviat.store.ask import ask
from kiviat.store.checksum import seal
from kiviat.store.files import read_written_run
from kiviat.store.index import folder_of
from tests.report.synthetic import make_run_json
from tests.store.made_up import record

MANY = 6


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache [1]"))


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Treat all files as old enough for the cache, and three runs as many.

    Tests cannot set change times.
    """
    for module in (index, kept):
        monkeypatch.setattr(module, "is_settled", lambda file: True)
    monkeypatch.setattr(kept, "_FEW", 3)
    monkeypatch.setattr(query, "_MANY", 3)


def make(home: Path, name: str, **changes: object) -> Path:
    path = home / name
    path.mkdir(parents=True)
    (path / "run.json").write_text(json.dumps(make_run_json(name, launches=1, **changes)))
    (path / "records.jsonl").write_bytes(seal(record(name).to_json()))
    return path


def many(home: Path, count: int = MANY) -> list[Path]:
    return [
        make(home, f"run-{number:03}", created=f"2026-01-01T00:00:{number:02}Z") for number in range(count)
    ]


def count(runs: list[Path], query: str = "select count(*) from records") -> int:
    return int(ask(runs, query)[1][0][0])


def forbidden(*_: object) -> None:
    raise AssertionError("a run was read that is kept")


def test_lists_open_only_what_changed(home: Path, settled: None, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = many(home, 3)
    before = summaries(home)
    assert [(path, one.id, one.state, one.launches) for path, one in before] == [
        (path, path.name, "complete", 1) for path in paths
    ]
    opened = []

    def read(path: Path) -> Run:
        opened.append(path.name)
        return read_written_run(path)

    monkeypatch.setattr(names, "read_written_run", read)
    assert summaries(home) == before and opened == []
    (paths[1] / "run.json.new").write_text(json.dumps(make_run_json("run-001", launches=2)))
    (paths[1] / "run.json.new").rename(paths[1] / "run.json")
    shutil.rmtree(paths[2])
    assert [(one.id, one.launches) for _, one in summaries(home)] == [("run-000", 1), ("run-001", 2)]
    assert opened == ["run-001"]


def test_recently_changed_files_are_read_again(home: Path) -> None:
    """A recently changed file is read again: versions of one clock tick have equal times."""
    many(home, 2)
    assert len(summaries(home)) == 2
    assert not (folder_of(home) / "index.json").exists()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b'{"format": "kiviat.index/1"}',
        b"\xff\xfe",
        b'{"runs": {"run-000": [1, 2]}}',
        b"null",
    ],
)
def test_a_damaged_index_is_made_again(home: Path, settled: None, content: bytes) -> None:
    many(home, 2)
    expected = summaries(home)
    file = folder_of(home) / "index.json"
    good = file.read_bytes()
    file.write_bytes(content)
    assert summaries(home) == expected
    assert file.read_bytes() == good


def test_entries_of_other_kinds_are_read_again(home: Path, settled: None) -> None:
    many(home, 2)
    expected = summaries(home)
    file = folder_of(home) / "index.json"
    data = json.loads(file.read_text())
    for values in (["x"], [None] * 12, [*data["runs"]["run-000"][:4], 1, 2, 3, 4, 5, 6, 7, 8]):
        file.write_text(json.dumps({**data, "runs": {**data["runs"], "run-000": values}}))
        assert summaries(home) == expected


def test_without_a_cache_all_is_read(home: Path, settled: None, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = many(home)
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/nowhere")
    assert len(summaries(home)) == MANY
    assert count(runs) == MANY


def test_queries_read_complete_runs_once(home: Path, settled: None, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = many(home)
    whole = "select r.id, count(*) from records c join runs r on c.run = r.id group by 1 order by 1"
    first = ask(runs, whole)
    assert len(first[1]) == MANY
    monkeypatch.setattr(query, "read_run", forbidden)
    monkeypatch.setattr(query, "refuse_damaged", forbidden)
    assert ask(runs, whole) == first
    assert count(runs, "select sum(p50) is not null from metrics")
    assert count(runs[2:]) == MANY - 2  # without deleted and unselected runs
    monkeypatch.undo()


def test_queries_see_every_change(home: Path, settled: None) -> None:
    runs = many(home)
    assert count(runs) == MANY
    (runs[3] / "records.jsonl").write_bytes(seal(record("run-003").to_json()) * 3)
    late = make(home, "run-late", state="interrupted")
    assert count([*runs, late]) == MANY + 3
    assert count([*runs, late], "select count(*) from samples") == 3 * (MANY + 3)
    assert count([*runs, late], "select count(*) from tables") == 0
    damaged = (runs[5] / "records.jsonl").read_bytes().replace(b'"ranks":2', b'"ranks":3')
    (runs[5] / "records.jsonl").write_bytes(damaged)
    with pytest.raises(InputError, match=r"run-005/records.jsonl line 1: its checksum is"):
        count(runs)


def test_a_damaged_cache_of_queries_is_made_again(home: Path, settled: None) -> None:
    runs = many(home)
    assert count(runs) == MANY
    for file in folder_of(home).glob("*.parquet"):
        content = bytearray(file.read_bytes())
        content[len(content) // 2] ^= 1
        file.write_bytes(content)
    assert count(runs) == MANY
    (folder_of(home) / "segments.json").write_text('{"format": 1, "segments": {"../x": []}}')
    assert count(runs) == MANY


def test_segments_are_merged(home: Path, settled: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "_FEW", 1)
    runs = many(home)
    for more in range(9):
        runs.append(make(home, f"more-{more}"))
        assert count(runs) == len(runs)
    listed = json.loads((folder_of(home) / "segments.json").read_text())["segments"]
    assert 1 <= len(listed) <= kept._MOST_SEGMENTS
    assert sum(len(one["keys"]) for one in listed.values()) == len(runs)


def _asked(home: Path) -> tuple[int, int]:
    for module in (index, kept):
        module.is_settled = lambda file: True  # type: ignore[attr-defined]
    kept._FEW = query._MANY = 3
    return len(summaries(home)), count(sorted(home.iterdir()))


def test_many_writers(home: Path) -> None:
    many(home)
    with ProcessPoolExecutor(3) as pool:
        assert set(pool.map(_asked, [home] * 6)) == {(MANY, MANY)}
    assert {file.name for file in folder_of(home).iterdir()} >= {"index.json", "segments.json"}
    assert not list(folder_of(home).glob(".*"))
