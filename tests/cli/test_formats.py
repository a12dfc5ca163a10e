"""Every command that prints a table can print it as CSV and JSON, with the same rows."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable

import pytest

from kiviat.store import RunDirectory
from tests.cli.conftest import Kiviat


def rows_of(kiviat: Kiviat, *words: str) -> tuple[list[dict[str, str]], list[dict[str, object]]]:
    as_csv, as_json = (kiviat(*words, "--format", form) for form in ("csv", "json"))
    assert (as_csv.returncode, as_json.returncode) == (0, 0), as_csv.stderr + as_json.stderr
    found = json.loads(as_json.stdout)
    return list(csv.DictReader(io.StringIO(as_csv.stdout))), found if isinstance(found, list) else [found]


@pytest.mark.parametrize(
    ("words", "key", "value"),
    [
        (("list", "pingpong", "lammps-lj"), "name", "lammps-lj"),
        (("host",), "name", ""),
        (("model", "list"), "name", "altix-bx2"),
        (("runs",), "plan", "test"),
    ],
)
def test_csv_and_json_have_the_same_rows(
    kiviat: Kiviat, make_run: Callable[..., RunDirectory], words: tuple[str, ...], key: str, value: str
) -> None:
    make_run()
    from_csv, from_json = rows_of(kiviat, *words)
    assert [row[key] for row in from_csv] == [row[key] for row in from_json]
    assert set(from_csv[0]) == set().union(*from_json)
    assert not value or value in {row[key] for row in from_csv}
