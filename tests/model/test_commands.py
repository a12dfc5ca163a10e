"""`kiviat model` and `kiviat what-if` from the command line, with small simulations."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from kiviat.analysis.aggregate.known_errors import error_text, known_errors
from kiviat.analysis.published.question import Question
from kiviat.cli.main import main
from kiviat.launch.mpi.toolchain import Toolchain, find_toolchain
from kiviat.machine.modelled.machine import Machine, find_machine, load_machine
from kiviat.model.bucket import Bucket
from kiviat.model.changes import calibrated_places
from kiviat.model.published_fit import PublishedFit
from kiviat.record import InputError
from kiviat.record.validated import ComparedModel, compared_models, read_compared, write_compared
from kiviat.store import RunDirectory
from tests.store.made_up import MACHINE, PLAN, launch, metric, record

SMALL = Path(__file__).parents[1] / "simulated" / "small.toml"
SIZES = [0, *(4**k for k in range(11))]


@pytest.fixture(scope="session")
def smpi() -> Toolchain:
    try:
        return find_toolchain("smpi")
    except InputError as error:
        pytest.skip(str(error))


@pytest.fixture
def measured(tmp_path: Path) -> Path:
    """A run with 5 µs and 1 GB/s between two nodes, and 1 µs and 4 GB/s within one."""
    machine = MACHINE | {"sockets": 1, "cores": 2, "memory_bytes": 8 * 10**9}
    ranks = [{"rank": i, "host": f"n{i % 2}", "node": i % 2, "sockets": "0"} for i in range(3)]
    where = {"place": "cyclic"}
    with RunDirectory.create(tmp_path / "runs", "made-up", machine=machine, plan=PLAN, where=where) as run:
        for index in range(5):
            run.set_launch(launch(index, index, outcome="ok", exit=0, ranks=ranks))
            for size in SIZES:
                for distance, latency_s, rate in ((1, 5e-6, 1e9), (2, 1e-6, 4e9)):
                    seconds = latency_s + size / rate
                    axes = {} if distance == 1 else {"distance": distance}
                    case = f"pingpong/ranks=2/bytes={size}" + (f"/distance={distance}" if axes else "")
                    found = metric(samples=(seconds,) * 3, p50=seconds, mean=seconds, min=seconds)
                    run.append(record(run.id, case, index, bytes=size, axes=axes, metrics=(found,)))
        run.finish()
    return run.path


def made_up_run(
    path: Path,
    name: str,
    ranks: list[dict[str, object]],
    seconds: float,
    distance: int = 1,
    benchmark: str = "pingpong",
) -> Path:
    """A run of a benchmark with 8 B between rank 0 and the rank `distance` away."""
    machine = MACHINE | {"sockets": 1, "cores": 2, "memory_bytes": 8 * 10**9}
    axes = {} if distance == 1 else {"distance": distance}
    case = f"{benchmark}/ranks=2/bytes=8" + "".join(f"/{name}={value}" for name, value in axes.items())
    where = {"place": "cyclic"}
    with RunDirectory.create(path / "runs", name, machine=machine, plan=PLAN, where=where) as run:
        run.set_launch(launch(0, 0, outcome="ok", exit=0, ranks=ranks))
        found = metric(samples=(seconds,) * 3, p50=seconds, mean=seconds, min=seconds)
        run.append(record(run.id, case, 0, bytes=8, axes=axes, metrics=(found,)))
        run.finish()
    return run.path


@pytest.mark.parametrize(
    ("nodes", "seconds"),
    [([0, 0], 1.0e-6), ([0, 1], 4.6e-6), ([0, 1, 0], 1.0e-6), ([0, 0, 1], 4.6e-6), ([0, 1, 2], 4.6e-6)],
)
def test_ranks_are_predicted_where_they_ran(
    smpi: Toolchain, nodes: list[int], seconds: float, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The model may have more nodes, and more cores per node, than the run used."""
    ranks = [{"rank": i, "host": f"n{n}", "node": n, "sockets": "0"} for i, n in enumerate(nodes)]
    run = made_up_run(tmp_path, "two", ranks, seconds, len(nodes) - 1)
    assert main(["model", "predict", str(SMALL), str(run), "--format", "csv"]) == 0
    head, line = capsys.readouterr().out.splitlines()
    found = dict(zip(head.split(","), line.split(","), strict=True))
    assert float(found["model"]) == pytest.approx(seconds, rel=0.05)


def test_a_case_without_a_prediction_is_told_with_its_reason(
    smpi: Toolchain, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Between sockets, the made-up machine has no processor times, so that streams have no rate."""
    ranks: list[dict[str, object]] = [
        {"rank": i, "host": "n0", "node": 0, "sockets": str(i)} for i in range(2)
    ]
    run = made_up_run(tmp_path, "stream", ranks, 1e-6, benchmark="uniband")
    reason = "the model limits neither links nor processors in a stream of such messages"
    assert main(["model", "predict", str(SMALL), str(run)]) == 1
    said = capsys.readouterr()
    assert "uncalibrated: it is made up" in said.out
    assert f"no prediction: uniband/ranks=2/bytes=8: {reason}" in said.err
    assert main(["model", "predict", str(SMALL), str(run), "--format", "json"]) == 1
    said = capsys.readouterr()
    (found,) = json.loads(said.out)
    assert found["model"] is None and found["reason"].startswith(reason)
    assert "uncalibrated: it is made up" in said.err


def test_a_machine_that_is_too_small_predicts_nothing(
    smpi: Toolchain, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ranks: list[dict[str, object]] = [
        {"rank": i, "host": f"n{i}", "node": i, "sockets": "0"} for i in range(5)
    ]
    run = made_up_run(tmp_path, "five", ranks, 1e-6)
    assert main(["model", "predict", str(SMALL), str(run)]) == 2
    assert "had 5 nodes and at most 1 rank on one; small has 4 nodes of" in capsys.readouterr().err


def test_a_fitted_machine_repeats_what_was_measured(
    smpi: Toolchain, measured: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "made-up.toml"
    assert main(["model", "fit", str(measured), "-o", str(file)]) == 0
    said = capsys.readouterr().out
    assert said.count("median error over sizes 0.0 %") == 2, said
    assert (load_machine(file).nodes, load_machine(file).cores_per_node) == (2, 2)

    assert main(["model", "predict", str(file), str(measured)]) == 0
    assert "pingpong: median error 0.0 %" in capsys.readouterr().out

    assert main(["model", "check", str(file)]) == 0
    assert "nothing to check" in capsys.readouterr().out
    assert main(["model", "check", str(file), "--format", "json"]) == 0
    checked = capsys.readouterr()
    assert json.loads(checked.out) == [] and "nothing to check" in checked.err
    assert main(["model", "fit", str(measured), "-o", str(file), "--format", "json"]) == 0
    fitted = json.loads(capsys.readouterr().out)
    assert {line["level"] for line in fitted} and all(abs(line["error"]) < 1e-3 for line in fitted)


@pytest.mark.parametrize(
    ("facts", "memory", "cache"),
    [
        ({"memory_bytes": None}, (2e9, "assumed"), (2**20, "assumed")),
        (
            {"memory_bytes": 4 * 10**9, "caches": [{"level": 3, "bytes": 2**25, "shared_by": 2}]},
            (4e9, "high"),
            (2**25, "high"),
        ),
    ],
)
def test_sizes_that_the_run_does_not_tell_are_assumed(
    facts: dict[str, object],
    memory: tuple[float, str],
    cache: tuple[float, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An unknown memory once was 1 B, and an unknown cache 1 MiB, both as if the run had shown them."""
    machine = MACHINE | {"sockets": 1, "cores": 2} | facts
    ranks = [{"rank": i, "host": "n0", "node": 0, "sockets": "0"} for i in range(2)]
    with RunDirectory.create(tmp_path, "made-up", machine=machine, plan=PLAN) as run:
        run.set_launch(launch(0, 0, outcome="ok", exit=0, ranks=ranks))
        for size in SIZES:
            seconds = 1e-6 + size / 4e9
            found = metric(samples=(seconds,) * 3, p50=seconds, mean=seconds, min=seconds)
            run.append(record(run.id, f"pingpong/ranks=2/bytes={size}", 0, bytes=size, metrics=(found,)))
        run.finish()
    monkeypatch.setattr("kiviat.cli.commands.model._print_agreement", lambda *_: None)
    file = tmp_path / "sizes.toml"
    assert main(["model", "fit", str(run.path), "-o", str(file)]) == 0
    numbers = load_machine(file).numbers
    for place, wanted in (("node.memory", memory), ("node.cache", cache)):
        assert (numbers[place].value, numbers[place].confidence) == wanted, place


def test_a_check_is_the_same_for_people_and_programs(
    smpi: Toolchain, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["model", "check", "cray-x1-msp"]) == 1  # b_eff is off by 4 and 8 %
    said = capsys.readouterr().out
    assert main(["model", "check", "cray-x1-msp", "--format", "json"]) == 1
    rows = json.loads(capsys.readouterr().out)
    assert [row["row"] for row in rows] == re.findall(r"^(F\d\w?-\d+)", said, re.MULTILINE)
    assert any(row["note"] == "not exact" for row in rows) and "not exact" in said
    assert all(row["published"] and row["predicted"] for row in rows)


def test_a_check_names_what_no_simulation_answers(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["model", "check", "vt-myri10g"]) == 0
    said = capsys.readouterr().out
    assert "vt-myri10g: fitted to anandtech, too, which no simulation answers" in said
    assert "nothing to check" in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["-o", "Upper.toml"], "a machine has the name of its file"),
        (["-o", "x.toml", "--link", "3 us"], "--link is '3 us', which is not in B/s"),
        (["-o", "x.toml", "--nodes", "0"], "--nodes 0"),
        (["-o", "/proc/x.toml"], "the machine file cannot be written to /proc/x.toml"),
    ],
)
def test_what_cannot_be_fitted_is_one_line(
    words: list[str], said: str, measured: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [str(tmp_path / word) if word.endswith(".toml") else word for word in words]
    assert main(["model", "fit", str(measured), *words]) == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1


def test_a_fit_that_is_refused_leaves_the_file_that_is_there(
    measured: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "kept.toml"
    file.write_text("precious")
    rates = ["--core-memory-bandwidth", "2 GB/s", "--memory-bandwidth", "1 GB/s"]
    assert main(["model", "fit", str(measured), "-o", str(file), *rates]) == 2
    error = capsys.readouterr().err
    assert str(file) in error and error.count("\n") == 1
    assert file.read_text() == "precious" and list(tmp_path.glob(".kept*")) == []


@pytest.mark.parametrize(("substrate", "clock"), [("simulated", "simulated"), ("ingested", "reported")])
def test_only_measurements_are_fitted(
    substrate: str, clock: str, measured: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A log of another program once became a machine of kiviat's own measurements."""
    about = measured / "run.json"
    described = json.loads(about.read_text())
    about.write_text(json.dumps({**described, "substrate": substrate, "clock": clock}))
    assert main(["model", "fit", str(measured), "-o", str(tmp_path / "x.toml")]) == 2
    assert f"is {substrate}, but machines are fitted to what Kiviat measured" in capsys.readouterr().err


def test_a_published_row_that_is_missed_fails_the_check(
    smpi: Toolchain, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """F1-056 is 2 µs between ranks 0 and 1; the small machine has 1 µs there."""
    file = tmp_path / "small.toml"
    text = SMALL.read_text().replace('uncalibrated = "it is made up"', 'calibrated_on = ["F1-056"]')
    file.write_text(text)
    assert main(["model", "check", str(file)]) == 1
    assert "off by more than 3 %" in capsys.readouterr().out


def test_what_if_shows_what_becomes_better_and_worse(
    smpi: Toolchain, capsys: pytest.CaptureFixture[str]
) -> None:
    """A message of 8 B between nodes takes 3 + 0.5 + 0.6 + 0.5 µs; half the latency saves 1.5 µs."""
    words = ["what-if", str(SMALL), "--set", "mpi.network.latency=0.5x", "-n", "2x1", "pingpong", "-m", "8"]
    assert main([*words, "--format", "csv"]) == 0
    head, line = capsys.readouterr().out.splitlines()
    found = dict(zip(head.split(","), line.split(","), strict=True))
    assert float(found["base"]) - float(found["changed"]) == pytest.approx(1.5e-6, rel=1e-3)
    assert main(words) == 0
    assert "better" in capsys.readouterr().out


def test_a_change_that_changes_nothing_says_why(smpi: Toolchain, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["what-if", str(SMALL), "--set", "topology.link=2x", "-n", "2x1", "pingpong", "-m", "8"]
    assert main(words) == 0
    said = capsys.readouterr().out
    assert "nothing changed" in said and "A message of 8 B between nodes gets" in said
    words[words.index("2x1")] = "2"
    assert main(words) == 0
    assert "All ranks are on one node" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["--set", "nic.bandwidth=0x", "-n", "2"],
            "--set nic.bandwidth=0x: nic.bandwidth is '0 B/s' in small",
        ),
        (["--set", "nodes=64", "-n", "64x1"], "small, as it is: 64 ranks, 1 on each node, need 64 nodes"),
        (["--set", "nodes=1", "-n", "2x1"], "small, changed: 2 ranks, 1 on each node, need 2 nodes"),
    ],
)
def test_what_if_tells_the_change_from_the_machine(
    words: list[str], said: str, smpi: Toolchain, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["what-if", str(SMALL), *words, "pingpong", "-m", "8"]) == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1 and str(SMALL) not in error


def test_what_if_says_what_became_of_the_network(smpi: Toolchain, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["what-if", str(SMALL), "--set", "topology=fat-tree", "-n", "2x1", "pingpong", "-m", "8"]
    assert main(words) == 0
    assert "changed: fat tree of 4 nodes (down 4, up 1, cables 1, planes 1)" in capsys.readouterr().out


def test_what_if_shows_what_was_published_and_the_known_error(
    smpi: Toolchain, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["what-if", "cray-opteron", "--set", "mpi.node.latency=2x", "-n", "2", "pingpong", "-m", "128K"]
    assert main([*words, "--format", "csv"]) == 0
    head, line = capsys.readouterr().out.splitlines()
    found = dict(zip(head.split(","), next(csv.reader([line])), strict=True))
    assert float(found["published"]) == pytest.approx(131072 / 943.7184e6, rel=2e-3)  # F2-042, a bandwidth
    assert found["known_error"] == error_text(known_errors(find_machine("cray-opteron")), "point to point")
    assert main(words) == 0
    assert "docs/reference/validation.md" in capsys.readouterr().out


@pytest.mark.parametrize(("shape", "has"), [("2x1", False), ("1x2", True)])
def test_what_if_shows_published_values_only_of_the_same_places(
    smpi: Toolchain, capsys: pytest.CaptureFixture[str], shape: str, has: bool
) -> None:
    """Values of two ranks within a node once stood beside predictions for two nodes."""
    words = ["what-if", "cray-opteron", "--set", "mpi.node.latency=2x", "-n", shape, "pingpong"]
    assert main([*words, "-m", "128K", "--format", "csv"]) == 0
    head, line = capsys.readouterr().out.splitlines()
    found = dict(zip(head.split(","), next(csv.reader([line])), strict=True))
    assert (found["published"] != "") is has


ROWS = "benchmark,metric,ranks,bytes,value,unit,per_node,id\npingpong,time,2,8,4 600,ns,1,mine\n"


def test_rows_of_ones_own_judge_a_model(
    smpi: Toolchain, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The model predicts 4.6 µs for 8 B between nodes, and 3.1 µs with half the latency."""
    rows = tmp_path / "rows.csv"
    rows.write_text(ROWS.replace("4 600,ns", "4.6,us"))
    words = ["model", "validate", str(SMALL), "--rows", str(rows), "--format", "json"]
    assert main(words) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert (found["row"], found["unit"], found["published"]) == ("mine", "s", pytest.approx(4.6e-6))
    assert found["error"] == pytest.approx(0, abs=5e-3)
    assert main([*words, "--set", "mpi.network.latency=0.5x"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert found["error"] == pytest.approx(-1.5 / 4.6, abs=5e-3)


def test_each_of_ones_own_rows_counts(
    smpi: Toolchain, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rows of one case, and benchmarks without a kind, once had errors that the summary left out."""
    rows = tmp_path / "rows.csv"
    rows.write_text(
        ROWS.replace("4 600,ns", "4.6,us") + "pingpong,time,2,8,9.2,us,1,far\nput,time,2,8,1,s,1,put\n"
    )
    assert main(["model", "validate", str(SMALL), "--rows", str(rows)]) == 0
    assert "3 values: median error 50 %, largest 100 %" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (ROWS, "line 2: unknown unit 'ns'"),
        (ROWS.replace("ns", "us"), "line 2: value is '4 600'"),
        (ROWS.replace("pingpong", "pong"), "line 2: unknown benchmark 'pong'"),
        (ROWS.replace("bytes", "size"), "unknown column 'size'"),
        (ROWS.replace("metric,", "").replace("time,", ""), "lacks the column 'metric'"),
        (ROWS.replace(",2,8", ",two,8").replace("ns", "us"), "line 2: ranks is 'two'"),
        (
            ROWS.replace("4 600,ns", "4.6,us") + "\npingpong,time,2,8,4.6,us,1,again,\n",
            "line 4: more cells than the first line names columns",
        ),
        (ROWS.replace("4 600,ns", "4.1,GB/s"), "line 2: unit is 'GB/s', but pingpong.time is in s"),
        ("benchmark\n", "has no row"),
    ],
)
def test_rows_that_cannot_be_read_are_one_line(
    text: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = tmp_path / "rows.csv"
    rows.write_text(text)
    assert main(["model", "validate", str(SMALL), "--rows", str(rows)]) == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--rows", "x.csv"], "--rows needs the machines"),
        (["--set", "nodes=2"], "--set needs the machines"),
        (["altix-bx2", "--set", "nodes=2", "--write"], "leave --set out"),
        (["altix-bx2", "--free", "nic.bandwidth"], "--free needs --leave-one-run-out"),
        (["--leave-one-run-out"], "cross-validates one machine"),
        (["nec-sx8", "--leave-one-run-out"], "rows of one published run only"),
    ],
)
def test_what_validation_cannot_combine_is_one_line(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["model", "validate", *words]) == 2
    assert said in capsys.readouterr().err


def test_errors_are_stored_with_the_hash_of_the_model_and_others_stay(
    smpi: Toolchain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "docs" / "reference").mkdir(parents=True)
    (tmp_path / "machines").mkdir()
    (tmp_path / "machines" / "cray-x1-msp.toml").touch()
    stored = tmp_path / "machines" / "validated.json"
    other = ComparedModel("other", 1, "1", "2026-01-01", ())
    write_compared([other], stored)
    monkeypatch.chdir(tmp_path)
    assert main(["model", "validate", "cray-x1-msp", "--write"]) == 0
    assert "written: machines/validated.json" in capsys.readouterr().out
    found = read_compared(stored)
    machine, shipped = find_machine("cray-x1-msp"), compared_models()["cray-x1-msp"]
    assert found["other"] == other and found["cray-x1-msp"].hash == machine.hash
    assert found["cray-x1-msp"].rows == shipped.rows  # a new simulation gives the shipped values
    assert main(["model", "validate", "altix-bx2", "--write"]) == 2
    assert "altix-bx2 is not one of the machines" in capsys.readouterr().err


def test_numbers_are_fitted_to_rows_with_the_simulation_in_the_loop(
    smpi: Toolchain, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The latency is 3 of the 4.6 µs predicted for 8 B; a published 6.1 µs requires 4.5 µs instead."""
    base = tmp_path / "small.toml"
    base.write_text(SMALL.read_text())
    rows, out = tmp_path / "rows.csv", tmp_path / "refitted.toml"
    rows.write_text(ROWS.replace("4 600,ns", "6.1,us") + "pingpong,time,2,64,6.26,us,1,other\n")
    words = ["model", "fit", "--published", str(base), "--rows", str(rows), "-o", str(out)]
    assert main([*words, "--free", "mpi.network.latency"]) == 0
    said = capsys.readouterr().out
    assert said.splitlines()[0].split() == ["number", "of", "small", "error", "determined", "by"]
    assert "mine (51 %), other (49 %)" in said and "none of them is a prediction" in said
    fitted = load_machine(out)
    assert fitted.segments["network"][0].latency.value == pytest.approx(4.5e-6, rel=5e-3)
    assert fitted.segments["network"][0].latency.confidence == "calibrated"
    assert fitted.base == "small" and fitted.segments["node"] == load_machine(base).segments["node"]
    assert main([*words, "--free", "mpi.network.latency", "--format", "json"]) == 0
    assert {row["row"] for row in json.loads(capsys.readouterr().out)} == {"mine", "other"}
    kept = out.read_bytes()
    assert main([*words, "--free", "core.flops"]) == 2
    assert "no row determines core.flops" in capsys.readouterr().err
    assert out.read_bytes() == kept


@pytest.mark.full
def test_each_published_run_is_predicted_by_the_machine_fitted_to_all_others(
    smpi: Toolchain, capsys: pytest.CaptureFixture[str]
) -> None:
    """Runs of the same ping-pong predict each other; a machine with a single run has nothing left to fit."""
    words = ["model", "validate", "cray-opteron", "--leave-one-run-out", "--format", "json"]
    assert main([*words, "--free", "mpi.node.latency"]) == 0
    found = {one["row"]: one for one in json.loads(capsys.readouterr().out)}
    assert found["F1-064"]["run"] != found["F1-072"]["run"]
    # b_eff on 8 processes (718 ns) is predicted from the run on 64 and from the text: 709 and 700 ns.
    assert found["F1-064"]["predicted"] == pytest.approx((709e-9 * 700e-9) ** 0.5, rel=5e-3)
    assert found["F1-064"]["error"] == pytest.approx(found["F1-064"]["predicted"] / 718e-9 - 1)
    assert main([*words, "--free", "mpi.network.bandwidth"]) == 0
    found = {one["row"]: one for one in json.loads(capsys.readouterr().out)}
    # Without the row's own run, only b_eff determines the network's bandwidth, and gives less than half.
    assert found["F2-044"]["error"] == pytest.approx(-0.549, abs=0.01)
    assert main(["model", "validate", "nec-sx8", *words[3:], "--free", "mpi.node.bandwidth"]) == 2
    assert "nothing is left to fit it to" in capsys.readouterr().err


def test_numbers_fitted_to_the_run_left_out_are_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only the free numbers were fitted anew, and yet the errors were called cross-validated."""
    machine = find_machine("cray-opteron")
    latency_s = machine.segments["node"][0].latency.value

    def predicted(tried: Sequence[Machine], asked: Sequence[Question]) -> list[list[float | None]]:
        published = [one.row.number.value if one.row.number else None for one in asked]
        factors = [one.segments["node"][0].latency.value / latency_s for one in tried]
        return [[None if value is None else value * factor for value in published] for factor in factors]

    monkeypatch.setattr("kiviat.cli.subcommands.model_published._predicted", predicted)
    words = ["model", "validate", "cray-opteron", "--leave-one-run-out", "--free", "mpi.node.latency"]
    assert main(words) == 0
    said = capsys.readouterr().out
    assert "not fully cross-validated: median error 0.0 %" in said
    (line,) = (line for line in said.splitlines() if line.startswith("not fitted anew"))
    assert "mpi.node.bandwidth" in line and "mpi.node.latency" not in line
    for place in calibrated_places(machine):
        words += [] if place == "mpi.node.latency" else ["--free", place]
    monkeypatch.setattr(
        "kiviat.cli.subcommands.model_published._fitted",
        lambda *_: PublishedFit((), (), (), ()),
    )
    assert main(words) == 0
    said = capsys.readouterr().out
    assert "\ncross-validated: median error 0.0 %" in said and "not fitted anew" not in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["last", "--published", "altix-bx2"], "leave runs and their options out"),
        (["--published", "altix-bx2", "--nodes", "2"], "leave runs and their options out"),
        (["last", "--free", "nic.bandwidth"], "need the machine to fit"),
        ([], "fit needs runs, or --published MACHINE"),
        (["--published", "torus-3d"], "may calibrate torus-3d"),
        (["--published", str(SMALL)], "finds its base small among the known machines or beside itself"),
    ],
)
def test_fits_that_lack_or_mix_something_are_one_line(
    words: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["model", "fit", *words, "-o", str(tmp_path / "x.toml")]) == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1


def test_what_if_needs_a_change(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["what-if", str(SMALL), "-n", "2", "pingpong"]) == 2
    assert "needs a change" in capsys.readouterr().err


@pytest.mark.parametrize("order", [1, -1])
def test_the_rate_of_emulated_links_is_known_whichever_run_comes_first(
    order: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run on one node, given first, once made the fitted link as fast as the best burst of messages."""
    paths = []
    for name, nodes, latency_s, rate, link in (
        ("1x2", 1, 1e-6, 4e9, 4e9),
        ("2x1,rate=100Mbit", 2, 2e-5, 2.4e7, 1.19e7),
    ):
        machine = MACHINE | {"name": f"emulated:{name}", "sockets": 1, "cores": 2, "memory_bytes": 8 * 10**9}
        ranks = [{"rank": i, "host": f"n{i % nodes}", "node": i % nodes, "sockets": "0"} for i in range(2)]
        home = tmp_path / f"on-{nodes}"
        with RunDirectory.create(home, "made-up", machine=machine, plan=PLAN, substrate="emulated") as run:
            for index in range(5):
                run.set_launch(launch(index, index, outcome="ok", exit=0, ranks=ranks))
                for size in SIZES:
                    seconds = latency_s + max(size / rate, (size - 5000) / link)
                    found = metric(samples=(seconds,) * 3, p50=seconds, mean=seconds, min=seconds)
                    case = f"pingpong/ranks=2/bytes={size}"
                    run.append(record(run.id, case, index, bytes=size, axes={}, metrics=(found,)))
                single = metric(samples=(2e-4,) * 3, p50=2e-4, mean=2e-4, min=2e-4)
                case = "bcast/ranks=2/bytes=4096"
                run.append(record(run.id, case, index, bytes=4096, axes={}, metrics=(single,)))
            run.finish()
        paths.append(str(run.path))
    monkeypatch.setattr("kiviat.cli.commands.model._print_agreement", lambda *_: None)
    file = tmp_path / "both.toml"
    assert main(["model", "fit", *paths[::order], "-o", str(file)]) == 0
    fitted = load_machine(file)
    assert fitted.numbers["topology.link"].value == pytest.approx(1e8 / 8 * 1448 / 1514, rel=1e-3)
    # The file has the link's buckets and whole frames; the rest of the ping-pong is processor time.
    assert [fitted.number(f"nic.{key}") for key in ("bucket_out", "bucket_in", "packet")] == [
        pytest.approx(1638 * 1448 / 1514, rel=1e-3),
        pytest.approx(4000 * 1448 / 1514, rel=1e-3),
        1448,
    ]
    assert (fitted.number("nic.frame"), fitted.number("nic.header")) == (1448, 76)
    assert fitted.one_connection
    assert fitted.segments["network"][0].send is not None
    # The bucket decided the ping-pong of 4096 B; the broadcast, a single message, shows the processors' time.
    at_4096 = [one for one in fitted.segments["network"] if one.start_bytes <= 4096][-1]
    at_once = 1638 * 1448 / 1514 + 4096 - 2 * 1448
    assert at_4096.send is not None
    assert at_4096.send.value == pytest.approx((2e-4 - (4096 - at_once) / 11.955e6) / 2, rel=0.05)
    assert main(["model", "show", str(file)]) == 0
    # A link given with --link keeps the bucket.
    assert main(["model", "fit", *paths, "-o", str(file), "--link", "10 MB/s"]) == 0
    assert (
        load_machine(file).number("nic.bandwidth") == 1e7 and load_machine(file).number("nic.packet") == 1448
    )


@pytest.mark.parametrize("sync", ["window", "back-to-back"])
def test_messages_that_wait_for_all_their_tokens_are_found(
    sync: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Single broadcasts show the threshold; without them, ping-pongs show the next power of two."""
    rate, bucket = 1e9 / 8 * 1448 / 1514, Bucket(15_670, 31_340, 15_928, 1448, 76, trailer_from=20_000)
    machine = MACHINE | {
        "name": "emulated:2x1,rate=1Gbit",
        "sockets": 1,
        "cores": 2,
        "memory_bytes": 8 * 10**9,
    }
    ranks = [{"rank": i, "host": f"n{i}", "node": i, "sockets": "0"} for i in range(2)]
    sizes = [1 << k for k in range(23)]
    alone = [1 << k for k in range(17)] + [20_000, 24_000, 28_000]
    with RunDirectory.create(tmp_path, "made-up", machine=machine, plan=PLAN, substrate="emulated") as run:
        run.set_launch(launch(0, 0, outcome="ok", exit=0, ranks=ranks))
        for name, size in [("pingpong", size) for size in sizes] + [("bcast", size) for size in alone]:
            waits_s = bucket.on_link_s(size, rate) - bucket.at_once(size, 1.0, rate) / rate
            seconds = 2e-5 + waits_s
            if name == "pingpong":
                seconds = max(seconds, bucket.on_link_s(size, rate) / 2)
            found = metric(samples=(seconds,) * 3, p50=seconds, mean=seconds, min=seconds)
            case = f"{name}/ranks=2/bytes={size}"
            one = record(run.id, case, 0, bytes=size, axes={}, metrics=(found,))
            run.append(replace(one, sync=sync if name == "bcast" else "batched"))
        run.finish()
    monkeypatch.setattr("kiviat.cli.commands.model._print_agreement", lambda *_: None)
    file = tmp_path / "found.toml"
    assert main(["model", "fit", str(run.path), "-o", str(file)]) == 0
    assert load_machine(file).number("nic.trailer_from") == (20_000 if sync == "window" else 32_768)


LINK = 5e8 / 8 * 1448 / 1514  # the payload rate of a stream at 500 Mbit/s


CLUSTER = "emulated:2x1,rate=500Mbit"


def disturbed_run(
    path: Path, factors: dict[int, list[float]], rate: float = LINK, name: str = CLUSTER, on: str = CLUSTER
) -> Path:
    """A run on two emulated nodes at 500 Mbit/s; `factors` multiply the times of a size's launches."""
    machine = MACHINE | {"name": name, "sockets": 1, "cores": 2}
    machine |= {"memory_bytes": 8 * 10**9}
    ranks = [{"rank": i, "host": f"n{i}", "node": i, "sockets": "0"} for i in range(2)]
    with RunDirectory.create(
        path, "made-up", machine=machine, plan=PLAN, substrate="emulated", where={"on": on}
    ) as run:
        for index in range(5):
            run.set_launch(launch(index, index, outcome="ok", exit=0, ranks=ranks))
            for size in SIZES:
                noise = 1 + 0.02 * (index - 2)
                seconds = (2e-5 + size / rate) * noise * factors.get(size, [1.0] * 5)[index]
                found = metric(samples=(seconds,) * 3, p50=seconds, mean=seconds, min=seconds)
                case = f"pingpong/ranks=2/bytes={size}"
                run.append(record(run.id, case, index, bytes=size, axes={}, metrics=(found,)))
        run.finish()
    return run.path


@pytest.mark.parametrize(
    ("factors", "rate", "said"),
    [
        (
            {16384: [1, 5, 1, 1, 1], 65536: [1, 1, 3, 4, 9]},
            LINK,
            "16 KiB, 64 KiB of the level network were disturbed (launches up to 9.",
        ),
        ({1 << 20: [1, 1, 2, 1, 1]}, LINK, "1 MiB of the level network was disturbed"),
        (
            {},
            LINK / 3,
            "1 MiB took 52.6 ms on an emulated link that needs 17.5 ms for them: the cores were busy",
        ),
        ({}, LINK * 3, "these messages did not cross it"),
    ],
)
def test_a_disturbed_run_is_no_machine(
    factors: dict[int, list[float]],
    rate: float,
    said: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Noise was fitted with an error of 96 % and exit code 0, and the known rate of the link was ignored."""
    run, file = disturbed_run(tmp_path / "runs", factors, rate), tmp_path / "noise.toml"
    file.write_text("precious")
    assert main(["model", "fit", str(run), "-o", str(file)]) == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1
    assert file.read_text() == "precious"


@pytest.mark.parametrize("factors", [[1, 5, 1, 5, 5], [9, 9, 9, 9, 9]])
def test_a_size_that_was_disturbed_is_left_out(
    smpi: Toolchain, factors: list[float], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A fit "off by 0.6 %" was off by a factor of five at 64 KiB, where most or all launches were slow."""
    run = disturbed_run(tmp_path / "runs", {65536: factors})
    file = tmp_path / "quiet.toml"
    assert main(["model", "fit", str(run), "-o", str(file)]) == 0
    assert "64 KiB of the level network was disturbed" in capsys.readouterr().out
    machine = load_machine(file)
    assert any("64 KiB" in question for question in machine.open_questions)
    segment = [one for one in machine.segments["network"] if one.start_bytes <= 65536][-1]
    assert segment.send is not None and segment.receive is not None
    seconds = segment.latency.value + segment.send.value + segment.receive.value
    assert seconds + 65536 / segment.bandwidth.value == pytest.approx(2e-5 + 65536 / LINK, rel=0.15)


def test_a_renamed_run_of_an_emulated_cluster_keeps_its_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A run with --machine was once fitted as one of a real cluster, whose links are unknown."""
    monkeypatch.setattr("kiviat.cli.commands.model._print_agreement", lambda *_: None)
    file = tmp_path / "mine.toml"
    run = disturbed_run(tmp_path / "a", {}, name="mine")
    assert main(["model", "fit", str(run), "-o", str(file)]) == 0
    assert load_machine(file).number("topology.link") == pytest.approx(LINK, rel=1e-3)
    assert load_machine(file).number("node.memory") == 4 * 10**9
    run = disturbed_run(tmp_path / "b", {}, name="mine", on="emulated:lab")
    assert main(["model", "fit", str(run), "-o", str(file)]) == 2
    error = capsys.readouterr().err
    assert "is named 'mine', not after its emulated cluster" in error and error.count("\n") == 1


def test_lines_that_do_not_follow_what_was_measured_are_no_machine(
    smpi: Toolchain, measured: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The error was printed, but the file was still written."""
    file = tmp_path / "slow.toml"
    assert main(["model", "fit", str(measured), "-o", str(file), "--link", "10 MB/s"]) == 2
    error = capsys.readouterr().err
    assert "in the median over sizes of the level network" in error and "check --link" in error
    assert not file.exists()
