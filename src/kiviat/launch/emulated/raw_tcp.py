"""Rates and latency of plain TCP over emulated links, the reference for those of MPI."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from kiviat.launch.emulated import raw_peer
from kiviat.launch.process import children
from kiviat.record import InputError

_PROGRAM = Path(raw_peer.__file__)
_STARTING_S = (0.5, 2.0, 8.0)
_SETTLING_S = 0.3


class Nodes(Protocol):
    """The nodes of a cluster, and how a command enters one."""

    def addresses(self) -> dict[str, str]:
        """Return the IP address of each node, by the node's name."""

    def entering(self, node: str) -> tuple[str, ...]:
        """Return the words before a command that make it run on `node`."""


def stream_rates(cluster: Nodes, flows: Sequence[tuple[str, str]], duration_s: float = 1.0) -> list[float]:
    """Return the payload rates in bit/s of simultaneous streams, each from one node to another.

    Slow start is excluded: the measured interval begins some tenths of a second after the streams start. If a
    busy machine does not start them in time, they are given more time.
    """
    for starting_s in _STARTING_S:
        rates = _rates(cluster, flows, duration_s, starting_s)
        if all(rates):
            return rates
    raise InputError(f"nothing arrived within {duration_s:g} s between emulated nodes; measure longer")


def _rates(
    cluster: Nodes, flows: Sequence[tuple[str, str]], duration_s: float, starting_s: float
) -> list[float]:
    """Return the rate of each stream in bit/s; 0 if no byte arrived in time."""
    addresses = cluster.addresses()
    begin = time.monotonic() + starting_s + _SETTLING_S
    end = begin + duration_s
    started: list[subprocess.Popen[str]] = []
    try:
        receivers = []
        for _, node in flows:
            receivers.append(_start(cluster, node, "receive", addresses[node], begin, end))
            started.append(receivers[-1])
        for (sender, node), receiver in zip(flows, receivers, strict=True):
            started.append(_start(cluster, sender, "send", addresses[node], _line(receiver)[0], end))
        rates = []
        for receiver in receivers:
            count, seconds = map(float, _line(receiver))
            rates.append(8 * count / seconds if seconds else 0.0)
        return rates
    finally:
        for process in started:
            process.kill()
            process.communicate()


def half_round_trip_s(cluster: Nodes, asker: str, answerer: str) -> float:
    """Return the lower quartile of half the round-trip time of one byte, in seconds.

    On a quiet machine it is near the median, and it hardly changes if other programs use the cores
    temporarily. From a node to itself it is the time that the machine takes without any link.
    """
    address = cluster.addresses()[answerer]
    started = [_start(cluster, answerer, "answer", address)]
    try:
        started.append(_start(cluster, asker, "ask", address, _line(started[0])[0]))
        return float(_line(started[1])[0])
    finally:
        for process in started:
            process.kill()
            process.communicate()


def _start(cluster: Nodes, node: str, role: str, *words: object) -> subprocess.Popen[str]:
    command = [*cluster.entering(node), sys.executable, "-I", "-S", str(_PROGRAM), role, *map(str, words)]
    return subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, preexec_fn=children.tied()
    )


def _line(process: subprocess.Popen[str]) -> list[str]:
    line = process.stdout.readline() if process.stdout else ""
    if not line:
        raise InputError(
            "a plain TCP stream between emulated nodes failed; take the cluster down and create it again"
        )
    return line.split()
