"""Logs in the layouts of LAMMPS's versions, written by hand; numbers are invented except for step 0."""

from __future__ import annotations

_HEAD = """\
LAMMPS ({version})
units           {units}
run             100
"""
_THERMO_LJ = """\
Step Temp E_pair E_mol TotEng Press
       0         1.44   -6.7733681            0   -4.6134356   -5.0197073
     100    0.7574531   -5.7585055            0   -4.6223613   0.20726105
"""
_THERMO_MULTI = """\
---------------- Step        0 ----- CPU =      0.0000 (sec) ----------------
TotEng   =    -25356.2064 KinEng   =     21444.8313 Temp     =       299.0397
PotEng   =    -46801.0377 E_bond   =      2537.9940 E_long   =   -270403.7340
---------------- Step       50 ----- CPU =      8.1000 (sec) ----------------
TotEng   =    -25330.0321 KinEng   =     21501.0009 Temp     =       299.8229
PotEng   =    -46831.0330 E_bond   =      2471.7035 E_long   =   -270410.3932
---------------- Step      100 ----- CPU =     16.4000 (sec) ----------------
TotEng   =    -25290.7386 KinEng   =     21591.9096 Temp     =       301.0906
PotEng   =    -46882.6482 E_bond   =      2567.9789 E_long   =   -270404.9748
"""
_STATISTICS = """\

Nlocal:    16000 ave 16001 max 15999 min
Histogram: 1 0 0 0 0 0 0 0 0 1
Nghost:    13632.5 ave 13635 max 13630 min
Histogram: 1 0 0 0 0 0 0 0 0 1
Neighs:    601416 ave 605200 max 597633 min
Histogram: 1 0 0 0 0 0 0 0 0 1

Total # of neighbors = 1202833
Ave neighs/atom = 37.5885
Neighbor list builds = 5
"""
_TABLE = """\
MPI task timing breakdown:
Section |  min time  |  avg time  |  max time  |%varavg| %total
---------------------------------------------------------------
Pair    | 0.68       | 0.7        | 0.72       |   0.4 | 77.78
Neigh   | 0.12       | 0.125      | 0.13       |   0.1 | 13.89
Comm    | 0.02       | 0.04       | 0.06       |   2.1 |  4.44
Output  | 5.1e-05    | 5.2e-05    | 5.3e-05    |   0.0 |  0.01
Modify  | 0.02       | 0.025      | 0.03       |   0.3 |  2.78
Other   |            | 0.009948   |            |       |  1.11
"""
_FULL_TABLE = """\
MPI task timing breakdown:
Section |  min time  |  avg time  |  max time  |%varavg|  %CPU | %total
-----------------------------------------------------------------------
Pair    | 0.68       | 0.7        | 0.72       |   0.4 | 199.9 | 77.78
Neigh   | 0.12       | 0.125      | 0.13       |   0.1 | 199.8 | 13.89
Comm    | 0.02       | 0.04       | 0.06       |   2.1 | 100.1 |  4.44
Output  | 5.1e-05    | 5.2e-05    | 5.3e-05    |   0.0 | 100.0 |  0.01
Modify  | 0.02       | 0.025      | 0.03       |   0.3 | 100.0 |  2.78
Sync    | 0.001      | 0.002      | 0.003      |   0.1 | 100.0 |  0.22
Other   |            | 0.007948   |            |       |       |  0.88

Thread timing breakdown (MPI rank 0):
Total threaded time 0.81 / 90.0%
Section |  min time  |  avg time  |  max time  |%varavg| %total
---------------------------------------------------------------
Pair    | 0.5        | 0.51       | 0.52       |   0.0 | 60.00
Reduce  | 0.01       | 0.01       | 0.01       |   0.0 |  2.00
"""
_OLD_LINES = """\
Pair  time (%) = 0.7 (77.7778)
Neigh time (%) = 0.125 (13.8889)
Comm  time (%) = 0.04 (4.44444)
Outpt time (%) = 5.2e-05 (0.00577778)
Other time (%) = 0.034948 (3.88311)
"""
_OLD_RHODO_LINES = """\
Pair  time (%) = 12.5 (76.2195)
Bond  time (%) = 0.4 (2.43902)
Kspce time (%) = 0.9 (5.4878)
Neigh time (%) = 2.1 (12.8049)
Comm  time (%) = 0.05 (0.304878)
Outpt time (%) = 0.001 (0.00609756)
Other time (%) = 0.449 (2.7378)

FFT time (% of Kspce) = 0.1 (11.1111)
FFT Gflps 3d (1d only) = 3.7 4.1
"""


def _lj(version: str, memory: str, loop: str, performance: str, times: str, end: str) -> str:
    head = _HEAD.format(version=version, units="lj")
    return f"{head}{memory}\n{_THERMO_LJ}{loop}\n\n{performance}{times}{_STATISTICS}{end}"


_NEW_MEMORY = "Per MPI rank memory allocation (min/avg/max) = 5 | 6 | 7 Mbytes"
_OLD_MEMORY = "Memory usage per processor = 6 Mbytes"
_LOOP = "Loop time of 0.9 on {procs} procs{how} for 100 steps with 32000 atoms"
_ENDS = ("Dangerous builds = 0\n", "Dangerous builds not checked\nTotal wall time: 0:00:01\n")

# Named after what distinguishes them; all have 100 steps of 32,000 atoms in 0.9 s on 2 ranks.
LJ_LOGS = {
    "2025": _lj(
        "22 Jul 2025 - Update 4",
        _NEW_MEMORY,
        _LOOP.format(procs=2, how=""),
        "Performance: 48000.000 tau/day, 111.111 timesteps/s, 3.556 Matom-step/s\n"
        "99.8% CPU use with 2 MPI tasks x 1 OpenMP threads\n\n",
        _TABLE,
        _ENDS[1],
    ),
    "2018, without OpenMP": _lj(
        "16 Mar 2018",
        _NEW_MEMORY,
        _LOOP.format(procs=2, how=""),
        "Performance: 48000.000 tau/day, 111.111 timesteps/s\n"
        "99.8% CPU use with 2 MPI tasks x no OpenMP threads\n\n",
        _TABLE,
        "Dangerous builds not checked\nTotal wall time: 0:00:01\n",
    ),
    "2020, two threads of each rank, all times": _lj(
        "29 Oct 2020",
        _NEW_MEMORY,
        _LOOP.format(procs=4, how=""),
        "Performance: 48000.000 tau/day, 111.111 timesteps/s\n"
        "180.1% CPU use with 2 MPI tasks x 2 OpenMP threads\n\n",
        _FULL_TABLE,
        _ENDS[1],
    ),
    "2016": _lj(
        "17 Nov 2016",
        _OLD_MEMORY,
        _LOOP.format(procs=2, how=""),
        "Performance: 48000.000 tau/day, 111.111 timesteps/s\n"
        "99.8% CPU use with 2 MPI tasks x no OpenMP threads\n\n",
        _TABLE,
        _ENDS[0],
    ),
    "2014, two threads of each rank": _lj(
        "1 Feb 2014",
        _OLD_MEMORY,
        _LOOP.format(procs=4, how=" (2 MPI x 2 OpenMP)"),
        "",
        _OLD_LINES,
        _ENDS[0],
    ),
    "2007": _lj("22 Jun 2007", _OLD_MEMORY, _LOOP.format(procs=2, how=""), "", _OLD_LINES, _ENDS[0]),
}

RHODO_LOG = (
    _HEAD.format(version="1 Feb 2014", units="real")
    + "Memory usage per processor = 91.7487 Mbytes\n"
    + _THERMO_MULTI
    + "Loop time of 16.4 on 1 procs for 100 steps with 32000 atoms\n\n"
    + _OLD_RHODO_LINES
    + _STATISTICS
    + _ENDS[0]
)
