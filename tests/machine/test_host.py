"""Descriptions of machines, from fabricated kernel files and from this machine's."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from kiviat.machine import describe_host
from kiviat.machine.host.description import available_memory_bytes
from kiviat.record import schema

CPUINFO = """\
processor\t: 0
vendor_id\t: AuthenticAMD
model name\t: AMD EPYC 7763  64-Core Processor
flags\t\t: fpu vme {more}
"""


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text + "\n")
    return root


def node(root: Path) -> Path:
    """Create kernel files of two sockets of two cores of two threads; the last thread is offline."""
    files = {
        "proc/cpuinfo": CPUINFO.format(more="sse2"),
        "proc/meminfo": "MemTotal:       131072000 kB\nMemFree: 5 kB",
        "proc/sys/kernel/hostname": "node001",
        "proc/sys/kernel/osrelease": "5.14.0-427.el9",
        "etc/os-release": 'NAME="Rocky"\nPRETTY_NAME="Rocky Linux 9.4 (Blue Onyx)"',
        "sys/devices/system/cpu/online": "0-6",
        "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "performance",
        "sys/class/dmi/id/sys_vendor": "Dell Inc.",
    }
    for cpu in range(7):
        topology = f"sys/devices/system/cpu/cpu{cpu}/topology"
        files[f"{topology}/physical_package_id"] = str(cpu % 4 // 2)
        files[f"{topology}/core_id"] = str(cpu % 2)
    (root / "sys/devices/system/cpu/cpu7").mkdir(parents=True)
    for index, (level, kind, size, shared) in enumerate(
        [(1, "Data", "32K", "0,4"), (1, "Instruction", "32K", "0,4"), (2, "Unified", "512K", "0,4")]
    ):
        folder = f"sys/devices/system/cpu/cpu0/cache/index{index}"
        files |= {f"{folder}/level": str(level), f"{folder}/type": kind}
        files |= {f"{folder}/size": size, f"{folder}/shared_cpu_list": shared}
    files |= {
        f"sys/devices/system/cpu/cpu0/cache/index3/{k}": v
        for k, v in {"level": "3", "type": "Unified", "size": "32M", "shared_cpu_list": "0-1,4-5"}.items()
    }
    return write(root, files)


def test_a_node_of_a_cluster(tmp_path: Path) -> None:
    facts = describe_host(root=node(tmp_path))
    assert facts["kernel"].startswith("Linux 5.14.0-427.el9 ")
    del facts["kernel"]
    assert facts == {
        "name": "node001",
        "cpu": "AMD EPYC 7763 64-Core Processor",
        "sockets": 2,
        "cores": 4,
        "threads": 7,
        "cpu_limit": None,
        "memory_bytes": 131072000 * 1024,
        "caches": [
            {"level": 1, "bytes": 32 << 10, "shared_by": 2},
            {"level": 2, "bytes": 512 << 10, "shared_by": 2},
            {"level": 3, "bytes": 32 << 20, "shared_by": 4},
        ],
        "os": "Rocky Linux 9.4 (Blue Onyx)",
        "virtualization": "none",
        "governor": "performance",
        "interfaces": [],
    }


def test_a_given_name_wins(tmp_path: Path) -> None:
    assert describe_host("Cray", root=node(tmp_path))["name"] == "Cray"


def test_missing_values_are_null_and_never_zero(tmp_path: Path) -> None:
    facts = describe_host(root=tmp_path)
    known = {name: value for name, value in facts.items() if value not in (None, [])}
    assert list(known) == ["name"]


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({"sys/class/dmi/id/sys_vendor": "QEMU"}, "virtual machine (KVM)"),
        ({"sys/class/dmi/id/product_name": "VMware7,1"}, "virtual machine (VMware)"),
        (
            {"sys/class/dmi/id/sys_vendor": "Amazon EC2", ".dockerenv": ""},
            "virtual machine (Amazon EC2), container (Docker)",
        ),
        ({"sys/hypervisor/type": "xen"}, "virtual machine (xen)"),
        ({"proc/cpuinfo": CPUINFO.format(more="hypervisor")}, "virtual machine"),
        ({"run/.containerenv": ""}, "container (Podman)"),
        ({"sys/class/dmi/id/sys_vendor": "HPE"}, "none"),
        (
            {"sys/class/dmi/id/sys_vendor": "QEMU", "proc/cpuinfo": CPUINFO.format(more="sse")},
            "virtual machine (KVM)",  # which may hide itself
        ),
        # Laptops, and whole computers for hire.
        (
            {
                "sys/class/dmi/id/sys_vendor": "Microsoft Corporation",
                "proc/cpuinfo": CPUINFO.format(more="sse"),
            },
            "none",
        ),
        ({"run/systemd/container": "lxc", "sys/class/dmi/id/sys_vendor": "HPE"}, "container (lxc)"),
        ({"var/run/secrets/kubernetes.io/token": ""}, "container (Kubernetes)"),
    ],
)
def test_guests_are_recognised(tmp_path: Path, files: dict[str, str], told: str) -> None:
    assert describe_host(root=write(tmp_path, files))["virtualization"] == told


@pytest.mark.parametrize(
    ("files", "limit"),
    [
        ({"proc/self/cgroup": "0::/a/b", "sys/fs/cgroup/a/b/cpu.max": "max 100000"}, None),
        ({"proc/self/cgroup": "0::/a/b", "sys/fs/cgroup/a/b/cpu.max": "150000 100000"}, 1.5),
        ({"proc/self/cgroup": "0::/a/b", "sys/fs/cgroup/a/cpu.max": "50000 100000"}, 0.5),
        ({"proc/self/cgroup": "0::/", "sys/fs/cgroup/cpu.max": "400000 100000"}, 4.0),
        (
            {
                "proc/self/cgroup": "0::/a/b",
                "sys/fs/cgroup/a/b/cpu.max": "400000 100000",
                "sys/fs/cgroup/a/cpu.max": "50000 100000",
            },
            0.5,
        ),
        (
            {
                "proc/self/cgroup": "5:cpuacct,cpu:/job\n3:memory:/job",
                "sys/fs/cgroup/cpu/job/cpu.cfs_quota_us": "200000",
                "sys/fs/cgroup/cpu/job/cpu.cfs_period_us": "100000",
            },
            2.0,
        ),
        (
            {
                "proc/self/cgroup": "5:cpu,cpuacct:/",
                "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1",
                "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000",
            },
            None,
        ),
    ],
)
def test_a_container_may_have_less_than_the_machine_shows(
    tmp_path: Path, files: dict[str, str], limit: float | None
) -> None:
    assert describe_host(root=write(tmp_path, files))["cpu_limit"] == limit


@pytest.mark.parametrize(
    ("files", "left"),
    [
        ({"proc/meminfo": "MemAvailable: 4096 kB"}, 4 << 20),
        (
            {
                "proc/self/cgroup": "0::/a",
                "sys/fs/cgroup/a/memory.max": "max",
                "sys/fs/cgroup/a/memory.current": "9",
            },
            None,
        ),
        (
            {
                "proc/self/cgroup": "4:memory:/",
                "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712",
                "sys/fs/cgroup/memory/memory.usage_in_bytes": "700",
            },
            None,
        ),
        (
            {
                "proc/meminfo": "MemAvailable: 4096 kB",
                "proc/self/cgroup": "0::/a",
                "sys/fs/cgroup/a/memory.max": "1000",
                "sys/fs/cgroup/a/memory.current": "700",
                "sys/fs/cgroup/a/memory.stat": "anon 100\ninactive_file 150\nactive_file 50",
            },
            500,
        ),
        (
            {
                "proc/self/cgroup": "4:memory:/job",
                "sys/fs/cgroup/memory/job/memory.limit_in_bytes": "1000",
                "sys/fs/cgroup/memory/job/memory.usage_in_bytes": "700",
            },
            300,
        ),
    ],
)
def test_memory_that_a_job_may_still_take(tmp_path: Path, files: dict[str, str], left: int | None) -> None:
    assert available_memory_bytes(write(tmp_path, files)) == left


def test_clusters_of_one_package_have_cores_of_the_same_numbers(tmp_path: Path) -> None:
    """Arm's core_id begins at 0 in each cluster; two clusters of two cores once had two cores in all."""
    cpus = "sys/devices/system/cpu"
    for cpu in range(4):
        at = f"{cpus}/cpu{cpu}/topology"
        write(
            tmp_path,
            {
                f"{at}/physical_package_id": "0",
                f"{at}/core_id": str(cpu % 2),
                f"{at}/thread_siblings_list": str(cpu),
            },
        )
    facts = describe_host(root=tmp_path)
    assert (facts["sockets"], facts["cores"]) == (1, 4)


def test_networks(tmp_path: Path) -> None:
    net, device = "sys/class/net", "sys/class/infiniband/mlx5_0/ports/1"
    write(
        tmp_path,
        {
            f"{net}/lo/type": "772",
            f"{net}/eth0/type": "1",
            f"{net}/eth0/speed": "25000",
            f"{net}/eth0/operstate": "up",
            f"{net}/eth0/device/vendor": "0x15b3",
            f"{net}/eth1/type": "1",
            f"{net}/eth1/operstate": "down",
            f"{net}/docker0/type": "1",
            f"{net}/docker0/speed": "-1",
            f"{net}/ib0/type": "32",
            f"{device}/rate": "200 Gb/sec (4X HDR)",
            f"{device}/link_layer": "InfiniBand",
            f"{device}/state": "4: ACTIVE",
            "sys/class/infiniband/mlx5_1/ports/1/rate": "10 Gb/sec (4X SDR)",
            "sys/class/infiniband/mlx5_1/ports/1/state": "1: DOWN",
        },
    )
    assert describe_host(root=tmp_path)["interfaces"] == [
        {"name": "docker0", "kind": "virtual Ethernet", "speed_bits_per_s": None},
        {"name": "eth0", "kind": "Ethernet", "speed_bits_per_s": 25_000_000_000},
        {"name": "ib0", "kind": "IP over InfiniBand", "speed_bits_per_s": None},
        {"name": "mlx5_0/1", "kind": "InfiniBand", "speed_bits_per_s": 200_000_000_000},
    ]


@pytest.mark.parametrize(
    ("cpuinfo", "name"),
    [
        ("processor : 0\ncpu\t\t: POWER9, altivec supported\n", "POWER9, altivec supported"),
        ("CPU implementer\t: 0x46\nCPU part\t: 0x001\n", "Arm implementer 0x46 part 0x001"),
        ("nothing known\n", None),
    ],
)
def test_processors_call_themselves_differently(tmp_path: Path, cpuinfo: str, name: str | None) -> None:
    assert describe_host(root=write(tmp_path, {"proc/cpuinfo": cpuinfo}))["cpu"] == name


def test_this_machine() -> None:
    facts = describe_host()
    machine = schema("run")["properties"]["machine"]
    assert list(Draft202012Validator(machine).iter_errors(facts)) == []
    assert facts["threads"] >= len(os.sched_getaffinity(0))
    assert facts["memory_bytes"] > 2**28
