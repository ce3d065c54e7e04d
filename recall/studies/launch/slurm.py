"""A Slurm array script that trains a study: one array task for each shard."""

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from recall.files.atomic import write_text

_SCRIPT = """\
#!/bin/bash
# Options on the command line of sbatch override those of this script.
#SBATCH --job-name={name}
#SBATCH --array=1-{shards}
#SBATCH --gres=gpu:1 --cpus-per-task=16 --time=12:00:00
#SBATCH --signal=TERM@120 --requeue --open-mode=append
cd {folder} || exit
srun {command} --shard "$SLURM_ARRAY_TASK_ID/{shards}"
status=$?
# The signal before the time limit has ended it, saved: queue this array task again.
if [ $status -eq 143 ]; then scontrol requeue "$SLURM_JOB_ID"; fi
exit $status
"""


def write_script(path: Path, name: str, words: Sequence[str], shards: int) -> None:
    """Write a script that runs `recall study` with these words, in as many shards."""
    command = shlex.join([sys.executable, "-m", "recall", "study", *words])
    folder = shlex.quote(str(Path.cwd()))
    text = _SCRIPT.format(name=name, shards=shards, folder=folder, command=command)
    write_text(path, text)
