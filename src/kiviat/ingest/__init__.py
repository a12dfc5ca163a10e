"""Reads what other programs report. One module per format, each with `sniff(text)` and `parse(text, …)`."""

from __future__ import annotations

import json
from typing import Protocol

from kiviat.ingest import hpcc, hpcg, hpl, imb, lammps, osu, stream
from kiviat.record import OLDER_RECORD_SCHEMA, InputError, Record
from kiviat.record.valid import first_wrong, parse_json


class Format(Protocol):
    """What each module offers."""

    NAME: str

    def sniff(self, text: str) -> bool: ...

    def parse(self, text: str, where: str, ranks: int | None = None) -> list[Record]: ...


# hpccoutf.txt holds what HPL prints, and more.
FORMATS: tuple[Format, ...] = (imb, osu, hpcc, hpl, stream, hpcg, lammps)


def parse(text: str, where: str, ranks: int | None = None) -> list[Record]:
    """The records in `text`; `where` names its source. `ranks` are for formats that do not tell them."""
    for module in FORMATS:
        if module.sniff(text):
            try:
                records = module.parse(text, where, ranks)
            except (ValueError, OverflowError) as error:  # of a number that is none
                raise InputError(f"{where}: {error}; is the file whole?") from None
            if not records:
                raise InputError(f"{where} looks like {module.NAME}, but holds no results")
            for record in records:
                _refuse_impossible(record, where)
            return records
    *others, last = (module.NAME for module in FORMATS)
    known = f"{', '.join(others)} and {last}"
    raise InputError(f"{where} is nothing that can be read; known is the output of {known}")


def _refuse_impossible(record: Record, where: str) -> None:
    """A number that is none, or that no record can hold, would make a run that cannot be read."""
    try:
        wrong = first_wrong(
            parse_json(json.dumps(record.to_json() | {"schema": OLDER_RECORD_SCHEMA})), "record"
        )
    except ValueError as error:
        wrong = str(error)
    if wrong:
        raise InputError(f"{where}, case {record.case[:80]}: {wrong}; is the file whole?")


__all__ = ["FORMATS", "Format", "parse"]
