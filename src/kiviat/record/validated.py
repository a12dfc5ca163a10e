"""Errors of machine models on published rows, as stored by `kiviat model validate --write`.

They are in machines/validated.json. Each model has the hash that it had when it was compared, so errors of an
earlier version of a model are never used for the present one; errors computed with an earlier simulator are
marked.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from kiviat.record.errors import InputError
from kiviat.record.files import read_text
from kiviat.record.schema import data_path, refuse_other_version
from kiviat.record.writing import write_whole

VALIDATED_SCHEMA = "kiviat.validated/1"
VALIDATED_FILE = "validated.json"


@dataclass(frozen=True, slots=True)
class ComparedRow:
    """A published row and a model's prediction of it.

    `form` is "value" if the row is itself a quantity, else the form of its claim (analysis/published).
    `error` is predicted / published - 1; None for bounds, statements and rows without an answer. `holds` is
    for bounds and statements. `published` and `predicted` are in `unit`, None for statements. `quantity`
    names the first case and the metric: rows with the same quantity count as one piece of evidence. `fitted`:
    the model was fitted to the row, so its error is not that of a prediction.
    """

    row: str
    form: str
    benchmark: str
    metric: str
    ranks: int
    bytes: int | None
    quantity: str
    unit: str
    published: float | None
    predicted: float | None
    error: float | None
    holds: bool | None
    fitted: bool = False


@dataclass(frozen=True, slots=True)
class ComparedModel:
    """A model as it was compared with published rows: name, version, hash, date, rows with errors.

    `simulator` is the `simulator_hash` of that date; empty if it was not stored.
    """

    name: str
    version: int
    hash: str
    date: str
    rows: tuple[ComparedRow, ...]
    simulator: str = ""


@cache
def simulator_hash() -> str:
    """Return a hash of Kiviat's part of the simulator, comments and blanks left out: 16 hex digits."""
    native = data_path("native")
    code = hashlib.sha256()
    for folder in ("simgrid", "platform/simgrid"):
        for path in sorted((native / folder).rglob("*.?pp")):
            text = re.sub(r"//.*", "", path.read_text(encoding="utf-8"))
            code.update(f"{path.relative_to(native)} {''.join(text.split())}\n".encode())
    return code.hexdigest()[:16]


@cache
def compared_models() -> Mapping[str, ComparedModel]:
    """Return the last comparison of each model of Kiviat's package, by name."""
    return read_compared(data_path("machines") / VALIDATED_FILE)


def read_compared(path: Path) -> dict[str, ComparedModel]:
    """Return the models in a file; none if the file does not exist. Raise InputError if it cannot be read."""
    try:
        data = json.loads(read_text(path))
        refuse_other_version(data.get("schema"), VALIDATED_SCHEMA)
        return {one["name"]: _model(one) for one in data["models"]}
    except FileNotFoundError:
        return {}
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"{path} cannot be read as errors of models ({error}); "
            "`kiviat model validate --write` writes it again"
        ) from None


def write_compared(models: Sequence[ComparedModel], path: Path) -> None:
    """Replace the file by these models, sorted by name, with one row per line."""
    lines = []
    for one in sorted(models, key=lambda model: model.name):
        about = {"name": one.name, "version": one.version, "hash": one.hash, "date": one.date}
        about["simulator"] = one.simulator
        rows = ",\n".join(f"  {json.dumps(asdict(row))}" for row in one.rows)
        lines.append(json.dumps(about)[:-1] + f', "rows": [\n{rows}\n]}}')
    text = f'{{"schema": "{VALIDATED_SCHEMA}", "models": [\n' + ",\n".join(lines) + "\n]}\n"
    write_whole(text, path, "errors of models")


def _model(data: Mapping[str, Any]) -> ComparedModel:
    rows = tuple(ComparedRow(**row) for row in data["rows"])
    of = data.get("simulator", "")
    return ComparedModel(data["name"], data["version"], data["hash"], data["date"], rows, of)
