"""The NAS Parallel Benchmarks compared with the reference implementation.

Same MPI, class and ranks, in turns.

Programs of the reference are `cg.A.x` and the like below NPB_DIR=, as named by its makefiles, built with the
compiler's highest optimisation for this processor.

Samples are kept in build/npb.jsonl, one per line, until one of the two programs changes: an interrupted row
continues where it stopped, and `--only` measures some programs now and others later.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import platform
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from math import prod
from pathlib import Path
from statistics import median

from benchmarks import resident
from benchmarks.finding import Finding, judged, not_measured
from benchmarks.mpi import BUILD, LaunchError, Mpi
from benchmarks.peers import find_program
from benchmarks.setting import Setting
from kiviat.launch.emulated.yield_library import library
from kiviat.launch.substrates.cores import available_cores, oversubscribes
from kiviat.machine.host.processor import model

ROW = "npb"
PROGRAMS = ("bt", "cg", "ep", "ft", "is", "lu", "mg", "sp")
RANKS = (1, 2, 4)
MEMORY_RANKS = (1, 2)
KEPT = BUILD / "npb.jsonl"
_RATE = "rate of the last launch, huge pages"  # suffix of keys in KEPT
_YIELD = "c++ -std=c++20 -O2 -Inative native/emulated/yield.cpp -o yield.so -shared -fPIC -ldl"
_SQUARES = {"bt", "sp"}
# FT's reference writes one of its arrays for the first time within its timed part. A virtual machine that has
# given free memory back waits for its host there, 18 % of the time, unless a launch just before used as much.
_TOUCH_LATE = {"ft"}
_LEAST, _LEAST_MEAN, _MOST_MEMORY = 1.0, 1.15, 1.0


@dataclass(frozen=True)
class Pair:
    """A NAS program on a number of ranks, and the reference's program of the same class."""

    name: str
    ranks: int
    problem_class: str
    reference: Path

    @property
    def title(self) -> str:
        """The title, which mentions shared cores."""
        title = f"{self.name.upper()} class {self.problem_class}, {self.ranks} rank{'s' * (self.ranks > 1)}"
        cores = available_cores()
        return f"{title} on {cores} core{'s' * (cores > 1)}" if oversubscribes(self.ranks) else title

    @property
    def cases(self) -> list[str]:
        return [f"{self.name} {self.name} class={self.problem_class}"]

    def variables(self, mpi: Mpi) -> dict[str, str]:
        """Return variables for both programs: if ranks share cores, MPICH's ranks must be told to yield."""
        preload = library(mpi.toolchain) if oversubscribes(self.ranks) else None
        return {"LD_PRELOAD": str(preload), "KIVIAT_UCX_YIELD": "1"} if preload else {}

    def repeat(self, mpi: Mpi, pages: str = "huge") -> str:
        """Return the command of `theirs` for a shell."""
        variables = self.variables(mpi)
        shown = variables and variables | {"LD_PRELOAD": "./yield.so"}
        launch = mpi.shell([self.reference], self.ranks, shown, pages)
        steps = ([_YIELD] if variables else []) + [launch] * self._launches
        return " && ".join(steps)

    def rates(self, mpi: Mpi) -> tuple[float, float]:
        """Return operations per second of Kiviat and of the reference, with huge pages."""
        return self.ours(mpi), self.theirs(mpi)

    def ours(self, mpi: Mpi, pages: str = "huge") -> float:
        """Return Kiviat's operations in a second."""
        cases = [f"{case} pages={pages}" for case in self.cases]
        events = mpi.measure(cases, self.ranks, variables=self.variables(mpi))
        rate: float = events.metric(self.name, "rate")["p50"]
        return rate

    def theirs(self, mpi: Mpi, pages: str = "huge") -> float:
        """Return the reference's operations in a second, of its last launch."""
        for _ in range(self._launches):
            said = mpi.launch_peer([self.reference], self.ranks, variables=self.variables(mpi), pages=pages)
        return rate_of(said, self.reference.name)

    @property
    def _launches(self) -> int:
        """The number of launches of the reference in a row; the last one counts."""
        return 2 if self.name in _TOUCH_LATE else 1

    def resident_bytes(self, mpi: Mpi) -> tuple[float, float]:
        """Return the largest peak memory of a rank, of Kiviat and of the reference."""
        ours = resident.peak_of_cases(mpi, self.cases, self.ranks)
        return ours, resident.peak_bytes(mpi, [self.reference], self.ranks)

    def key(self, mpi: Mpi, what: str) -> str:
        """Return a key that identifies the measurement, both programs, the MPI and the machine."""
        digests = _digest(mpi.program), _digest(self.reference)
        machine = f"{model(Path('/')) or 'unknown'}, {platform.release()}"
        words = (what, mpi.name, self.name, self.problem_class, str(self.ranks), *digests, machine)
        return " ".join(words)


@cache
def _digest(program: Path) -> str:
    return hashlib.sha256(program.read_bytes()).hexdigest()[:16]


def rate_of(text: str, program: str) -> float:
    """Return the reference's printed operations per second; raise LaunchError if its verification failed."""
    rate = re.search(r"^ *Mop/s total *= *([\d.Ee+]+) *$", text, re.MULTILINE)
    if not rate:
        raise LaunchError(f"{program} printed no rate")
    if not re.search(r"^ *Verification *= *SUCCESSFUL *$", text, re.MULTILINE):
        raise LaunchError(f"{program} did not verify")
    return 1e6 * float(rate[1])


@dataclass(frozen=True)
class Sample:
    ours: float
    reference: float
    date: str


class Samples:
    """The samples of each pair, Kiviat's and the reference's alternating, stored in a file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._samples: dict[str, list[Sample]] = {}
        if path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                one = json.loads(line)
                sample = Sample(one["ours"], one["reference"], one.get("date", "an unknown day"))
                self._samples.setdefault(one["of"], []).append(sample)

    def of(self, key: str) -> list[Sample]:
        return self._samples.get(key, [])

    def add(self, key: str, ours: float, reference: float) -> None:
        sample = Sample(ours, reference, _today())
        self._samples.setdefault(key, []).append(sample)
        self._path.parent.mkdir(exist_ok=True)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"of": key, **asdict(sample)}) + "\n")


def _earlier(samples: Sequence[Sample]) -> Sequence[str]:
    """Return a remark if samples are of other days than this one."""
    others = sorted({sample.date for sample in samples} - {_today()})
    return [f"with samples of {', '.join(others)}"] if others else []


def _today() -> str:
    return datetime.date.today().isoformat()


def measure(setting: Setting) -> Iterator[Finding]:
    samples = Samples(KEPT)
    for mpi in setting.mpis:
        yield from _rates(mpi, setting, samples)
        if mpi.key == "openmpi":  # only one MPI, because the other one's own memory differs
            yield from _memory(mpi, setting, samples)


def _pairs(
    mpi: Mpi, setting: Setting, problem_class: str, ranks: Sequence[int], target: str
) -> Iterator[Pair | Finding]:
    for name in setting.only or PROGRAMS:
        program = find_program("NPB_DIR", f"{name}.{problem_class}.x", mpi)
        if isinstance(program, str):
            yield not_measured(ROW, f"{name.upper()} class {problem_class}, {mpi.name}", target, program)
        else:
            for number in ranks:
                if name not in _SQUARES or round(number**0.5) ** 2 == number:
                    yield Pair(name, number, problem_class, program)


def _rates(mpi: Mpi, setting: Setting, samples: Samples) -> Iterator[Finding]:
    pairs: list[Pair] = []
    for pair in _pairs(mpi, setting, "S" if setting.brief else "A", RANKS, _words(_LEAST)):
        if isinstance(pair, Finding):
            yield pair
        else:
            pairs.append(pair)
    failed: dict[Pair, str] = {}
    times = setting.times(3, least=1)
    for done in setting.progress(range(times), f"{ROW}: {mpi.name}"):
        for pair in pairs:
            key = pair.key(mpi, _RATE)
            if pair in failed or len(samples.of(key)) > done:
                continue
            try:
                samples.add(key, *pair.rates(mpi))
            except LaunchError as error:  # the other pairs can still be measured
                failed[pair] = str(error)
    ratios: list[float] = []
    for pair in pairs:
        if pair in failed:
            yield not_measured(ROW, f"{pair.title}, {mpi.name}", _words(_LEAST), failed[pair])
            continue
        key = pair.key(mpi, _RATE)
        last = samples.of(key)[-times:]
        ours, theirs = [one.ours for one in last], [one.reference for one in last]
        ratio = median(ours) / median(theirs)
        ratios.append(ratio)
        yield Finding(
            ROW,
            f"{pair.title}, {mpi.name}",
            f"{ratio:.2f} times the reference "
            f"({median(ours) / 1e6:.4g} and {median(theirs) / 1e6:.4g} Mop/s)",
            _words(_LEAST),
            judged(ratio >= _LEAST),
            _earlier(last),
            {"ours": ours, "reference": theirs},
            repeat=(f"{pair.repeat(mpi)}  # Mop/s total",),
        )
    if ratios:
        yield _mean(ratios, mpi)


def _memory(mpi: Mpi, setting: Setting, samples: Samples) -> Iterator[Finding]:
    target = f"{_MOST_MEMORY:g} times at most"
    pairs = list(_pairs(mpi, setting, "S" if setting.brief else "B", MEMORY_RANKS, target))
    detail = [resident.HOW]  # once is enough
    for pair in setting.progress(pairs, f"{ROW}: memory, {mpi.name}"):
        if isinstance(pair, Finding):
            yield pair
            continue
        what, key = f"{pair.title}: memory of a rank, {mpi.name}", pair.key(mpi, "resident")
        try:
            if not samples.of(key):
                samples.add(key, *pair.resident_bytes(mpi))
        except LaunchError as error:
            yield not_measured(ROW, what, target, str(error))
            continue
        last = samples.of(key)[-1]
        ours, theirs = last.ours, last.reference
        yield Finding(
            ROW,
            what,
            f"{ours / theirs:.2f} times the reference ({ours / 1e6:.0f} and {theirs / 1e6:.0f} MB)",
            target,
            judged(ours <= _MOST_MEMORY * theirs),
            [*detail, *_earlier([last])],
            {"ours_bytes": ours, "reference_bytes": theirs},
        )
        detail = []


def _mean(ratios: Sequence[float], mpi: Mpi) -> Finding:
    mean = prod(ratios) ** (1 / len(ratios))
    return Finding(
        ROW,
        f"Geometric mean of these {len(ratios)}, {mpi.name}",
        f"{mean:.2f} times the reference",
        _words(_LEAST_MEAN),
        judged(mean >= _LEAST_MEAN),
        data={"ratios": list(ratios)},
    )


def _words(least: float) -> str:
    return f"{least:g} times at least"
