"""Fixtures: a small modelled machine, and functions that run kiviat-bench and test programs on it."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from kiviat.launch.mpi.build import build
from kiviat.launch.mpi.toolchain import Toolchain, find_toolchain
from kiviat.launch.mpi.vendors import SIMULATOR
from kiviat.launch.substrates.simulated import program_platform, simulator
from kiviat.machine.modelled import lowering
from kiviat.machine.modelled.machine import Machine, load_machine
from kiviat.record import InputError

NATIVE = Path(__file__).resolve().parents[2] / "native"
SMALL = Path(__file__).with_name("small.toml")
Place = tuple[int, int]


@pytest.fixture(scope="session")
def simgrid() -> Toolchain:
    try:
        return find_toolchain(SIMULATOR)
    except InputError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def bench(simgrid: Toolchain) -> Path:
    return build(simgrid)


@dataclass
class Simulation:
    """Runs programs on a modelled machine.

    `options` are added to smpirun's options, `environment` to the variables of the process. If `answers` is
    false, Kiviat's replacements of SimGrid functions are not preloaded.
    """

    toolchain: Toolchain
    bench: Path
    folder: Path
    machine: Machine
    options: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    answers: bool = True

    def places(self, ranks: int) -> list[Place]:
        """Return node and core of each rank, in blocked placement."""
        per_node = self.machine.cores_per_node
        return [(rank // per_node, rank % per_node) for rank in range(ranks)]

    def run(
        self, places: Sequence[Place], *program: str | Path, timeout_s: float = 120
    ) -> subprocess.CompletedProcess[str]:
        machine, hosts = self.folder / "machine.txt", self.folder / "hosts"
        machine.write_text(lowering.platform(self.machine))
        hosts.write_text("".join(f"{lowering.host(node, core)}\n" for node, core in places))
        options = {**lowering.options(self.machine), **self.options}
        platform = program_platform(self.toolchain)
        words = simulator(self.toolchain, platform, len(places), hosts, options)
        if not self.answers:
            at = words.index("-wrapper")
            words = words[:at] + words[at + 2 :]
        return subprocess.run(
            [*words, *program],
            env={**os.environ, "KIVIAT_PLATFORM": str(machine), **self.environment},
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=timeout_s,
        )

    def cases(
        self, places: Sequence[Place], lines: Iterable[str], timeout_s: float = 120
    ) -> list[dict[str, Any]]:
        """Return the results of cases such as "pingpong bytes=8 mode=once", in order."""
        cases, events = self.folder / "cases.txt", self.folder / "events.jsonl"
        cases.write_text("".join(f"{number}/{line.split()[0]} {line}\n" for number, line in enumerate(lines)))
        events.unlink(missing_ok=True)
        done = self.run(places, self.bench, "--cases", cases, "--out", events, timeout_s=timeout_s)
        assert done.returncode == 0, done.stderr
        told = [json.loads(line) for line in events.read_text().splitlines()]
        assert told[-1]["event"] == "end", done.stderr
        return [event for event in told if event["event"] == "result"]

    def times(self, places: Sequence[Place], lines: Iterable[str]) -> list[float]:
        """Return the first metric of each case; fail if it is missing."""
        results = self.cases(places, lines)
        assert [result["reason"] for result in results] == [None] * len(results)
        return [result["metrics"][0]["samples"][0] for result in results]

    def with_machine(self, changes: Mapping[str, Any]) -> Simulation:
        return Simulation(self.toolchain, self.bench, self.folder, load_machine(SMALL, changes), self.options)

    def with_options(self, **options: str) -> Simulation:
        named = {name.replace("__", "/").replace("_", "-"): value for name, value in options.items()}
        return Simulation(self.toolchain, self.bench, self.folder, self.machine, named)


@pytest.fixture
def small(simgrid: Toolchain, bench: Path, tmp_path: Path) -> Simulation:
    return Simulation(simgrid, bench, tmp_path, load_machine(SMALL))


def number(text: str) -> dict[str, str]:
    """Return a number in the form of machine files."""
    return {"value": text, "source": "test", "confidence": "high"}


@pytest.fixture(scope="session")
def flows(simgrid: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a program that sends the messages that its arguments name."""
    program = tmp_path_factory.mktemp("flows") / "flows"
    platform = NATIVE / "platform" / "simgrid"
    parts = [platform / f"{name}.cpp" for name in ("rank_group", "clock", "compute", "node")]
    source = Path(__file__).with_name("flows.cpp")
    options: list[str | Path] = ["-std=c++20", "-w", "-DSMPI_NO_OVERRIDE_MALLOC", "-I", NATIVE]
    subprocess.run([simgrid.mpicxx, *options, source, *parts, "-o", program], check=True)
    return program


# --- original implementations, for comparison on the same machine ---------------------------------------


def source(variable: str) -> Path:
    """Return the folder of a peer's sources, which the variable names; skip the test if it is not set.

    Tests never download them.
    """
    if not os.environ.get(variable):
        pytest.skip(f"not measured: {variable} is not given")
    return Path(os.environ[variable])


def compiler(*words: str | Path) -> None:
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.fixture
def wide(simgrid: Toolchain, bench: Path, tmp_path: Path) -> Simulation:
    """The small machine with 16 nodes."""
    machine = load_machine(SMALL, {"node": {"count": number("16")}})
    return Simulation(simgrid, bench, tmp_path, machine)


@pytest.fixture(scope="session")
def ideal(simgrid: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> list[str | Path]:
    """Return linker options for the library of ideal functions.

    It is linked explicitly, because <mpi.h> declares its symbols weak.
    """
    library = tmp_path_factory.mktemp("ideal") / "libideal.so"
    here = Path(__file__).with_name("ideal.cpp")
    compiler(simgrid.mpicxx, "-std=c++20", "-w", "-fPIC", "-I", NATIVE, here, "-o", library)
    return ["-Wl,--no-as-needed", library, f"-Wl,-rpath,{library.parent}"]


def original(wide: Simulation, privatized: bool) -> Simulation:
    """Return the simulation of an original program.

    Reading the clock takes no time, and each rank has its own payload.
    """
    options = {
        **wide.options,
        "smpi/wtime": "0",
        "smpi/shared-malloc": "off",
        "smpi/privatization": "dlopen" if privatized else "no",
    }
    return replace(wide, options=options)


@pytest.fixture(scope="session")
def rounds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built = tmp_path_factory.mktemp("rounds") / "rounds"
    here = Path(__file__).with_name("rounds.c")
    compiler("smpicc", "-O1", "-w", "-DSMPI_NO_OVERRIDE_MALLOC", here, "-o", built)
    return built


def printed(simulation: Simulation, places: list[Place], program: Path) -> tuple[list[str], list[float]]:
    """Return the lines that a program printed, and the simulated seconds that it printed."""
    done = original(simulation, privatized=True).run(places, program)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    seconds = [float(line.split()[0]) for line in lines if line.endswith(" s")]
    assert len(seconds) == 3
    return sorted(line for line in lines if not line.endswith(" s")), seconds
