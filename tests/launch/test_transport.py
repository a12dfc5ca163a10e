"""Transport of each MPI, parsed from captured output, on one host and between two hosts connected by TCP."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kiviat.launch.mpi.transport import Observed, parse

CAPTURED = Path(__file__).with_name("captured")
OWN_SEGMENT = frozenset({"/dev/shm/mpich_shm_8d8a5a01_0"})
NO_SEGMENT = frozenset({"/usr/lib/libmpich.so", "/dev/shm/mpich_shar_tmpM7As0u (deleted)"})


def parsed(name: str, maps: frozenset[str] | None = NO_SEGMENT, fast_network: bool = False) -> dict[str, Any]:
    hosts = 2 if "two-hosts" in name else 1
    output = (CAPTURED / f"{name}.txt").read_text()
    return parse(name.partition("-")[0], Observed(output, hosts, maps, fast_network))


@pytest.mark.parametrize(
    ("name", "near", "far"),
    [
        ("openmpi-4.1.4-one-host", "vader", None),
        ("openmpi-4.1.4-two-hosts", "vader", "tcp"),
        ("openmpi-4.1.4-two-hosts-tcp-only", "tcp", "tcp"),
        ("openmpi-4.1.4-two-hosts-libfabric", "libfabric eth0", "libfabric eth0"),
        ("openmpi-5.0.11-two-hosts", "sm", "tcp"),
        ("mpich-4.0.2-one-host", "UCX sysv+cma", None),
        ("mpich-4.0.2-one-host-tcp-only", "UCX tcp", None),
        ("mpich-4.0.2-two-hosts", "UCX sysv+cma", "UCX tcp"),
    ],
)
def test_transports_in_captured_output(name: str, near: str, far: str | None) -> None:
    found = parsed(name)
    assert (found["near"], found["far"]) == (near, far)


def test_mpich_with_shared_memory_of_its_own() -> None:
    """MPICH is reported to use its own shared memory within a node. UCX lists lanes to near ranks, too, but a
    count of its calls showed that none is used.
    """
    assert parsed("mpich-5.0.2-one-host", OWN_SEGMENT)["near"] == "MPICH shared memory"
    assert parsed("mpich-5.0.2-two-hosts", OWN_SEGMENT)["far"] == "UCX tcp"
    assert parsed("mpich-5.0.2-two-hosts-libfabric", OWN_SEGMENT)["far"] == "libfabric sockets"
    assert parsed("mpich-5.0.2-two-hosts", maps=None)["near"] is None, "no rank was seen: not known"


INTEL = """[0] MPI startup(): Intel(R) MPI Library, Version 2021.18.1  Build 20260626 (id: b44796a)
{provider}[0] MPI startup(): Load tuning file: "/opt/impi/opt/mpi/etc/tuning_generic_{fabrics}.dat"
"""
PROVIDER = "[0] MPI startup(): libfabric provider: tcp;ofi_rxm\n"


@pytest.mark.parametrize(
    ("fabrics", "provider", "near", "far"),
    [
        ("shm", "", "Intel MPI shared memory", None),
        ("shm-ofi", PROVIDER, "Intel MPI shared memory", "libfabric tcp;ofi_rxm"),
        ("ofi", PROVIDER, "libfabric tcp;ofi_rxm", "libfabric tcp;ofi_rxm"),
    ],
)
def test_intel_mpi(fabrics: str, provider: str, near: str, far: str | None) -> None:
    output = INTEL.format(fabrics=fabrics, provider=provider)
    found = parse("intelmpi", Observed(output, 2, NO_SEGMENT, False))
    assert (found["near"], found["far"]) == (near, far)


@pytest.mark.parametrize(
    ("name", "fast_network", "falls_back"),
    [
        ("openmpi-4.1.4-one-host", True, False),
        ("openmpi-4.1.4-two-hosts", False, False),
        ("openmpi-4.1.4-two-hosts", True, True),
        ("openmpi-4.1.4-two-hosts-tcp-only", False, True),
        ("mpich-4.0.2-one-host-tcp-only", False, True),
        ("mpich-4.0.2-two-hosts", True, True),
    ],
)
def test_tcp_is_a_fallback_where_there_is_something_better(
    name: str, fast_network: bool, falls_back: bool
) -> None:
    assert parsed(name, fast_network=fast_network)["fallback_to_tcp"] is falls_back


@pytest.mark.parametrize("family", ["openmpi", "mpich"])
def test_unobserved_transports_are_unknown(family: str) -> None:
    found = parse(family, Observed("something else\n", 1, NO_SEGMENT, True))
    assert (found["near"], found["far"], found["fallback_to_tcp"]) == (None, None, None)
    assert "nothing found" in found["evidence"]


def test_infiniband_as_ucx_names_it() -> None:
    """InfiniBand as UCX reports it; the text follows UCX's documented format, because no such device was
    available.
    """
    line = "ucp_context_0 inter-node cfg#2 tag(rc_mlx5/mlx5_0:1)  rma(rc_mlx5/mlx5_0:1)"
    found = parse("mpich", Observed(line, 2, OWN_SEGMENT, True))
    assert (found["far"], found["fallback_to_tcp"]) == ("UCX rc_mlx5", False)
