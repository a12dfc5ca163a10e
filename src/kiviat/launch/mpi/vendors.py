"""Facts about MPI implementations, one file per vendor in `vendors/`.

A need is what a vendor's launcher is given in a situation: running as root, more ranks than cores, a
probe of the transport, or binding (only when asked for). Needs can be limited to versions. `pmi` is what
Slurm's srun has to speak. `wrappers` are names of the C++ wrapper that only this vendor's has.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Literal, get_args

Situation = Literal["root", "oversubscribed", "bind", "probe"]

# The one family that runs on modelled machines instead of real ones.
SIMULATOR = "smpi"
_FOLDER = Path(__file__).parent / "vendors"
_COMPARISON = re.compile(r"(<=|>=|<|>|==)\s*(\d+(?:\.\d+)*)")


@dataclass(frozen=True)
class Need:
    when: Situation
    why: str
    versions: str = ""
    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Leftover:
    """Files that a killed launch leaves behind; while a program of `used_by` runs, they may be needed."""

    folder: Literal["shared_memory", "temporary"]
    patterns: tuple[str, ...]
    used_by: tuple[str, ...] = ()


@dataclass(frozen=True)
class Vendor:
    family: str
    title: str
    version_arguments: tuple[str, ...]
    version_pattern: str
    launcher_pattern: str
    library_marker: str
    launchers: tuple[str, ...]
    pmi: str
    debian_packages: tuple[str, ...]
    needs: tuple[Need, ...]
    leftovers: tuple[Leftover, ...]
    wrappers: tuple[str, ...] = ()

    def needed(self, situations: Iterable[Situation], version: str) -> list[Need]:
        wanted = set(situations)
        return [need for need in self.needs if need.when in wanted and fits(version, need.versions)]


def fits(version: str, predicate: str) -> bool:
    """Whether "4.1.4" fits ">=4,<5". The empty predicate fits every version."""
    seen = _numbers(version)
    for term in filter(None, (term.strip() for term in predicate.split(","))):
        match = _COMPARISON.fullmatch(term)
        if not match:
            raise ValueError(f"version predicate {term!r}")
        bound = _numbers(match[2])
        width = max(len(seen), len(bound))
        left, right = _padded(seen, width), _padded(bound, width)
        outcome = {
            "<": left < right,
            "<=": left <= right,
            ">": left > right,
            ">=": left >= right,
            "==": left == right,
        }
        if not outcome[match[1]]:
            return False
    return True


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version))


def _padded(numbers: tuple[int, ...], width: int) -> tuple[int, ...]:
    return numbers + (0,) * (width - len(numbers))


@cache
def vendors() -> dict[str, Vendor]:
    """All vendors by family, which is the file's name."""
    return {path.stem: _load(path) for path in sorted(_FOLDER.glob("*.toml"))}


def _load(path: Path) -> Vendor:
    data = tomllib.loads(path.read_text())
    return Vendor(
        family=path.stem,
        title=data["title"],
        version_arguments=tuple(data["version_arguments"]),
        version_pattern=data["version_pattern"],
        launcher_pattern=data["launcher_pattern"],
        library_marker=data["library_marker"],
        launchers=tuple(data["launchers"]),
        pmi=data["pmi"],
        debian_packages=tuple(data["debian_packages"]),
        needs=tuple(_need(path, need) for need in data["need"]),
        wrappers=tuple(data.get("wrappers", ())),
        leftovers=tuple(
            Leftover(item["folder"], tuple(item["patterns"]), tuple(item.get("used_by", ())))
            for item in data["leftover"]
        ),
    )


def _need(path: Path, data: Mapping[str, object]) -> Need:
    need = Need(**{**data, "arguments": tuple(data.get("arguments", ()))})  # type: ignore[arg-type]
    if need.when not in get_args(Situation):
        raise ValueError(f"{path}: unknown situation {need.when!r}")
    return need
