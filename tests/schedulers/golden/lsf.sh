#!/bin/bash
#BSUB -J kiviat-quick
#BSUB -o /runs/r/job-%J.out
#BSUB -r
#BSUB -W 01:15
#BSUB -wa TERM -wt 1
#BSUB -n 16
#BSUB -R span[ptile=4]
#BSUB -q debug

trap 'kill -TERM "$run"' TERM
kiviat run --resume /runs/r &
run=$!
while wait "$run"; code=$?; kill -0 "$run" 2>/dev/null; do :; done
exit $code
