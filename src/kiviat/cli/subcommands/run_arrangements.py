"""Plans that say where ranks go: one run for each arrangement, and one report over all."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from pathlib import Path

from kiviat.cli.text.run_page import report_on
from kiviat.launch.substrates.substrate import Substrate
from kiviat.plan import Arrangement
from kiviat.record import InputError
from kiviat.store import call_run

# The exit code of a run, and where it is; nowhere where there was only to be shown what it would do.
Run = Callable[[Namespace], tuple[int, Path | None]]


def run_arranged(
    plan: str, arrangements: Sequence[Arrangement], arguments: Namespace, substrate: Substrate, run: Run
) -> int:
    """The worst exit code of all; what the machine has no room for is left out and named.

    InputError where nothing is left, or where the command line says where ranks go too.
    """
    for name in ("ranks", "ppn", "place", "bind"):
        if (given := getattr(arguments, name)) is not None:
            raise InputError(
                f"plan {plan} says itself where ranks go: leave {'-n' if name == 'ranks' else '--' + name} "
                f"{given} out, or name its benchmarks without it"
            )
    code, paths, left_out = 0, [], []
    for arrangement in _possible(arrangements, substrate):
        print(f"\n{arrangement.name}")
        try:
            ended, path = run(_with(arguments, arrangement))
        except InputError as error:
            left_out.append(f"{arrangement.name}: {error}")
            print(f"left out: {error}")
            continue
        paths += [path] if path else []
        code = max(code, ended)
        if ended > 1:
            return ended
    if left_out and not paths and not arguments.dry_run:
        raise InputError(f"plan {plan} has no arrangement for this machine: {left_out[0]}")
    if paths:
        _tell(paths, Path(arguments.report or paths[0].parent / f"{plan}.html"))
    return code


def _possible(arrangements: Sequence[Arrangement], substrate: Substrate) -> list[Arrangement]:
    """Ranks of emulated nodes share the machine's cores, and are bound to none."""
    if substrate.shares_cores:
        return list(dict.fromkeys(replace(arrangement, bind=None) for arrangement in arrangements))
    return list(arrangements)


def _with(arguments: Namespace, arrangement: Arrangement) -> Namespace:
    changed = copy(arguments)
    changed.ranks, changed.place, changed.bind = arrangement.shape, arrangement.place, arrangement.bind
    changed.arrangement, changed.report = arrangement.name, None
    return changed


def _tell(paths: Sequence[Path], report: Path) -> None:
    report_on(paths, report)
    print(f"\nall {len(paths)}   {' '.join(call_run(path) for path in paths)}")
    print(f"report  {report}")
    sys.stdout.flush()
