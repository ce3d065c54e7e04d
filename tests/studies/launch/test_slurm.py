"""The array script, under Slurm where there is one, else under bash, one array task at a time."""

import os
import shutil
import subprocess

import pytest

from recall.cli import main
from recall.files.fleet_layout import Status, status
from tests.factories.studies import FLEETS, SEQUENCE, SMALL


def word(value):
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def write_script(folder, monkeypatch):
    """Write the script as it is typed, in a folder whose path needs quotes."""
    folder.mkdir()
    monkeypatch.chdir(folder)
    settings = [f"{name}={word(value)}" for name, value in SMALL.items()]
    options = ["--sequences", SEQUENCE, "--methods", "fine_tuning", "--seeds", "2", "--quiet"]
    main(["study", "cw3", *options, "--out", "runs", "--set", *settings,
          "--memory", "1", "--shard", "1/2", "--slurm", "study.sh", "--dry-run"])  # fmt: skip
    return folder / "study.sh"


@pytest.mark.parametrize(("status", "requeued"), [(0, False), (2, False), (143, True)])
def test_only_what_was_stopped_and_saved_is_queued_again(status, requeued, tmp_path, monkeypatch):
    """Stand-ins replace Slurm's own two commands."""
    script = write_script(tmp_path / "study", monkeypatch)
    for name, body in (("srun", f"exit {status}"), ("scontrol", 'echo "$@"')):
        (tmp_path / name).write_text(f"#!/bin/sh\n{body}\n")
        (tmp_path / name).chmod(0o755)
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "SLURM_JOB_ID": "7"}
    done = subprocess.run(["bash", script], env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (status, "requeue 7\n" if requeued else "")


@pytest.mark.slow
def test_the_tasks_of_an_array_train_the_study(tmp_path, monkeypatch):
    script = write_script(tmp_path / "it's here", monkeypatch)
    if shutil.which("sbatch") and subprocess.run(["sinfo"], capture_output=True).returncode == 0:
        one_node = ["--gres=none", "--cpus-per-task=1", "--output=%A-%a.log"]
        subprocess.run(["sbatch", "--wait", *one_node, str(script)], check=True, timeout=300)
    else:
        (tmp_path / "srun").write_text('#!/bin/bash\nexec "$@"\n')
        (tmp_path / "srun").chmod(0o755)
        path = f"{tmp_path}:{os.environ['PATH']}"
        for task in ("1", "2"):
            of_slurm = {"SLURM_ARRAY_TASK_ID": task, "PATH": path}
            subprocess.run(["bash", str(script)], check=True, env=os.environ | of_slurm)
    fleets = [script.parent / "runs" / name for name in FLEETS]
    assert [status(fleet) for fleet in fleets] == [Status.FINISHED] * 2
    seeds = [(fleet / "run.json").read_text().count('"seed":') for fleet in fleets]
    assert seeds == [1, 1]
