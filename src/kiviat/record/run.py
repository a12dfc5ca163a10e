"""A run as described by run.json: plan, machine and launches. See schema/run.schema.json.

The classes are made from JSON that satisfies the schema. Facts that are unavailable, or that an older version
did not write, are None; unknown keys are dropped.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kiviat.record.activity import LaunchActivity
from kiviat.record.traits import Traits
from kiviat.record.valid import each, made


@dataclass(frozen=True, slots=True)
class Rank:
    """One rank of a launch, as observed.

    `node`: number of a group of ranks that share memory. `cpus` and `sockets`: where the rank may run, as
    ranges such as "0,2-3".
    """

    rank: int
    host: str
    node: int | None = None
    pid: int | None = None
    cpus: str | None = None
    sockets: str | None = None

    @property
    def node_or_host(self) -> int | str:
        """Identity of the rank's node: its number, or its host name without one."""
        return self.host if self.node is None else self.node


@dataclass(frozen=True, slots=True)
class Transport:
    """Transports within a node (`near`) and between nodes (`far`), with the evidence for them."""

    near: str | None
    far: str | None
    fallback_to_tcp: bool | None
    evidence: str


@dataclass(frozen=True, slots=True)
class Placement:
    """Requested node of each rank. `differences`: how the observed placement differs."""

    policy: str
    binding: str | None
    nodes: tuple[int, ...]
    differences: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class Launch:
    """One start of an MPI program; times are ISO 8601 in UTC.

    `repetition` is the plan's; a relaunch has the same. `toolchain` has paths of compiler and launcher, and
    how they were chosen. `placement` is None if the launcher placed the ranks.
    """

    index: int
    repetition: int
    command: tuple[str, ...]
    environment: Mapping[str, str]
    started: str
    ended: str | None
    exit: int | None
    outcome: str
    reason: str | None
    mpi: str | None
    mpi_version: str | None
    library: str | None
    embedded: bool
    toolchain: Mapping[str, str | None]
    compiler: str | None
    flags: str | None
    transport: Transport
    world: int | None
    ranks: tuple[Rank, ...]
    placement: Placement | None
    clock_cost_s: float | None
    oversubscribed: bool | None
    activity: LaunchActivity | None = None

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Launch:
        """Return a launch from its entry in run.json."""
        placement, activity = data["placement"], data.get("activity")
        return made(
            cls,
            data,
            transport=made(Transport, data["transport"]),
            ranks=each(Rank, data["ranks"]),
            placement=None if placement is None else made(Placement, placement),
            activity=None if activity is None else made(LaunchActivity, activity),
        )

    @property
    def simulated(self) -> bool:
        """True if SimGrid ran the launch, or its results come from an earlier simulation."""
        return (self.mpi or "").endswith("SMPI")  # "SimGrid SMPI"; older runs have "SMPI"

    def reaches(self, ranks: int) -> bool:
        """True if the launch had at least `ranks` ranks."""
        return (self.world or 0) >= ranks


@dataclass(frozen=True, slots=True)
class Cache:
    """A cache level: `bytes` of one cache, and number of hardware threads that share it."""

    level: int
    bytes: int
    shared_by: int | None = None


@dataclass(frozen=True, slots=True)
class Interface:
    """A network interface."""

    name: str
    kind: str
    speed_bits_per_s: int | None = None


@dataclass(frozen=True, slots=True)
class DeclaredWatts:
    """Power in W that a user declares for a node or a socket (`per`), because energy cannot be measured."""

    value: float
    per: str
    source: str


@dataclass(frozen=True, slots=True)
class PublishedName:
    """A name under which published/ has results of a machine."""

    machine: str
    mode: str


@dataclass(frozen=True, slots=True)
class ModelTopology:
    """The network of a modelled machine; kinds and parameters are described in machine.modelled.networks."""

    kind: str
    parameters: Mapping[str, list[int]]


@dataclass(frozen=True, slots=True)
class Model:
    """The machine file of a simulated run, as far as reports need it.

    `sockets` are per node and `cores` per socket; `link_bandwidth` is in B/s for each direction, `hop_s` in
    s, `core_flops` in flop/s. `uncalibrated`: reason why no published result was fitted, None if one was.
    """

    name: str
    title: str
    summary: str
    version: int
    hash: str
    base: str | None
    uncalibrated: str | None
    calibrated_on: tuple[str, ...]
    assumed: tuple[str, ...]
    losses: tuple[str, ...]
    open_questions: tuple[str, ...]
    published: tuple[PublishedName, ...]
    collectives: str
    nodes: int
    sockets: int
    cores: int
    link_bandwidth: float
    hop_s: float
    topology: ModelTopology
    core_flops: float | None = None

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Model:
        """Return the machine model from its entry in run.json."""
        return made(
            cls,
            data,
            published=each(PublishedName, data["published"]),
            topology=ModelTopology(data["topology"]["kind"], data["topology"]["parameters"]),
        )


@dataclass(frozen=True, slots=True)
class Machine:
    """The machine of a run.

    `sockets`, `cores` and `threads` count the whole host on which kiviat ran, even what the run could not
    use; for a modelled machine, all its nodes.
    `cpu_limit`: processors' worth of time that a control group grants, None without a limit. `model` is None
    unless the machine was simulated.
    """

    name: str
    cpu: str | None
    sockets: int | None
    cores: int | None
    threads: int | None
    memory_bytes: int | None
    caches: tuple[Cache, ...]
    kernel: str | None
    os: str | None
    virtualization: str | None
    governor: str | None
    interfaces: tuple[Interface, ...]
    cpu_limit: float | None = None
    declared_watts: DeclaredWatts | None = None
    model: Model | None = None

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Machine:
        """Return the machine from its entry in run.json."""
        watts, model = data.get("declared_watts"), data.get("model")
        return made(
            cls,
            data,
            caches=each(Cache, data["caches"]),
            interfaces=each(Interface, data["interfaces"]),
            declared_watts=None if watts is None else made(DeclaredWatts, watts),
            model=None if model is None else Model.from_json(model),
        )


@dataclass(frozen=True, slots=True)
class PlanOfRun:
    """The plan of a run: `definition` as loaded, including the command line; `cases` of one repetition."""

    name: str
    hash: str
    definition: Mapping[str, Any]
    cases: int

    @property
    def interval(self) -> float | None:
        """Relative half width of intervals until which cases got further launches; None if they got none."""
        asked = {**self.definition, **self.definition.get("command_line", {})}.get("interval")
        return float(asked) if asked else None


@dataclass(frozen=True, slots=True)
class Run:
    """Contents of run.json; times are ISO 8601 in UTC.

    `plan` is None for an ingested run. `where` has place, placement and binding as requested on the command
    line; it and `benchmarks` are empty in runs of versions that did not store them. `unverified`: number of
    records without a checksum, set when the records are read.
    """

    schema: str
    id: str
    state: str
    version: str
    created: str
    finished: str | None
    substrate: str
    clock: str
    plan: PlanOfRun | None
    machine: Machine
    launches: tuple[Launch, ...]
    where: Mapping[str, str | int | None] = field(default_factory=dict)
    benchmarks: Mapping[str, Traits] = field(default_factory=dict)
    unverified: int = 0

    @property
    def place(self) -> str | None:
        """The placement requested on the command line."""
        asked = self.where.get("place")
        return asked if isinstance(asked, str) else None

    @property
    def bind(self) -> str | None:
        """The binding requested on the command line."""
        asked = self.where.get("bind")
        return asked if isinstance(asked, str) else None

    @property
    def ranks_per_node(self) -> int | None:
        """The number of ranks per node requested on the command line."""
        asked = self.where.get("ppn")
        return asked if isinstance(asked, int) else None

    @property
    def mpis(self) -> list[str]:
        """The MPIs of the launches with their versions, without duplicates."""
        names = (f"{launch.mpi} {launch.mpi_version or ''}" for launch in self.launches if launch.mpi)
        return list(dict.fromkeys(name.strip() for name in names))

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Run:
        """Return the run in `data`, which must satisfy the schema "run"."""
        plan = data["plan"]
        return made(
            cls,
            data,
            plan=None if plan is None else made(PlanOfRun, plan),
            machine=Machine.from_json(data["machine"]),
            launches=tuple(map(Launch.from_json, data["launches"])),
            benchmarks={name: Traits.from_json(one) for name, one in data.get("benchmarks", {}).items()},
        )
