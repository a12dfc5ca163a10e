"""Kiviat's schema validation, compared with a complete implementation.

Everything that the complete implementation refuses, Kiviat refuses, too, and both accept valid files. Kiviat
also refuses unprintable text, numbers too large for a column, 1.0 as an integer, and excessive nesting.
"""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from kiviat.record import UNSEALED_RECORD_SCHEMA, schema
from kiviat.record.valid import first_wrong, parse_json
from tests.fuzz.mutate import change, to_json
from tests.report.modelled import simulated_run_json
from tests.report.studies import study_run_json, study_tables
from tests.store.made_up import record

_STRICTER = (
    "is not a printable text",
    "unprintable characters",
    "which is not 0 or between",
    "is not a number",
    "fit into 64 bits",
    "nested too deeply",
    "whole number",
)
TREES: dict[str, list[dict[str, Any]]] = {
    "run": [study_run_json(launches=1), simulated_run_json()],
    "record": [
        record("run-a", tables=(study_tables(launches=1)[0].table,), notes={"blas": "x"}).to_json()
        | {"schema": UNSEALED_RECORD_SCHEMA}
    ],
}


@pytest.mark.parametrize("name", TREES)
def test_what_the_schema_refuses_is_refused(name: str) -> None:
    rng, complete = Random(name), Draft202012Validator(schema(name))
    trees = [json.loads(json.dumps(tree)) for tree in TREES[name]]
    assert [first_wrong(tree, name) for tree in trees] == [None] * len(trees)
    for _ in range(250):
        mutant, told = change(rng, rng.choice(trees))
        try:
            value = parse_json(to_json(mutant))
        except ValueError:
            continue
        wrong = first_wrong(value, name)
        if wrong is None:
            assert complete.is_valid(value), told
        elif not any(words in wrong for words in _STRICTER):
            assert not complete.is_valid(value), (told, wrong)
