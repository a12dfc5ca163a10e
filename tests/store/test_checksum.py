"""Checksums of records.

One flipped bit in twelve once changed a number in records.jsonl without being detected.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from kiviat.record import InputError, Table, schema
from kiviat.store import RunDirectory
from kiviat.store.checksum import is_intact, seal
from kiviat.store.query import connect
from kiviat.store.read import load
from kiviat.store.tables import load_tables
from tests.store.made_up import PLAN, launch, record


def made_older(run: RunDirectory) -> None:
    """Rewrite records as versions without checksums wrote them."""
    records = run.path / "records.jsonl"
    lines = [json.loads(line) for line in records.read_text().splitlines()]
    for line in lines:
        del line["crc32"]
        line["schema"] = "kiviat.record/1"
    records.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))


def test_every_bit_of_a_line_counts() -> None:
    line = seal(record("run").to_json())
    assert is_intact(line)
    for bit in range(8 * len(line)):
        assert not is_intact(flipped(line, bit)), bit


def flipped(data: bytes, bit: int) -> bytes:
    changed = bytearray(data)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def test_a_flipped_bit_is_detected(finished: RunDirectory) -> None:
    """A flipped bit makes reading fail or, in the last line end, drops the last record as torn."""
    records = finished.path / "records.jsonl"
    whole = records.read_bytes()
    chosen = random.Random(14)
    for bit in [8 * len(whole) - 8, *(chosen.randrange(8 * len(whole)) for _ in range(400))]:
        records.write_bytes(flipped(whole, bit))
        try:
            told = load(finished.path)[2]
        except InputError as error:
            assert str(error).startswith(f"{records} line ")
        else:
            assert told, bit


def queried(path: Path) -> None:
    with connect([path]) as connection:
        connection.sql("SELECT count(*) FROM records").fetchall()


def tables(path: Path) -> None:
    list(load_tables(path))


def resumed(path: Path) -> None:
    RunDirectory.reopen(path, PLAN["hash"])


@pytest.mark.parametrize("read", [load, queried, tables, resumed])
def test_all_that_read_records_verify_them(run: RunDirectory, read: Callable[[Path], object]) -> None:
    run.set_launch(launch(0, 0))
    for _ in range(2):
        run.append(record(run.id, tables=(Table("t", "s", "lower", (("n", ("1",)),), (1.0,)),)))
    run.close()
    records = run.path / "records.jsonl"
    first, second = records.read_text().splitlines()
    records.write_text(f"{first}\n{second.replace('4e-06', '5e-06', 1)}\n")
    with pytest.raises(InputError, match=r"records.jsonl line 2: its checksum is [0-9a-f]{8}, which is not"):
        read(run.path)


def test_a_line_written_anew_by_another_tool_is_refused(finished: RunDirectory) -> None:
    """A line rewritten by another tool is refused, because its numbers may have changed."""
    records = finished.path / "records.jsonl"
    records.write_text(
        "".join(json.dumps(json.loads(line)) + "\n" for line in records.read_text().splitlines())
    )
    with pytest.raises(InputError, match=r"line 1: its checksum is .* take the file from a copy, or delete"):
        load(finished.path)


def test_an_older_run_is_read_and_called_unverified(finished: RunDirectory) -> None:
    made_older(finished)
    _, rows, warnings = load(finished.path)
    assert len(rows) == 4
    assert warnings == [
        f"run {finished.id} has 4 unverified records: "
        "an older version of kiviat wrote them, without checksums"
    ]
    queried(finished.path)


def test_a_line_without_checksum_is_no_older_one(finished: RunDirectory) -> None:
    records = finished.path / "records.jsonl"
    made_older(finished)
    records.write_text(records.read_text().replace("record/1", "record/3", 1))
    with pytest.raises(InputError, match="line 1: its checksum is missing"):
        load(finished.path)


@pytest.mark.parametrize("depth", [40, 900, 1100, 3000, 100_000])
def test_endless_nesting_is_refused(finished: RunDirectory, depth: int) -> None:
    records = finished.path / "records.jsonl"
    made_older(finished)
    records.write_text(records.read_text().replace('"axes":{}', f'"axes":{"[" * depth + "]" * depth}', 1))
    with pytest.raises(InputError, match=r"records.jsonl line 1: "):
        load(finished.path)


def test_an_older_run_is_resumed(run: RunDirectory) -> None:
    run.set_launch(launch(0, 0))
    run.append(record(run.id))
    run.close()
    made_older(run)
    with RunDirectory.reopen(run.path, PLAN["hash"]) as again:
        assert again.done == {(0, "pingpong/ranks=2/bytes=8")}
        again.append(record(run.id, "barrier/ranks=2"))
        again.finish()
    _, rows, warnings = load(run.path)
    assert len(rows) == 2 and "1 unverified record:" in warnings[0]


def test_the_schema_asks_for_a_checksum_in_its_newest_version_only() -> None:
    from jsonschema import Draft202012Validator

    validator = Draft202012Validator(schema("record"))
    line = json.loads(seal(record("run").to_json()))
    assert validator.is_valid(line)
    del line["crc32"]
    assert not validator.is_valid(line)
    assert validator.is_valid(line | {"schema": "kiviat.record/1"})
