"""A description of a small kiviat-bench with one benchmark for each kind of rule."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kiviat.plan import Overrides, Plan, load_plan

COMMON_AXES = [
    {"name": "group", "default": "0", "values": None, "least": 0, "most": 2**31 - 1},
    {"name": "cache", "default": "hot", "values": ["hot", "off"]},
]


def benchmark(
    file: str, rule: tuple[int, int | None, int], *axes: dict[str, Any], **more: Any
) -> dict[str, Any]:
    sampling = more.get("sampling", "batched" if file.startswith("pt2pt") else "per_call")
    options = {
        "batched": ["-i", "-x", "--pallas2", "--target", "--budget"],
        "per_call": ["-i", "-x", "--pallas2", "--sync", "--target", "--budget"],
        "overlapped": ["-i", "--target", "--budget"],
        "study": [],
    }[sampling]
    return {
        "name": file.rpartition("/")[2],
        "file": file,
        "ranks": dict(zip(("min", "max", "multiple"), rule, strict=True)),
        "axes": [*axes, *COMMON_AXES],
        "sampling": sampling,
        "options": [*(["-m"] if more.get("sized", True) else []), *options],
        **more,
    }


@pytest.fixture
def describe() -> list[dict[str, Any]]:
    return [
        benchmark(
            "pt2pt/pingpong",
            (2, 2, 1),
            {"name": "distance", "default": "1", "values": None, "least": 1, "most": 2**31 - 1},
            aka=["PingPong", "osu_latency"],
        ),
        benchmark(
            "pt2pt/uniband",
            (2, None, 2),
            {"name": "window", "default": "64", "values": None, "least": 1, "most": 10**6},
        ),
        benchmark("collective/allreduce", (2, None, 1), element_bytes=4, aka=["osu_allreduce"]),
        benchmark("collective/barrier", (2, None, 1), sized=False),
        benchmark("collective/iallreduce", (2, None, 1), element_bytes=4, sampling="overlapped"),
        benchmark("pattern/dense", (2, None, 1), sampling="study", sizes="1024,65536", nominal_s=1.0),
        benchmark(
            "hpcc/hpl",
            (1, None, 1),
            {
                "name": "memory",
                "default": "auto",
                "unit": "B",
                "values": ["auto"],
                "least": 2**10,
                "most": 2**50,
                "limits": True,
            },
            sized=False,
            sampling="study",
            nominal_s=60.0,
        ),
    ]


@pytest.fixture
def load(tmp_path: Path, describe: list[dict[str, Any]]) -> Callable[..., Plan]:
    """Load a plan that consists of the given part and defaults."""

    def loaded(text: str, ranks: int = 4, asked_ranks: str | None = None, **overrides: Any) -> Plan:
        path = tmp_path / "mine.toml"
        path.write_text(f'schema = "kiviat.plan/1"\n{text}')
        return load_plan(path, describe, ranks, Overrides(ranks=asked_ranks, **overrides))

    return loaded
