"""Balance ratios of four processes with HPL 40 Gflop/s (tests/report/hpcc.py), computed by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from kiviat.analysis.aggregate.summary import summarise
from kiviat.analysis.aggregate.tables import Grid, grids
from kiviat.analysis.hpcc.balance import (
    AXES,
    Balance,
    against_hpl,
    balance,
    efficiency,
    machine_balance,
    network_balance,
)
from kiviat.analysis.hpcc.bottlenecks import MEMORY, limits
from kiviat.analysis.hpcc.quantities import System, chosen, measured_system, published_systems
from kiviat.analysis.hpcc.roofline import Roofline, roofline
from kiviat.record import Row, Table, TableRow
from kiviat.report.balance.figures import rooflines
from kiviat.report.balance.tables import quantities
from kiviat.report.balance.text import remarks, sentences
from kiviat.report.html.figure import RunLabel
from tests.report.hpcc import hpcc_rows, hpcc_run
from tests.report.modelled import simulated_run_json
from tests.report.synthetic import failed

PLACE = {axis.id: place for place, axis in enumerate(AXES)}


def system(run: str = "run-a", nodes: int = 2, ranks: int = 4, **changes: Any) -> System:
    rows = hpcc_rows(run, ranks=ranks, **changes)
    return measured_system(hpcc_run(run, ranks, nodes), run, summarise(rows), rows)


def value(result: Balance, axis: str, line: int = 0) -> float | None:
    return result.cells[line][PLACE[axis]].value


def test_the_axes_by_hand() -> None:
    result = balance([system()])
    expected = {
        "hpl": 40e9,
        "dgemm": 4 * 12.5e9 / 40e9,  # 1.25
        "fft": 2e9 / 40e9,  # 0.05
        "ptrans": 1e9 / 40e9,  # 0.025 B/flop
        "stream": 4 * 4e9 / 40e9,  # 0.4 B/flop
        "ring_bandwidth": 0.5e9 / (40e9 / 4),  # 0.05 B/flop
        "ring_latency": 1 / 5e-6,
        "random_access": 2e7 / 40e9,  # 5e-4 updates/flop
    }
    assert [axis.id for axis in AXES] == list(expected)
    for axis, by_hand in expected.items():
        assert value(result, axis) == pytest.approx(by_hand, rel=1e-9), axis
    assert result.largest == tuple(cell.value for cell in result.cells[0])


def test_each_axis_is_divided_by_its_largest() -> None:
    twice = system("run-b", scale={"hpl.rate": 2.0, "ring.random_latency": 2.0})
    result = balance([system(), twice])
    assert [result.share(0, column) for column in range(8)] == pytest.approx([0.5, *[1] * 7])
    assert [result.share(1, column) for column in range(8)] == pytest.approx([1, *[0.5] * 7])


def leads(result: Balance, line: int) -> list[str]:
    """Return the axes on which a system leads."""
    largest = [column for column in range(len(AXES)) if result.is_largest(line, column)]
    return [AXES[column].id for column in largest if not result.doubt(line, column)]


def test_a_value_larger_by_less_than_launches_vary_is_no_lead() -> None:
    """A larger median once led although the intervals of both systems are the same."""
    result = balance([system(), system("run-b", scale={"hpl.rate": 1.001, "ring.random_latency": 0.5})])
    assert (leads(result, 0), leads(result, 1)) == ([], ["ring_latency"])
    assert result.is_largest(1, PLACE["hpl"])
    assert result.doubt(1, PLACE["hpl"]) == "within the variation between launches"
    assert (
        "run-b leads on 1 (1 / random ring latency); run-b has the largest value on 1 (HPL), which is no "
        "lead: within the variation between launches"
    ) in sentences(result)[0]
    single = balance([system(), system("run-b", launches=1, scale={"hpl.rate": 3.0})])
    assert single.doubt(1, PLACE["hpl"]) == "a single launch has no interval"
    few = balance([system(), system("run-b", launches=3, scale={"hpl.rate": 3.0})])
    assert few.doubt(1, PLACE["hpl"]) == "too few launches for an interval"


@pytest.mark.parametrize(
    ("flaw", "why"),
    [
        ({"disturbed": "other programs used 1.00 of 2 processors"}, "other programs disturbed kernels"),
        ({"oversubscribed": True}, "more processes than cores"),
    ],
)
def test_runs_that_did_not_have_their_processors_lead_nowhere(flaw: dict[str, Any], why: str) -> None:
    """A disturbed run was once said to lead, and to be limited by the network that the others delayed."""
    result = balance([system(), system("run-b", scale={"hpl.rate": 1.2}, **flaw)])
    assert leads(result, 1) == [] and result.doubt(1, PLACE["hpl"]) == why
    lead, limited, _ = sentences(result)
    assert f"run-b has the largest value on 1 (HPL), which is no lead: {why}" in lead
    assert f"those of run-b cannot be determined ({why})" in limited
    told = remarks(result)
    assert any(words.startswith(("run-b: More processes", "run-b: Other programs")) for words in told)
    assert sentences(balance([system(**flaw)]))[1] == (
        f"What limits this machine cannot be determined ({why})."
    )


def test_a_poor_hpl_does_not_make_a_machine_look_better_balanced() -> None:
    """A machine with a poor HPL result does not lead in any ratio to HPL.

    Dividing by a small HPL rate makes all ratios larger; the page used to present that as better balance.
    """
    poor = system("run-b", scale={"hpl.rate": 0.25})
    result = balance([system(), poor])
    assert all(result.share(1, column) == 1 for column in range(8) if AXES[column].over_hpl)
    assert (leads(result, 0), leads(result, 1)) == (["hpl"], [])  # the latencies are equal
    assert any("run-b: 20 %" in rule and "do not show balance" in rule for rule in result.rules)
    assert balance([system()]).flattered == (False,)


def test_intervals_are_those_over_launches() -> None:
    """The interval of a ratio follows from those of both rates (here ± 0.5 % for HPL and for copy)."""
    result = balance([system()])
    hpl, stream = (result.cells[0][PLACE[axis]] for axis in ("hpl", "stream"))
    assert hpl.low is not None and hpl.high is not None and stream.low is not None and stream.high is not None
    assert 39.8e9 <= hpl.low < 40e9 < hpl.high <= 40.2e9
    assert stream.low == pytest.approx(0.4 * (hpl.low / 40e9) / (hpl.high / 40e9))
    assert stream.high == pytest.approx(0.4 * (hpl.high / 40e9) / (hpl.low / 40e9))
    latency = result.cells[0][PLACE["ring_latency"]]
    assert latency.low is not None and latency.high is not None and latency.low < 2e5 < latency.high
    assert (hpl.meaning, stream.meaning) == ("95 %", "87 % at least")


def test_few_launches_have_a_range_and_one_has_nothing() -> None:
    few = balance([system(launches=3)])
    hpl, stream = (few.cells[0][PLACE[axis]] for axis in ("hpl", "stream"))
    assert (hpl.low, hpl.high, hpl.meaning) == (
        pytest.approx(39.8e9),
        pytest.approx(40.2e9),
        "range of 3 launches",
    )
    assert (stream.low, stream.meaning) == (pytest.approx(0.4 * 0.995 / 1.005), "range of 3 launches")
    assert all(cell.low is None and cell.meaning == "" for cell in balance([system(launches=1)]).cells[0])


def test_a_range_below_the_roofline_is_not_called_an_interval() -> None:
    """The bars of three launches in the roofline were once labelled 95 %."""
    label = RunLabel("run-a", "run-a", "wall", ("categorical", 0))
    for launches, meaning in ((3, "range of 3 launches"), (6, "95 %")):
        figure = rooflines([system(launches=launches)], [label]).figure
        assert figure is not None
        marks = [line for line in figure.panels[0].lines if line.mode == "markers"]
        assert marks and {line.meaning for line in marks} == {meaning}
        assert all(line.band[0] is not None for line in marks)


@pytest.mark.parametrize(
    ("without", "gone", "says"),
    [
        ("fft", "fft", "fft was not run"),
        ("ring", "ring_bandwidth", "ring was not run"),
        ("hpl", "stream", "hpl was not run"),
        ("dgemm.rate", "dgemm", "dgemm was not run"),
    ],
)
def test_a_kernel_that_is_missing_is_unavailable_and_not_zero(without: str, gone: str, says: str) -> None:
    result = balance([system(without=(without,))])
    cell = result.cells[0][PLACE[gone]]
    assert (cell.value, result.share(0, PLACE[gone])) == (None, None)
    assert says in cell.reason
    assert value(result, "ring_latency" if without != "ring" else "hpl") is not None


def test_ratios_mix_no_numbers_of_ranks() -> None:
    rows = [*hpcc_rows(ranks=4), *hpcc_rows(ranks=8, without=("stream",), scale={"hpl.rate": 2})]
    found = measured_system(hpcc_run(ranks=8), "x", summarise(rows), rows)
    assert (found.whole.processes, found.whole.nodes) == (8, 2)
    cell = balance([found]).cells[0][PLACE["stream"]]
    assert cell.value is None and cell.reason == "stream was run on 4 ranks, not on 8"


def test_failed_kernels_have_a_reason() -> None:
    rows = hpcc_rows(without=("fft.rate",))
    rows.append(failed("run-a", "fft/ranks=4", "no FFTW found; install libfftw3-bin", "skipped", ranks=4))
    found = measured_system(hpcc_run(), "x", summarise(rows), rows)
    assert found.whole.why("fft") == "fft skipped: no FFTW found; install libfftw3-bin"


def test_of_several_settings_the_best_counts() -> None:
    rows = hpcc_rows()
    slower = [
        row
        for row in hpcc_rows(scale={"hpl.rate": 0.5, "ring.random_latency": 2})
        if row.benchmark in ("hpl", "ring")
    ]
    rows += [replace(row, case=row.case + "/nb=32", axes={**row.axes, "nb": 32}) for row in slower]
    found = measured_system(hpcc_run(), "x", summarise(rows), rows)
    assert found.whole.value("hpl") == pytest.approx(40e9)
    assert found.whole.value("ring_latency") == pytest.approx(5e-6)


def test_the_order_of_hpl_is_that_of_its_best_rate() -> None:
    """The largest order stood beside the rate of another case, and the bound of the network was wrong."""
    rows = hpcc_rows()
    scaled = hpcc_rows(scale={"hpl.rate": 0.5, "hpl.order": 2.0})
    rows += [replace(row, case=row.case + "/n=20000") for row in scaled if row.benchmark == "hpl"]
    found = measured_system(hpcc_run(), "x", summarise(rows), rows)
    assert found.whole.value("hpl_order") == 10_000


def test_a_size_with_a_core_for_each_process_stands_for_a_system() -> None:
    fair, crowded = hpcc_rows(ranks=4), hpcc_rows(ranks=8, oversubscribed=True)
    rows = [*fair, *crowded]
    assert measured_system(hpcc_run(), "x", summarise(rows), rows).whole.processes == 4
    assert measured_system(hpcc_run(), "x", summarise(crowded), crowded).whole.processes == 8


# ---- The paper's two rules about small systems and few nodes


def large(run: str = "large") -> System:
    return system(run, nodes=16, ranks=64, scale={"hpl.rate": 100.0})  # 4 Tflop/s


@pytest.mark.parametrize(
    ("choice", "beside_large", "kept"),
    [("auto", False, True), ("auto", True, False), ("keep", True, True), ("drop", False, False)],
)
def test_small_systems_and_ratios_of_the_whole_machine(choice: str, beside_large: bool, kept: bool) -> None:
    result = balance([system(), *([large()] if beside_large else [])], small=choice, few_nodes="keep")
    for axis in AXES:
        there = value(result, axis.id) is not None
        assert there == (kept or axis.id not in ("fft", "ptrans", "random_access")), axis.id
    if beside_large:
        assert all(cell.value is not None for cell in result.cells[1])
    (small_rule, *_) = result.rules
    assert (
        "are kept" if kept else "are left out"
    ) in small_rule and "for run-a, which has HPL of not more than 1 Tflop/s" in small_rule
    if not kept:
        assert result.cells[0][PLACE["fft"]].reason == "left out: HPL is not above 1 Tflop/s"


@pytest.mark.parametrize(("choice", "kept"), [("auto", False), ("keep", True)])
def test_a_small_system_alone_beside_published_ones(choice: str, kept: bool) -> None:
    """FFT ratios, in which small systems have an advantage, are dropped below 1 Tflop/s; STREAM's stay."""
    result = balance([system(), *published_systems()], small=choice, few_nodes="keep")
    assert (value(result, "fft") is not None) is kept
    assert value(result, "stream") is not None


@pytest.mark.parametrize(
    ("choice", "beside_large", "kept"),
    [("auto", False, True), ("auto", True, False), ("keep", True, True), ("drop", False, False)],
)
def test_few_nodes_and_random_ring_bandwidth(choice: str, beside_large: bool, kept: bool) -> None:
    result = balance([system(), *([large()] if beside_large else [])], small="keep", few_nodes=choice)
    for axis in AXES:
        assert (value(result, axis.id) is not None) == (kept or axis.id != "ring_bandwidth"), axis.id
    assert any("for run-a, which has fewer than 8 nodes" in rule for rule in result.rules)


def test_a_rule_of_all_runs_says_nothing_of_published_systems() -> None:
    result = balance([system(), *published_systems()], small="keep")
    assert any("fewer than 8 nodes (all runs are affected)" in rule for rule in result.rules)


def test_eight_nodes_are_not_few() -> None:
    assert not any("nodes" in rule for rule in balance([system(nodes=8, ranks=8)], few_nodes="drop").rules)


def test_what_is_left_out_is_nobodys_largest() -> None:
    fast = system(scale={"fft.rate": 1000.0})
    result = balance([fast, large()])
    assert result.largest[PLACE["fft"]] == value(result, "fft", 1)


# ---- The paper's figures 1 to 4, and conclusions from them


def test_against_hpl_over_sizes() -> None:
    rows = [*hpcc_rows(ranks=4), *hpcc_rows(ranks=8, scale={"hpl.rate": 1.5})]
    found = measured_system(hpcc_run(ranks=8), "x", summarise(rows), rows)
    (absolute,) = against_hpl([found], "ring_bandwidth", ratio=False)
    assert [(hpl, value) for hpl, value, _ in absolute.points] == [
        (pytest.approx(40e9), pytest.approx(2e9)),
        (pytest.approx(60e9), pytest.approx(4e9)),
    ]
    (ratio,) = against_hpl([found], "copy", ratio=True)
    assert [value for _, value, _ in ratio.points] == pytest.approx([0.4, 8 * 4 / 60])
    assert all(band is not None and band[0] < value < band[1] for _, value, band in ratio.points)


def test_a_curve_of_intervals_and_ranges_names_both() -> None:
    """The meaning of the largest number of ranks once stood for all."""
    rows = [*hpcc_rows(ranks=4), *hpcc_rows(ranks=8, launches=3)]
    found = measured_system(hpcc_run(ranks=8), "x", summarise(rows), rows)
    (absolute,), (ratio,) = (against_hpl([found], "copy", ratio=over) for over in (False, True))
    assert absolute.meaning == "95 % or range of 3 launches"
    assert ratio.meaning == "87 % at least or range of 3 launches"


def test_a_share_of_almost_all_has_its_digits() -> None:
    """It was once "1e+02 %"."""
    beside = system("run-b", scale={"ptrans.rate": 1.004})
    assert sentences(balance([system(), beside]))[2].endswith("in PTRANS / HPL: 99.6 % of it.")


def test_efficiency_and_balances() -> None:
    whole = system().whole
    assert efficiency(whole).value == pytest.approx(40 / 50)
    assert machine_balance(whole).value == pytest.approx(5 / 12.5)
    assert network_balance(whole).value == pytest.approx(0.5 / 12.5)
    lacking = system(without=("dgemm",)).whole
    assert efficiency(lacking).value is None and efficiency(lacking).reason == "dgemm was not run"


# ---- Values as published


def test_the_published_systems() -> None:
    found = {system.id: system for system in published_systems()}
    assert set(found) >= {
        "nec-sx-8",
        "sgi-altix-3700-bx2",
        "cray-opteron-cluster",
        "max-over-systems-in-fig-5",
    }
    largest = balance([found["max-over-systems-in-fig-5"]])
    assert [value(largest, axis.id) for axis in AXES] == [  # table 2
        pytest.approx(8.729e12),
        1.925,
        0.020,
        0.039,
        2.893,
        0.094,
        pytest.approx(0.197e6),
        4.9e-5,
    ]
    sx8 = balance([found["nec-sx-8"]])
    # given exactly in table 2, which takes precedence over the bound of 2.67 in the text
    assert value(sx8, "stream") == 2.893
    opteron = balance([found["cray-opteron-cluster"]]).cells[0][PLACE["stream"]]
    assert (opteron.value, opteron.upper, opteron.relation) == (0.84, 1.07, ">=")
    altix = balance([found["sgi-altix-3700-bx2"]]).cells[0][PLACE["stream"]]
    assert (altix.value, altix.relation) == (0.36, ">")
    assert all(system.origin == "published" and "Saini" in system.source for system in found.values())


def test_published_systems_are_chosen_by_a_part_of_the_name() -> None:
    everything = published_systems()
    assert [system.id for system in chosen(everything, "SX 8")] == ["nec-sx-8"]
    assert chosen(everything, "vax") == [] and chosen(everything, "") == []


# ---- Results that only simulated runs, or runs with energy meters, have


def test_simulated_kernels_are_those_of_full_memory() -> None:
    """HPL simulated at four small sizes is extrapolated to full memory and marked as extrapolated."""
    rows = [entry for entry in hpcc_rows(ranks=64, launches=1, clock="simulated") if entry.benchmark != "hpl"]
    for memory in (1 << 18, 1 << 19, 1 << 20, 1 << 21):
        order = math.sqrt(memory * 64 / 8)
        rate = 2 / 3 / (2 / 3 * 4e-12 + 3e-9 / order + 5e-6 / order**2)
        rows += [
            replace(
                row,
                case=f"hpl/ranks=64/memory={memory}",
                axes={"memory": memory},
                p50=rate if row.metric == "rate" else order,
            )
            for row in hpcc_rows(ranks=64, launches=1, clock="simulated")
            if row.benchmark == "hpl"
        ]
    machine = simulated_run_json(nodes=64, sockets=1, cores=1)["machine"] | {"memory_bytes": 128 * 10**9}
    run = hpcc_run(ranks=64, nodes=64, substrate="simulated", clock="simulated", machine=machine)
    found = measured_system(run, "x", summarise(rows), rows)
    hpl = found.whole.quantities["hpl"]
    full = math.sqrt(1.6e9 * 64 / 8)
    assert found.origin == "predicted"
    assert hpl.value == pytest.approx(2 / 3 / (2 / 3 * 4e-12 + 3e-9 / full + 5e-6 / full**2), rel=1e-6)
    assert "extrapolated from 4 sizes" in hpl.extrapolated and hpl.axes["memory"] == 1_600_000_000
    assert found.whole.value("hpl_order") == pytest.approx(full, rel=1e-6)
    assert balance([found]).cells[0][PLACE["stream"]].extrapolated == (hpl.extrapolated,)
    (line,) = [texts for texts in quantities(found).texts() if texts[0] == "HPL"]
    assert line[4] == "–"  # it once had 0 launches


def grid(name: str, unit: str, kernels: tuple[str, ...], values: list[list[float]], case: str) -> Grid:
    (found,) = grids(
        [
            TableRow(
                *(
                    "run-a",
                    0,
                    "wall",
                    case,
                    case.split("/", maxsplit=1)[0],
                    4,
                    None,
                    {},
                    "ok",
                    "passed",
                    False,
                ),
                table=Table(
                    name,
                    unit,
                    "lower",
                    (("kernel", kernels), ("node", ("n0", "n1"))),
                    tuple(one for row in values for one in row),
                ),
            )
        ]
    )
    return found


def test_power_is_that_of_all_nodes() -> None:
    rows = hpcc_rows()
    cases = {row.benchmark: row.case for row in rows if "scope" not in row.axes}
    tables = [
        grid("power", "W", ("hpl",), [[90.0, 110.0]], cases["hpl"]),
        grid("energy", "J", ("hpl",), [[900.0, 1100.0]], cases["hpl"]),
        grid("power", "W", ("triad", "copy"), [[60.0, 70.0], [50.0, math.nan]], cases["stream"]),
    ]
    found = measured_system(hpcc_run(), "x", summarise(rows), rows, tables).whole.quantities
    assert (found["hpl"].watts, found["hpl"].joules) == (200.0, 2000.0)
    assert found["triad"].watts == 130.0
    assert found["copy"].watts is None  # unknown: the power of a whole machine does not follow from one node
    assert found["dgemm"].watts is None


# ---- Caveats


def with_numbers(array_bytes: float, origin_clock: str = "wall") -> System:
    rows = [
        replace(row, numbers={"array_bytes": array_bytes, "cache_bytes": 32 << 20})
        if row.benchmark == "stream"
        else row
        for row in hpcc_rows(ranks=4, clock=origin_clock)
    ]
    run = hpcc_run("run-a", 4, 2, clock=origin_clock)
    return measured_system(run, "run-a", summarise(rows), rows)


def test_stream_within_the_cache_has_a_caveat() -> None:
    """STREAM arrays of 85 MB, less than four times the cache of 32 MiB, get a caveat: they measure the cache.

    Arrays of 134 MB get none, nor do modelled machines, whose STREAM has no cache.
    """

    def cautions(system: System) -> list[str]:
        return [words for words in balance([system]).rules if "cache rate" in words]

    (caution,) = cautions(with_numbers(85e6))
    assert "STREAM of run-a is a cache rate, not a memory rate: arrays of 81.1 MiB" in caution
    assert "--memory 384M or more" in caution
    assert cautions(with_numbers(4 * (32 << 20))) == []
    assert cautions(with_numbers(85e6, "simulated")) == []
    titles = [row.cells[0] for row in quantities(with_numbers(85e6)).rows]
    assert "STREAM triad, star (cache, not memory)" in titles


def test_a_rate_of_the_cache_is_no_rate_of_the_memory() -> None:
    """STREAM from the cache once gave the roofline, the bytes per flop and the bound of PTRANS, and led."""
    cached = with_numbers(85e6)
    for one, known in ((cached, False), (with_numbers(1e9), True), (with_numbers(85e6, "simulated"), True)):
        found = limits(one.whole)
        (ptrans,) = (limit for limit in found.kernels if limit.kernel == "PTRANS")
        assert any(bound.resource == MEMORY for bound in ptrans.bounds) is known
        assert any(remark.startswith("STREAM triad") for remark in found.remarks) is known
        assert isinstance(roofline(one.whole), Roofline) is known
        assert (machine_balance(one.whole).value is not None) is known
        assert ("its memory delivers" in sentences(balance([one]))[0]) is known
    assert roofline(cached.whole) == "STREAM stayed in the cache"
    beside = balance([cached, system("run-b", scale={"stream.copy": 0.5})])
    assert beside.is_largest(0, PLACE["stream"])
    assert beside.doubt(0, PLACE["stream"]) == "STREAM stayed in the cache"


def test_published_ratios_beside_ours_compare_programs_too() -> None:
    largest = [one for one in published_systems() if "hpl" in one.whole.quantities][:1]
    (caution,) = balance([system(), *largest], "keep", "keep").rules[-1:]
    assert "program and algorithm differ" in caution and largest[0].name in caution
    assert not any("algorithm" in words for words in balance([system(), system("run-b")]).rules)


def test_a_rate_of_the_cache_does_not_count_instead_of_one_of_memory() -> None:
    """The best of several sizes once counted, which was the cache rate of the smallest arrays."""

    def with_arrays(row: Row, array_bytes: float, factor: float) -> Row:
        numbers = {"array_bytes": array_bytes, "cache_bytes": 32 << 20}
        axes = {**row.axes, "memory": round(3 * array_bytes)}
        case = f"{row.case}/memory={axes['memory']}"
        return replace(row, numbers=numbers, axes=axes, case=case, p50=(row.p50 or 0) * factor)

    stream = [row for row in hpcc_rows(ranks=4) if row.benchmark == "stream"]
    rows = [with_arrays(row, *how) for row in stream for how in ((1 << 20, 20.0), (1 << 30, 1.0))]
    known = measured_system(hpcc_run("run-a", 4, 2), "run-a", summarise(rows), rows).whole.quantities["triad"]
    plain = measured_system(hpcc_run("run-a", 4, 2), "run-a", summarise(stream), stream).whole
    assert known.value == plain.quantities["triad"].value and not known.in_cache
