"""Transports that MPI uses between ranks of one node (near) and of two (far), read from a probe launch.

No MPI call reports them. Open MPI 5 prints a table of connections; Open MPI 4, if verbose, prints which BTL
each pair uses; UCX logs the lanes of each kind of endpoint; MPICH's summary names the libfabric provider;
Intel MPI prints at startup which fabrics it is tuned for. A transport that is not reported is None. `parse`
is pure; run/transport_probe.py starts the launch.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

UNKNOWN: Mapping[str, Any] = {"near": None, "far": None, "fallback_to_tcp": None, "evidence": "not looked at"}
# The machine model defines the transport, so it is not probed.
MODELLED: Mapping[str, Any] = {**UNKNOWN, "evidence": "modelled"}


@dataclass(frozen=True)
class Observed:
    """Observations of a probe launch: its output, its number of hosts, and the files that its ranks mapped.

    `maps` is None if no rank could be inspected. `fast_network`: whether this node has a network device
    better than Ethernet.
    """

    output: str
    hosts: int
    maps: frozenset[str] | None
    fast_network: bool


def parse(reader: str, seen: Observed) -> dict[str, Any]:
    """Return the `transport` entry of run.json, by the `reader` that the vendor's file names, if any."""
    if reader not in _READERS:
        return {**UNKNOWN, "evidence": "how this MPI tells its transport is not known"}
    near, far, evidence = _READERS[reader](seen)
    if seen.hosts == 1:
        far = None
    return {
        "near": near,
        "far": far,
        "fallback_to_tcp": _falls_back(near, far, seen.fast_network),
        "evidence": evidence if near or far else f"{evidence}: nothing found",
    }


_Transports = tuple[str | None, str | None, str]

_SUMMARY = re.compile(r"^\s*(on|off)-host:\s+all connections are (\S+)", re.MULTILINE)
_PML = re.compile(r"selected (\w+) best priority")
_BTL = re.compile(r"^\[([^:\]]+):\d+\] mca: bml: Using (\w+) btl for send to \S+ on node (\S+)", re.MULTILINE)
_MTL = re.compile(r"mtl:ofi:provider: (\S+)")


def _openmpi(seen: Observed) -> _Transports:
    table = {side: name for side, name in _SUMMARY.findall(seen.output) if name != "n/a"}
    if table and "ucx" not in table.values():
        return table.get("on"), table.get("off"), "ompi_display_comm: table of connections"
    if pairs := [pair for pair in _BTL.findall(seen.output) if pair[1] != "self"]:
        near = _joined(btl for host, btl, other in pairs if host == other)
        far = _joined(btl for host, btl, other in pairs if host != other)
        return near, far, "btl_base_verbose: BTL of each pair of ranks"
    if domains := _joined(_MTL.findall(seen.output)):
        # One MTL carries all messages, near and far.
        return f"libfabric {domains}", f"libfabric {domains}", "mtl_base_verbose: domain of libfabric"
    if "ucx" in (*table.values(), *_PML.findall(seen.output)):
        return *_ucx(seen), "UCX_LOG_LEVEL=info: lanes of each endpoint"
    return None, None, "pml_base_verbose, btl_base_verbose and mtl_base_verbose"


_LIBFABRIC = re.compile(r"^libfabric provider: (\S+)", re.MULTILINE)
_OWN_SEGMENT = "/dev/shm/mpich_shm_"


def _mpich(seen: Observed) -> _Transports:
    near: str | None
    far: str | None
    if provider := _joined(_LIBFABRIC.findall(seen.output)):
        near = far = f"libfabric {provider}"
        evidence = "MPIR_CVAR_DEBUG_SUMMARY=1: provider of libfabric"
    else:
        near, far = _ucx(seen)
        evidence = "UCX_LOG_LEVEL=info: lanes of each endpoint"
    # MPICH with its own shared memory opens endpoints to near ranks, too, but does not use them.
    if seen.maps is None:
        return None, far, f"{evidence}; no rank could be inspected for near ones"
    if any(path.startswith(_OWN_SEGMENT) for path in seen.maps):
        return "MPICH shared memory", far, f"{evidence}; ranks map {_OWN_SEGMENT}*"
    return near, far, f"{evidence}; ranks map no {_OWN_SEGMENT}*"


_STARTUP = re.compile(r"^\[\d+\] MPI startup\(\): libfabric provider: (\S+)", re.MULTILINE)
_TUNED = re.compile(r"Load tuning file: \S*/tuning_[^_/]+_(shm|shm-ofi|ofi)[_.]")


def _intelmpi(seen: Observed) -> _Transports:
    provider = _joined(_STARTUP.findall(seen.output))
    far = provider and f"libfabric {provider}"
    fabrics = set(_TUNED.findall(seen.output))
    near = far if fabrics == {"ofi"} else "Intel MPI shared memory" if fabrics else None
    return near, far, "I_MPI_DEBUG=5: fabrics of the tuning file, provider of libfabric"


# Examples: UCX 1.13 "ep_cfg[1]: tag(sysv/memory cma/memory) …"; 1.20 "intra-node cfg#1 tag(sysv/memory
# cma/memory)
#
# …".
_ENDPOINT = re.compile(r"(?:ep_cfg\[\d+\]:|(self|intra-node|inter-node) cfg#\d+) tag\(([^)]*)\)")
_NEAR_LANES = {"sysv", "posix", "cma", "knem", "xpmem"}


def _ucx(seen: Observed) -> tuple[str | None, str | None]:
    near, far = set[str](), set[str]()
    for kind, lanes in _ENDPOINT.findall(seen.output):
        names = [lane.partition("/")[0] for lane in lanes.split()]
        if kind == "self" or "self" in names:
            continue
        is_near = kind == "intra-node" or seen.hosts == 1 or (not kind and bool(_NEAR_LANES & set(names)))
        (near if is_near else far).add(f"UCX {'+'.join(dict.fromkeys(names))}")
    return _joined(near), _joined(far)


_READERS: Mapping[str, Callable[[Observed], _Transports]] = {
    "openmpi": _openmpi,
    "mpich": _mpich,
    "intelmpi": _intelmpi,
}


def _joined(names: Iterable[str]) -> str | None:
    return ", ".join(sorted(set(names))) or None


_TCP = re.compile(r"\b(tcp|sockets|udp|eth\d*|en[ops]\w+)\b")


def _falls_back(near: str | None, far: str | None, fast_network: bool) -> bool | None:
    """True if messages use TCP although a better transport exists; None if unknown."""
    if near and _TCP.search(near):
        return True
    if far:
        return bool(_TCP.search(far)) and fast_network
    return False if near else None
