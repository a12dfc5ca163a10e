"""A small separate launch that determines which transport MPI uses."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

from kiviat.launch.mpi import mpiexec
from kiviat.launch.mpi.transport import UNKNOWN, Observed, parse
from kiviat.launch.process import processes
from kiviat.launch.process.execution import last_words_in, output_in
from kiviat.launch.process.processes import Marker
from kiviat.launch.process.signals import Interrupts
from kiviat.launch.run.events import Tail
from kiviat.launch.run.supervise import supervise
from kiviat.launch.substrates.launch_spec import LaunchSpec

# Every rank communicates with near and far ones.
_CASE = "probe allreduce ranks={ranks} bytes=8 target=1e-9 budget_s={seconds:g} max_samples=1000000"
# Seconds for inspecting the ranks. On a busy machine they may end before a look; then again, for longer.
_SECONDS = (0.1, 0.5, 3.0)
_TIMEOUT_S = 60.0
_LOOK_S = 0.02
_DEVICES = ("/sys/class/infiniband", "/sys/class/cxi", "/sys/class/hfi1")


def probe(
    spec: LaunchSpec, binary: Path, interrupts: Interrupts, timeout_s: float = _TIMEOUT_S
) -> dict[str, Any]:
    """Return the transports between the ranks of a launch; `evidence` reports a failed probe."""
    if spec.world < 2:
        return {**UNKNOWN, "evidence": "a single rank sends no messages"}
    for seconds in _SECONDS:
        seen = _observed(spec, binary, interrupts, timeout_s, seconds)
        if isinstance(seen, str):
            return {**UNKNOWN, "evidence": f"the probe launch failed: {seen}"}
        transport = parse(spec.mpi.vendor.transport, seen)
        if transport["near"] or seen.maps:
            break
    return transport


def _observed(
    spec: LaunchSpec, binary: Path, interrupts: Interrupts, timeout_s: float, seconds: float
) -> Observed | str:
    """Return observations of ranks that communicate for `seconds`, or the reason for a failed launch."""
    folder = spec.folder
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(exist_ok=True)  # does not create the run's directory, which may have vanished
    folder.mkdir()
    (folder / "cases.txt").write_text(_CASE.format(ranks=spec.world, seconds=seconds) + "\n")
    spec.write(folder)
    tail, maps, hosts = Tail(folder / "events.jsonl"), set[str](), set[str]()

    def look(marker: Marker) -> bool:
        for event in tail.read():
            if event["event"] == "launch":
                hosts.update(str(rank["host"]) for rank in event.get("ranks", []))
            elif event["event"] == "start":
                maps.update(_mapped(marker, binary))
        return False

    bench = replace(spec.of(mpiexec.program(binary, folder)), timeout_s=timeout_s)
    result = supervise(bench, interrupts, look=look, look_s=_LOOK_S)
    output, words = output_in(folder), last_words_in(folder)
    shutil.rmtree(folder, ignore_errors=True)
    if not result.exited or result.exit_status or not hosts:
        return words or f"no result within {timeout_s:g} s"
    fast = any(Path(device).is_dir() and any(Path(device).iterdir()) for device in _DEVICES)
    return Observed(output, len(hosts), frozenset(maps) or None, fast)


def _mapped(marker: Marker, binary: Path) -> set[str]:
    """Return the files that the ranks on this node have mapped."""
    paths = set()
    for pid in processes.of_launch(marker):
        mapped = processes.mapped(pid)
        if str(binary.resolve()) in mapped:
            paths |= mapped
    return paths
