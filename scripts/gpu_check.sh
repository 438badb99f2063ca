#!/bin/sh
# The first minutes on an NVIDIA card: tests, speed at the documented sizes, memory, repeatability.
#
#     scripts/gpu_check.sh --into DIR       # at most four minutes; DIR/gpu.json and DIR/gpu.txt
#     scripts/gpu_check.sh --rehearse       # the same on a CPU, with small sizes, within a minute
set -eu
cd "$(dirname "$0")/.."
export OMP_NUM_THREADS=1 PYTHONPATH="$PWD${PYTHONPATH:+:$PYTHONPATH}"
exec python3 scripts/gpu_check.py "$@"
