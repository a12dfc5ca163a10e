"""Ranks, nodes and commands stated by job scripts, and by schedulers within logs."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest

from kiviat.ingest.stated import looks_like_script, matches, of_log, of_script

SLURM = "#!/bin/bash\n#SBATCH --nodes=4\n#SBATCH --ntasks-per-node=8\n"


@pytest.mark.parametrize(
    ("script", "ranks", "nodes"),
    [
        (SLURM + "srun ./osu_allreduce\n", 32, 4),
        ("#SBATCH -N 2\n#SBATCH -n 64\nmpirun ./a\n", 64, 2),
        ("#SBATCH --ntasks=64\n#SBATCH --ntasks-per-node=32\nmpirun -np 64 ./a -n 24\n", 64, 2),
        (SLURM + "srun -l --cpu-bind=none ./select_gpu all_reduce_perf -b 8 -n 24 -N 7\n", 32, 4),
        (SLURM + "srun -n 2 -N 2 ./osu_latency\n", 2, 2),
        (SLURM + "srun -n2 -N1 ./osu_latency\n", 2, 1),
        ("#PBS -l select=3:ncpus=36:mpiprocs=36\nmpiexec ./a\n", 108, 3),
        ("#PBS -l nodes=2:ppn=4\naprun -n 8 -N 4 --cc depth -d 16 ./a\n", 8, 2),
        ("#PBS -l nodes=2:ppn=4\naprun -n $((PBS_JOBSIZE*4)) -N 4 ./a\n", None, 2),
        ("#$ -pe mpi 48\ngerun ./a\n", 48, None),
        ('#BSUB -n 40\n#BSUB -R "span[ptile=20]"\nmpirun ./a\n', 40, 2),
        ("# flux: -N4 -n16\nflux run -N 4 -n 16 ./a\n", 16, 4),
        ("NODES=4\nPER=8\n#SBATCH -N 4\nmpirun -np $((NODES*PER)) -ppn $PER ./a\n", 32, 4),
        ("#SBATCH -N 4\nmpirun -np ${SLURM_NNODES} ./a\n", 4, 4),
        ("for n in 2 4; do\nn=2\nn=4\nmpirun -np $n ./a\ndone\n", None, None),
        ("#SBATCH -N 4\nmpirun --map-by ppr:12:node --mca btl tcp,self -np 48 ./a\n", 48, 4),
        ("mpirun \\\n  -x A=b \\\n  -np 16 \\\n  ./a\n", 16, None),
        ("echo mpirun -np 16 ./a\n", None, None),
        ("jsrun -n 6 -a 4 ./a\n", None, None),
        ("jsrun --np 8 ./a\n", 8, None),
        ("mpiexec -c 2 -np 4 ./a\n", 4, None),
        ("#PBS -l select=1:ncpus=36:mpiprocs=1+3:ncpus=36:mpiprocs=8\nmpiexec ./a\n", 25, 4),
        ("#PBS -l select=1:mpiprocs=4+3:mpiprocs=4\nmpiexec ./a\n", 16, 4),
        ("#PBS -l select=1:ncpus=36+3:mpiprocs=8\nmpiexec ./a\n", None, 4),
        ("mpirun -np 4 ./a : -np 8 ./b\n", None, None),
        ("#SBATCH -n 8\nmpirun -c 4 ./a\n", 4, None),
        ("mpirun -np $P -c 4 ./a\n", None, None),
        ("#!/bin/bash\n", None, None),
    ],
)
def test_a_script_states_ranks_and_nodes(script: str, ranks: int | None, nodes: int | None) -> None:
    (stated,) = of_script(script)
    assert (stated.ranks, stated.nodes) == (ranks, nodes)


JOB = "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --ntasks=64\n"


@pytest.mark.parametrize(
    ("lines", "ranks"),
    [
        ("cd $D && mpirun -np 8 ./a", 8),
        ("for i in 1 2 3; do mpirun -np 8 ./a; done", 8),
        ("if true; then srun -n 8 ./a; fi", 8),
        ("if srun -n 8 ./a; then echo it ran; else echo srun -n 4; fi", 8),
        ("module load mpi; true || false; (mpirun -np 8 ./a)", 8),
        ("{ mpirun -np 8 ./a; } 2>&1 | tee a.txt", 8),
        ("run() { mpirun -np 8 ./a; }", 8),
        ("mpirun -np 8 ./a & wait", 8),
        ("mpirun > a.txt -np 8 ./a", 8),
        ("mpirun -np 8 ./a # not; mpirun -np 4 ./a", 8),
        ("echo 'start; mpirun -np 4 ./a' && mpirun -np 8 ./a", 8),
        ("timeout -k 5 60 mpirun -np 8 ./a", 8),
        ("numactl -l mpirun -np 8 ./a", 8),
        ("taskset -c 0-3 stdbuf -oL mpirun -np 8 ./a", 8),
        ("time -p env A=1 mpirun -np 8 ./a", 8),
        ("numactl --cpunodebind 0 mpirun ./a", 64),
        ("mpirun_rsh -np 8 n0 n1 ./a", 8),
        ("ibrun -n 8 ./a", 8),
        ("$(which mpirun) -np 8 ./a", 8),
        ("M=$(which mpirun)\n$M -np 8 ./a", 8),
        ("command -v mpirun || exit 1; which mpirun; mpirun -np 8 ./a", 8),
        ("srun -n 4 hostname && srun -n 8 ./osu_allreduce", 8),
        ("mpirun -np 4 numactl -l date\ncd bin && mpirun -np 8 ./osu_allreduce", 8),
        ("srun -n 2 bash -c 'cd /; hostname'\n$MPIRUN -np 4 hostname\nsrun -n 8 ./osu_allreduce", 8),
        ("head -n 1 hosts | sort -n\nmpirun -np 8 ./a", 8),
        ("srun -n 4 hostname", 64),
        ("./osu_allreduce", 64),
        ("N=8\nif $few; then N=4; fi\nmpirun -np $N ./a", None),
        ("N=8; N=$(wc -l < hosts); mpirun -np $N ./a", None),
        ("i=8; for i in 2 4; do mpirun -np $i ./a; done", None),
        ("$MPIRUN -np 8 ./a", None),
        ("${LAUNCHER} ./a", None),
        ('CMD="mpirun -np 8"; $CMD ./a', None),
        ("singularity exec x.sif mpirun -np 8 ./a", None),
        ("bash -c 'mpirun -np 8 ./a'", None),
        ("out=$(mpirun -np 8 ./a)", None),
        ("./run.sh -n 8 ./a", None),
        ("flux mini run -n 8 ./a", None),
    ],
)
def test_a_launch_within_a_line_is_not_taken_for_the_whole_job(lines: str, ranks: int | None) -> None:
    """Logs of 8 ranks once became results of 64, those of the job, unless the line began with `mpirun`.

    Of a launch that is not understood, the number of ranks is unknown.
    """
    (stated,) = of_script(JOB + lines + "\n")
    assert stated.ranks == ranks


def test_a_group_of_commands_has_one_output() -> None:
    two = of_script("(cd a && srun -n 2 ./a) > a.log; for i in 1 2; do srun -n 4 ./b > b.log; done > c.log")
    assert [(one.ranks, one.output, one.redirected) for one in two] == [
        (2, ("a.log",), True),
        (4, ("b.log",), True),
    ]


@pytest.mark.parametrize(
    "word",
    ["mpirun_", "'", '"', '\\"', "`", "$(which ", "$((", "(", "|", "&", "-np ", "$launch", "A=1 ", "1>"],
)
def test_long_lines_take_no_longer_than_their_length(word: str) -> None:
    start = time.process_time()
    of_script("#!/bin/bash\n" + word * (200_000 // len(word)) + "\n")
    assert time.process_time() - start < 10


def test_each_launch_has_its_own_ranks_and_output() -> None:
    two = of_script(SLURM + "srun -n 2 ./a >& out_$DATE/a_%j.log\nsrun -n 4 ./b > b.log 2>&1\n")
    assert [(one.ranks, one.output) for one in two] == [(2, ("a_*.log",)), (4, ("b.log",))]
    assert matches("a_*.log", "a_17.log") and not matches("a_*.log", "b_17.log") and not matches("*.*", "a.b")


def test_placement_is_stated_where_only_one_is_possible() -> None:
    def hosts(line: str) -> tuple[str, ...]:
        return of_script(line)[0].hosts

    assert hosts("srun -n 2 -N 2 ./a") == ("node 0", "node 1")
    assert hosts("srun -n 3 -N 1 ./a") == ("node 0",) * 3
    assert hosts("srun -n 4 -N 2 ./a") == ()


FLUX = """\
# OSU MPI Allreduce Latency Test v5.8
# Size       Avg Latency(us)
8                       1.52
START OF JOBSPEC
{"tasks": [{"command": ["osu_allreduce", "-m", "8"]}]}
START OF EVENTLOG
{"timestamp":1.5,"name":"shell.start","context":{"taskmap":{"version":1,"map":[[3,2,2,1]]}}}
"""


def test_flux_appends_the_map_of_tasks_and_the_command() -> None:
    stated = of_log(FLUX)
    assert (stated.ranks, stated.nodes, stated.command) == (4, 2, "osu_allreduce -m 8")
    assert stated.hosts == ("node 3", "node 3", "node 4", "node 4")


@pytest.mark.parametrize(
    "blocks", ["[[0,1000000000000,0,1]]", "[[0,9999,9999,9]]", '[["a",1,1,1]]', "[[0,1]]", "7"]
)
def test_a_map_of_tasks_that_is_none_states_nothing(blocks: str) -> None:
    line = '{"timestamp":1,"name":"shell.start","context":{"taskmap":{"version":1,"map":' + blocks + "}}}"
    assert of_log(line + "\n").ranks is None


def test_a_log_that_begins_with_its_script_states_what_that_does() -> None:
    stated = of_log(SLURM + "srun ./osu_allreduce\n\n# OSU MPI Allreduce Latency Test v5.8\n")
    assert (stated.ranks, stated.source) == (32, "its script")


def test_variables_do_not_fill_the_memory() -> None:
    """Ten lines, each with ten times the text of the last, once made `kiviat ingest` run out of memory."""
    names = "ABCDEFGHIJK"
    lines = ["A=xxxxxxxxxx", *(f"{new}={f'${old}' * 10}" for old, new in pairwise(names))]
    product = f"P=$(({' * '.join(['$K'] * 10)}))"
    (stated,) = of_script("\n".join([*lines, product, "srun -n 4 ./a $K $P"]))
    assert stated.ranks == 4 and len(stated.command) < 1 << 20


def test_sums_without_end_take_no_longer_than_their_length() -> None:
    """A line of 80,000 `$((` once took three minutes."""
    start = time.process_time()
    of_script("#!/bin/bash\n" + "$((" * 80_000 + "\n")
    assert time.process_time() - start < 10


def test_errors_and_pipes_are_no_output_of_a_launch() -> None:
    (stated,) = of_script(SLURM + "#SBATCH -o job.out\nsrun ./a 2> errors.txt\n")
    assert (stated.output, stated.redirected, stated.command) == (("job.out",), False, "srun ./a")
    (stated,) = of_script(SLURM + "srun ./a 2>&1 | tee a.txt\n")
    assert (stated.output, stated.command) == ((), "srun ./a")
    (stated,) = of_script(SLURM + "srun ./a 2>errors.txt 1> out.txt\n")
    assert (stated.output, stated.redirected, stated.command) == (("out.txt",), True, "srun ./a")


def test_halves_of_characters_in_a_command_are_no_text() -> None:
    """A lone surrogate makes a run unreadable; one in a log of Flux once ended the ingest of its folder."""
    assert of_log(FLUX.replace('"-m"', '"\\ud83d"')).command == "osu_allreduce ? 8"


def test_scripts_are_told_from_logs() -> None:
    assert looks_like_script("#!/bin/sh\n") and looks_like_script("\n#PBS -l select=1\n")
    assert not looks_like_script("# OSU MPI Latency Test v5.8\n#$ 12\n")
