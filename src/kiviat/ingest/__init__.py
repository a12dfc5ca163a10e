"""Reads the output of other programs. `formats/` has a module for each format."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from inspect import signature
from pathlib import Path
from pkgutil import iter_modules
from typing import Protocol, cast

from kiviat.ingest import formats
from kiviat.record import UNSEALED_RECORD_SCHEMA, InputError, Record
from kiviat.record.site import site_files
from kiviat.record.valid import first_wrong, parse_json


class Format(Protocol):
    """Modules of `formats/` and of sites: `sniff` recognises an output, `parse` reads it."""

    NAME: str

    def sniff(self, text: str) -> bool:
        """True if the text is of this format."""

    def parse(self, text: str, where: str, ranks: int | None = None) -> list[Record]:
        """Return the records of the results in the text.

        `where` names the file in messages. `ranks` is used if the text does not contain the number of ranks.
        A module whose `parse` has a fourth parameter, `command`, gets the command line, "" if unknown.
        """


def all_formats() -> tuple[Format, ...]:
    """Return the formats of sites, which are asked first, and Kiviat's own."""
    return (*_of_sites(), *_own())


@cache
def _of_sites() -> tuple[Format, ...]:
    return tuple(_of_site(path) for path in site_files("ingest"))


@cache
def _own() -> tuple[Format, ...]:
    names = (name for _, name, _ in iter_modules(formats.__path__, f"{formats.__name__}."))
    return tuple(cast(Format, import_module(name)) for name in names)


def _of_site(path: Path) -> Format:
    """Import a module of a site. Raise InputError if that fails, or if it is no format."""
    name = f"kiviat_site_{path.stem}"
    spec = spec_from_file_location(name, path)
    assert spec and spec.loader
    module = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise InputError(f"{path} cannot be imported: {type(error).__name__}: {error}") from None
    if missing := [name for name in ("NAME", "sniff", "parse") if not hasattr(module, name)]:
        raise InputError(
            f"{path} is no format: it has no {' and no '.join(missing)}; see docs/howto/extend.md"
        )
    return cast(Format, module)


def parse(text: str, where: str, ranks: int | None = None, command: str = "") -> list[Record]:
    """Return the records in `text`; `where` names its source.

    `ranks` is for formats that lack the number, `command` the line that started the program, if known.

    A text may have the output of several programs, whose formats are read one after another.

    Raise InputError for unknown formats, for text that is incomplete or has no results, and for a number of
    ranks that no launch has.
    """
    refuse_impossible_ranks(ranks)
    found, plain = known_formats(text, where)
    return [
        record
        for module in found
        for record in parse_as(module, plain, where, ranks_for(module, found, ranks), command)
    ]


def known_formats(text: str, where: str) -> tuple[tuple[Format, ...], str]:
    """Return what `recognised` does; raise InputError for unknown formats."""
    found = recognised(text)
    if found is None:
        *others, last = (module.NAME for module in all_formats())
        known = f"{', '.join(others)} and {last}"
        raise InputError(f"{where} has no known format; kiviat reads the output of {known}")
    return found


def recognised(text: str) -> tuple[tuple[Format, ...], str] | None:
    """Return the formats of a text, and the text without labels of ranks; None for unknown formats."""
    # Titles are found behind labels, too, but not the rows of tables.
    for plain in (_unlabelled(text), text):
        if plain and (found := _formats_of(plain)):
            return found, plain
    return None


def _formats_of(text: str) -> tuple[Format, ...]:
    """Return all formats that a text without labels has: those of sites, or else Kiviat's own."""
    of_sites = tuple(module for module in _of_sites() if module.sniff(text))
    return of_sites or tuple(module for module in _own() if module.sniff(text))


def ranks_for(module: Format, found: Sequence[Format], ranks: int | None) -> int | None:
    """Return the number of ranks that a user gave, if it is for this one of the formats found in a text.

    Beside others, a program that often runs without a launcher (`ALONE`) has not their ranks.
    """
    return None if len(found) > 1 and hasattr(module, "ALONE") else ranks


def refuse_impossible_ranks(ranks: int | None) -> None:
    """Raise InputError for a number of ranks that no launch has."""
    if ranks is not None and ranks < 1:
        raise InputError(f"--ranks {ranks}: give the number of ranks of the launch, 1 or more")


# Labels of lines by `srun -l`, `mpirun -l` and `mpirun --tag-output`: "12: ", "[12] ", "[1,12]<stdout>: ".
_LABEL = re.compile(r"^ *(?:\[\d+,\d+\](?:<std(?:out|err)>)?: ?|\[\d+\] |\d+: )", re.MULTILINE)


def _unlabelled(text: str) -> str:
    """Return a text without labels of ranks; "" unless more than half of its lines have them."""
    plain, labels = _LABEL.subn("", text)
    return plain if 2 * labels > text.count("\n") else ""


def parse_as(
    module: Format, text: str, where: str, ranks: int | None = None, command: str = ""
) -> list[Record]:
    """Return the records in a text of a format; raise InputError like `parse`."""
    try:
        records = _parsed(module, text, where, ranks, command)
    except (ValueError, OverflowError) as error:  # malformed numbers
        raise InputError(f"{where}: {error}; is the file complete?") from None
    if not records:
        raise InputError(f"{where} looks like {module.NAME}, but holds no results")
    for record in records:
        _refuse_impossible(record, where)
    return records


def _parsed(module: Format, text: str, where: str, ranks: int | None, command: str) -> list[Record]:
    if "command" not in signature(module.parse).parameters:
        return module.parse(text, where, ranks)
    return module.parse(text, where, ranks, command=command)  # type: ignore[call-arg]


def _refuse_impossible(record: Record, where: str) -> None:
    """Raise InputError for a record that is not valid: its run could not be read."""
    try:
        wrong = first_wrong(
            parse_json(json.dumps(record.to_json() | {"schema": UNSEALED_RECORD_SCHEMA})), "record"
        )
    except ValueError as error:
        wrong = str(error)
    if wrong:
        raise InputError(f"{where}: case {record.case[:80]}: {wrong}; is the file complete?")


__all__ = [
    "Format",
    "all_formats",
    "known_formats",
    "parse",
    "parse_as",
    "ranks_for",
    "recognised",
    "refuse_impossible_ranks",
]
