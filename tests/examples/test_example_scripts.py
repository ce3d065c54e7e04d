"""The scripts in examples/ run as they are written."""

import os
import subprocess
import sys

import pytest

from recall.cli import main
from tests.plugins.restored import EXAMPLES, small


def run(script: str, *arguments: str, folder) -> str:
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / script), *arguments],
        cwd=folder, capture_output=True, text=True, timeout=300, check=False,
        env=os.environ | {"PYTHONPATH": str(EXAMPLES.parent)},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_own_tasks(tmp_path):
    told = run("own_tasks.py", "--steps", "200", "--out", str(tmp_path / "fleet"), folder=tmp_path)
    assert "reacher" in told


def test_a_sweep_with_optuna(tmp_path):
    pytest.importorskip("optuna", reason="optuna is not installed")
    told = run("sweep_with_optuna.py", "--trials", "2", "--steps", "200", folder=tmp_path)
    assert "best: {'learning_rate':" in told
    assert len(list(tmp_path.glob("runs/sweep/trial-*/outcome.json"))) == 2


def test_acting(finished, tmp_path):
    """The policy of a fleet, played without JAX."""
    told = run(
        "act_with_policy.py", str(finished), "--task", "point-rich", "--episodes", "2",
        folder=tmp_path,
    )  # fmt: skip
    assert "of 2 episodes succeeded" in told


def test_training_offline_with_d3rlpy(tmp_path, monkeypatch):
    pytest.importorskip("minari", reason="minari is not installed")
    pytest.importorskip("d3rlpy", reason="d3rlpy is not installed")
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "datasets"))
    fleet = ["train", "--sequence", "point-poor", "--preset", "quick", "--keep-replay"]
    main([*fleet, "--steps-per-task", "500", "--out", str(tmp_path / "fleet")])
    told = run(
        "offline_d3rlpy.py", "--fleet", str(tmp_path / "fleet"), "--steps", "20", folder=tmp_path
    )
    assert "of 20 episodes succeeded" in told


def test_a_study_with_a_plugin_on_a_ray_cluster(tmp_path):
    pytest.importorskip("ray", reason="ray is not installed")
    run(
        "study_on_a_cluster.py", "--out", str(tmp_path / "study"), "--seeds", "1", "--memory", "1",
        "--methods", "weight_decay",
        *small(tmp_path), folder=tmp_path,
    )  # fmt: skip
    (records,) = tmp_path.glob("study/*/training.jsonl")
    assert "loss_decay" in records.read_text()
