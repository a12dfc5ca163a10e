"""docs/reference/performance.md: the last measurement of each row, stored in measured.json.

Rows may be measured on different days and machines, so each keeps its own date, machine and caution.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.finding import Finding, below, replace_text

STORED = Path(__file__).with_name("measured.json")
PAGE = Path(__file__).parents[1] / "docs" / "reference" / "performance.md"

_HEAD = """\
# Performance

Speed and accuracy of Kiviat compared with hand-written loops and other tools. `make bench ARGS="--write"`
measures and writes this page; do not edit it. [benchmarks/README](../../benchmarks/README.md) defines each
row: its peer, flags, problem, statistic and target, and how to build the peer.

Unless a row says otherwise, ratios compare medians of launches in turns; pages, problem and statistic are the
same on both sides, and programs are started by the `mpiexec` of the MPI, with its default binding. FFTW,
Boost and Scotch are those of the system, the other peers are built as the README says. [With `-Ofast` some of
them are faster](../../benchmarks/README.md#peers-at-their-best), and some ratios smaller. A ratio nearer to 1
than the ranges of its two sides is no difference. Ranges are of one sitting: between hours, figures of both
sides drift by 10 to 20 % on this machine, so compare ratios, not figures of different rows or days. *Not
measured* gives the reason. The line below the name of a row names Kiviat's commit, and the noise of the cores
just before the row (`kiviat run noise`): above 2 or 3 %, small messages tell more about the host of this
virtual machine than about the programs.

Commands below *repeat* measure the peer's figure by hand, in Kiviat's folder and with the peer's programs on
`PATH`: those built with the MPI of the line, since both builds have the same names (and as root with
`OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1`). Some leave files there.
"""


def write(
    findings: Sequence[Finding], machine: Mapping[str, Any], caution: str, names: Collection[str]
) -> None:
    """Replace the stored rows that `findings` contains, and write the page anew; `names` are all rows."""
    rows = stored()
    for name in dict.fromkeys(finding.row for finding in findings):
        rows[name] = {
            "date": datetime.date.today().isoformat(),
            "machine": dict(machine),
            "caution": caution,
            "findings": [
                {
                    key: value
                    for key, value in asdict(_detailed(finding)).items()
                    if key not in ("row", "data")
                }
                for finding in findings
                if finding.row == name
            ],
        }
    replace_text(STORED, json.dumps(rows, indent=1, ensure_ascii=False) + "\n")
    replace_text(PAGE, page(rows, names))


def stored() -> dict[str, Any]:
    """Return the stored rows by name; empty if none was measured."""
    rows: dict[str, Any] = json.loads(STORED.read_text(encoding="utf-8")) if STORED.exists() else {}
    return rows


def page(rows: Mapping[str, Any], names: Collection[str]) -> str:
    """Return the page in Markdown; it also names the rows that were never measured."""
    parts = [_HEAD]
    if missing := [name for name in names if name not in rows]:
        parts.append(f"Rows never measured for this page: {', '.join(missing)}.\n")
    return "\n".join(
        [*parts, *(line for name in names if name in rows for line in _section(name, rows[name]))]
    )


def _detailed(finding: Finding) -> Finding:
    return replace(finding, detail=(*finding.detail, *_ranges(finding)))


def _ranges(finding: Finding) -> tuple[str, ...]:
    """Return a line with the least and greatest launch of both sides of a comparison."""
    samples = {name: values for name, values in finding.data.items() if _is_sample(values)}
    if not samples.keys() & {"ours", "ours_s", "huge"}:
        return ()
    ranges = (
        f"{name.removesuffix('_s')} {min(values) / median(values) - 1:+.1%} to "
        f"{max(values) / median(values) - 1:+.1%} ({len(values)})"
        for name, values in samples.items()
    )
    return (f"least and greatest beside the median, and number: {', '.join(ranges)}",)


def _is_sample(values: Any) -> bool:
    """Return whether these are numbers of several launches."""
    return (
        isinstance(values, list | tuple)
        and len(values) > 1
        and all(isinstance(value, int | float) for value in values)
        and bool(median(values))
    )


def _section(name: str, row: Mapping[str, Any]) -> Iterator[str]:
    machine = row["machine"]
    mpis = f"; {', '.join(machine['mpis'])}" if machine["mpis"] else ""
    yield f"## {name}\n"
    system = f"; {machine['system']}" if "system" in machine else ""
    noise = machine.get("noise_percent")
    revision = f"; Kiviat {machine['revision']}" if machine.get("revision") else ""
    noisy = "" if noise is None else f" Just before, `noise` measured {noise:.2g} % on these cores."
    yield f"{row['date']}, {machine['cpu']}, {machine['cores']} cores{mpis}{system}{revision}.{noisy}"
    if row["caution"]:
        yield f"**{row['caution'][0].upper()}{row['caution'][1:]}.**"
    yield "\n| what | figure | target | |\n|---|---|---|---|"
    for finding in row["findings"]:
        cells = (finding["what"], finding["figure"], finding["target"] or "–", finding["verdict"])
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
    yield ""
    for finding in row["findings"]:
        if lines := below(finding["detail"], finding.get("repeat", ())):
            yield f"{finding['what'][0].upper()}{finding['what'][1:]}:\n"
            yield "\n".join(f"    {line}" for line in lines)
            yield ""
