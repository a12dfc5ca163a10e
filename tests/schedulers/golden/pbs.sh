#!/bin/bash
#PBS -N kiviat-quick
#PBS -j oe
#PBS -o /runs/r/job.out
#PBS -r y
#PBS -l walltime=01:15:00
#PBS -l select=4:ncpus=4:mpiprocs=4
#PBS -l place=scatter
#PBS -q debug

cd "$PBS_O_WORKDIR" || exit 1
trap 'kill -TERM "$run"' TERM
kiviat run --resume /runs/r &
run=$!
while wait "$run"; code=$?; kill -0 "$run" 2>/dev/null; do :; done
exit $code
