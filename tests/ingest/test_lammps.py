"""Logs of LAMMPS, in all layouts, complete and truncated."""

from __future__ import annotations

import json
from itertools import product

import pytest
from jsonschema import Draft202012Validator

from kiviat.ingest import parse
from kiviat.ingest.formats import lammps
from kiviat.ingest.lammps_log import ranks_of, read_log
from kiviat.ingest.lammps_problems import LJ_ENERGY
from kiviat.record import InputError, Record, schema
from kiviat.store.checksum import seal

from .lammps_logs import LJ_LOGS, RHODO_LOG

MIB = 1 << 20


def only(text: str) -> Record:
    (record,) = parse(text, "log.lammps")
    return record


def values(record: Record) -> dict[str, float | None]:
    return {metric.name: metric.mean for metric in record.metrics}


def phases(record: Record) -> dict[str, tuple[float | None, ...]]:
    (table,) = record.tables
    (_, names), (_, statistics) = table.axes
    assert statistics == ("min", "mean", "max")
    return {name: table.values[3 * at : 3 * at + 3] for at, name in enumerate(names)}


@pytest.mark.parametrize("which", LJ_LOGS)
def test_every_layout_says_the_same(which: str) -> None:
    """Ranks are MPI tasks: "on 4 procs" means two tasks with two threads each."""
    threads = 2 if "threads" in which else 1
    record = only(LJ_LOGS[which])
    assert list(Draft202012Validator(schema("record")).iter_errors(json.loads(seal(record.to_json())))) == []
    assert (record.benchmark, record.ranks, record.check, record.outcome) == ("lammps-lj", 2, "passed", "ok")
    assert record.axes == {"scaling": "strong"} | ({"threads": 2} if threads == 2 else {})
    told = values(record)
    assert told["time"] == 0.9
    assert told["rate"] == pytest.approx(3.2e6 / 0.9)
    assert told["step_rate"] == pytest.approx(100 / 0.9)
    assert told["memory_rank"] == 6 * MIB
    assert told.get("memory_rank_max") == (None if "Memory usage" in LJ_LOGS[which] else 7 * MIB)
    assert told.get("tau_per_day") == (48000.0 if "Performance" in LJ_LOGS[which] else None)
    assert (told["pair_time"], told["comm_time"], told["output_time"]) == (0.7, 0.04, 5.2e-5)
    assert record.notes["atoms"] == "32000"
    assert record.notes["scaling"] == "strong"
    assert record.notes["neighbours of an atom"] == "37.5885"
    assert record.notes["lists of neighbours built"] == "5"
    assert record.notes["thermo at step 0 (units lj)"].startswith("Temp 1.44, E_pair -6.7733681, ")
    assert "TotEng -4.6223613" in record.notes["thermo at step 100 (units lj)"]
    told_minima = "MPI task timing breakdown" in LJ_LOGS[which]
    assert phases(record)["pair"] == ((0.68, 0.7, 0.72) if told_minima else (None, 0.7, None))
    other, *_ = [time for name, time in phases(record).items() if name == "other"]
    assert other[0] is None and other[2] is None
    assert ("sync" in phases(record)) == ("all times" in which)


def test_rhodopsin_and_its_old_names_of_phases() -> None:
    record = only(RHODO_LOG)
    assert (record.case, record.check) == ("lammps-rhodo/ranks=1", "passed")
    assert list(phases(record)) == ["pair", "bond", "kspace", "neigh", "comm", "output", "other"]
    assert phases(record)["kspace"] == (None, 0.9, None)
    assert record.notes["thermo at step 100 (units real)"].startswith("TotEng -25290.7386, ")
    assert "ns_per_day" not in values(record), "that version did not tell it"
    assert only(RHODO_LOG.replace("-25356.2064", "-25356.9")).check == "passed", "the mesh of PPPM differs"
    assert only(RHODO_LOG.replace("-25356.2064", "-25400.0")).benchmark == "lammps"


def test_scaling_is_told_by_the_number_of_atoms() -> None:
    strong = LJ_LOGS["2025"]
    weak = strong.replace("with 32000 atoms", "with 64000 atoms")
    assert (only(weak).case, only(weak).notes["scaling"]) == ("lammps-lj/ranks=2", "weak")
    small = only(strong.replace("with 32000 atoms", "with 4000 atoms"))
    assert (small.case, small.notes["scaling"]) == ("lammps-lj/ranks=2/cells=10/scaling=strong", "strong")
    both = only(strong.replace("with 32000 atoms", "with 8000 atoms"))
    assert (both.case, both.notes["scaling"]) == ("lammps-lj/ranks=2/cells=10", "weak")
    other = only(strong.replace("with 32000 atoms", "with 4100 atoms"))
    assert other.case == "lammps-lj/ranks=2/n=4100"
    assert "scaling" not in other.notes


def test_what_is_no_benchmark_of_ours_is_read_and_not_checked() -> None:
    record = only(LJ_LOGS["2025"].replace("-6.7733681", "-6.77"))
    assert record.case == "lammps/ranks=2/n=32000/steps=100"
    assert (record.outcome, record.check) == ("ok", "not run")


def test_the_energy_of_the_liquid_is_that_of_its_lattice() -> None:
    """4 atoms in a cell of a³ = 4 / 0.8442; each pair within 2.5 counts half for each of its atoms."""
    side = (4 / 0.8442) ** (1 / 3)
    basis = ((0.0, 0.0, 0.0), (0.5, 0.5, 0.0), (0.5, 0.0, 0.5), (0.0, 0.5, 0.5))
    energy = 0.0
    for cell, atom in product(product(range(-3, 4), repeat=3), basis):
        squared = side**2 * sum((i + x) ** 2 for i, x in zip(cell, atom, strict=True))
        if 0 < squared < 2.5**2:
            energy += 2 * (squared**-6 - squared**-3)
    assert pytest.approx(energy, abs=5e-8) == LJ_ENERGY


def test_several_runs_in_one_log() -> None:
    text = LJ_LOGS["2016"] + LJ_LOGS["2016"].partition("\n")[2].replace("of 0.9 on", "of 1.8 on")
    first, second = parse(text, "log.lammps")
    assert (first.case, second.case) == (
        "lammps-lj/ranks=2/part=1/scaling=strong",
        "lammps-lj/ranks=2/part=2/scaling=strong",
    )
    assert (values(first)["time"], values(second)["time"]) == (0.9, 1.8)


@pytest.mark.parametrize("which", LJ_LOGS)
def test_a_log_that_is_cut_short_is_refused_wherever_it_ends(which: str) -> None:
    """A truncated log never yields a record that lacks parts of the whole one."""
    whole = LJ_LOGS[which]
    complete = only(whole)
    end = whole.index("Dangerous builds") + len("Dangerous builds")
    for at in range(len(whole.partition("\n")[0]) + 1, len(whole)):
        if at < end:
            with pytest.raises(InputError, match=r"^x has no `Loop time`|^x ends within the statistics"):
                parse(whole[:at], "x")
        else:
            assert parse(whole[:at], "x") == [complete]


def test_refusals_say_where_it_stopped() -> None:
    text = LJ_LOGS["2025"]
    early = text[: text.index("     100 ")]
    with pytest.raises(
        InputError, match=r"a\.log has no `Loop time`: .* did not finish, its last line is '0 +1\.44 "
    ):
        parse(early, "a.log")
    with pytest.raises(InputError, match="LAMMPS stopped: ERROR: Lost atoms: original 32000 current 31999"):
        parse(early + "ERROR: Lost atoms: original 32000 current 31999 (src/thermo.cpp:494)\n", "a.log")
    with pytest.raises(InputError, match="LAMMPS stopped: ERROR: Unknown command"):
        parse(text + "ERROR: Unknown command: rum 100 (src/input.cpp:314)\n", "a.log")
    silent = text.replace("run             100\n", "run             100 post no\n")
    silent = silent[: silent.index("\n", silent.index("Loop time")) + 1]
    with pytest.raises(InputError, match=r"^a\.log: .* lacks the times of phases because"):
        parse(silent + "Total wall time: 0:00:01\n", "a.log")
    for seconds in ("0", "inf"):
        with pytest.raises(InputError, match=f"the loop took {seconds} s, which no run takes"):
            parse(text.replace("of 0.9 on", f"of {seconds} on"), "a.log")
    for atoms in ("0", "1e999"):
        with pytest.raises(InputError, match=f"the loop had {atoms} atoms"):
            parse(text.replace("with 32000 atoms", f"with {atoms} atoms"), "a.log")
    alone = LJ_LOGS["2007"]
    with pytest.raises(InputError, match="the loop ran on 0 ranks"):
        parse(alone.replace("on 2 procs", "on 0 procs"), "a.log")


def test_ranks_are_known_before_the_end() -> None:
    head = "LAMMPS (29 Aug 2024)\nCreated orthogonal box = (0 0 0) to (3 3 3)\n"
    assert ranks_of(head) is None
    assert ranks_of(head + "  1 by 2 by 3 MPI processor grid\n") == 6


def test_what_is_no_log_is_not_taken_for_one() -> None:
    assert not lammps.sniff("Loop time of 0.9 on 2 procs for 100 steps with 5000 particles\n")  # SPARTA
    assert not lammps.sniff("# LAMMPS data file\n32000 atoms\n")
    assert read_log(LJ_LOGS["2007"], "x")[0].version == "22 Jun 2007"


def test_a_run_of_no_steps_has_no_rates() -> None:
    """`run 0` once became a run with a rate of 0."""
    text = next(log for log in LJ_LOGS.values() if "Performance" in log)
    told = values(only(text.replace("for 100 steps", "for 0 steps").replace("48000.000", "0.000")))
    assert told["time"] == 0.9 and told["pair_time"] == 0.7
    assert not {"rate", "step_rate", "tau_per_day"} & set(told)
