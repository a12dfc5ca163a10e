"""Published statements about scaling, tested against runs of the machines concerned."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from kiviat.analysis.aggregate.tables import Grid
from kiviat.analysis.published.curves import scaling_verdicts
from kiviat.analysis.published.question import all_rows
from kiviat.analysis.published.verdict import Verdict
from kiviat.analysis.scaling.series import Selection, Source, scaling
from kiviat.record import schema
from tests.report.scaling_runs import (
    CLUSTER,
    SICORTEX,
    amdahl,
    modelled,
    program_rows,
    scaling_run,
    scaling_run_json,
)

RANKS = (1, 8, 64)


def verdicts_by_claim(*sources: Source) -> dict[tuple[str, str], Verdict]:
    """Return the verdicts by row identifier and kind of claim."""
    found = scaling_verdicts(scaling(sources, Selection()).studies, sources)
    asked = {(one.row.id, one.claim.asks): one for one in found if one.claim}
    assert len(asked) == len(found)
    return asked


def test_a_machine_that_is_always_quicker_is_what_was_published() -> None:
    found = verdicts_by_claim(modelled(SICORTEX, lambda p: 4.0), modelled(CLUSTER, lambda p: 1 + p / 64))
    one = found["S-021", "quicker"]
    assert (one.verdict, one.predicted) == ("agrees", True)
    assert one.words == "2.00 to 3.94 times as much per second, on 1 to 64 ranks"
    assert one.study is not None and one.study.benchmark == "hpccg"


def test_one_number_of_ranks_on_which_it_is_slower_contradicts() -> None:
    found = verdicts_by_claim(
        modelled(SICORTEX, lambda p: 4.0), modelled(CLUSTER, lambda p: 5.0 if p == 64 else 1.0)
    )
    one = found["S-021", "quicker"]
    assert one.verdict == "disagrees" and one.words.endswith("on 1 to 64 ranks; less on 64")


@pytest.mark.parametrize(
    ("at_64", "ranks", "verdict", "words"),
    [
        (1.2, RANKS, "agrees", "4.00 times as long on 1 rank, 1.20 on 64 ranks"),
        (1.3, RANKS, "disagrees", "4.00 times as long on 1 rank, 1.30 on 64 ranks"),
        (1.2, (1, 8), "cannot tell", "no common result on 32 or more ranks"),
    ],
)
def test_who_nearly_catches_up(at_64: float, ranks: tuple[int, ...], verdict: str, words: str) -> None:
    about: dict[str, Any] = {
        "ranks": ranks,
        "benchmark": "lj",
        "kind": "strong",
        "notes": {"atoms": "4194304"},
    }
    found = verdicts_by_claim(
        modelled(SICORTEX, lambda p: (at_64 if p == 64 else 4) / p, **about),
        modelled(CLUSTER, lambda p: 1 / p, **about),
    )
    one = found["S-028", "nearly"]
    assert (one.verdict, one.words) == (verdict, words)
    assert found["S-028", "quicker"].words == "no weak run of lj or lammps-lj or lammps-rhodo on both"


@pytest.mark.parametrize(
    ("atoms", "serial", "verdict"),
    [("32000", 0.5, "agrees"), ("32000", 0.001, "disagrees"), ("4194304", 0.5, "cannot tell")],
)
def test_poor_performance_is_judged_at_the_stated_size(atoms: str, serial: float, verdict: str) -> None:
    notes = {"atoms": atoms}
    found = verdicts_by_claim(modelled(CLUSTER, amdahl(serial), benchmark="lj", kind="strong", notes=notes))
    one = found["S-027", "poor"]
    assert one.verdict == verdict
    if atoms == "32000":
        assert one.words == f"parallel efficiency {'3.08' if serial == 0.5 else '94.1'} % on 64 ranks"
    else:
        assert one.study is None and one.words == "no strong run of lj or lammps-lj of size 32000"


def constant(seconds: float) -> Callable[[int], float]:
    return lambda p: seconds


def test_sockets_watts_and_peaks_of_a_machine() -> None:
    """Sockets, power and peak rate come from the machine's description.

    64 ranks of 1 Gflop/s on 11 sockets of 15 W yield 388 Mflop/s per watt.
    """
    slow, quick = (modelled(SICORTEX, constant(s)) for s in (2.0, 1.0))
    found, too_quick = verdicts_by_claim(slow), verdicts_by_claim(quick)
    sockets = found["S-039", "sockets"]
    assert (sockets.verdict, sockets.words) == ("agrees", "11 sockets for 64 ranks")
    for row, asks, words in (
        ("S-031", "watts", "165 W for 11 sockets, declared, not measured"),
        ("S-033", "socket_watts", "15.0 W per socket, declared, not measured"),
    ):
        assert (found[row, asks].verdict, found[row, asks].words) == ("cannot tell", words)
    assert (found["S-036", "peak"].verdict, too_quick["S-036", "peak"].verdict) == ("agrees", "disagrees")
    assert found["S-036", "peak"].words == "194 Mflop/s per W at most: hpccg, weak, on 64 ranks"
    assert too_quick["S-041", "peak"].verdict == "agrees"
    assert too_quick["S-041", "peak"].words.startswith("64.0 Gflop/s at most")
    # No verdict concerns the other machine, and a machine unknown to all papers has no verdicts.
    for row in ("S-021", "S-027", "S-035", "S-038"):
        (one,) = [one for (name, _), one in found.items() if name == row]
        assert (one.verdict, one.words, one.study) == ("cannot tell", f"no run of {CLUSTER}", None)
    # one verdict per row, not one per part of its claim
    assert len([name for name, _ in found if name == "S-028"]) == 1
    assert verdicts_by_claim(modelled("a laptop", lambda p: 1.0)) == {}


def measured(name: str, time: Callable[[int], float], **about: Any) -> Source:
    """Return measurements of a machine that is named after one of the paper's (--machine)."""
    run = scaling_run(name, RANKS, machine={**scaling_run_json()["machine"], "name": name})
    return Source(name, (run,), program_rows(name, time, RANKS, **about))


def crowded(source: Source, *ranks: int) -> Source:
    """Return the source with more ranks than cores on these numbers of ranks."""
    rows = [replace(row, oversubscribed=row.ranks in ranks) for row in source.rows]
    return replace(source, rows=rows)


@pytest.mark.parametrize(
    ("serial", "noise", "verdict"),
    [(0.5, 0.01, "agrees"), (0.001, 0.01, "disagrees"), (1 / 63, 0.05, "cannot tell")],
)
def test_a_measured_efficiency_is_poor_only_beyond_the_scatter(
    serial: float, noise: float, verdict: str
) -> None:
    """With a serial fraction of 1/63, 64 ranks have an efficiency of one half, which noise hides."""
    about: dict[str, Any] = {"benchmark": "lj", "kind": "strong", "notes": {"atoms": "32000"}}
    source = measured(CLUSTER, amdahl(serial), noise=noise, **about)
    one = verdicts_by_claim(source)["S-027", "poor"]
    assert one.verdict == verdict
    assert one.words.endswith("within the variation between launches") == (verdict == "cannot tell")
    base = verdicts_by_claim(crowded(source, 1))["S-027", "poor"]
    assert base.verdict == "cannot tell" and base.words.startswith("the point on 1 rank, to which")


@pytest.mark.parametrize(("at_64", "verdict"), [(1.1, "agrees"), (1.24, "cannot tell"), (1.5, "disagrees")])
def test_a_measured_machine_nearly_catches_up_only_beyond_the_scatter(at_64: float, verdict: str) -> None:
    about: dict[str, Any] = {
        "benchmark": "lj",
        "kind": "strong",
        "notes": {"atoms": "4194304"},
        "noise": 0.03,
    }
    found = verdicts_by_claim(
        measured(SICORTEX, lambda p: (at_64 if p == 64 else 4) / p, **about),
        measured(CLUSTER, lambda p: 1 / p, seed=2, **about),
    )
    assert found["S-028", "nearly"].verdict == verdict


def test_oversubscribed_points_confirm_nothing_about_a_machine() -> None:
    """Peak rates, sockets and power once came from ranks that shared cores, too."""
    whole = measured(SICORTEX, constant(1.0))
    words = {row: one.words for (row, _), one in verdicts_by_claim(crowded(whole, 64)).items()}
    assert words["S-041"].endswith("on 8 ranks") and words["S-039"] == "no result on 64 ranks"
    nothing = verdicts_by_claim(crowded(whole, *RANKS))
    for row, asks in (("S-041", "peak"), ("S-039", "sockets"), ("S-031", "watts")):
        one = nothing[row, asks]
        assert (one.verdict, one.words) == ("cannot tell", "all points are oversubscribed or disturbed")


@pytest.mark.parametrize(("rate", "verdict"), [(1.0, "agrees"), (100.0, "cannot tell"), (200.0, "disagrees")])
def test_a_measured_rate_exceeds_a_peak_only_beyond_the_scatter(rate: float, verdict: str) -> None:
    """`rate` is in percent of the peak that S-041 states."""
    (peak,) = (row.number for row in all_rows() if row.id == "S-041")
    assert peak is not None
    seconds = 64e9 / peak.value / (rate / 100)
    source = measured(SICORTEX, constant(seconds), noise=0.05)
    assert verdicts_by_claim(source)["S-041", "peak"].verdict == verdict


@pytest.mark.parametrize(("ratio", "verdict"), [(1.5, "agrees"), (1.01, "cannot tell"), (0.5, "disagrees")])
def test_measured_differences_count_beyond_the_scatter(ratio: float, verdict: str) -> None:
    """A difference between measured machines counts only if it exceeds the scatter of launches.

    The runs are named after the paper's machines (--machine).
    """
    sources = []
    for name, seconds in ((SICORTEX, ratio), (CLUSTER, 1.0)):
        run = scaling_run(name, RANKS, machine={**scaling_run_json()["machine"], "name": name})
        rows = program_rows(name, constant(seconds), RANKS, noise=0.05, seed=len(name))
        sources.append(Source(name, (run,), rows))
    one = verdicts_by_claim(*sources)["S-021", "quicker"]
    assert (one.verdict, one.predicted) == (verdict, False)


@pytest.mark.parametrize(
    ("node_w", "system", "socket"),
    [(18.0, "agrees", "agrees"), (25.0, "disagrees", "agrees"), (40.0, "disagrees", "disagrees")],
)
def test_watts_that_were_measured_confirm_or_contradict(node_w: float, system: str, socket: str) -> None:
    """Measured power confirms or contradicts claims of less than 300 W in total and 15 W per socket.

    64 ranks use 32 sockets on 16 nodes.
    """
    run = scaling_run(SICORTEX, RANKS, machine={**scaling_run_json()["machine"], "name": SICORTEX})
    rows = [
        replace(row, notes={"energy": "measured: RAPL"})
        for row in program_rows(SICORTEX, lambda p: 1.0, RANKS)
    ]
    case, nodes = "hpccg/ranks=64/scaling=weak", 16
    dimensions = (("kernel", ("hpccg",)), ("node", tuple(map(str, range(nodes)))))
    power = Grid(
        SICORTEX,
        case,
        "hpccg",
        64,
        None,
        {},
        "wall",
        False,
        "power",
        "W",
        "lower",
        dimensions,
        1,
        np.full((1, nodes), node_w),
        None,
        None,
    )
    found = verdicts_by_claim(Source(SICORTEX, (run,), rows, [power]))
    assert (found["S-031", "watts"].verdict, found["S-033", "socket_watts"].verdict) == (system, socket)
    assert found["S-031", "watts"].words == f"{16 * node_w:.0f} W for 32 sockets, measured"


def test_every_kind_of_claim_is_implemented() -> None:
    """Every kind of claim that the schema allows is implemented."""
    from kiviat.analysis.published import curves as module
    from kiviat.analysis.published.forms import FORMS

    answered = {*FORMS, *module.SCALING_FORMS}
    assert set(schema("published")["$defs"]["claims"]["items"]["properties"]["asks"]["enum"]) == answered
    claims = [row_claim for row in all_rows() for row_claim in row.fact.claims]
    scaling_claims = [one for one in claims if one.asks in module.SCALING_FORMS]
    assert {one.asks for one in scaling_claims} == module.SCALING_FORMS
    assert all(bool(one.benchmarks) == (one.asks in module._OF_PROGRAMS) for one in scaling_claims)
