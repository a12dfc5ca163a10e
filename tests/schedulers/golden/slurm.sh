#!/bin/bash
#SBATCH --job-name=kiviat-quick
#SBATCH --output=/runs/r/job-%j.out
#SBATCH --requeue
#SBATCH --signal=B:TERM@60
#SBATCH --time=75
#SBATCH --ntasks=16
#SBATCH --ntasks-per-node=4
#SBATCH --nodes=4
#SBATCH --partition=debug

# The run is in the background, because bash runs no trap while it waits for a foreground command.
trap 'kill -TERM "$run"' TERM
kiviat run --resume /runs/r &
run=$!
while wait "$run"; code=$?; kill -0 "$run" 2>/dev/null; do :; done
exit $code
