#!/usr/bin/env bash
# Measures a large set by a Slurm job array, in the folder from which you submit it:
#   job=$(sbatch --parsable --array=1-4 slurm-array.sh --definitions=bench.toml)
#   sbatch --dependency=afterany:$job --wrap="instr_bench merge $job-*.jsonl --output=all.jsonl"
# All nodes must be of one kind (--constraint): merge refuses results from different ones, and fails
# if a shard is missing. Run that task again, before you merge, with
#   sbatch --array=3 --export=ALL,SHARDS=4,RUN=$job slurm-array.sh --definitions=bench.toml
#SBATCH --job-name=instr_bench
#SBATCH --cpus-per-task=1
#SBATCH --output=%A-%a.log
set -euo pipefail
task=$SLURM_ARRAY_TASK_ID shards=${SHARDS:-$SLURM_ARRAY_TASK_COUNT} run=${RUN:-$SLURM_ARRAY_JOB_ID}
if [ "$task" -gt "$shards" ] || { [ -z "${SHARDS:-}" ] && [ "$SLURM_ARRAY_TASK_MAX" != "$shards" ]; }; then
  echo "these tasks are not 1 to $shards: for part of an array, set the number of all shards: SHARDS=4" >&2
  exit 2
fi
exec "${INSTR_BENCH:-instr_bench}" "$@" --jobs="$SLURM_CPUS_PER_TASK" --shard="$task/$shards" \
  --output="$run-$task.jsonl"
