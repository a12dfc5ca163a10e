"""Rows of one's own to hold a model to: a CSV file of measured values (docs/howto/models.md)."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping
from pathlib import Path

from kiviat.analysis.published.question import Row
from kiviat.record import InputError
from kiviat.record.files import read_text
from kiviat.record.plain import whole_number
from kiviat.record.published import UNITS, Claim, Fact, Paper, Series, System
from kiviat.record.types import Scalar

_NEEDED = ("benchmark", "metric", "ranks", "value", "unit")
_KNOWN = (*_NEEDED, "bytes", "per_node", "place", "axes", "id")
_MOST_BYTES = 16 << 20


def own_rows(path: Path, benchmarks: Mapping[str, Mapping[str, str]]) -> list[Row]:
    """Return the rows of a file, one to a line, whose first line names the columns.

    `benchmarks` has the unit of each metric, by benchmark and metric. Raise InputError for unknown columns
    and benchmarks, for values that are no numbers, and for units that are not those of the metric.
    """
    try:
        reader = csv.DictReader(read_text(path, largest_bytes=_MOST_BYTES).splitlines(), strict=True)
        lines = [(reader.line_num, line) for line in reader]
    except (OSError, ValueError, csv.Error) as error:
        raise InputError(f"--rows {path} cannot be read: {error}; give a CSV file") from None
    if not lines:
        raise InputError(f"--rows {path} has no row below its first line; columns: {', '.join(_KNOWN)}")
    for number, line in lines:
        if None in line:
            raise InputError(
                f"--rows {path}, line {number}: more cells than the first line names columns; remove the "
                "surplus ones"
            )
    names = list(lines[0][1])
    for name in names:
        if name not in _KNOWN:
            raise InputError(f"--rows {path} has the unknown column {name!r}; known: {', '.join(_KNOWN)}")
    for name in _NEEDED:
        if name not in names:
            raise InputError(f"--rows {path} lacks the column {name!r}; needed: {', '.join(_NEEDED)}")
    return [_row(line, path, number, benchmarks) for number, line in lines]


def _row(
    line: Mapping[str, str | None], path: Path, number: int, benchmarks: Mapping[str, Mapping[str, str]]
) -> Row:
    where = f"--rows {path}, line {number}"
    cells = {name: (value or "").strip() for name, value in line.items()}
    if cells["benchmark"] not in benchmarks:
        raise InputError(f"{where}: unknown benchmark {cells['benchmark']!r}; `kiviat list` lists them")
    factor, unit = UNITS.get(cells["unit"], (1.0, cells["unit"]))
    due = benchmarks[cells["benchmark"]].get(cells["metric"])
    if unit not in {due, *(one for _, one in UNITS.values())}:
        raise InputError(
            f"{where}: unknown unit {cells['unit']!r}; give s, us, B/s, MB/s or GB/s, for example"
        )
    if due is not None and unit != due:
        raise InputError(
            f"{where}: unit is {cells['unit']!r}, but {cells['benchmark']}.{cells['metric']} is in {due}; "
            "correct the metric or the unit"
        )
    size, per_node = (_whole(cells.get(name, ""), name, where) for name in ("bytes", "per_node"))
    ranks = _whole(cells["ranks"], "ranks", where)
    if not ranks:
        raise InputError(f"{where}: ranks is {cells['ranks']!r}; give a whole number from 1")
    series = Series(
        measures=f"{cells['benchmark']}.{cells['metric']}",
        ranks=(ranks,),
        bytes=() if size is None else (size,),
        axes=_axes(cells.get("axes", ""), where),
        per_node=per_node,
        place=cells.get("place") or None,
    )
    fact = Fact(
        id=cells.get("id") or f"line {number}",
        location=f"line {number}",
        benchmark=cells["benchmark"],
        metric=cells["metric"],
        value=_number(cells["value"], where) * factor,
        unit=unit,
        relation="=",
        exactness="measured",
        use="validate",
        measures=series.measures,
        message_size="" if size is None else f"{size} B",
        claims=(Claim("best", (series,)),),
    )
    system = System(machine="", facts=(fact,), processes=ranks)
    return Row(Paper(path.stem, (path.name,), path.name, (system,)), system, fact)


def _axes(text: str, where: str) -> dict[str, tuple[Scalar, ...]]:
    axes: dict[str, tuple[Scalar, ...]] = {}
    for word in text.split():
        name, equals, value = word.partition("=")
        if not (name and equals and value):
            raise InputError(f"{where}: axes is {text!r}; give NAME=VALUE, separated by spaces")
        whole = whole_number(value)
        axes[name] = (value if whole is None else whole,)
    return axes


def _whole(text: str, name: str, where: str) -> int | None:
    if not text:
        return None
    number = whole_number(text)
    if number is None:
        raise InputError(f"{where}: {name} is {text!r}; give a whole number")
    return number


def _number(text: str, where: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or value <= 0:
        raise InputError(f"{where}: value is {text!r}; give a number above 0")
    return value
