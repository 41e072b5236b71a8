#!/usr/bin/env bash
# A set that takes long, measured by a Slurm job array in the folder that it is submitted from:
#   job=$(sbatch --parsable --array=1-4 slurm-array.sh --definitions=bench.toml)
#   sbatch --dependency=afterany:$job --wrap="instr_bench merge $job-*.jsonl --output=all.jsonl"
# The nodes must be alike (--constraint): merge refuses what was measured on different ones, and fails
# where a shard is missing.
#SBATCH --job-name=instr_bench
#SBATCH --cpus-per-task=1
#SBATCH --output=%A-%a.log
set -euo pipefail
exec "${INSTR_BENCH:-instr_bench}" "$@" --jobs="$SLURM_CPUS_PER_TASK" \
  --shard="$SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT" \
  --output="$SLURM_ARRAY_JOB_ID-$SLURM_ARRAY_TASK_ID.jsonl"
