"""Starts a command that preloads the recorder, and packs the files of its ranks."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from kiviat.launch.mpi.build import RECORDER
from kiviat.launch.tools.core_rate import core_rates, rate_of
from kiviat.launch.tools.preload import Tool, finishing
from kiviat.launch.tools.user_command import LaunchFactory
from kiviat.record import InputError
from kiviat.trace import pack
from kiviat.trace.layout import START
from kiviat.trace.pack import SeveralProgramsError

TOOL = Tool(RECORDER, "KIVIAT_TRACE", "trace", START)
# The same library, which records times of calls instead of computation.
TIMES_TOOL = Tool(RECORDER, "KIVIAT_WAITS", "trace", START)


@dataclass(frozen=True)
class Traced:
    """`status`: exit code of the command; `written`: a trace exists, else `refusal` may have the reason.

    `left_out`: number of ranks that MPI_Comm_spawn started, which are not in the trace.
    """

    status: int
    written: bool
    left_out: int = 0
    refusal: str | None = None


def traced(
    starting: LaunchFactory,
    library: Path,
    output: Path,
    state: Path | None = None,
    tool: Tool = TOOL,
    subject: str | None = None,
) -> Traced:
    """Run the command with TOOL or TIMES_TOOL and write its trace.

    The command's output and exit code are not changed. `subject`: what is recorded, for titles.

    `state`: folder for the files of running ranks, which all nodes must see; by default next to `output`.
    """
    readings = core_rates() if tool is TOOL else []
    ended = tool.run(lambda folder: tool.preloading(starting(folder), library, folder), output, state)
    folder = ended.folder
    with finishing(output):
        left_out: int | None = None
        refusal: str | None = None
        try:
            if any(folder.glob("rank-*.stream")):
                readings += core_rates() if tool is TOOL else []
                left_out = pack(folder, output, rate_of(readings), subject)
        except SeveralProgramsError as error:
            refusal = str(error)
        except OSError as error:
            raise InputError(
                f"cannot write {output}: {error.strerror}; the ranks' recordings are in {folder}"
            ) from error
        shutil.rmtree(folder, ignore_errors=True)
        return Traced(ended.status, left_out is not None, left_out or 0, refusal)
