"""No script, escape sequence or path in the texts of a run or profile takes effect."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest

from kiviat.record.valid import first_wrong
from kiviat.report.profile.page import render_profile
from tests.fuzz.formats import made_runs, record_line
from tests.fuzz.harness import run
from tests.profiler.made_up import halo_profile, halo_waits

from .conftest import Open

HOSTILE = (
    "</script><script>window.hacked=1</script>",
    "<img src=x onerror='window.hacked=1'>",
    "'\"><svg onload=window.hacked=1>",
    "javascript:window.hacked=1//",
    "</style><style>@import 'http://hacked.invalid/';</style>",
    "<!--\u2028\u202e\x1b[2J\x1b]0;hacked\x07",
    "{{7*7}}${7*7}<b>bold</b>&lt;i&gt;",
    "../../../etc/passwd",
    'x 1\nkiviat_time_seconds{machine="prod"} 1e-9\nkiviat_y',
)
# Keys that stay intact, because a run is unreadable without them.
STRUCTURE = {"schema", "id", "run", "created"}
# Keys that stay intact without `names`, because figures and findings need them.
NAMES = {"benchmark", "case", "name", "hash", "axes"}
FAMILIES = dict(zip(("messages", "studies", "hpcc", "scaling", "simulated"), range(5), strict=True))
TABLES = (
    ("show", "RUN"),
    ("show", "RUN", "--percentiles"),
    ("balance", "RUN", "-o", "balance.html"),
    ("scaling", "RUN", "-o", "scaling.html"),
    ("compare", "RUN", "RUN"),
    ("export", "RUN", "-o", "metrics.prom"),
    ("sql", "--run", "RUN", "select * from records"),
    ("sql", "--run", "RUN", "select * from launches"),
    ("model", "fit", "RUN", "-o", "fitted.toml"),
    ("runs",),
)
# A line of OpenMetrics with Kiviat's own metric and label names, where no value ends its label early.
_VALUE = r'"(?:[^"\\\n]|\\[\\"n])*"'
_LABELS = ",".join(
    f"{name}={_VALUE}" for name in ("machine", "run", "case", "benchmark", "ranks", "bytes", "statistic")
)
METRIC = re.compile(
    rf"# (TYPE|UNIT|HELP) kiviat_\w+ [\w. %]+|# EOF|kiviat_\w+\{{{_LABELS}\}} [\d.e+-]+", re.ASCII
)


def poisoned(tree: Any, schema: str, kept: set[str]) -> Any:
    """Prefix texts with hostile ones where the schema allows it; equal texts in equal places stay equal."""
    refused: set[tuple[str, ...]] = set()
    for holder, key, place in _texts(tree):
        if key in kept or place in refused:
            continue
        before = holder[key]
        holder[key] = HOSTILE[crc32(".".join(place).encode()) % len(HOSTILE)] + before
        if first_wrong(tree, schema):
            holder[key] = before
            refused.add(place)
    return tree


def _texts(tree: Any, place: tuple[str, ...] = ()) -> Iterator[tuple[Any, Any, tuple[str, ...]]]:
    for key in list(tree) if isinstance(tree, dict) else range(len(tree)) if isinstance(tree, list) else ():
        here = (*place, key if isinstance(key, str) else "[]")
        if isinstance(tree[key], str):
            yield tree, key, here
        elif key not in NAMES:
            yield from _texts(tree[key], here)


def write(folder: Path, family: str, kept: set[str]) -> None:
    made, records = json.loads(json.dumps(made_runs()[FAMILIES[family]]))
    made["launches"][0]["environment"] = {one: one for one in HOSTILE}
    poisoned(made, "run", kept)
    for record in records:
        record["notes"] = {"blas": "x"}
        poisoned(record, "record", kept)
    assert first_wrong(made, "run") is None
    folder.mkdir(parents=True)
    (folder / "run.json").write_text(json.dumps(made))
    (folder / "records.jsonl").write_bytes(b"".join(record_line(record, True) for record in records))


@pytest.mark.parametrize(
    ("family", "names"),
    [
        ("studies", True),
        *(
            pytest.param(family, names, marks=pytest.mark.full)
            for family in FAMILIES
            for names in (True, False)
            if (family, names) != ("studies", True)
        ),
    ],
)
def test_nothing_of_a_run_is_carried_out(
    family: str, names: bool, open_page: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With `names`, benchmarks and cases have hostile names too; `open_page` detects dialogs and requests."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KIVIAT_RUNS", str(tmp_path / "runs"))
    write(tmp_path / "RUN", family, STRUCTURE if names else STRUCTURE | NAMES)
    write(tmp_path / "runs" / "x", family, STRUCTURE if names else STRUCTURE | NAMES)
    for words in TABLES:
        run(*words)
    for line in (tmp_path / "metrics.prom").read_text().splitlines():
        assert METRIC.fullmatch(line), line
    assert run("report", "RUN", "-o", "report.html") == 0
    assert run("report", "RUN", "last", "-o", "two.html") == 0
    pages = sorted(tmp_path.glob("*.html"))
    assert len(pages) >= 2
    for file in pages:
        page = open_page(file.read_text())
        assert page.evaluate("window.hacked") is None, file.name
        assert page.locator("h1").count() == 1
        assert page.locator("body b, body i").filter(has_text="bold").count() == 0


def test_nothing_of_a_profile_is_carried_out(open_page: Open) -> None:
    ranks = 16
    profile = halo_profile(
        program=HOSTILE[0],
        library=HOSTILE[1],
        path=HOSTILE[7],
        hosts=tuple(HOSTILE[rank % 8] for rank in range(ranks)),
        cpus=(HOSTILE[2],) * ranks,
        remarks=HOSTILE,
        waits=halo_waits(),
    )
    page = open_page(render_profile(profile))
    assert page.evaluate("window.hacked") is None
    assert page.locator("h1").count() == 1
