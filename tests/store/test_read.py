from __future__ import annotations

import json
import os
import resource
from dataclasses import fields
from pathlib import Path

import pytest

from kiviat.record import UNSEALED_RECORD_SCHEMA, InputError, Record, Row
from kiviat.record.types import LEVEL, WATCHED_LEVEL
from kiviat.store import RunDirectory, by_column, reader
from kiviat.store.checksum import seal
from kiviat.store.columns import columns
from kiviat.store.query import connect
from kiviat.store.read import load, whole_lines
from kiviat.store.tail import torn_tail
from tests.store.made_up import MACHINE, PLAN, metric, record


def append(run: RunDirectory, text: str) -> None:
    with (run.path / "records.jsonl").open("a") as records:
        records.write(text)


def edit(directory: RunDirectory, line: int, **changes: object) -> None:
    """Change values of one record in the file."""
    path = directory.path / "records.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    lines[line - 1] = seal(json.loads(lines[line - 1]) | changes)
    path.write_bytes(b"".join(lines))


def test_rows_are_the_metrics_without_their_samples(run: RunDirectory) -> None:
    bandwidth = metric("bandwidth", None, unit="B/s", better="higher", p50=4e6, from_="time", count=3)
    written = record(run.id, axes={"root": 1, "cache": "off"}, metrics=(metric(), bandwidth))
    run.append(written)
    _, (first, second), _ = load(run.path)
    for name in (field.name for field in fields(Row)):
        if name == "metric":
            assert (first.metric, second.metric) == ("time", "bandwidth")
        elif name == "level":
            assert first.level == second.level == LEVEL
        elif hasattr(written, name):
            assert getattr(first, name) == getattr(second, name) == getattr(written, name)
        else:
            assert getattr(first, name) == getattr(written.metrics[0], name)
            assert getattr(second, name) == getattr(bandwidth, name)


def test_rows_of_runs_that_watched_their_intervals_have_another_level(tmp_path: Path) -> None:
    for definition in ({"interval": 0.05}, {"command_line": {"ranks_available": 2, "interval": 0.05}}):
        plan = PLAN | {"definition": definition}
        with RunDirectory.create(tmp_path / "runs", "made-up", machine=MACHINE, plan=plan) as run:
            run.append(record(run.id))
            run.finish()
        assert [row.level for row in load(run.path)[1]] == [WATCHED_LEVEL]


def test_notes_are_kept_and_older_records_have_none(run: RunDirectory) -> None:
    told = {"blas": 'OpenBLAS "0.3", /usr/lib/é', "energy": "unavailable: no powercap"}
    for launch in range(2):
        run.append(record(run.id, launch=launch, notes=told))
    records = run.path / "records.jsonl"
    new, old = (json.loads(line) for line in records.read_text().splitlines())
    del old["notes"]
    records.write_bytes(seal(new) + seal(old))
    assert [row.notes for row in load(run.path)[1]] == [told, {}]
    assert [Record.from_json(one).notes for one in (new, old)] == [told, {}]
    assert Record.from_json(new).to_json()["notes"] == told


def test_metrics_stay_with_their_records(run: RunDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Records are read in blocks; one without metrics is a row, too."""
    monkeypatch.setattr(by_column, "_RECORDS_AT_ONCE", 2)
    wanted: list[tuple[str, int, str | None, float | None]] = []
    for number in range(7):
        case, names = f"case {number % 3}", ["time", "bandwidth", "rate"][: number % 4]
        metrics = tuple(metric(name, p50=1.0 + number + place / 8) for place, name in enumerate(names))
        outcome = "ok" if metrics else "failed"
        run.append(record(run.id, case=case, launch=number, metrics=metrics, outcome=outcome))
        wanted += [(case, number, one.name, one.p50) for one in metrics] or [(case, number, None, None)]
    rows = load(run.path)[1]
    assert [(row.case, row.launch, row.metric, row.p50) for row in rows] == wanted
    assert [row.case for row in rows.without_result()] == ["case 0", "case 1"]


def test_a_record_larger_than_buffers_is_read(run: RunDirectory) -> None:
    """DuckDB's buffers are 32 MB, unless a line needs more."""
    words = "a very long reason " * 1_000_000
    run.append(record(run.id, launch=0, reason=words))
    run.append(record(run.id, launch=1))
    rows = load(run.path)[1]
    assert [(row.launch, row.reason) for row in rows] == [(0, words), (1, None)]
    with connect([run.path], "select reason from records") as connection:
        lengths = connection.execute("SELECT length(reason) FROM records ORDER BY launch").fetchall()
    assert lengths == [(len(words),), (None,)]


def test_only_blank_lines_are_no_records(run: RunDirectory) -> None:
    append(run, "\n\n")
    assert list(load(run.path)[1]) == []


def test_facts_are_in_order_of_first_appearance(run: RunDirectory) -> None:
    """Otherwise the same command might print in another order."""
    for number in range(200):
        run.append(record(run.id, case=f"case {number % 50}", launch=number // 50))
    for _ in range(3):
        assert [case.case for case in load(run.path)[1].cases] == [f"case {number}" for number in range(50)]


def test_what_needs_more_memory_gets_it(run: RunDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory limits are to make DuckDB spill; if they are too low even for that, they are lifted."""
    run.append_all(record(run.id, case=f"case {number}", launch=0) for number in range(3000))
    monkeypatch.setattr(reader, "_THREAD_BYTES", -60_000_000)
    lift, lifted = reader.Reader.lift_limits, []

    def lift_and_note(self: reader.Reader) -> None:
        lifted.append(True)
        lift(self)

    monkeypatch.setattr(reader.Reader, "lift_limits", lift_and_note)
    assert len(load(run.path)[1]) == 3000
    assert lifted


@pytest.mark.parametrize(
    "words", ["quotes \" and '", "\x1f \x00 \x7f", "\\u0041 \\", "\u2028 é 𝄞", '{"a": [1]}']
)
def test_texts_are_returned_as_written(run: RunDirectory, words: str) -> None:
    """Facts are decoded from a text that contains all of them, whatever characters they have."""
    written = record(
        run.id, case=words, reason=words, notes={words: words}, axes={"a": words, "b": 1.5, "c": 2}
    )
    run.append(written)
    (row, *_) = load(run.path)[1]
    assert (row.case, row.reason, row.notes, row.axes) == (words, words, written.notes, written.axes)
    assert [type(value) for value in row.axes.values()] == [str, float, int]


def test_a_case_without_metrics_is_one_row(run: RunDirectory) -> None:
    run.append(record(run.id, outcome="failed", phase="check", reason="wrong byte", metrics=()))
    _, (row,), _ = load(run.path)
    assert (row.metric, row.unit, row.count, row.per_call, row.p50) == (None, None, 0, False, None)
    assert (row.outcome, row.phase, row.reason) == ("failed", "check", "wrong byte")


def test_rows_come_in_the_order_of_measurement(run: RunDirectory) -> None:
    cases = [f"pingpong/ranks=2/bytes={(k * 7919) % 1000}" for k in range(1000)]
    for case in cases:
        run.append(record(run.id, case))
    assert [row.case for row in load(run.path)[1]] == cases


def test_a_late_fraction_stays_one(run: RunDirectory) -> None:
    """Metrics that are whole numbers at first and fractions later are read as fractions.

    DuckDB infers types from the first rows, and once turned 0.5 s into 0 or 1.
    """
    for _ in range(300):
        run.append(record(run.id, metrics=(metric(mean=1, min=1, max=1, p50=1),)))
    run.append(record(run.id, metrics=(metric(p50=0.5),), reason="late"))
    rows = load(run.path)[1]
    assert (rows[0].p50, rows[-1].p50, rows[-1].reason) == (1.0, 0.5, "late")


def test_every_type_comes_from_the_schema() -> None:
    types = columns("record")
    assert types["bytes"] == "BIGINT"
    assert types["elapsed_s"] == "DOUBLE"
    assert types["axes"] == "JSON"
    assert types["metrics"].startswith('STRUCT("name" VARCHAR, "unit" VARCHAR')
    assert types["metrics"].endswith('"samples" DOUBLE[])[]')
    assert "samples" not in columns("record", frozenset({"samples"}))["metrics"]


def test_a_run_without_records_is_empty(run: RunDirectory) -> None:
    assert list(load(run.path)[1]) == []
    (run.path / "records.jsonl").unlink()
    assert list(load(run.path)[1]) == []


@pytest.mark.parametrize("missing", [1, 20, 300])
def test_a_torn_final_line_is_dropped_and_reported(finished: RunDirectory, missing: int) -> None:
    records = finished.path / "records.jsonl"
    os.truncate(records, records.stat().st_size - missing)
    _, rows, warnings = load(finished.path)
    assert len(rows) == 3
    assert len(warnings) == 1
    assert warnings[0].startswith(f"{records} ends within a record: the last ")


def test_zeros_after_a_crash_are_a_torn_line(finished: RunDirectory) -> None:
    """Zeros at the end of the file count as a torn line.

    After a power failure, a file may have its length without its content.
    """
    append(finished, "\0" * 100)
    _, rows, warnings = load(finished.path)
    assert (len(rows), len(warnings)) == (4, 1)


def test_torn_zeros_are_not_copied(finished: RunDirectory) -> None:
    """Torn remains, which may be larger than the folder for temporary files, are not copied."""
    records = finished.path / "records.jsonl"
    whole = records.stat().st_size
    os.truncate(records, whole + (1 << 26))
    torn = torn_tail(records)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 24, resource.RLIM_INFINITY))
    try:
        with whole_lines(records, torn) as readable:
            assert readable
            assert readable.stat().st_size == whole
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def test_only_a_torn_first_line(run: RunDirectory) -> None:
    append(run, '{"schema":"kiviat.rec')
    _, rows, warnings = load(run.path)
    assert (list(rows), len(warnings)) == ([], 1)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            '{"schema":"kiviat.record/1","run":',
            "line 5: not JSON; the file is damaged or kiviat did not write it",
        ),
        ("hello", "line 5: not JSON"),
        ("\0\0\0", "line 5: not JSON"),
        ("[1, 2]", "line 5: list instead of a record"),
        (
            '{"other": "tool"}',
            "line 5: it has no schema, but 'kiviat.record/4' is expected; kiviat did not write it",
        ),
        (
            '{"schema": "kiviat.record/5"}',
            "line 5: schema 'kiviat.record/5' cannot be read: .* reads 'kiviat.record/4'",
        ),
        (
            '{"schema": "kiviat.record/1"}',
            "line 5: lacks 'run'; the file is damaged or kiviat did not write it",
        ),
    ],
)
def test_a_bad_line_before_the_end_is_an_error(finished: RunDirectory, line: str, message: str) -> None:
    append(finished, line + "\n")
    append(finished, (finished.path / "records.jsonl").read_text().splitlines()[0] + "\n")
    with pytest.raises(InputError, match=message) as refusal:
        load(finished.path)
    assert "\n" not in str(refusal.value)
    assert str(finished.path / "records.jsonl") in str(refusal.value)


def test_foreign_text_at_the_end_is_no_torn_line(finished: RunDirectory) -> None:
    append(finished, "hello")
    with pytest.raises(InputError, match=r"records.jsonl line 5: not JSON"):
        load(finished.path)


@pytest.mark.parametrize(
    "changes",
    [
        {"case": None},
        {"ranks": "two"},
        {"ranks": None},
        {"metrics": 5},
        {"metrics": None},
        {"metrics": [5]},
        {"metrics": [{"name": "time"}]},
        {"axes": None},
    ],
)
def test_a_value_of_the_wrong_type_is_an_error_and_not_a_guess(
    finished: RunDirectory, changes: dict[str, object]
) -> None:
    edit(finished, 2, **changes)
    with pytest.raises(InputError, match=r"records.jsonl line 2: "):
        load(finished.path)


def test_records_of_another_run_are_refused(finished: RunDirectory) -> None:
    edit(finished, 2, run="another")
    with pytest.raises(InputError, match="holds records of run 'another'"):
        load(finished.path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "run.json is not JSON: .*; it is truncated or kiviat did not write it"),
        ("[]", "run.json holds list, not a run"),
        (
            '{"schema": "kiviat.run/3"}',
            "run.json: schema 'kiviat.run/3' cannot be read: .* reads 'kiviat.run/2'",
        ),
        ('{"schema": "kiviat.run/2"}', "run.json: lacks 'id'"),
    ],
)
def test_a_bad_run_file_is_named(finished: RunDirectory, content: str, message: str) -> None:
    (finished.path / "run.json").write_text(content)
    with pytest.raises(InputError, match=message):
        load(finished.path)


def test_a_folder_that_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"is not a run: it has no run.json"):
        load(tmp_path)


def test_a_quote_in_a_path_is_no_end_of_a_string(home: Path, finished: RunDirectory) -> None:
    moved = finished.path.rename(home / "it's a run")
    assert len(load(moved)[1]) == 4


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"axes": [1]}, "axes is a list, where a table of names and values was expected"),
        ({"axes": {"root": None}}, "axes.root is null, where a text or a whole number or a number or true"),
        ({"clock": "sundial"}, "clock is 'sundial', where 'wall' or 'simulated' or 'reported' was expected"),
        ({"outcome": "fine"}, "outcome is 'fine', where 'ok' or 'skipped' or 'failed' was expected"),
        ({"stopped_by": "hand"}, "stopped_by is 'hand', where 'target' or 'budget' or 'samples' or 'fixed'"),
        ({"ranks": 0}, "ranks is 0, where a whole number, at least 1 was expected"),
        ({"ranks": "2"}, "ranks is '2', where a whole number, at least 1 was expected"),
        ({"bytes": 1.7}, "bytes is 1.7, where a whole number or null, at least 0 was expected"),
        ({"oversubscribed": 0}, "oversubscribed is 0, where true or false was expected"),
        ({"elapsed_s": 1e308 * 10}, "not JSON"),
        ({"metrics": [None]}, r"metrics\[0\] is null, where a table of names and values was expected"),
        *(  # these once overflowed in reports and exports
            ({"metrics": [metric().to_json() | {name: value}]}, rf"metrics\[0\].{name} is {says}")
            for name, value, says in (
                ("max", 1.7e308, r"1.7e\+308, which is not 0 or between 1e-200 and 1e\+100 in size"),
                ("p50", 5e-324, "5e-324, which is not 0 or between"),
                (
                    "count",
                    2**62,
                    r"4611686018427387904, where a whole number, at least 0, at most 10{12} was",
                ),
            )
        ),
        ({"notes": {"blas": 3}}, "notes.blas is 3, where a text was expected"),
        ({"case": "\udc00"}, r"case is '\\udc00', which is not a printable text"),
        ({"colour": "red"}, "has the unknown name 'colour'"),
    ],
)
def test_violations_of_the_schema_name_the_field(
    finished: RunDirectory, changes: dict[str, object], says: str
) -> None:
    """A record that violates the schema is refused, and the message names the field.

    DuckDB converts "2" and 1.7 to 2, and an invalid table once raised AttributeError.
    """
    path = finished.path / "records.jsonl"
    first, second, *others = path.read_text().splitlines(keepends=True)
    data = {key: value for key, value in json.loads(second).items() if key != "crc32"}
    changed = json.dumps(data | changes | {"schema": UNSEALED_RECORD_SCHEMA}, separators=(",", ":"))
    path.write_text("".join([first, changed + "\n", *others]))
    for read in (lambda: load(finished.path), lambda: connect([finished.path]).__enter__()):
        with pytest.raises(InputError, match=f"records.jsonl line 2: {says}"):
            read()


def test_runs_of_before_activity_are_read_as_unknown(
    finished: RunDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Runs of `kiviat.run/1` with records of `kiviat.record/3` have no activity."""
    monkeypatch.setattr("kiviat.store.checksum.RECORD_SCHEMA", "kiviat.record/3")
    records, run_file = finished.path / "records.jsonl", finished.path / "run.json"
    later = {"activity", "disturbed"}
    lines = [json.loads(line) for line in records.read_text().splitlines()]
    records.write_bytes(b"".join(seal({k: v for k, v in line.items() if k not in later}) for line in lines))
    run = json.loads(run_file.read_text())
    for launch in run["launches"]:
        launch.pop("activity", None)
    run_file.write_text(json.dumps(run | {"schema": "kiviat.run/1"}))
    read, rows, *_ = load(finished.path)
    assert len(rows) == 4 and {row.disturbed for row in rows} == {None}
    assert {launch.activity for launch in read.launches} == {None}
    with connect([finished.path]) as connection:
        assert connection.sql("SELECT DISTINCT disturbed FROM records").fetchall() == [(None,)]
