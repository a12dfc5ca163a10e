"""`kiviat model list`, descriptions of machines, and their pictures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kiviat.analysis.aggregate.known_errors import error_text, known_errors, short_text
from kiviat.analysis.findings.data_quality import findings
from kiviat.launch.mpi.build import build
from kiviat.launch.mpi.toolchain import find_toolchain
from kiviat.launch.substrates.simulated import described_machine
from kiviat.machine.modelled.machine import find_machine, load_machine, machines
from kiviat.record import InputError
from tests.cli.conftest import Kiviat
from tests.report.synthetic import with_launches

MACHINE = """\
schema = "kiviat.machine/1"
name = "{name}"
title = "A machine that never was"
summary = "four nodes of two cores"
version = 2
uncalibrated = "nobody ever saw it"
open_questions = ["Whether it exists."]
losses = ["Everything that is real."]

[sources]
thin_air = "Thin air, 2nd edition"
unused = "A book that nobody opened"

[node]
count = {{ value = 4, source = "thin_air", confidence = "high" }}
sockets = {{ value = 2, source = "thin_air", confidence = "high" }}
cores = {{ value = 1, source = "thin_air", confidence = "high" }}
memory = {{ value = "1 GB", source = "thin_air", confidence = "medium" }}
cache = {{ value = "1 MiB", source = "thin_air", confidence = "medium" }}

[core]
flops = {{ value = "1 Gflop/s", source = "thin_air", confidence = "high" }}
memory_bandwidth = {{ value = "1 GB/s", source = "thin_air", confidence = "low" }}

[memory]
buses = "node"
bandwidth = {{ value = "2 GB/s", source = "thin_air", confidence = "assumed", note = "twice a core" }}
passes = {{ value = 2, source = "thin_air", confidence = "assumed" }}
network_passes = {{ value = 1, source = "thin_air", confidence = "assumed" }}

[nic]
bandwidth = {{ value = "1 GB/s", source = "thin_air", confidence = "high" }}

[topology]
kind = "crossbar"
link = {{ value = "1 GB/s", source = "thin_air", confidence = "high" }}
hop = {{ value = "1 us", source = "thin_air", confidence = "high" }}

[mpi]
eager = {{ value = "16 KiB", source = "thin_air", confidence = "medium" }}
collectives = "mpich"

[[mpi.node]]
from = {{ value = "0 B", source = "thin_air", confidence = "high" }}
latency = {{ value = "1 us", source = "thin_air", confidence = "calibrated" }}
bandwidth = {{ value = "500 MB/s", source = "thin_air", confidence = "high" }}

[[mpi.network]]
from = {{ value = "0 B", source = "thin_air", confidence = "high" }}
latency = {{ value = "5 us", source = "thin_air", confidence = "high" }}
bandwidth = {{ value = "900 MB/s", source = "thin_air", confidence = "high" }}

[[mpi.network]]
from = {{ value = "16 KiB", source = "thin_air", confidence = "high" }}
latency = {{ value = "9 us", source = "thin_air", confidence = "assumed" }}
bandwidth = {{ value = "950 MB/s", source = "thin_air", confidence = "high" }}
"""


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    path = tmp_path / "nowhere.toml"
    path.write_text(MACHINE.format(name="nowhere"))
    return path


def test_all_machines_are_listed_with_what_they_were_calibrated_on(kiviat: Kiviat) -> None:
    done = kiviat("model", "list")
    assert (done.returncode, done.stderr) == (0, "")
    head, *lines = done.stdout.splitlines()
    assert head.split()[0] == "name" and [line.split()[0] for line in lines] == list(machines())
    listed = json.loads(kiviat("model", "list", "--format", "json").stdout)
    assert [entry["name"] for entry in listed] == list(machines())
    for entry, line in zip(listed, lines, strict=True):
        found = find_machine(entry["name"])
        assert entry["hash"] == found.hash and entry["title"] in line
        assert f" {found.nodes} × {found.whole('node.sockets')} × {found.whole('node.cores')} " in line
        assert f"  {short_text(known_errors(found))}  " in f"{line}  " and entry["known_error"] in line
        assert ("uncalibrated" in line) == bool(found.uncalibrated or not found.calibrated_on)


def test_an_uncalibrated_variant_is_called_one(kiviat: Kiviat) -> None:
    """An uncalibrated variant is called uncalibrated in tables, pages and findings.

    They once said "calibrated on", and named the rows to which its base was fitted.
    """

    def told(machine: str) -> str:
        lines = kiviat("model", "show", machine).stdout.splitlines()
        return next(line for line in lines if line.startswith("calibrated"))

    assert told("altix-bx2-numalink3").endswith("not at all: an uncalibrated variant of altix-bx2")
    assert "on the published values F1-007, F1-008" in told("altix-bx2")
    run = with_launches([], machine=described_machine(find_machine("altix-bx2-numalink3")))
    said = [f.detail for f in findings((), run, ())]
    assert "Calibration: uncalibrated variant of altix-bx2." in said[0]


def test_what_is_known_assumed_and_unknown_is_told_apart(kiviat: Kiviat, machine: Path) -> None:
    done = kiviat("model", "show", "./nowhere.toml")
    assert (done.returncode, done.stderr) == (0, "")
    parts = done.stdout.split("\n\n")
    of = {part.splitlines()[0]: part for part in parts}
    about = parts[1]
    assert "nowhere, version 2, hash " + load_machine(machine).hash[:12] in about
    assert "uncalibrated   nobody ever saw it" in about
    assert "one crossbar of 4 nodes; 1 switch; 4 connections" in about and "a switch costs 1.00 µs" in about
    known, assumed = of["Known: 14 numbers"], of["Assumed: 5 numbers"]
    assert "mpi.network[1].bandwidth" in known and "between nodes from 16384 B: bandwidth" in known
    assert "mpi.network[1].latency" in assumed
    assert "mpi.node[0].latency" in of["Fitted to measurements: 1 number"]
    assert "memory.bandwidth: twice a core" in assumed and "core.memory_bandwidth" in assumed
    assert "- power.node" in of["Unknown, or not there"] and "nic.host_bus" in of["Unknown, or not there"]
    assert of["Open questions"].endswith("- Whether it exists.")
    assert of["What the model cannot express"].endswith("- Everything that is real.")
    assert of["Sources"].strip().endswith("- thin_air: Thin air, 2nd edition")
    assert max(map(len, done.stdout.splitlines())) <= 120


def test_the_known_errors_of_a_model_are_shown_with_their_page(kiviat: Kiviat) -> None:
    known = known_errors(find_machine("cray-opteron"))
    shown = " ".join(kiviat("model", "show", "cray-opteron").stdout.split())
    assert f"b_eff {error_text(known, 'b_eff')}; " in shown and "(docs/reference/validation.md)" in shown
    listed = json.loads(kiviat("model", "show", "cray-opteron", "--format", "json").stdout)["known_errors"]
    of_b_eff = known.of("b_eff")
    assert (
        of_b_eff
        and {
            "kind": "b_eff",
            "fitted": of_b_eff.fitted,
            "median": of_b_eff.middle,
            "worst": of_b_eff.worst,
            "rows": len(of_b_eff.errors),
        }
        in listed
    )


def test_every_number_is_there_for_programs(kiviat: Kiviat, machine: Path) -> None:
    shown = json.loads(kiviat("model", "show", "./nowhere.toml", "--format", "json").stdout)
    numbers = shown["numbers"]
    assert len(numbers) == 20
    assert numbers["memory.bandwidth"] == {
        "value": 2e9,
        "unit": "B/s",
        "text": "2 GB/s",
        "source": ["thin_air"],
        "confidence": "assumed",
        "note": "twice a core",
    }
    assert shown["losses"] == ["Everything that is real."]


def test_a_variant_and_its_base_name_each_other(kiviat: Kiviat) -> None:
    variants = {name: base for name in machines() if (base := find_machine(name).base)}
    assert variants
    name, base = next(iter(variants.items()))
    assert f"variant of     {base}" in kiviat("model", "show", name).stdout
    assert name in json.loads(kiviat("model", "show", base, "--format", "json").stdout)["variants"]


def test_the_picture_is_a_file(kiviat: Kiviat, machine: Path, tmp_path: Path) -> None:
    done = kiviat("model", "show", "./nowhere.toml", "-o", "it.svg")
    assert (done.returncode, done.stdout, done.stderr) == (0, "it.svg\n", "")
    text = (tmp_path / "it.svg").read_text()
    assert text.startswith("<svg ") and text.count('class="node"') == 4 and "A machine that never was" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("show", "nonsense"), "there is no machine 'nonsense'; `kiviat model list` lists them"),
        (("show", "altix-bx"), "there is no machine 'altix-bx'; did you mean 'altix-bx2'?"),
        (("show", "./nowhere.toml", "-o", "it.png"), "-o it.png: the picture is SVG"),
        (("show", "./nowhere.toml", "-o", "no/it.svg"), "the picture cannot be written to no/it.svg"),
        (("show",), "the following arguments are required: MACHINE"),
    ],
)
def test_what_cannot_be_is_told_in_one_line(
    kiviat: Kiviat, machine: Path, arguments: tuple[str, ...], message: str
) -> None:
    done = kiviat("model", *arguments)
    assert done.returncode == 2 and done.stdout == ""
    assert message in done.stderr and done.stderr.count("\n") == 1


def test_run_json_holds_all_that_a_report_needs(machine: Path) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    from kiviat.record import schema

    described = described_machine(load_machine(machine))
    whole = schema("run")
    of_machine = {**whole["properties"]["machine"], "$defs": whole["$defs"]}
    jsonschema.validate(described, of_machine)
    model = described["model"]
    assert (model["version"], model["uncalibrated"], model["losses"]) == (
        2,
        "nobody ever saw it",
        ["Everything that is real."],
    )
    assert [place for place in model["assumed"] if "mpi" in place] == ["mpi.network[1].latency"]
    assert model["topology"] == {"kind": "crossbar", "parameters": {}}
    del described["model"]["losses"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(described, of_machine)


def test_a_rank_keeps_its_core_and_nothing_is_odd_about_it(kiviat: Kiviat, machine: Path) -> None:
    """Simulated ranks that were not bound are not reported as misplaced.

    They once were, because each simulated rank stays on one core.
    """
    try:
        build(find_toolchain("smpi"))
    except InputError as error:
        pytest.skip(str(error))
    asked = ("run", "--on", "simulated:./nowhere.toml", "-m", "8", "pingpong", "allreduce")
    wheres: tuple[tuple[str, ...], ...] = ((), ("--place", "cyclic"), ("--bind", "co-processor"))
    for where in wheres:
        done = kiviat(*asked, "-n", "4", *where)
        assert (done.returncode, done.stderr) == (0, "")
        assert "2 cases simulated\n" in done.stdout and "Ranks were not" not in done.stdout
        (line,) = [line for line in done.stdout.splitlines() if line.startswith("results")]
        run = json.loads((machine.parent / line.split()[1] / "run.json").read_text())
        placements = [launch["placement"] for launch in run["launches"]]
        assert {placement["binding"] for placement in placements} == {
            where[1] if "--bind" in where else "core"
        }
        assert not any(placement["differences"] for placement in placements)
    assert "\nknown errors of the model: unknown: never compared with published results" in done.stdout
    assert "Fewer than" not in done.stdout and "1. The network of the model is uncalibrated" in done.stdout


def test_show_tells_that_values_are_predicted(kiviat: Kiviat, tmp_path: Path, machine: Path) -> None:
    from kiviat.store import RunDirectory
    from tests.store.made_up import PLAN, launch, metric, record

    described = described_machine(load_machine(machine))
    about: dict[str, Any] = {"substrate": "simulated", "clock": "simulated"}
    with RunDirectory.create(tmp_path / "runs", "sim", machine=described, plan=PLAN, **about) as run:
        run.set_launch(launch(0, 0, outcome="ok", exit=0))
        once = {"check": "not run", "mode": "once", "stopped_by": None, **about}
        run.append(record(run.id, metrics=(metric(samples=(1e-6,), p50=1e-6),), **once))
        quantity = metric("b_eff", (1e9,), unit="B/s", better="higher", p50=1e9)
        run.append(record(run.id, "b_eff/ranks=2", bytes=None, metrics=(quantity,), **once))
        run.finish()
    shown = kiviat("show").stdout
    told = f"simulated: predicted by the model nowhere, version 2, hash {load_machine(machine).hash[:12]}"
    assert shown.splitlines()[1] == f"{told}, its network uncalibrated"
    assert [line.split() for line in shown.splitlines()[4:6]] == [
        ["quantity", "predicted"],
        ["b", "eff", "1.00", "GB/s"],
    ]
    exported = kiviat("export", "--format", "openmetrics").stdout
    assert 'statistic="predicted"' in exported and 'statistic="median"' not in exported
    unknown = "known errors: unknown: never compared with published results (docs/reference/validation.md)"
    assert [line.split() for line in shown.splitlines()[9:]] == [
        ["bytes", "time"],
        ["8", "B", "1.00", "µs"],
        unknown.split(),
    ]
    assert shown.splitlines()[6] == unknown


def test_show_tells_switches_that_are_on(kiviat: Kiviat) -> None:
    choices = next(
        line for line in kiviat("model", "show", "archer2").stdout.splitlines() if line.startswith("choices")
    )
    assert "mpi.node_aware" in choices and "mpi.one_connection" not in choices
    told = json.loads(kiviat("model", "show", "archer2", "--format", "json").stdout)["switches"]
    assert told == {"node_aware": True, "one_connection": False}
