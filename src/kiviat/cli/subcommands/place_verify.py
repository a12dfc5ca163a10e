"""`kiviat place --verify -- mpirun …`.

Runs the program under each placement and compares with predictions.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from itertools import chain, repeat
from pathlib import Path
from statistics import median

from kiviat.cli.options.request import PlaceRequest
from kiviat.cli.options.traffic import Program
from kiviat.cli.text.table import print_table
from kiviat.launch.mpi.command_line import LauncherCommand, taken_apart, toolchain_of
from kiviat.launch.mpi.mpiexec import LauncherOptions
from kiviat.launch.mpi.toolchain import Toolchain
from kiviat.launch.process.signals import Interrupted
from kiviat.launch.programs.timed_run import Trial, tried
from kiviat.launch.substrates.substrate import Substrate
from kiviat.placement import Layout, Place
from kiviat.placement.prediction import Prediction
from kiviat.record import InputError
from kiviat.record.units import format_bytes
from kiviat.report.table import Column, Interval, Table, tabled


def verify(
    request: PlaceRequest,
    program: Program,
    substrate: Substrate,
    layouts: Mapping[str, Layout],
    predictions: Mapping[str, Prediction],
) -> int:
    """Run all placements in turn, several rounds, so that changes of the machine affect all equally.

    Print predicted and observed bytes and times.
    """
    command = taken_apart(request.program)
    if command.ranks != program.traffic.ranks:
        raise InputError(
            f"{command.launcher} -n {command.ranks}: {request.profile} has {program.traffic.ranks} ranks; "
            "run the program on as many, or profile it again"
        )
    if request.repeat < 1:
        raise InputError(f"--repeat {request.repeat}: give at least 1")
    toolchain = toolchain_of(command.launcher, request.mpi)
    seen: dict[str, list[Trial]] = {}
    failed = False
    with substrate, tempfile.TemporaryDirectory(prefix="kiviat-place-", dir=_shared(substrate)) as folder:
        runner = _Runner(substrate, toolchain, command, Path(folder), request.timeout)
        launching = runner.run("launching", layouts["blocked"], ("true",))
        for name, layout in chain.from_iterable(repeat(layouts.items(), request.repeat)):
            trial = runner.run(name, layout, command.program)
            if trial.launch.reason:
                print(f"kiviat: {name}: {trial.launch.reason}", file=sys.stderr)
                failed = True
                break  # what was measured before is shown
            seen.setdefault(name, []).append(trial)
    if not seen:
        return 1
    if request.format == "table":
        _print(seen, predictions, launching)
    else:
        print_table(_table(seen, predictions), request.format)
    return int(failed)


class _Runner:
    def __init__(
        self,
        substrate: Substrate,
        toolchain: Toolchain,
        command: LauncherCommand,
        folder: Path,
        timeout_s: float | None,
    ) -> None:
        self._substrate, self._toolchain, self._command = substrate, toolchain, command
        self._folder, self._timeout_s = folder, timeout_s

    def run(self, name: str, layout: Layout, program: tuple[str, ...]) -> Trial:
        folder = self._folder / name.replace(":", "-").replace("/", "-")
        folder.mkdir(exist_ok=True)
        places = folder / "places"
        places.write_text("".join(f"{line}\n" for line in _lines(layout, self._substrate)), encoding="utf-8")
        options = LauncherOptions(
            place=f"file:{places}",
            arguments=self._command.options,
            oversubscribed=self._substrate.oversubscribes(self._command.ranks),
        )
        start = self._substrate.start(self._toolchain, self._command.ranks, folder, options)
        trial = tried(self._substrate, replace(start.of(program), timeout_s=self._timeout_s))
        if trial.launch.signal is not None:
            raise Interrupted(trial.launch.signal)
        return trial


def _lines(layout: Layout, substrate: Substrate) -> list[str]:
    """Return the lines of a placement file. Emulated nodes share cores, so ranks are not bound there."""
    places = [Place(place.node) if substrate.shares_cores else place for place in layout.places]
    return replace(layout, places=tuple(places)).lines()


def _shared(substrate: Substrate) -> Path | None:
    """Return a folder that all nodes see, the working directory.

    None to use a temporary one on this machine.
    """
    return None if substrate.is_this_machine else Path.cwd()


def _print(seen: Mapping[str, list[Trial]], predictions: Mapping[str, Prediction], launching: Trial) -> None:
    print()
    print_table(_table(seen, predictions))
    if launching.sent_bytes is not None:
        print(
            f"launching nothing sends {format_bytes(launching.sent_bytes)}; headers, acknowledgements and "
            "the beginning of MPI are in what left the nodes"
        )


def _sent(trials: list[Trial]) -> int | None:
    counted = [trial.sent_bytes for trial in trials if trial.sent_bytes is not None]
    return round(median(counted)) if counted else None


def _table(seen: Mapping[str, list[Trial]], predictions: Mapping[str, Prediction]) -> Table:
    def part(name: str) -> float | None:
        sent, predicted = _sent(seen[name]), predictions[name].nodes
        return sent / predicted if sent is not None and predicted else None

    times = {name: [trial.launch.elapsed_s for trial in trials] for name, trials in seen.items()}
    columns: list[Column[str]] = [
        Column("run", lambda name: name, key="placement"),
        Column("predicted", lambda name: predictions[name].nodes, "B", key="between_nodes_bytes"),
        Column(None, lambda name: predictions[name].worst_link, key="worst_link_bytes"),
        Column(None, lambda name: predictions[name].hop_bytes, key="hop_bytes"),
        Column("left the nodes", lambda name: _sent(seen[name]), "B", key="left_nodes_bytes"),
        Column("of predicted", part, "ratio", absent="–"),
        Column("time", lambda name: median(times[name]), "s"),
        Column(
            "from – to",
            lambda name: Interval(min(times[name]), max(times[name]), "s") if len(times[name]) > 1 else "–",
            side=">",
        ),
        Column(None, lambda name: [round(time, 6) for time in times[name]], key="seconds"),
    ]
    return tabled("Runs", columns, seen)
