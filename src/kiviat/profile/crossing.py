"""Reads the traffic that Open MPI's monitoring component counts, messages inside collectives included."""

from __future__ import annotations

import re
from pathlib import Path

# Example, with tabs: "E 0 1 1044 bytes 16 msgs sent …", from rank 0 to rank 1. One-sided operations begin
# with S.
_LINE = re.compile(r"^[EIS]\t(\d+)\t(\d+)\t(\d+) bytes\t(\d+) msgs sent", re.MULTILINE)

# Variable by which the user chooses point-to-point components.
LAYERS = "OMPI_MCA_pml"


def monitoring(folder: Path, chosen: str) -> dict[str, str]:
    """Return the environment that makes Open MPI count into `folder`, also on other nodes.

    `chosen` is the user's value of LAYERS; if it names components, "monitoring" is added.
    """
    variables = {
        "OMPI_MCA_pml_monitoring_enable": "1",
        "OMPI_MCA_pml_monitoring_enable_output": "3",
        "OMPI_MCA_pml_monitoring_filename": str(folder / "crossing"),
    }
    if chosen and not chosen.startswith("^"):
        variables[LAYERS] = f"{chosen},monitoring"
    return variables


def crossed(folder: Path) -> list[tuple[int, int, int, int]]:
    """Return (source, target, messages, bytes) entries, possibly several per pair; empty without files."""
    return [
        (int(source), int(target), int(messages), int(size))
        for path in folder.glob("crossing.*.prof")
        for source, target, size, messages in _LINE.findall(path.read_text(errors="replace"))
    ]
