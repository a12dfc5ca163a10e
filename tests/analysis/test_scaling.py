"""Scaling curves: strong or weak, speedup, serial fraction, equivalent rank counts, energy, caveats."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from kiviat.analysis.aggregate.summary import summarise
from kiviat.analysis.aggregate.tables import Grid
from kiviat.analysis.scaling.caveats import doubts
from kiviat.analysis.scaling.curve import Curve, Point
from kiviat.analysis.scaling.energy import numbers_in
from kiviat.analysis.scaling.equivalence import equals
from kiviat.analysis.scaling.problem_size import size_of
from kiviat.analysis.scaling.reading import readings
from kiviat.analysis.scaling.series import Selection, Source, Study, joined, scaling
from kiviat.record import InputError, Row
from kiviat.record.run import Run
from kiviat.record.traits import earlier_traits
from tests.report.modelled import model
from tests.report.scaling_runs import PER_NODE, amdahl, scaling_rows, scaling_run, scaling_run_json, source
from tests.report.synthetic import failed

ALL = Selection()
SERIAL = 0.03


def only(sources: Iterable[Source], asked: Selection = ALL) -> Study:
    (study,) = scaling(list(sources), asked).studies
    return study


def curve(rows: list[Row], asked: Selection = ALL, **run: Any) -> Curve:
    (found,) = only([source(scaling_run(**run), rows)], asked).curves
    return found


def hpl_rows(order: Any, axes: dict[str, Any], **more: Any) -> list[Row]:
    """Return rows of HPL that include the matrix order, which determines the problem size."""
    rows = scaling_rows("run-a", amdahl(0.0), benchmark="hpl", axes=axes, work=1e12, **more)
    orders = [
        replace(row, metric="order", unit="1", better="higher", p50=float(order(row.ranks)))
        for row in rows
        if row.metric == "time"
    ]
    return rows + orders


# ---- Results compared with closed forms


def test_karp_flatt_of_amdahls_law_is_its_serial_share_everywhere() -> None:
    """For times that follow Amdahl's law, the Karp-Flatt metric is the serial fraction at all rank counts."""
    found = curve(scaling_rows("run-a", amdahl(SERIAL), noise=0))
    assert found.points[0].serial is None
    for point in found.points[1:]:
        assert point.serial is not None and point.serial.value == pytest.approx(SERIAL)
        expected = 1 / (SERIAL + (1 - SERIAL) / point.ranks)
        assert point.speedup.value == pytest.approx(expected)
        assert point.efficiency.value == pytest.approx(expected / point.ranks)


def test_weak_scaling_has_gustafsons_fraction() -> None:
    rows = scaling_rows(
        "run-a",
        lambda p: 5 * p / (0.2 + 0.8 * p),
        benchmark="hpccg",
        weak=True,
        noise=0,
        axes={"memory": 1 << 20},
    )
    found = curve(rows)
    for point in found.points[1:]:
        assert point.serial is not None and point.serial.value == pytest.approx(0.2)
        assert point.speedup.value == pytest.approx(0.2 + 0.8 * point.ranks)
    # A metric of time yields the same result as one of rate.
    by_time = only([source(scaling_run(), rows)], Selection(metric="time"))
    assert [point.efficiency.value for point in by_time.curves[0].points] == pytest.approx(
        [point.efficiency.value for point in found.points]
    )


def test_the_smallest_number_of_ranks_is_the_measure_whatever_it_is() -> None:
    found = curve(scaling_rows("run-a", lambda p: 100 / p, ranks=(6, 12, 36), noise=0), ranks=(6, 12, 36))
    assert [point.speedup.value for point in found.points] == pytest.approx([1, 2, 6])
    assert [point.efficiency.value for point in found.points] == pytest.approx([1, 1, 1])


def test_bars_are_the_extremes_of_all_samples() -> None:
    rows = [row for row in scaling_rows("run-a", amdahl(SERIAL)) if row.metric == "rate"]
    point = curve(rows).points[2]
    own = [row for row in rows if row.ranks == point.ranks]
    assert point.least == min(row.min for row in own if row.min is not None)
    assert point.most == max(row.max for row in own if row.max is not None)
    assert point.value == pytest.approx(float(np.median([row.p50 for row in own])))
    assert point.samples == 18 and point.launches == 6


def test_intervals_of_speedup_hold_the_truth() -> None:
    truth, held = 1 / (SERIAL + (1 - SERIAL) / 8), 0
    for seed in range(100):
        rows = scaling_rows("run-a", amdahl(SERIAL), ranks=(1, 8), repeats=5, noise=0.02, seed=seed)
        point = curve(rows, ranks=(1, 8), repeats=5).points[1]
        assert point.meaning == "95 %" and point.speedup.low is not None and point.speedup.high is not None
        assert point.speedup.low <= point.speedup.value <= point.speedup.high
        held += point.speedup.low <= truth <= point.speedup.high
    assert held >= 90


def test_few_launches_have_a_range_and_one_has_nothing() -> None:
    three = curve(scaling_rows("run-a", amdahl(SERIAL), repeats=3), repeats=3).points[1]
    assert three.meaning == "range of 3 and 3 launches" and three.speedup.low is not None
    one = curve(scaling_rows("run-a", amdahl(SERIAL), repeats=1), repeats=1).points[1]
    assert (one.meaning, one.speedup.low, one.low) == ("", None, None)
    assert one.least is not None  # samples exist


def test_samples_that_are_not_there_are_not_made_up() -> None:
    """Curves of ingested results, which have no samples, have neither minimum nor maximum."""
    rows = [
        replace(row, min=None, max=None, p50=None, mean=row.p50, clock="reported", substrate="ingested")
        for row in scaling_rows("run-a", amdahl(SERIAL), repeats=1)
    ]
    points = curve(rows, repeats=1, clock="reported", substrate="ingested").points
    assert all(point.least is point.most is None for point in points)


def test_numbers_of_ranks_that_failed_are_named() -> None:
    rows = scaling_rows("run-a", amdahl(SERIAL), ranks=(1, 2, 8))
    rows.append(
        failed(
            "run-a", "cg/ranks=4/class=A", "rank 3 did not answer", ranks=4, axes={"class": "A"}, bytes=None
        )
    )
    found = curve(rows)
    assert found.missing == ((4, "failed: rank 3 did not answer"),)
    assert [point.ranks for point in found.points] == [1, 2, 8]


def test_rates_of_a_rank_count_for_all() -> None:
    rows = [
        replace(row, metric="triad", unit="B/s")
        for row in scaling_rows(
            "run-a", lambda p: 1.0, benchmark="stream", axes={"memory": 1 << 20}, work=5e9, noise=0
        )
        if row.metric == "rate"
    ]
    found = only([source(scaling_run(), rows)])
    assert found.kind == "weak"
    assert [point.value for point in found.curves[0].points] == pytest.approx(
        [5e9 * ranks for ranks in (1, 2, 4, 8, 16, 32)]
    )
    assert all(point.efficiency.value == pytest.approx(1) for point in found.curves[0].points)


# ---- Strong or weak scaling


@pytest.mark.parametrize(
    ("rows", "kind", "why"),
    [
        (scaling_rows("run-a", amdahl(0.1)), "strong", "class A on all"),
        (scaling_rows("run-a", amdahl(0.1), axes={}), "strong", "class A on all"),
        (
            scaling_rows("run-a", amdahl(0.1), benchmark="x", axes={"memory": 4096}),
            "weak",
            "equal size on each rank",
        ),
        (hpl_rows(lambda p: 4096, {"n": 4096}), "strong", "equal total size (order 4100)"),
        (hpl_rows(lambda p: 1000 * p**0.5, {"memory": "auto:8000000"}), "weak", "equal size on each rank"),
        (
            [
                row
                for p in (1, 4, 16)
                for row in hpl_rows(lambda p: 512 * p**0.5, {"n": round(512 * p**0.5)}, ranks=(p,))
            ],
            "weak",
            "equal size on each rank",
        ),
        (
            scaling_rows("run-a", amdahl(0.1), benchmark="hpccg", axes={"scaling": "strong", "nz": 64}),
            "strong",
            "declared by the benchmark",
        ),
        (
            [
                replace(row, bytes=8)
                for row in scaling_rows("run-a", amdahl(0.1), benchmark="bcast", axes={})
                if row.metric == "time"
            ],
            "weak",
            "equal message size per rank",
        ),
        (
            [
                row
                for row in scaling_rows("run-a", amdahl(0.1), benchmark="barrier", axes={})
                if row.metric == "time"
            ],
            "weak",
            "determined by the number of ranks alone",
        ),
    ],
    ids=[
        "class",
        "class by default",
        "memory",
        "order",
        "order that grows",
        "n for each",
        "said",
        "messages",
        "barrier",
    ],
)
def test_strong_and_weak_scaling_are_distinguished(rows: list[Row], kind: str, why: str) -> None:
    found = only([source(scaling_run(), rows)])
    assert (found.kind, found.why) == (kind, why)


def test_neighbouring_numbers_of_ranks_are_told_by_what_differs_less() -> None:
    """On 15 and 16 ranks, messages of 8 B once scaled strongly, as totals of 120 and 128 B differ by 6 %."""

    def kind(benchmark: str, size: int | None = None, **sizes: tuple[int, int]) -> str:
        rows = [
            replace(
                row,
                bytes=size,
                axes={name: given[row.ranks - 15] for name, given in sizes.items() if name == "n"},
                notes={name: str(given[row.ranks - 15]) for name, given in sizes.items() if name != "n"},
            )
            for row in scaling_rows("run-a", amdahl(0.1), benchmark=benchmark, axes={}, ranks=(15, 16))
            if row.metric == "time"
        ]
        return only([source(scaling_run(ranks=(15, 16)), rows)]).kind

    assert kind("allreduce", 8) == kind("allreduce", 0) == "weak"
    assert kind("hpccg", rows=(1500, 1600)) == "weak"
    assert kind("hpccg", rows=(1500, 1500)) == "strong"
    assert kind("hpccg", rows=(1500, 1510)) == "strong"  # rounded
    assert kind("hpccg", rows=(1500, 1590)) == "weak"
    assert kind("fft", n=(1 << 20, 1 << 20)) == "strong"


def test_sizes_in_notes_tell_too() -> None:
    rows = [
        replace(row, notes={"rows": str(1000 * row.ranks)})
        for row in scaling_rows("run-a", amdahl(0.1), benchmark="hpccg", axes={})
    ]
    assert only([source(scaling_run(), rows)]).kind == "weak"
    same = [replace(row, notes={"rows": "1000"}) for row in rows]
    assert only([source(scaling_run(), same)]).kind == "strong"


@pytest.mark.parametrize(
    ("benchmark", "note", "total"),
    [
        ("ptrans", {"matrix": "order 5572, blocks of 128"}, 5572**2),
        ("fft", {"n": "8192000 = 1600 x 5120, 16 columns at once"}, 8192000),
        ("fft", {"n": "1600 x 3456"}, 1600 * 3456),
        ("dgemm", {"order": "3343"}, 4 * 3343**2),
        ("random_access", {"table": "2^24 words"}, 1 << 24),
        ("stream", {"arrays": "3 of 1396800 B on each rank, less than 4 times the cache"}, 4 * 1396800),
    ],
)
def test_notes_of_kernels_tell_their_size(benchmark: str, note: dict[str, str], total: float) -> None:
    rows = scaling_rows("run-a", amdahl(0.1), benchmark=benchmark, axes={}, ranks=(4,), repeats=1)
    size = size_of(summarise([replace(row, notes=note) for row in rows])[0], {}, earlier_traits()[benchmark])
    assert size is not None and size.total(4) == total


def test_an_undetermined_mode_is_refused_unless_given() -> None:
    rows = scaling_rows("run-a", amdahl(0.1), benchmark="mystery", axes={})
    with pytest.raises(InputError) as refused:
        only([source(scaling_run(), rows)])
    assert str(refused.value) == (
        "cannot tell whether mystery scales strongly or weakly: the records do not "
        "contain the problem size; give --strong or --weak"
    )
    assert only([source(scaling_run(), rows)], Selection(kind="strong")).kind == "strong"
    grows = hpl_rows(lambda p: 1000 * p, {"n": 1})
    with pytest.raises(InputError, match=r"neither the total size .* nor the size per rank .* is constant"):
        only([source(scaling_run(), grows)])
    # If another benchmark is selected too, the unusable one is left out with a note.
    both = [*rows, *scaling_rows("run-a", amdahl(0.1))]
    result = scaling([source(scaling_run(), both)], ALL)
    assert [study.benchmark for study in result.studies] == ["cg"]
    assert len(result.left_out) == 1 and "mystery" in result.left_out[0]


# ---- Grouping of runs into curves


def test_benchmarks_and_settings_are_never_mixed() -> None:
    rows = [
        *scaling_rows("run-a", amdahl(0.1), ranks=(1, 2)),
        *scaling_rows("run-a", amdahl(0.1), ranks=(1, 2), axes={"class": "B"}),
        *scaling_rows("run-a", amdahl(0.1), benchmark="mg", ranks=(2, 4)),
    ]
    studies = scaling([source(scaling_run(), rows)], ALL).studies
    assert [(study.title, [point.ranks for point in study.curves[0].points]) for study in studies] == [
        ("cg, class A", [1, 2]),
        ("cg, class B", [1, 2]),
        ("mg, class A", [2, 4]),
    ]


def test_a_single_point_is_refused() -> None:
    with pytest.raises(InputError) as refused:
        only([source(scaling_run(), scaling_rows("run-a", amdahl(0.1), ranks=(4,)))])
    assert str(refused.value) == (
        "a single point does not scale: cg ran on 4 ranks only; measure other numbers too, as "
        "`kiviat run allreduce -n 2,4,8` does, or name their runs"
    )
    different = [
        *scaling_rows("run-a", amdahl(0.1), ranks=(1,)),
        *scaling_rows("run-a", amdahl(0.1), ranks=(2,), axes={"class": "B"}),
    ]
    with pytest.raises(InputError, match="cg is there on 1 and 2 ranks, but with no setting on two of these"):
        only([source(scaling_run(), different)])
    with pytest.raises(InputError, match="no results of mg in these runs"):
        only([source(scaling_run(), different)], Selection(benchmarks=("mg",)))


def test_a_metric_that_does_not_scale_is_refused() -> None:
    with pytest.raises(InputError, match="cg has no deviation that scales; it has rate, time"):
        only([source(scaling_run(), scaling_rows("run-a", amdahl(0.1)))], Selection(metric="deviation"))


def test_runs_of_one_machine_with_other_ranks_are_one_curve() -> None:
    loaded = [
        (scaling_run(f"run-{p}", ranks=(p,)), scaling_rows(f"run-{p}", amdahl(SERIAL), ranks=(p,)))
        for p in (1, 2, 4)
    ]
    (group,) = joined(loaded)
    together = Source("all", tuple(group), [row for _, rows in loaded for row in rows])
    (found,) = only([together]).curves
    assert [(point.ranks, point.run) for point in found.points] == [(1, "run-1"), (2, "run-2"), (4, "run-4")]
    # Two runs at the same number of ranks are two measurements and are not joined.
    again = scaling_run("again", ranks=(4,)), scaling_rows("again", amdahl(SERIAL), ranks=(4,))
    assert [[run.id for run in group] for group in joined([*loaded, again])] == [
        ["run-1", "run-2", "run-4"],
        ["again"],
    ]
    # Runs with another MPI, machine or placement form another curve.
    elsewhere = (
        scaling_run("else", ranks=(8,), where={"place": "cyclic"}),
        scaling_rows("else", amdahl(0), ranks=(8,)),
    )
    assert len(joined([*loaded, elsewhere])) == 2


def test_oversubscribed_points_are_shown_and_not_fitted() -> None:
    rows = [
        replace(row, oversubscribed=row.ranks > 8)
        for row in scaling_rows("run-a", amdahl(SERIAL), noise=0.005)
    ]
    found = curve(rows)
    assert [point.oversubscribed for point in found.points] == [False] * 4 + [True] * 2
    slow = [
        replace(row, p50=row.p50 * (0.1 if row.ranks > 8 else 1)) if row.metric == "rate" and row.p50 else row
        for row in rows
    ]
    assert [fit.coefficients for fit in curve(slow).choice.fits] == [
        fit.coefficients for fit in found.choice.fits
    ]
    assert "16 and 32 ranks oversubscribed" in doubts(found, [scaling_run()], [])[0]
    everything = [replace(row, oversubscribed=True) for row in rows]
    assert curve(everything).choice.words == "cannot tell: all points are oversubscribed or disturbed"


# ---- Extrapolation


def test_a_prediction_states_how_far_it_extrapolates() -> None:
    run, rows = scaling_run(), scaling_rows("run-a", amdahl(SERIAL))
    (reading,) = readings(scaling([source(run, rows)], ALL), [source(run, rows)], at=(12, 128))
    inside, outside = reading.predictions[0]
    assert (inside.beyond, outside.beyond) == (None, 4.0)
    truth = 1e9 / amdahl(SERIAL)(128)
    assert outside.low is not None and outside.high is not None and outside.low < truth < outside.high


def test_all_indistinguishable_laws_predict() -> None:
    weak: dict[str, Any] = {"benchmark": "hpccg", "weak": True, "axes": {"memory": 4096}}
    rows = scaling_rows(
        "run-a", lambda p: 1 + 0.08 * math.log2(p), ranks=(1, 2, 4, 8), noise=0.05, seed=5, **weak
    )
    run = scaling_run(ranks=(1, 2, 4, 8))
    (reading,) = readings(scaling([source(run, rows)], ALL), [source(run, rows)], at=(16,))
    (found,) = reading.study.curves
    assert found.choice.chosen is None
    assert len(reading.predictions[0]) == len(found.choice.apart) > 1
    two = scaling_run(ranks=(1, 2)), scaling_rows("run-a", amdahl(SERIAL), ranks=(1, 2))
    (reading,) = readings(scaling([source(*two)], ALL), [source(*two)], at=(16,))
    assert reading.predictions == ((),)


# ---- Comparison of machines


def test_how_many_ranks_of_one_machine_equal_some_of_another() -> None:
    """Both machines scale linearly; at a third of the rate, one needs three times as many ranks."""
    fast, slow = scaling_run("fast"), scaling_run("slow")
    study = only(
        [
            source(fast, scaling_rows("fast", lambda p: 10 / p, noise=0), "fast"),
            source(slow, scaling_rows("slow", lambda p: 30 / p, noise=0), "slow"),
        ]
    )
    of_slow = {one.as_many: one for one in equals(study) if one.machine == "slow"}
    assert {count: one.ranks for count, one in of_slow.items() if count <= 8} == pytest.approx(
        {1: 3, 2: 6, 4: 12, 8: 24}
    )
    assert [of_slow[count].ranks for count in (16, 32)] == [None, None]
    assert of_slow[16].words == "not reached with up to 32, the most measured"
    of_fast = {one.as_many: one for one in equals(study) if one.machine == "fast"}
    assert of_fast[1].ranks is None and of_fast[1].words == "exceeded already with 1, the fewest measured"
    assert of_fast[32].ranks == pytest.approx(32 / 3)


def test_points_that_are_not_fair_equal_nothing() -> None:
    """Ranks that shared cores, or that other programs disturbed, once counted as equivalent to others."""
    fast = [
        replace(row, disturbed="other programs used 1.00 of 2 processors" if row.ranks == 4 else None)
        for row in scaling_rows("fast", lambda p: 10 / p, noise=0)
    ]
    slow = [
        replace(row, oversubscribed=row.ranks > 8) for row in scaling_rows("slow", lambda p: 30 / p, noise=0)
    ]
    runs = [source(scaling_run(name), rows, name) for name, rows in (("fast", fast), ("slow", slow))]
    found = equals(only(runs))
    of_slow = {one.as_many: one for one in found if one.machine == "slow"}
    assert [of_slow[count].ranks for count in (1, 2)] == pytest.approx([3, 6])
    assert (of_slow[4].ranks, of_slow[4].words) == (None, "disturbed on fast")
    assert of_slow[8].words == (
        "not reached with up to 8, the most measured (16 and 32 left out: oversubscribed)"
    )
    of_fast = {one.as_many: one for one in found if one.machine == "fast"}
    assert of_fast[8].ranks == pytest.approx(8 / 3)  # between 2 and 8 ranks
    assert (of_fast[32].ranks, of_fast[32].words) == (None, "oversubscribed on slow")
    crowded = [replace(row, oversubscribed=True) for row in slow]
    nothing = equals(only([runs[0], source(scaling_run("slow"), crowded, "slow")]))
    assert "all points of slow are oversubscribed or disturbed" in {one.words for one in nothing}


def test_bounds_of_what_equals_come_from_both_machines() -> None:
    runs = scaling_run("a"), scaling_run("b")
    study = only(
        [
            source(run, scaling_rows(run.id, lambda p: 10 / p, seed=seed), run.id)
            for seed, run in enumerate(runs)
        ]
    )
    for one in equals(study):
        if one.ranks is not None and one.low is not None and one.high is not None:
            assert one.low < one.ranks < one.high
            assert one.low < one.as_many < one.high
    assert sum(one.low is not None for one in equals(study)) >= 4


def test_other_problems_are_not_compared() -> None:
    def of(name: str, order: int) -> Source:
        rows = hpl_rows(lambda p: order, {"memory": "auto"})
        return source(scaling_run(name), [replace(row, run=name) for row in rows], name)

    study = only([of("a", 4096), of("b", 9000)])
    assert {one.words for one in equals(study)} == {
        "not the same problem: order 4100 against order 9000",
        "not the same problem: order 9000 against order 4100",
    }


def test_messages_are_no_work_that_machines_do_as_much_of() -> None:
    def of(name: str) -> Source:
        rows = scaling_rows(name, amdahl(0.1), benchmark="bcast", axes={})
        return source(
            scaling_run(name), [replace(row, bytes=8) for row in rows if row.metric == "time"], name
        )

    assert equals(only([of("a"), of("b")])) == []


# ---- Energy and power


def declared(value: float, per: str = "socket") -> dict[str, Any]:
    machine = scaling_run_json()["machine"]
    return {**machine, "declared_watts": {"value": value, "per": per, "source": "command line"}}


def modelled(sockets: int, cores: int, watts: float, **changes: Any) -> Curve:
    """Return the curve of 1 and 64 ranks on a modelled machine with the given nodes and power."""
    machine = {**declared(watts), "model": model(sockets=sockets, cores=cores, nodes=64)}
    run = scaling_run_json(ranks=(1, 64), repeats=1, machine=machine, **changes)
    node = sockets * cores
    for launch in run["launches"]:
        launch["ranks"] = [
            {"rank": r, "host": f"n{r // node}", "node": r // node, "pid": 0, "cpus": ""}
            for r in range(launch["world"])
        ]
    rows = scaling_rows("run-a", lambda p: 640 / p, ranks=(1, 64), repeats=1, noise=0)
    return only([source(Run.from_json(run), rows)]).curves[0]


def test_sockets_used_are_those_of_the_paper() -> None:
    """As in section 8 of Martin et al., 64 ranks use 11 sockets of 15 W, or 64 sockets of 115 W."""
    six = modelled(1, 6, 15.0).points[1]
    assert (six.sockets, six.power.watts) == (11, 165.0)
    assert six.power.joules == pytest.approx(1650.0)  # 11 sockets of 15 W for ten seconds
    assert six.power.per_watt == pytest.approx(1e8 / 165)
    one = modelled(1, 1, 115.0).points[1]
    assert (one.sockets, one.power.watts, one.power.origin) == (64, 7360.0, "declared")


def test_ranks_of_modelled_nodes_fill_a_socket_before_the_next() -> None:
    """Ranks on modelled nodes fill one socket before the next, unless the binding spreads them.

    On nodes of 2 × 5 cores, 64 ranks leave four for the last node, on one socket, or on both with
    co-processor.
    """
    assert [point.sockets for point in modelled(2, 5, 15.0).points] == [1, 13]
    spread = modelled(2, 5, 15.0, where={"bind": "co-processor"})
    assert [point.sockets for point in spread.points] == [1, 14]


def test_sockets_observed_count_and_nodes_where_watts_are_of_nodes() -> None:
    rows = scaling_rows("run-a", amdahl(0.0))
    points = curve(rows, machine=declared(50.0)).points
    assert [(point.sockets, point.power.watts) for point in points[:4]] == [
        (1, 50),
        (1, 50),
        (2, 100),
        (4, 200),
    ]
    points = curve(rows, machine=declared(200.0, "node")).points
    assert [(point.nodes, point.power.watts) for point in points[2:4]] == [(1, 200), (2, 400)]
    assert numbers_in("0,2-4") == ["0", "2", "3", "4"]


def test_sockets_that_unbound_ranks_may_use_are_not_in_use() -> None:
    """One unbound rank on a node of two sockets once used both, and twice the watts declared per socket."""

    def point(ranks: int, sockets: list[str], cores: int | None) -> Point:
        run = scaling_run_json(ranks=(1, 2, 4), machine={**declared(95.0), "cores": cores})
        for launch in run["launches"]:
            for rank in launch["ranks"]:
                rank["sockets"] = sockets[rank["rank"]]
        rows = scaling_rows("run-a", amdahl(0.0), ranks=(1, 2, 4))
        (found,) = only([source(Run.from_json(run), rows)]).curves
        return next(one for one in found.points if one.ranks == ranks)

    free = ["0-1"] * 4
    one = point(1, free, 4)
    assert (one.sockets, one.power.watts, one.power.joules) == (None, None, None)
    assert one.power.words == (
        "declared: 95 W per socket (command line), but ranks are not bound to a socket"
    )
    assert point(2, free, 4).sockets is point(4, free, None).sockets is None
    assert (point(4, free, 4).sockets, point(4, free, 4).power.watts) == (2, 190.0)  # they fill the node
    assert point(4, ["0", "1", "0-1", "0-1"], 8).sockets == 2  # the first two use both
    assert point(4, ["0", "0", "0", "0-1"], 8).sockets is None
    assert point(4, ["0", "0", "0", ""], 8).power.words.endswith("but how many are used is not known")


def test_nodes_and_sockets_are_those_of_launches_of_that_size() -> None:
    """Node and socket counts are those of launches of that size: 4 ranks on one node, 8 cyclically on two."""
    run = scaling_run_json(ranks=(4, 8))
    for launch in run["launches"]:
        if launch["world"] == 8:
            for rank in launch["ranks"]:
                rank.update(host=f"n{rank['rank'] % 2}", node=rank["rank"] % 2)
    points = (
        only([source(Run.from_json(run), scaling_rows("run-a", amdahl(0.0), ranks=(4, 8)))]).curves[0].points
    )
    assert [(point.nodes, point.sockets) for point in points] == [(1, 2), (2, 4)]


def grid(name: str, unit: str, value: float, case: str, nodes: int) -> Grid:
    dimensions = (("kernel", ("cg",)), ("node", tuple(map(str, range(nodes)))))
    median = np.full((1, nodes), value)
    return Grid(
        "run-a",
        case,
        "cg",
        1,
        None,
        {},
        "wall",
        False,
        name,
        unit,
        "lower",
        dimensions,
        1,
        median,
        None,
        None,
    )


def test_measured_watts_are_those_of_whole_nodes() -> None:
    rows = [
        replace(row, notes={"energy": "measured: RAPL"})
        for row in scaling_rows("run-a", amdahl(0.0), noise=0)
    ]
    case = "cg/ranks=8/class=A"
    grids = [grid("power", "W", 120.0, case, 2), grid("energy", "J", 3000.0, case, 2)]
    run = scaling_run()
    (found,) = only([Source("a", (run,), rows, grids)]).curves
    eight = next(point for point in found.points if point.ranks == 8)
    assert (eight.power.watts, eight.power.joules, eight.power.origin) == (240.0, 6000.0, "measured")
    others = [point.power for point in found.points if point.ranks != 8]
    assert all((power.watts, power.joules, power.per_watt) == (None, None, None) for power in others)
    late = [replace(row, notes={"energy": "unavailable: no access; measured: RAPL"}) for row in rows]
    (found,) = only([Source("a", (run,), late, grids)]).curves
    assert next(point for point in found.points if point.ranks == 8).power.origin == "measured"
    half = [grid("power", "W", float("nan"), case, 2)]
    (found,) = only([Source("a", (run,), rows, half)]).curves
    assert all(point.power.watts is None for point in found.points)


def test_without_watts_energy_is_unavailable_with_the_reason() -> None:
    power = curve(scaling_rows("run-a", amdahl(0.0))).points[0].power
    assert (power.watts, power.joules, power.origin) == (None, None, "unavailable")
    assert power.words == "neither meters nor declared watts"
    noted = [
        replace(row, notes={"energy": "unavailable: no meter here"})
        for row in scaling_rows("run-a", amdahl(0.0))
    ]
    assert curve(noted).points[0].power.words == "no meter here"


# ---- Caveats of scaling curves


def doubted(run: Run, grids: Iterable[Grid] = ()) -> list[str]:
    rows = scaling_rows("run-a", amdahl(SERIAL))
    return doubts(only([Source("a", (run,), rows, list(grids))]).curves[0], [run], list(grids))


def test_a_quiet_machine_gives_no_doubt_but_where_the_network_begins() -> None:
    assert doubted(scaling_run()) == [
        "up to 4 ranks share one node; messages cross the network from 8 ranks on"
    ]


def test_ranks_on_shared_cores_are_reported() -> None:
    run = scaling_run_json()
    for launch in run["launches"]:
        for rank in launch["ranks"]:
            rank["cpus"] = str(rank["rank"] % 2)
    assert (
        doubted(Run.from_json(run))[0]
        == "4, 8, 16 and 32 ranks on shared cores: several are bound to the same processors"
    )
    # Two ranks bound to the same processor are reported, even if other processors are free.
    run = scaling_run_json()
    for launch in run["launches"]:
        for rank in launch["ranks"]:
            rank["cpus"] = "0" if rank["rank"] % PER_NODE < 2 else "0-3"
    (first, *_) = doubted(Run.from_json(run))
    assert first.startswith("2, 4, 8") and "bound to the same processors" in first
    threads = scaling_run(machine={**scaling_run_json()["machine"], "cores": 2, "threads": 4})
    assert "two hardware threads of a core are not two cores" in doubted(threads)[0]
    limited = scaling_run(machine={**scaling_run_json()["machine"], "cpu_limit": 1.5})
    assert "grants the time of 1.50 processors only" in doubted(limited)[0]
    # 32 ranks are on eight nodes of four, so the limit of each node suffices; emulated nodes share one.
    enough = {**scaling_run_json()["machine"], "cpu_limit": float(PER_NODE)}
    assert not any("control group" in doubt for doubt in doubted(scaling_run(machine=enough)))
    shared = doubted(scaling_run(machine=enough, substrate="emulated"))
    assert any("control group grants" in doubt for doubt in shared)
    assert "emulated nodes share" in doubted(scaling_run(substrate="emulated"))[0]


def test_differing_launches_are_reported() -> None:
    rows = [
        replace(row, p50=row.p50 * (1.3 if row.ranks == 4 and row.launch < 6 else 1))
        if row.p50 and row.launch is not None
        else row
        for row in scaling_rows("run-a", amdahl(SERIAL))
    ]
    (found,) = only([source(scaling_run(), rows)]).curves
    assert doubts(found, [scaling_run()], [])[0].startswith("launches on 4 ranks differ by up to 3")


def test_changing_clock_rates_are_reported() -> None:
    def of(cycles: dict[int, float]) -> list[Grid]:
        found = []
        for ranks, hertz in cycles.items():
            case = f"cg/ranks={ranks}/class=A"
            dimensions = (
                ("kernel", ("cg",)),
                ("counter", ("cycles",)),
                ("statistic", ("min", "mean", "max")),
            )
            one = grid("counters", "1", 0, case, 1)
            found += [
                replace(one, dimensions=dimensions, median=np.full((1, 1, 3), 2 * hertz)),
                replace(
                    one, name="kernel_time", dimensions=(("kernel", ("cg",)),), median=np.full((1,), 2.0)
                ),
            ]
        return found

    assert doubted(scaling_run(), of({1: 3.6e9, 8: 3.5e9, 32: 2.9e9}))[0].startswith(
        "cycles in user code per second changed with the ranks: 3.60 G/s on 1, 2.90 G/s on 32; the clock was"
    )
    assert "clock" not in " ".join(doubted(scaling_run(), of({1: 3.6e9, 32: 3.55e9})))
    saving = scaling_run(machine={**scaling_run_json()["machine"], "governor": "powersave"})
    assert doubted(saving)[0].startswith("the frequency may change with the ranks: its governor is powersave")
    unknown = scaling_run(machine={**scaling_run_json()["machine"], "governor": None})
    assert "it is unknown" in doubted(unknown)[0]


def test_a_fallback_to_tcp_is_reported() -> None:
    fallen = {"near": "x", "far": "tcp", "fallback_to_tcp": True, "evidence": "log"}
    assert any("fell back to TCP" in doubt for doubt in doubted(scaling_run(launch={"transport": fallen})))


def _watched(**activity: Any) -> Run:
    """Return a run whose launches record how busy the machine was."""
    base = scaling_run_json()
    known = {
        **dict.fromkeys(("load", "processors", "steal", "wait", "involuntary_switches", "throttled")),
        **dict.fromkeys(("heat_throttles", "frequency_min_hz", "frequency_max_hz")),
        "others": 0.01,
        "disturbed": 0,
        **activity,
    }
    return Run.from_json({**base, "launches": [{**one, "activity": known} for one in base["launches"]]})


@pytest.mark.parametrize(
    ("run", "disturbed", "said"),
    [
        (_watched(), (), "superlinear on 4 and 8 ranks, and nothing disturbed these launches"),
        (
            scaling_run(),
            (),
            "is not called superlinear: whether the machine was idle on 1, 4 and 8 ranks is not known",
        ),
        (_watched(others=None), (), "is not called superlinear"),
        (_watched(), (1,), "is no superlinear speedup: 1 rank disturbed"),
        (_watched(), (4, 8), None),
    ],
)
def test_superlinear_speedup_needs_an_idle_machine(
    run: Run, disturbed: tuple[int, ...], said: str | None
) -> None:
    """At load 30, LU once had an efficiency of 306 % without any caveat."""
    rows = [
        replace(
            row,
            p50=row.p50 / (3 if row.ranks in (4, 8) and row.metric == "time" else 1)
            if row.p50 and row.metric == "time"
            else row.p50 and row.p50 * (3 if row.ranks in (4, 8) else 1),
            disturbed="other programs used 1.00 of 2 processors" if row.ranks in disturbed else None,
        )
        for row in scaling_rows("run-a", amdahl(0.01))
    ]
    (found,) = only([source(run, rows)]).curves
    told = doubts(found, [run], [])
    linear = [one for one in told if "superlinear" in one]
    assert [said in one for one in linear] == [True] if said else not linear
    first = {(1,): "1 rank disturbed", (4, 8): "4 and 8 ranks disturbed"}.get(disturbed, "")
    assert told[0].startswith(first)
    points = {point.ranks: point.fair for point in found.points}
    assert all(points[ranks] is (ranks not in disturbed) for ranks in points)


def test_a_curve_ends_with_the_whole_of_a_world_in_which_ranks_waited() -> None:
    """IMB's tables of fewer processes than were started name the others, the last table does not."""
    waiting = scaling_rows("run-a", amdahl(SERIAL), ranks=(2, 4), axes={"world": 8})
    whole = scaling_rows("run-a", amdahl(SERIAL), ranks=(8,), axes={})
    assert [point.ranks for point in curve([*waiting, *whole]).points] == [2, 4, 8]
