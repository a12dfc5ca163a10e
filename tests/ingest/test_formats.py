"""Modules of `ingest/formats` are discovered automatically, in any order."""

from __future__ import annotations

from pathlib import Path

import pytest

from kiviat.ingest import all_formats, parse
from tests.fuzz.formats import LOGS
from tests.ingest.test_imb import OLD as IMB
from tests.ingest.test_osu import OLD as OSU


def test_every_module_is_a_format() -> None:
    folder = Path(__file__).parents[2] / "src" / "kiviat" / "ingest" / "formats"
    modules = {path.stem for path in folder.glob("*.py")} - {"__init__"}
    assert {form.__name__.rpartition(".")[2] for form in all_formats()} == modules  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", sorted(LOGS))
def test_no_text_is_recognised_by_two_formats(name: str) -> None:
    """The order of the formats does not matter; the output of HPC Challenge, for example, contains HPL's."""
    assert len([form.NAME for form in all_formats() if form.sniff(LOGS[name])]) == 1


@pytest.mark.parametrize("label", ["0: ", "[0] ", "[1,0]<stdout>:", "[1,0]<stdout>: "])
@pytest.mark.parametrize("log", [IMB, OSU])
def test_labels_of_ranks_are_taken_off(label: str, log: str) -> None:
    """IMB's and OSU's titles were found behind labels, but no rows: the log was refused."""
    labelled = "srun: job 7 has begun\n" + "".join(label + line for line in log.splitlines(keepends=True))
    assert [record.case for record in parse(labelled, "x.txt")] == [
        record.case for record in parse(log, "x.txt")
    ]
