"""The four definitions of controls and their defaults agree."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kiviat.plan.controls import DEFAULTS, checked_controls
from kiviat.plan.watts import Watts
from kiviat.record import InputError
from kiviat.record.schema import schema

ROOT = Path(__file__).parents[2]
OF_THE_PLAN = schema("plan")["$defs"]["controls"]["properties"]
# Controls that plans specify in other ways.
OF_THE_CASE = {"ranks", "bytes", "seed"}


def _native() -> set[str]:
    text = (ROOT / "native/benchmark/case.cpp").read_text()
    listed = re.search(r"controls\[\] = \{([^}]*)\}", text)
    assert listed
    return set(re.findall(r'"(\w+)"', listed[1]))


def _documented() -> dict[str, str]:
    """Return the default of each control according to the table in formats.md."""
    text = (ROOT / "docs/reference/formats.md").read_text()
    table = text.split("Controls of all benchmarks:", 1)[1].split("\n\n")[1]
    found: dict[str, str] = {}
    for line in table.splitlines()[2:]:
        names, defaults = (cell.strip() for cell in line.strip("|").split("|")[:2])
        keys = re.findall(r"`(\w+)`", names)
        values = [word.strip("` ") for word in defaults.split(",")]
        found |= dict(zip(keys, values if len(values) == len(keys) else values * len(keys), strict=True))
    return found


def test_the_native_program_knows_the_controls_of_the_schema() -> None:
    assert _native() == set(OF_THE_PLAN) | OF_THE_CASE


def test_the_docs_list_them_with_their_defaults() -> None:
    documented = _documented()
    assert set(documented) == _native() - {"bytes"}  # `bytes` is listed with the axes
    of_the_plan = {name: value for name, value in documented.items() if name not in OF_THE_CASE}
    assert {name: value for name, value in of_the_plan.items() if value != "–"} == {
        name: str(value) for name, value in DEFAULTS.items()
    }


def test_the_native_program_has_the_same_defaults() -> None:
    """The native program has the documented defaults where it reads a control or defines its limit."""
    text = "".join((ROOT / "native/measure" / name).read_text() for name in ("trial.cpp", "per_call.cpp"))
    limits = (ROOT / "native/measure/stopping.hpp").read_text()
    for name, value in DEFAULTS.items():
        (used,) = set(re.findall(rf'(?:integer|real|text)\("{name}", "?([\w.]+)"?\)', text))
        if used == f"limits_.{name}":
            (used,) = re.findall(rf"\b{name} = ([\d.]+)", limits)
        assert (used if isinstance(value, str) else float(used)) == value, name


@pytest.mark.parametrize("name", OF_THE_PLAN)
def test_plans_are_checked_by_the_schema(name: str) -> None:
    given = {"watts": "95/socket", "target": 0.5}.get(name) or OF_THE_PLAN[name].get("enum", [1])[0]
    assert checked_controls({name: given}, "here") == {name: given}
    for allowed in OF_THE_PLAN[name].get("enum", ()):
        assert checked_controls({name: allowed}, "here")
    with pytest.raises(InputError):
        checked_controls({name: "nonsense"}, "here")


def test_watts_are_written_as_the_native_program_reads_them() -> None:
    assert Watts.parse("1000000 W/node").control() == "1000000/node"
    for plain in ("115.0/node", "1000000/node"):
        assert checked_controls({"watts": plain}, "here") == {"watts": plain}
    for odd in ("115/node\n", "115 W/node", "115/rack"):
        with pytest.raises(InputError):
            checked_controls({"watts": odd}, "here")
