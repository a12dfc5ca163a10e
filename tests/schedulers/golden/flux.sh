#!/bin/bash
#flux: --job-name=kiviat-quick
#flux: --output=/runs/r/job-{{id}}.out
#flux: --time-limit=75m
#flux: -n 16
#flux: -N 4
#flux: --queue=debug

trap 'kill -TERM "$run"' TERM
kiviat run --resume /runs/r &
run=$!
while wait "$run"; code=$?; kill -0 "$run" 2>/dev/null; do :; done
exit $code
