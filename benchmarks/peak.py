"""Runs a program and writes its peak memory in bytes to a file: `peak.py FOLDER PROGRAM…`.

The file is named after the program's process number. Uses the standard library only, because it runs between
mpiexec and a rank.
"""

import os
import sys
from pathlib import Path

folder, *command = sys.argv[1:]
child = os.fork()
if child == 0:
    os.execv(command[0], command)  # keeps the descriptors by which the launcher communicates
_, status, usage = os.wait4(child, 0)
(Path(folder) / str(child)).write_text(str(usage.ru_maxrss * 1024))
sys.exit(os.waitstatus_to_exitcode(status))
