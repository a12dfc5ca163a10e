"""The content of an untrusted run.json is validated against the schema before it is used."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from kiviat.record import InputError
from kiviat.record.run import Run
from kiviat.store.files import read_run, read_run_json
from tests.report.modelled import simulated_run_json
from tests.report.synthetic import make_run_json


def write(folder: Path, run: Any) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "run.json").write_text(run if isinstance(run, str) else json.dumps(run), encoding="utf-8")
    return folder


@pytest.mark.parametrize("run", [make_run_json(), simulated_run_json()])
def test_files_written_by_kiviat_are_read(tmp_path: Path, run: dict[str, Any]) -> None:
    path = write(tmp_path / "run", run)
    assert read_run_json(path) == run
    assert read_run(path) == Run.from_json(run)


@pytest.mark.parametrize(
    ("place", "value", "says"),
    [
        ("launches 0 ranks 3 host", 7, r"launches\[0\].ranks\[3\].host is 7, where a text was expected"),
        ("launches 0 ranks 0", 0, r"launches\[0\].ranks\[0\] is 0, where a table of names and values was"),
        ("launches 0 ranks 0", {}, r"launches\[0\].ranks\[0\] lacks 'rank'"),
        ("launches 0 ranks 0 cpus", "0-", r"launches\[0\].ranks\[0\].cpus is '0-', where a text, one like"),
        ("launches 0 placement", {"nodes": [0]}, r"launches\[0\].placement lacks 'policy'"),
        ("launches 0 toolchain", [], r"launches\[0\].toolchain is a list, where a table of names"),
        ("launches 0 toolchain mpicxx", 5, r"launches\[0\].toolchain.mpicxx is 5, where a text or null was"),
        ("launches 0 exit", True, r"launches\[0\].exit is true, where a whole number or null was expected"),
        ("launches 0 world", 2**64, r"launches\[0\].world is 18446744073709551616, which does not fit into"),
        ("clock", "sundial", "clock is 'sundial', where 'wall' or 'simulated' or 'reported' was expected"),
        ("machine caches 0", "32M", r"machine.caches\[0\] is '32M', where a table of names and values was"),
        ("machine caches 0", {"level": 3}, r"machine.caches\[0\] lacks 'bytes'"),
        ("machine interfaces", {"name": "ib0"}, "machine.interfaces is a table of names and values, where a"),
        ("machine name", "\ud800", r"machine.name is '\\ud800', which is not a printable text"),
        ("machine cpu_limit", float("nan"), "is not JSON: NaN is not a number"),
        (
            "plan definition",
            {"\udfff": 1},
            r"plan.definition\['\\udfff'\] is a name with unprintable characters",
        ),
        (
            "plan definition",
            {"command_line": None},
            "plan.definition.command_line is null, where a table of names",
        ),
        (
            "plan definition",
            {"interval": "5 %"},
            "plan.definition.interval is '5 %', where a number was expected",
        ),
        ("plan definition", {"cases": [{}]}, r"plan.definition.cases\[0\] lacks 'benchmarks'"),
        ("stat", "complete", "has the unknown name 'stat', for 'state'"),
    ],
)
def test_the_place_that_is_wrong_is_named(tmp_path: Path, place: str, value: Any, says: str) -> None:
    """An invalid run.json is refused, and the message names the field.

    Each of these files once raised KeyError, TypeError or UnicodeError in a report.
    """
    run = make_run_json()
    *outer, last = place.split()
    holder: Any = run
    for key in outer:
        holder = holder[int(key) if key.isdecimal() else key]
    holder[int(last) if last.isdecimal() else last] = value
    with pytest.raises(InputError, match=says) as refusal:
        read_run(write(tmp_path / "run", run))
    assert str(refusal.value).startswith(f"{tmp_path}/run/run.json")
    assert str(refusal.value).isprintable()


@pytest.mark.parametrize("depth", [100, 100_000])
def test_endless_nesting_is_refused(tmp_path: Path, depth: int) -> None:
    text = json.dumps(make_run_json()).replace(
        '{"file": "standard.toml"}', '{"a":' * depth + "1" + "}" * depth
    )
    with pytest.raises(InputError, match="is nested too deeply"):
        read_run(write(tmp_path / "run", text))


def test_a_pipe_is_no_run_and_keeps_nothing_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "run.json")
    with pytest.raises(InputError, match=r"run.json is a FIFO instead of a file; kiviat did not write it"):
        read_run(tmp_path)
