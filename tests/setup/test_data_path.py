"""Data files of the package are found in a checkout."""

import json

from kiviat.record import data_path


def test_schemas_are_json() -> None:
    schemas = sorted(data_path("schema").glob("*.schema.json"))
    assert {"record.schema.json", "run.schema.json"} <= {path.name for path in schemas}
    for path in schemas:
        json.loads(path.read_text())


def test_native_sources_and_plans_stand_beside() -> None:
    assert (data_path("native") / "benchmark").is_dir()
    assert data_path("plans").is_dir()
