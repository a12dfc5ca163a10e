"""Reads what other programs report. One module per format, each with `sniff(text)` and `parse(text, …)`."""

from __future__ import annotations

from typing import Protocol

from kiviat.ingest import hpcc, hpcg, hpl, imb, lammps, osu, stream
from kiviat.record import InputError, Record


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
            records = module.parse(text, where, ranks)
            if not records:
                raise InputError(f"{where} looks like {module.NAME}, but holds no results")
            return records
    *others, last = (module.NAME for module in FORMATS)
    known = f"{', '.join(others)} and {last}"
    raise InputError(f"{where} is nothing that can be read; known is the output of {known}")


__all__ = ["FORMATS", "Format", "parse"]
