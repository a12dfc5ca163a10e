"""Detection of leftovers in the environment of a trial: processes, mounts, files."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from . import world
from .command import LOGS, wait_until
from .ledger import RECORDS, RUN, run_json

GRACE_S = 3.0
# Files of a killed launcher and its ranks; Kiviat removes them after its own launches only.
OF_LAUNCHERS = re.compile(rf"/dev/shm/(vader|psm|mpich|sm_|ucx_shm)|{world.TEMPORARY}/(ompi|pmix|prte|hydra)")
# The folder of a finished basic program, which trials of builds build; others are unfinished.
_BASIC = re.compile(r"basic-.*-[0-9a-f]{16}")


@dataclass(frozen=True)
class Left:
    """Detects leftovers of a trial.

    `mounts` existed before; `target` is the requested output file; `cached` are the permitted builds. If
    `stuck`, Kiviat could not clean up: a complete run may keep folders of launches, and recordings of ranks
    may stay beside the output. `foreign` are leftovers of a launcher that the user started, or files
    of a scheduler; `daemons` are the scheduler's processes.
    """

    mounts: Collection[str]
    target: Path
    cached: Collection[Path]
    stuck: bool
    foreign: re.Pattern[str] | None = None
    daemons: Collection[str] = ()

    def __call__(self, builds: bool) -> list[str]:
        """Return all leftovers, after a grace period in which processes may end; if `builds`, include those
        of interrupted builds.
        """
        found: list[str] = []

        def nothing() -> bool:
            found[:] = [f"process {name}" for name in world.processes().values() if name not in self.daemons]
            found.extend(f"mount {path}" for path in world.mounts() - set(self.mounts))
            found.extend(f"interface {name}" for name in world.interfaces())
            found.extend(str(path) for path in world.everything() if not self._belongs(path, builds))
            return not found

        wait_until(nothing, GRACE_S)
        return sorted(found)

    def _belongs(self, path: Path, builds: bool) -> bool:
        if path in (self.target, world.CLOCK) or any(map(path.is_relative_to, (LOGS, world.BIN))):
            return True
        if self.foreign and self.foreign.match(str(path)):
            return True
        if self.stuck and any(one.name.startswith(f"{self.target.name}.") for one in (path, path.parent)):
            return True
        if path.is_relative_to(world.CACHE) and not path.is_relative_to(world.BUILDS):
            return not path.name.startswith(".")
        if path.is_relative_to(world.BUILDS):
            kept = any(map(path.is_relative_to, self.cached)) or any(map(_BASIC.fullmatch, path.parent.parts))
            return not builds or kept or path.suffix == ".lock"
        if path.is_relative_to(world.RUNS) and path != world.RUNS:
            return _is_of_run(path, self.stuck)
        folders = (*world.PLACES, Path("/dev/shm"))  # state folders may remain if they are empty
        return path.is_dir() and (path in folders or path.is_relative_to(world.STATE))


def _is_of_run(path: Path, stuck: bool) -> bool:
    """Return whether the path belongs to a run: its two files, or diagnostic files of a failed launch."""
    name, *rest = path.relative_to(world.RUNS).parts
    if rest in ([RUN], [RECORDS], ["launches"]):
        return True
    if len(rest) < 2 or rest[0] != "launches":
        return False
    run = run_json(world.RUNS / name)
    launches = run.get("launches", [])
    return (stuck and run.get("state") == "complete") or any(
        str(one["index"]) == rest[1] and one["outcome"] == "failed" for one in launches
    )
