"""Known errors of machine models: how they are stored, described, and compared with findings."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kiviat.analysis.aggregate.known_errors import (
    PAGE,
    error_text,
    errors_of_profile,
    in_words,
    kind_of,
    known_errors,
    lines,
    short_text,
    shortly,
)
from kiviat.analysis.aggregate.summary import Summary
from kiviat.analysis.findings.all import findings
from kiviat.analysis.findings.finding import Finding
from kiviat.machine.modelled.machine import find_machine, machines
from kiviat.profile.simulated import Simulated
from kiviat.record import InputError
from kiviat.record.validated import (
    ComparedModel,
    ComparedRow,
    compared_models,
    read_compared,
    simulator_hash,
    write_compared,
)
from tests.analysis.test_contention import study
from tests.report.modelled import simulated_run
from tests.report.synthetic import make_run


@dataclass(frozen=True)
class Model:
    name: str = "toy"
    hash: str = "1"


def row(error: float | None, metric: str = "b_eff", name: str = "X-1", **changes: Any) -> ComparedRow:
    of: dict[str, Any] = {
        **{"row": name, "form": "value", "benchmark": "b_eff", "metric": metric, "ranks": 8, "bytes": None},
        **{"quantity": f"b_eff/ranks=8: {metric}", "unit": "B/s", "published": 1e9, "predicted": 1e9},
        **{"error": error, "holds": None},
    }
    return ComparedRow(**(of | changes))


def store(
    monkeypatch: pytest.MonkeyPatch, *rows: ComparedRow, name: str = "toy", simulator: str | None = None
) -> None:
    stored = {name: ComparedModel(name, 1, "1", "2026-01-01", rows, simulator or simulator_hash())}
    monkeypatch.setattr("kiviat.analysis.aggregate.known_errors.compared_models", lambda: stored)


def test_the_stored_errors_are_those_of_the_models_as_they_are() -> None:
    """The stored errors match the shipped models.

    If a machine file or the simulator has changed, run `kiviat model validate --write`.
    """
    stored = compared_models()
    shipped = {name: path for name, path in machines().items() if path.parent.name == "machines"}
    assert stored.keys() == shipped.keys()
    changed = [name for name in shipped if stored[name].hash != find_machine(name).hash]
    assert not changed, "run `kiviat model validate --write`: these models have changed since"
    older = [name for name in shipped if stored[name].simulator != simulator_hash()]
    assert not older, "run `kiviat model validate --write`: the simulator has changed since"


def test_no_error_of_an_earlier_version_passes_for_the_present_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    store(monkeypatch, row(0.12))
    assert error_text(known_errors(Model()), "b_eff") == "+12 % on 1 published value"
    changed = known_errors(Model(hash="2"))
    assert error_text(changed, "b_eff") == "unknown: not validated since the model changed"
    assert lines(changed) == ["unknown: not validated since the model changed"]
    assert short_text(changed) == "not validated since it changed" and not changed.tested
    other = known_errors(Model(name="mine"))
    assert error_text(other, "b_eff") == "unknown: never compared with published results"


def test_errors_computed_with_an_earlier_simulator_are_named_so(monkeypatch: pytest.MonkeyPatch) -> None:
    for simulator, words in (
        ("0123456789abcdef", ", with an earlier simulator"),
        (simulator_hash(), ""),
    ):
        store(monkeypatch, row(0.12), simulator=simulator)
        known = known_errors(Model())
        assert in_words(known) == f"b_eff +12 % on 1 published value{words} ({PAGE})"
        assert shortly(known) == f"±12 % on 1 published value{words} ({PAGE})"


def test_a_profile_names_the_errors_of_the_model_on_which_it_was_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A changed copy of a machine, with the same name and version, once got the errors of the original."""
    store(monkeypatch, row(0.2, "rate", benchmark="cg"))
    for simulated, words in (
        (Simulated("simulated:toy", "Toy", 1, None, "1"), "programs +20 % on 1 published value"),
        (Simulated("simulated:toy", "Toy", 1, None, "2"), "unknown: not validated since the model changed"),
        (Simulated("simulated:toy", "Toy", 2, None), "unknown: not validated since the model changed"),
        (
            Simulated("simulated:toy", "Toy", 1, None),
            "unknown: the profile, of an earlier kiviat, lacks the hash of its model",
        ),
        (Simulated("simulated:mine", "Mine", 1, None, "1"), "unknown: never compared with published results"),
    ):
        assert errors_of_profile(simulated) == f"{words} ({PAGE})"


def test_median_and_worst_error_of_independent_quantities(monkeypatch: pytest.MonkeyPatch) -> None:
    """The text gives the median and the largest error of independent quantities.

    Accumulated and per-process bandwidth count as one quantity, and rows used for fitting are left out if
    others exist.
    """
    same = row(0.9, "b_eff_per_process", quantity="b_eff/ranks=8: b_eff")
    store(
        monkeypatch,
        *(row(0.1), same, row(0.31, quantity="16"), row(-0.02, quantity="32")),
        *(row(0.0, quantity="64", fitted=True), row(None, holds=True), row(None, holds=False, row="other")),
        row(0.01, benchmark="pingpong", metric="time", ranks=2, bytes=8, quantity="p", fitted=True),
    )
    known = known_errors(Model())
    assert error_text(known, "b_eff") == "±10 % on 3 published values, worst +31 %"
    assert error_text(known, "point to point") == "+1 % on 1 published value it was fitted to"
    assert error_text(known, "rings") == "unknown: no published value of that kind"
    assert lines(known, ["b_eff", "rings"]) == [
        "b_eff ±10 % on 3 published values, worst +31 %",
        "unknown for lack of published values: rings",
    ]
    assert (
        short_text(known)
        == "median ±10 % on 3 published values, worst +31 %; 1 of 2 orderings and bounds hold"
    )


def test_ratios_have_known_errors_and_sizes_have_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """Message sizes, such as the size of the best rate, are not rates and have no known error.

    A wrong size of 3 KiB once was the largest error of all ("340 times too large").
    """
    store(monkeypatch, row(340.0, form="best_size", unit="B"), row(0.13, form="weak_efficiency", unit="%"))
    known = known_errors(Model())
    assert [one.kind for one in known.kinds] == ["ratios of results"] and known.tested


@pytest.mark.parametrize(
    ("benchmark", "metric", "ranks", "size", "kind"),
    [
        ("pingpong", "time", 2, 8, "point to point"),
        ("b_eff", "pingpong_latency", 8, None, "point to point"),
        ("b_eff", "b_eff_per_process", 8, None, "b_eff"),
        ("b_eff", "rings_at_lmax_per_process", 8, None, "rings"),
        ("b_eff", "randoms_at_lmax", 8, None, "rings in random order"),
        ("ring", "random_bandwidth", 8, None, "rings in random order"),
        ("sendrecv", "time", 8, 8, "pairs and neighbours at once"),
        ("allreduce", "time", 8, 1024, "collectives up to 1 KiB"),
        ("iallreduce", "time", 8, 1025, "collectives up to 64 KiB"),
        ("alltoall", "time", 8, 1 << 20, "collectives above 64 KiB"),
        ("barrier", "time", 8, None, "collectives up to 1 KiB"),
        ("cg", "rate", 8, None, "programs"),
        ("noise", "mean", 8, None, ""),
    ],
)
def test_each_quantity_has_one_kind(
    benchmark: str, metric: str, ranks: int, size: int | None, kind: str
) -> None:
    assert kind_of(benchmark, metric, ranks, size) == kind


# ---- Findings of modelled machines


def b_eff(loaded: float, alone: float = 1e9) -> list[Summary]:
    values = {"at_lmax_per_process": loaded, "pingpong_bandwidth": alone, "b_eff_per_process": loaded / 2}
    return [study("b_eff", metric, value) for metric, value in values.items()]


def contention(loaded: float, simulated: bool = True) -> Finding:
    run = simulated_run("r", **{"name": "toy", "hash": "1"}) if simulated else make_run("r")
    (found,) = [one for one in findings(b_eff(loaded), [run]) if one.kind == "contention"]
    return found


def test_no_finding_is_stated_that_the_models_error_exceeds(monkeypatch: pytest.MonkeyPatch) -> None:
    """A finding is suppressed if the model's error is larger than the effect.

    A model of the Cray X1 SSP, five times too fast, once yielded "contention factor 1.02, nothing is short".
    """
    store(monkeypatch, row(4.1, "at_lmax"), row(4.0, "b_eff"))
    found = contention(0.98e9)
    assert found.headline.startswith("Cannot say what it costs that all ranks communicate")
    assert "off by a factor of 5.10: b_eff at its largest message +410 % on 1 published value" in found.detail
    assert "validation.md" in found.detail and found.importance <= 0.3 and found.evidence
    assert "contention factor 10" in contention(0.1e9).headline  # the effect exceeds the model's error
    assert "contention factor" in contention(0.98e9, simulated=False).headline


def test_a_model_that_is_slow_by_half_is_as_wrong_as_one_that_is_twice_too_fast(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store(monkeypatch, row(-0.5, "at_lmax"))
    assert contention(1e9 / 1.9).headline.startswith("Cannot say")
    assert "contention factor 2.1" in contention(1e9 / 2.1).headline


def test_a_model_that_is_good_enough_says_that_nothing_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    # the finding compares the largest message only, so the error of b_eff over all sizes does not apply
    store(monkeypatch, row(0.1, "at_lmax"), row(4.0, "b_eff"))
    found = contention(0.98e9)
    assert "contention factor 1.02" in found.headline and "No shared resource" in found.detail


def test_where_nothing_was_published_a_finding_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    store(monkeypatch)
    assert "No published value tests the model on this." in contention(0.1e9).detail


# ---- The file of stored errors


def test_errors_are_read_as_they_were_written(tmp_path: Path) -> None:
    path = tmp_path / "validated.json"
    models = [ComparedModel("b", 2, "2", "2026-01-01", (row(0.1), row(None, holds=True)))]
    models.insert(0, ComparedModel("a", 1, "1", "2026-01-01", ()))
    write_compared([*models], path)
    assert read_compared(path) == {one.name: one for one in models}
    assert read_compared(tmp_path / "none") == {}


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"schema": "x"}', '{"schema": "kiviat.validated/1", "models": [1]}']
)
def test_a_damaged_file_is_named(text: str, tmp_path: Path) -> None:
    path = tmp_path / "validated.json"
    path.write_text(text)
    with pytest.raises(InputError, match=r"validated\.json") as refused:
        read_compared(path)
    assert "\n" not in str(refused.value)
