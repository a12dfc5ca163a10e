"""The classes Run and Launch have the fields of the schema; missing values are None."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from kiviat.record import schema
from kiviat.record.run import (
    Cache,
    DeclaredWatts,
    Interface,
    Launch,
    Machine,
    Model,
    ModelTopology,
    Placement,
    PlanOfRun,
    PublishedName,
    Rank,
    Run,
    Transport,
)
from tests.report.modelled import simulated_run_json
from tests.report.synthetic import make_run, make_run_json

RUN = schema("run")["properties"]
LAUNCH = RUN["launches"]["items"]["properties"]
MACHINE = RUN["machine"]["properties"]
MODEL = schema("run")["$defs"]["model"]["properties"]


@pytest.mark.parametrize(
    ("cls", "properties"),
    [
        (PlanOfRun, RUN["plan"]["properties"]),
        (Machine, MACHINE),
        (Cache, MACHINE["caches"]["items"]["properties"]),
        (Interface, MACHINE["interfaces"]["items"]["properties"]),
        (DeclaredWatts, MACHINE["declared_watts"]["properties"]),
        (Model, MODEL),
        (ModelTopology, MODEL["topology"]["properties"]),
        (PublishedName, MODEL["published"]["items"]["properties"]),
        (Launch, LAUNCH),
        (Transport, LAUNCH["transport"]["properties"]),
        (Placement, LAUNCH["placement"]["properties"]),
        (Rank, LAUNCH["ranks"]["items"]["properties"]),
    ],
)
def test_each_class_has_what_the_schema_has(cls: type[Any], properties: dict[str, Any]) -> None:
    assert {field.name for field in fields(cls)} == set(properties)


def test_a_run_has_the_number_of_unverified_records_beside() -> None:
    assert {field.name for field in fields(Run)} == {*RUN, "unverified"}


def test_fields_missing_in_older_versions_are_none_and_never_0() -> None:
    data = make_run_json(launches=1)
    data["launches"][0]["ranks"] = [{"rank": 3, "host": "n1"}]
    run = Run.from_json(data)
    assert (run.machine.cpu_limit, run.machine.declared_watts, run.machine.model) == (None, None, None)
    assert (run.where, run.place, run.bind, run.ranks_per_node) == ({}, None, None, None)
    assert run.launches[0].ranks == (Rank(3, "n1", None, None, None, None),)
    assert run.launches[0].ranks[0].node_or_host == "n1"


def test_a_node_has_the_number_0_too() -> None:
    assert Rank(0, "n1", node=0).node_or_host == 0


def test_names_that_the_schema_does_not_know_are_left_out() -> None:
    data = make_run_json(launches=1)
    data["launches"][0]["of a later version"] = 1
    assert Run.from_json(data) == make_run(launches=1)


def test_lists_are_tuples_at_every_depth() -> None:
    run = Run.from_json(simulated_run_json(published=[{"machine": "Cray", "mode": "VN"}]))
    assert run.machine.model is not None
    assert run.machine.model.published == (PublishedName("Cray", "VN"),)
    assert run.machine.model.calibrated_on == ("X-001", "X-002")
    assert run.launches[0].placement is not None
    assert run.launches[0].placement.nodes == (0, 0, 1, 1)


def test_launches_that_died_early_reach_no_number_of_ranks() -> None:
    (launch,) = make_run(launches=1, launch={"world": None}).launches
    assert not launch.reaches(1)
    (launch,) = make_run(launches=1).launches
    assert launch.reaches(4) and not launch.reaches(5)
