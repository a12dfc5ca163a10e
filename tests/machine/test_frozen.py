"""Models are frozen before validation; a changed model must have a new version."""

from __future__ import annotations

import datetime
import tomllib
from collections import Counter

import pytest

from kiviat.machine.modelled.machine import find_machine, machines
from kiviat.record import data_path

FROZEN = tomllib.loads((data_path("machines") / "frozen.toml").read_text(encoding="utf-8"))["frozen"]


@pytest.mark.parametrize("name", sorted(machines()))
def test_no_machine_changes_without_a_new_version(name: str) -> None:
    machine = find_machine(name)
    hashes = {row["version"]: row["hash"] for row in FROZEN if row["name"] == name}
    assert machine.version in hashes, f"add version {machine.version} of {name} to machines/frozen.toml"
    assert machine.hash == hashes[machine.version], (
        f"{name} is not what was frozen as version {machine.version}: give it version {max(hashes) + 1}, and "
        "machines/frozen.toml a line for that beside this one"
    )
    assert machine.version == max(hashes), "old versions stay in the list, the file is the newest"


def test_each_version_is_frozen_once_and_dated() -> None:
    assert set(Counter((row["name"], row["version"]) for row in FROZEN).values()) == {1}
    for row in FROZEN:
        assert set(row) == {"name", "version", "hash", "date"}
        assert isinstance(row["date"], datetime.date) and len(row["hash"]) == 64
        versions = [other["version"] for other in FROZEN if other["name"] == row["name"]]
        assert sorted(versions) == list(range(1, len(versions) + 1))
