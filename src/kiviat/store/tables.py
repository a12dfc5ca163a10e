"""Reads the tables of a run's records, one record after the other.

A matrix of all pairs of a thousand ranks has a million values in every launch, of which readers need only a
part. DuckDB would load all of them at once, so it is not used here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from kiviat.record import Table, TableRow
from kiviat.store.check import refuse_bad_line, refuse_damaged_line
from kiviat.store.checksum import is_intact
from kiviat.store.files import RECORDS_FILE
from kiviat.store.read import whole_lines
from kiviat.store.tail import torn_tail

# Most records have no tables, and their lines are not parsed. The pattern cannot match within a string, where
# quotes are escaped. Kiviat writes no blanks and tables near the end of a line, so the search is fast.
_HAS_TABLES = re.compile(rb'"tables"\s*:\s*\[\s*\{')
_HAS_NONE = b'"tables":[]'

_IDENTITY = [field.name for field in fields(TableRow) if field.name != "table"]


def load_tables(path: Path) -> Iterator[TableRow]:
    """Yield the tables of the run in the order written. Does not validate the files; see `load`."""
    records = path / RECORDS_FILE
    with whole_lines(records, torn_tail(records)) as readable:
        if readable is None:
            return
        with readable.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                if line.rfind(_HAS_NONE) >= 0:
                    continue
                if _HAS_TABLES.search(line):
                    refuse_bad_line(line, records, number)
                    yield from _of_record(json.loads(line))
                elif not is_intact(line):
                    refuse_damaged_line(line, records, number)


def _of_record(record: Mapping[str, Any]) -> Iterator[TableRow]:
    identity = {name: record[name] for name in _IDENTITY}
    for table in record["tables"]:
        yield TableRow(**identity, table=Table.from_json(table))
