"""b_eff 3.6: the file .short of 4 processes, without most of its random patterns, and parts of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from kiviat.ingest import parse
from kiviat.record import InputError, Record
from tests.ingest.test_tree import tree

SHORT = (Path(__file__).parent / "data" / "b_eff-3.6.short").read_text()
CLOSING = SHORT.splitlines()[-1] + "\n"
# Contents of .sum: the head, the table of the summary and the closing line.
SUMMARY = SHORT[: SHORT.index("SECTION-BY-MSGLNG-BEGIN")] + SHORT[SHORT.index("system parameters") :]


def values(record: Record) -> dict[str, float | None]:
    return {metric.name: metric.mean for metric in record.metrics}


def test_all_figures_of_the_official_path() -> None:
    (record,) = parse(SHORT, "b_eff.short")
    assert (record.case, record.notes["version"]) == ("b_eff/ranks=4/lmax=2097152", "b_eff 3.6.0.1")
    assert values(record) == {
        name: pytest.approx(value)
        for name, value in {
            "b_eff": 1137.220e6,
            "b_eff_per_process": 284.305e6,
            "rings": 1147.350e6,
            "randoms": 1127.179e6,
            "at_lmax": 1332.445e6,
            "at_lmax_per_process": 333.11125e6,
            "rings_at_lmax": 1602.726e6,
            "rings_at_lmax_per_process": 400.6815e6,
            "pingpong_bandwidth": 264.396e6,
            "pingpong_latency": 2.217e-6,
            "worst_order": 1080.885e6,
            "grid_2d": 1032.150e6,
            "grid_3d": 1178.949e6,
        }.items()
    }


def test_bandwidth_by_message_length() -> None:
    (table,) = parse(SHORT, "b_eff.short")[0].tables
    assert table.axes[1][1][::20] == ("1", "2097152") and len(table.values) == 3 * 21
    assert [table.values[at] for at in (0, 20, 41, 62)] == [
        pytest.approx(value * 1e6) for value in (0.458, 333.111, 400.681, 276.936)
    ]


def test_a_summary_has_fewer_digits_and_a_closing_line_b_eff_alone() -> None:
    (record,) = parse(SUMMARY, "b_eff.sum")
    assert values(record)["at_lmax"] == pytest.approx(1332e6)
    assert values(record)["pingpong_latency"] == pytest.approx(2.217e-6)
    (alone,) = parse(CLOSING, "job.err")
    assert set(values(alone)) == {"b_eff", "b_eff_per_process"}
    assert alone.case == record.case == "b_eff/ranks=4/lmax=2097152"
    two = parse(CLOSING + CLOSING.replace("*   4 PEs with 256", "*   8 PEs with 128"), "job.err")
    assert [one.case for one in two] == ["b_eff/ranks=4/lmax=2097152", "b_eff/ranks=8"]


def test_the_files_of_one_run_are_one_launch(tmp_path: Path) -> None:
    found = tree(
        tmp_path, {"x.prot": SHORT[:2000] + 999 * "-\n" + CLOSING, "x.short": SHORT, "x.sum": SUMMARY}
    )
    assert {name: source.kind for name, source in found.items()} == {
        "x.prot": "same",
        "x.short": "results",
        "x.sum": "same",
    }


def test_shortened_builds_are_cases_of_their_own() -> None:
    (record,) = parse(CLOSING.replace("b_eff =", "b_effSHORT&TEST ="), "b_eff.out")
    assert record.case == "b_eff/ranks=4/lmax=2097152/version=short-test"


def test_what_was_not_measured_is_left_out() -> None:
    """A variant for simulators leaves out the rings and prints 0 for them."""
    zero = SHORT.replace("(ring pattern):    1602.726", "(ring pattern):       0.000")
    assert "rings_at_lmax" not in values(parse(zero, "b_eff.short")[0])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (SHORT.removesuffix(CLOSING), "b_eff.short has no closing line 'b_eff = …'; is the file complete?"),
        (SHORT.replace("1147.350", "1147.3x0"), "b_eff.short, rings: '1147.3x0' is not a number"),
        (CLOSING.replace("PEs with 256", "PEs with 0").replace("*   4", "*   0"), "ranks"),
    ],
)
def test_incomplete_files_are_refused(text: str, says: str) -> None:
    with pytest.raises(InputError, match=says) as refused:
        parse(text, "b_eff.short")
    assert "\n" not in str(refused.value)
