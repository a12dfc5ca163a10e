"""Reads the output of other programs.

Each module handles a format, with `sniff(text)` and `parse(text, …)`.
"""

from __future__ import annotations

import json
from typing import Protocol

from kiviat.ingest import hpcc, hpcg, hpl, imb, lammps, npb, osu, reprompi, stream
from kiviat.record import UNSEALED_RECORD_SCHEMA, InputError, Record
from kiviat.record.valid import first_wrong, parse_json


class Format(Protocol):
    """The interface of the modules: `sniff` recognises an output, `parse` returns its records."""

    NAME: str

    def sniff(self, text: str) -> bool:
        """True if the text is of this format."""

    def parse(self, text: str, where: str, ranks: int | None = None) -> list[Record]:
        """Return the records of the results in the text.

        `where` names the file in messages. `ranks` is used if the text does not contain the number of ranks.
        """


# hpccoutf.txt contains the output of HPL, so hpcc comes before hpl.
FORMATS: tuple[Format, ...] = (imb, osu, hpcc, hpl, stream, hpcg, lammps, npb, reprompi)


def parse(text: str, where: str, ranks: int | None = None) -> list[Record]:
    """Return the records in `text`; `where` names its source. `ranks` is for formats that lack the number.

    Raise InputError for unknown formats and for text that is incomplete or has no results.
    """
    for module in FORMATS:
        if module.sniff(text):
            try:
                records = module.parse(text, where, ranks)
            except (ValueError, OverflowError) as error:  # malformed numbers
                raise InputError(f"{where}: {error}; is the file complete?") from None
            if not records:
                raise InputError(f"{where} looks like {module.NAME}, but holds no results")
            for record in records:
                _refuse_impossible(record, where)
            return records
    *others, last = (module.NAME for module in FORMATS)
    known = f"{', '.join(others)} and {last}"
    raise InputError(f"{where} has no known format; kiviat reads the output of {known}")


def _refuse_impossible(record: Record, where: str) -> None:
    """Raise InputError for a record that is not valid: its run could not be read."""
    try:
        wrong = first_wrong(
            parse_json(json.dumps(record.to_json() | {"schema": UNSEALED_RECORD_SCHEMA})), "record"
        )
    except ValueError as error:
        wrong = str(error)
    if wrong:
        raise InputError(f"{where}, case {record.case[:80]}: {wrong}; is the file complete?")


__all__ = ["FORMATS", "Format", "parse"]
