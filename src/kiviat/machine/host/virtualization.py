"""Detection of virtual machines and containers."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

from kiviat.machine.host.files import text

_VENDORS = {
    "QEMU": "KVM",
    "KVM": "KVM",
    "Amazon EC2": "Amazon EC2",
    "Google": "Google Compute Engine",
    "Microsoft Corporation": "Hyper-V",
    "VMware": "VMware",
    "innotek": "VirtualBox",
    "Xen": "Xen",
    "OpenStack": "OpenStack",
    "Firecracker": "Firecracker",
}


# They also sell, or rent, computers without a hypervisor.
_ALSO_COMPUTERS = {"Amazon EC2", "Google", "Microsoft Corporation", "OpenStack"}


def virtualization(root: Path) -> str | None:
    """Return "none" on bare metal, a description of the guest otherwise, and None if it is unknown."""
    layers = [layer for layer in (_machine(root), _container(root)) if layer]
    if layers:
        return ", ".join(layers)
    return "none" if text(root / "sys/class/dmi/id/sys_vendor") else None


def _machine(root: Path) -> str | None:
    flags = re.search(r"^flags\s*:(.*)$", text(root / "proc/cpuinfo") or "", re.MULTILINE)
    bare = flags is not None and "hypervisor" not in flags[1].split()
    firmware = " ".join(
        text(root / "sys/class/dmi/id" / name) or "" for name in ("sys_vendor", "product_name", "bios_vendor")
    )
    for sign, name in _VENDORS.items():
        if sign in firmware and not (bare and sign in _ALSO_COMPUTERS):
            return f"virtual machine ({name})"
    if (kind := text(root / "sys/hypervisor/type")) is not None:
        return f"virtual machine ({kind})"
    return "virtual machine" if flags and not bare else None


def _container(root: Path) -> str | None:
    if (root / ".dockerenv").exists():
        return "container (Docker)"
    if (root / "run/.containerenv").exists():
        return "container (Podman)"
    if (root / ".singularity.d").exists():
        return "container (Apptainer)"
    with suppress(OSError):  # others may not look there
        if (root / "var/run/secrets/kubernetes.io").exists():
            return "container (Kubernetes)"
    kind = text(root / "run/systemd/container")
    return f"container ({kind})" if kind else None
