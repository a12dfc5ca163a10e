"""Arguments of the functions: one value in place of several, and wrong ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import kiviat
from kiviat.launch.run.simulated_runner import SimulatedCase
from kiviat.record import Record
from kiviat.store import RunDirectory

MakeRun = Callable[..., RunDirectory]


RUN = object()  # stands for the path of a run
MACHINE = "altix-bx2"


def case(**facts: Any) -> kiviat.Case:
    return kiviat.Case("pingpong", **facts)


def systems(beside: str | list[str]) -> list[str]:
    return [system.id for system in kiviat.balance("none", beside=beside).details.systems]


def test_one_word_is_not_a_list_of_letters() -> None:
    assert systems("all") == systems(["all"])
    assert "nec-sx-8" in systems("all")
    assert systems("nec-sx-8") == ["nec-sx-8"]
    with pytest.raises(kiviat.InputError, match="neither runs nor published systems were given"):
        kiviat.balance("none", beside="none")


def test_an_unknown_system_names_the_parameter() -> None:
    with pytest.raises(kiviat.InputError, match=r"^there is no published system 'vax'; give "):
        kiviat.balance("none", beside="vax")


def test_one_benchmark_is_not_a_list_of_letters(make_run: MakeRun) -> None:
    path = make_run().path
    with pytest.raises(kiviat.InputError, match="pingpong ran on 2 ranks only"):
        kiviat.scaling(path, benchmarks="pingpong")
    with pytest.raises(kiviat.InputError, match="no results of allreduce in these runs"):
        kiviat.scaling(path, benchmarks="allreduce")


@pytest.mark.parametrize(
    ("function", "arguments", "options", "says"),
    [
        ("load", [5], {}, r"^run=5 is not accepted; give a name or a path$"),
        ("compare", [RUN, None], {}, "^run=None is not accepted"),
        ("compare", [RUN, RUN], {"threshold": 5}, r"^threshold=5 is .* from 0 to 1: 5 % is 0\.05$"),
        ("compare", [RUN, RUN], {"threshold": float("nan")}, "^threshold=nan is not accepted"),
        ("compare", [RUN, RUN], {"threshold": "2 %"}, "^threshold='2 %' is not accepted"),
        ("compare", [RUN, RUN], {"threshold": True}, "^threshold=True is not accepted"),
        ("scaling", [RUN], {"kind": "Strong"}, "^kind='Strong' is .*; give 'strong' or 'weak'$"),
        ("scaling", [RUN], {"benchmarks": [1]}, r"^benchmarks=\[1\] is not accepted"),
        ("scaling", [RUN], {"at": "64"}, "^at='64' is not accepted; give a whole number, 1 or more$"),
        ("scaling", [RUN], {"at": [-4, 8]}, "^at=-4 is not accepted"),
        ("scaling", [RUN], {"at": [8, 2.5]}, r"^at=2\.5 is not accepted"),
        ("scaling", [RUN], {"at": True}, "^at=True is not accepted; give a whole number, 1 or more$"),
        ("balance", ["none"], {"small": "sometimes"}, "^small='sometimes' is .*; give 'auto', 'keep' or"),
        ("balance", ["none"], {"few_nodes": "never"}, "^few_nodes='never' is not accepted"),
        ("balance", ["none"], {"beside": 5}, "^beside=5 is not accepted; give a word or a list"),
        ("predict", [5, RUN], {}, "^machine=5 is not accepted; give a name or a path$"),
        ("predict", [MACHINE, 5], {}, "^cases=5 is not accepted; give a Case"),
        ("predict", [MACHINE, ["pingpong"]], {}, "^cases='pingpong' is not accepted"),
        ("predict", [MACHINE, case(ranks=0)], {}, "^ranks=0 is not accepted"),
        ("predict", [MACHINE, case(bytes=-1)], {}, "^bytes=-1 is .*, 0 or more$"),
        ("predict", [MACHINE, case(per_node=1.5)], {}, r"^per_node=1\.5 is not accepted"),
        ("predict", [MACHINE, case(axes=["b"])], {}, r"^axes=\['b'\] is not"),
        ("run", [5], {}, "^plan=5 is not accepted"),
        ("run", [], {"ranks": 2.5}, r"^ranks=2\.5 is not accepted"),
        ("run", [], {"interval": 5}, "^interval=5 is not accepted"),
        ("run", [], {"axes": ["cache"]}, r"^axes=\['cache'\] is .* such as {'cache': 'hot'}$"),
        ("run", [], {"output": 5}, "^output=5 is not accepted"),
        ("run", [], {"options": 5}, "^options=5 is not accepted"),
    ],
)
def test_a_wrong_argument_is_named(
    make_run: MakeRun, function: str, arguments: list[Any], options: dict[str, Any], says: str
) -> None:
    path = make_run(launches=1).path
    with pytest.raises(kiviat.InputError, match=says):
        getattr(kiviat, function)(*(path if one is RUN else one for one in arguments), **options)


def test_numbers_of_any_type_are_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    monkeypatch.setattr("kiviat.api.run._started", seen.extend)
    kiviat.run(ranks=np.int64(2), interval=np.float64(0.5))
    kiviat.run(ranks=np.array([2, 4]))
    assert [seen[seen.index("-n") + 1], seen[seen.index("--interval") + 1]] == ["2", "50.0"]
    assert "2,4" in seen


def test_one_number_of_ranks_is_extrapolated_to(make_run: MakeRun) -> None:
    with pytest.raises(kiviat.InputError, match="a single point does not scale"):
        kiviat.scaling(make_run().path, at=64)


def test_one_case_is_predicted(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[SimulatedCase] = []

    def simulate(asked: list[SimulatedCase]) -> list[Record]:
        seen.extend(asked)
        return []

    monkeypatch.setattr("kiviat.api.predict.simulate", simulate)
    kiviat.predict(MACHINE, case(ranks=np.int64(2), bytes=np.int64(8)))
    assert [(type(one.ranks), type(one.bytes)) for one in seen] == [(int, int)]


def test_runs_can_be_keys(make_run: MakeRun) -> None:
    (run,) = kiviat.load(make_run().path)
    assert {run: 1}[run] == 1


def test_a_table_without_rows_has_frames() -> None:
    for module in ("pandas", "polars", "pyarrow"):
        pytest.importorskip(module)
    table = kiviat.Table.of([])
    assert table.to_pandas().shape == table.to_polars().shape == table.to_arrow().shape == (0, 0)
