"""An emulated cluster, from creation to removal."""

from __future__ import annotations

import json
import os
import random
import socket
import string
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Self

from kiviat.launch.emulated import commands, delaying, journal, removal, rights, scripts
from kiviat.launch.emulated.compiling import compiled
from kiviat.launch.emulated.journal import ClusterJournal
from kiviat.launch.emulated.raw_tcp import half_round_trip_s
from kiviat.launch.emulated.shaping import refuse_capped
from kiviat.launch.emulated.spec import Spec
from kiviat.launch.process.processes import Marker
from kiviat.launch.process.signals import Interrupted, Interrupts
from kiviat.machine.topology import Node, Topology, local_topology
from kiviat.record import InputError


@dataclass(frozen=True)
class Traffic:
    """Bytes over a node's link since the cluster was created: frames with their headers."""

    sent_bytes: int
    received_bytes: int


class Cluster:
    """A running cluster. As a context manager it is removed at the end."""

    def __init__(self, noted: ClusterJournal) -> None:
        self._journal = noted

    @classmethod
    def up(cls, spec: Spec, name: str | None = None, *, kept: bool = False) -> Self:
        """Create a cluster and return it; a `kept` one outlives this process.

        Raise InputError if it cannot be created; nothing is left behind then.
        """
        refuse_capped(spec)
        rights.refuse_without_rights()
        wire = delaying.wire_for(spec)
        removal.clean_dead()
        with Interrupts() as interrupts:
            cluster = cls(journal.claim(name or _new_name(), spec, Marker.new()))
            try:
                cluster._make(wire)
                if kept and interrupts.signal is None:
                    cluster._journal = replace(cluster._journal, kept=True)
                    cluster._journal.write()
            except BaseException:
                cluster.down()
                raise
            if interrupts.signal is not None:
                cluster.down()
        if interrupts.signal is not None:
            raise Interrupted(interrupts.signal)
        return cluster

    @classmethod
    def find(cls, name: str) -> Self:
        """Return the kept cluster of this name, or one of this process or its parent.

        Raise InputError if it is missing or incomplete.
        """
        known = {noted.name: noted for noted in journal.journals()}
        if name not in known:
            kept = ", ".join(noted.name for noted in known.values() if noted.kept)
            raise InputError(
                f"there is no emulated cluster {name!r} (existing ones: {kept or 'none'}); "
                "`kiviat cluster up` creates one"
            )
        noted = known[name]
        if not noted.is_here():
            raise InputError(
                f"emulated cluster {name!r} was created on host {noted.marker.host}; use it there"
            )
        if noted.is_dead():
            raise InputError(
                f"emulated cluster {name!r} was left by a kiviat that has ended; "
                "`kiviat cluster status` removes it"
            )
        if not noted.kept and noted.marker.owner not in (os.getpid(), os.getppid()):
            raise InputError(
                f"emulated cluster {name!r} belongs to a running kiviat, process {noted.marker.owner}, "
                "which takes it down when it ends; `kiviat cluster up` creates one that stays"
            )
        if not removal.is_up(noted):
            raise InputError(
                f"emulated cluster {name!r} is incomplete; remove it with `kiviat cluster down {name}`, "
                "then create it again"
            )
        return cls(noted)

    @classmethod
    def planned(cls, spec: Spec, name: str = "NAME") -> Self:
        """Return a cluster for a dry run, which creates nothing; InputError as from `up` for its links."""
        refuse_capped(spec)
        return cls(ClusterJournal(name, spec, Marker.new(), False, journal.boot()))

    @property
    def name(self) -> str:
        """Name of the cluster in `kiviat cluster`, and of its folder."""
        return self._journal.name

    @property
    def spec(self) -> Spec:
        """Number of nodes and slots, rate and delay of the links."""
        return self._journal.spec

    @property
    def folder(self) -> Path:
        """The folder of the namespaces, scripts and journal."""
        return self._journal.folder

    def topology(self) -> Topology:
        """The nodes, each with all cores of the machine, because they share them."""
        sockets = local_topology().nodes[0].sockets
        return Topology(tuple(Node(name, sockets, self.spec.slots) for name in self.addresses()))

    def addresses(self) -> dict[str, str]:
        """Return the IP address of each node, by the node's name."""
        return {scripts.node_name(index): scripts.node_address(index) for index in range(self.spec.nodes)}

    def entering(self, node: str = scripts.HEAD) -> tuple[str, ...]:
        """Return the command prefix that runs a command on a node, or on the head, where launchers run."""
        return str(self.folder / "enter"), node

    def traffic(self) -> dict[str, Traffic]:
        """Return the traffic of each node, by name.

        The bytes that a node sends are those that its port of the bridge receives.
        """
        words = ["nsenter", f"--net={self.folder / scripts.HEAD}.net", "ip", "-s", "-j", "link"]
        shown = self._run(words, "look at")
        links = {link["ifname"]: link["stats64"] for link in json.loads(shown)}
        ports = {scripts.node_name(index): links[scripts.port(index)] for index in range(self.spec.nodes)}
        return {name: Traffic(port["rx"]["bytes"], port["tx"]["bytes"]) for name, port in ports.items()}

    def bytes_sent(self) -> dict[str, int]:
        """Return the bytes that each node has sent since the cluster's creation.

        Frames with their headers.
        """
        return {name: traffic.sent_bytes for name, traffic in self.traffic().items()}

    def down(self) -> list[int]:
        """Remove the cluster. Return the processes that still ran in it and have been ended."""
        # The process that created a kept cluster has ended; another one may have its number now.
        return removal.remove(self.folder, None if self._journal.kept else self._journal.marker)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with Interrupts() as interrupts:
            self.down()
        if interrupts.signal is not None and error is None:
            raise Interrupted(interrupts.signal)

    def _make(self, wire: Path | None) -> None:
        slices = compiled("slices", ["emulated/slices.cpp"])
        files = [scripts.HEAD + ".net"]
        for index in range(self.spec.nodes):
            files += [f"{scripts.node_name(index)}.{kind}" for kind in scripts.NAMESPACES]
        for file in files:
            (self.folder / file).touch()
        (self.folder / scripts.TEMPORARY).mkdir()
        nsenter, unshare, mount = (commands.found(name) or name for name in ("nsenter", "unshare", "mount"))
        head = scripts.head_name(self.spec, socket.gethostname())
        self._write("hosts", scripts.hosts(self.spec, head), 0o644)
        self._write("enter", scripts.enter(self.folder, head, nsenter, unshare, mount, slices), 0o755)
        self._write("agent", scripts.agent(self.folder), 0o755)
        self._run(["sh"], "make", scripts.make(self.spec, wire))
        if wire and self.spec.nodes > 1:
            delaying.calibrate(self.folder, self.spec, self._added_by_link_s)

    def _added_by_link_s(self) -> float:
        """Return the one-way time of a link in seconds, minus the time of a message from a node to itself."""
        near, far, *_ = self.addresses()
        there, here = (half_round_trip_s(self, near, to) for to in (far, near))
        return there - here

    def _write(self, name: str, text: str, mode: int) -> None:
        path = self.folder / name
        path.write_text(text)
        path.chmod(mode)

    def _run(self, words: Iterable[str], what: str, text: str = "") -> str:
        done = commands.run(list(words), self._journal.marker, text, self.folder)
        if done.returncode:
            said = [line.strip() for line in done.stderr.splitlines() if line.strip()]
            reason = said[0].rstrip(".") if said else f"exit code {done.returncode}"
            raise InputError(
                f"cannot {what} emulated cluster {self.spec.label!r}: {reason}; emulation needs the "
                "kernel's namespaces, veth, bridge and htb, and in a container the right to mount"
            )
        return done.stdout


def _new_name() -> str:
    return "kv" + "".join(random.choices(string.ascii_lowercase, k=6))
