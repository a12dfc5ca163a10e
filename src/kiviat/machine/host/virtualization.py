"""Whether this is a virtual machine or a container, and of which kind."""

from __future__ import annotations

import re
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


def virtualization(root: Path) -> str | None:
    """ "none" on bare metal, else what is known of the guest; None where the machine does not tell."""
    found = [word for word in (_machine(root), _container(root)) if word]
    if found:
        return ", ".join(found)
    return "none" if text(root / "sys/class/dmi/id/sys_vendor") else None


def _machine(root: Path) -> str | None:
    told = " ".join(
        text(root / "sys/class/dmi/id" / name) or "" for name in ("sys_vendor", "product_name", "bios_vendor")
    )
    for sign, name in _VENDORS.items():
        if sign in told:
            return f"virtual machine ({name})"
    if (kind := text(root / "sys/hypervisor/type")) is not None:
        return f"virtual machine ({kind})"
    flags = re.search(r"^flags\s*:(.*)$", text(root / "proc/cpuinfo") or "", re.MULTILINE)
    return "virtual machine" if flags and "hypervisor" in flags[1].split() else None


def _container(root: Path) -> str | None:
    if (root / ".dockerenv").exists():
        return "container (Docker)"
    if (root / "run/.containerenv").exists():
        return "container (Podman)"
    if (root / ".singularity.d").exists():
        return "container (Apptainer)"
    return None
