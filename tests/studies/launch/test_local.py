"""Whole studies in real processes, which crash, fail, are stopped and are killed."""

import dataclasses
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from functools import partial

import pytest
from rich.console import Console

from recall.collect.pool import cores, default_workers, use_cores
from recall.config.resolve import resolve
from recall.files.atomic import write_json
from recall.studies.launch.display import Display
from recall.studies.launch.job_runner import work
from recall.studies.launch.jobs import Job
from recall.studies.launch.local import LocalLauncher
from recall.studies.runner import plan_study
from recall.studies.study_folder import write_study
from tests.factories.fleets import rows_in
from tests.factories.processes import children_of, is_alive, recall_process, wait_for
from tests.factories.studies import (
    CHOICES,
    FLEETS,
    ROOM,
    SEQUENCE,
    SMALL,
    STUDY,
    launch,
    left_by,
    printing,
)


def about(folder):
    return json.loads((folder / "study.json").read_text())


def attempts(folder):
    return {fleet["name"]: fleet["attempts"] for fleet in about(folder)["fleets"]}


class KillOnce(Display):
    """Kills a fleet's process when it has evaluated for the first time."""

    def __init__(self, jobs, finished, launcher, file):
        super().__init__(jobs, finished, console=Console(file=file, width=200))
        self._launcher, self._killed = launcher, False

    def take(self, event):
        super().take(event)
        if event.kind == "evaluated" and not self._killed:
            self._killed = True
            self._launcher._processes[event.job].kill()


@pytest.mark.slow
def test_a_crash_is_resumed_and_what_always_fails_is_given_up_and_reported(tmp_path, uninterrupted):
    folder, (bad, good) = tmp_path / "study", FLEETS
    folder.mkdir()
    fleets = plan_study(STUDY, CHOICES, folder, ROOM)
    write_study(folder, STUDY, CHOICES, fleets)
    # Begun, with a file where it wants a folder: it can never go on.
    (folder / bad).mkdir()
    write_json(folder / bad / "run.json", {"schema": 1, **fleets[0].spec.describe()})
    (folder / bad / "replay").write_text("no folder")
    file, launcher = io.StringIO(), LocalLauncher(folder / "logs")
    result = launch(folder, launcher, display=partial(KillOnce, launcher=launcher, file=file))
    assert result.exit_status == 1
    assert attempts(folder) == {bad: 2, good: 2}
    assert [fleet.name for fleet in result.finished] == [good]
    assert "FileExistsError" in result.failed[bad]
    assert "FileExistsError" in about(folder)["fleets"][0]["failure"]
    assert "Traceback" in (folder / "logs" / f"{bad}.log").read_text()
    lines = file.getvalue()
    assert f"{bad}: given up: FileExistsError" in lines
    assert "SIGKILL" in lines
    # From its last checkpoint, not from the start.
    assert re.search(rf"{good}: 1 run of 400 steps, from step \d+", lines)
    # Once the cause is gone, the same command ends what is left.
    shutil.rmtree(folder / bad)
    again = launch(folder)
    assert again.exit_status == 0
    assert left_by(folder) == uninterrupted
    seeds = [[run.seed for run in fleet.spec.runs] for fleet in again.finished]
    assert sorted(seeds) == [[0], [1]]
    assert again.failed_runs() == {}
    study = about(folder)
    assert (study["study"], study["question"]) == (STUDY.name, STUDY.question)
    assert study["needs"] == ["reference"]
    assert attempts(folder) == {bad: 3, good: 2}
    assert all(fleet["finished"] and fleet["seconds"] > 0 for fleet in study["fleets"])
    # And then there is nothing left to do.
    assert launch(folder).exit_status == 0
    assert attempts(folder) == {bad: 3, good: 2}


@pytest.mark.slow
def test_a_fleet_whose_runs_all_fail_is_not_retried(tmp_path):
    # The temperature is infinite.
    diverging = dataclasses.replace(CHOICES, seeds=1, changes=SMALL | {"initial_log_alpha": 1e3})
    file, fleet = io.StringIO(), FLEETS[0]
    result = launch(tmp_path, choices=diverging, display=printing(file))
    assert result.exit_status == 1
    assert [each.name for each in result.without_runs] == [fleet]
    (failed,) = result.failed_runs()
    assert failed.startswith(f"{fleet}/")
    assert "retrying" not in file.getvalue()
    assert launch(tmp_path, choices=diverging).exit_status == 1
    assert attempts(tmp_path) == {fleet: 1}


def test_a_fleet_that_starts_after_the_signal_stops_too(tmp_path):
    (fleet, _) = plan_study(STUDY, CHOICES, tmp_path, ROOM)
    launcher = LocalLauncher(tmp_path / "logs")
    launcher.stop()
    launcher.start(Job(fleet.name, str(tmp_path / fleet.name), fleet.spec.describe()))
    events = []
    wait_for(lambda: events.extend(launcher.events(0.1)) or events, "the end of the fleet")
    launcher.close()
    assert events[-1].kind == "stopped"
    assert not (tmp_path / fleet.name / "outcome.json").exists()


def study_process(folder, config):
    command = ["study", STUDY.name, "--sequences", SEQUENCE, "--methods", *CHOICES.methods]
    command += ["--seeds", "1", "--config", config, "--out", folder]
    return recall_process(*map(str, command))


@pytest.mark.slow
def test_a_launcher_that_is_killed_or_stopped_loses_nothing(tmp_path, uninterrupted):
    folder, config = tmp_path / "study", tmp_path / "small.json"
    config.write_text(json.dumps(SMALL))
    first = study_process(folder, config)
    wait_for(lambda: rows_in(folder), "a chunk")
    (fleet,) = children_of(first.pid)
    for pid in (first.pid, fleet):  # nothing moves while somebody else tries
        os.kill(pid, signal.SIGSTOP)
    second = study_process(folder, config)
    output, error = second.communicate(timeout=3000)
    assert second.returncode == 0, error
    assert "finished: 0 of 1 fleets" in output
    assert "1 of the fleets are with other launchers" in output

    first.kill()
    first.communicate()
    os.kill(fleet, signal.SIGCONT)
    wait_for(lambda: not is_alive(fleet), "the fleet to save and leave")
    assert not list(folder.glob("*/outcome.json"))

    third = study_process(folder, config)
    before = rows_in(folder)
    wait_for(lambda: rows_in(folder) != before, "progress")
    (fleet,) = children_of(third.pid)
    os.kill(fleet, signal.SIGSTOP)  # so that it is not done before the signal comes
    third.send_signal(signal.SIGTERM)
    os.kill(fleet, signal.SIGCONT)
    _, error = third.communicate(timeout=300)
    assert third.returncode == 143, error
    assert "\nrecall: 1 of 1 fleets are not finished" in f"\n{error}"
    assert "Traceback" not in error

    one = dataclasses.replace(CHOICES, seeds=1)
    assert launch(folder, choices=one).exit_status == 0
    assert left_by(folder) == {
        path: data for path, data in uninterrupted.items() if path.startswith(f"{FLEETS[0]}/")
    }
    described = json.loads((folder / FLEETS[0] / "run.json").read_text())
    assert described["command"][1:3] == ["study", STUDY.name]


@pytest.mark.slow
def test_launchers_side_by_side_train_every_fleet_once(tmp_path, uninterrupted):
    """Both begin at once and have the same fleets, of which each trains those that are free."""
    program = (
        "import sys; from pathlib import Path; from tests.factories.studies import launch; "
        "launch(Path(sys.argv[1]))"
    )
    command = [sys.executable, "-c", program, str(tmp_path)]
    for launcher in [subprocess.Popen(command) for _ in range(2)]:
        assert launcher.wait(600) == 0
    assert left_by(tmp_path) == uninterrupted
    assert attempts(tmp_path) == dict.fromkeys(FLEETS, 1)


def test_the_end_of_a_process_is_told_whatever_it_leaves(tmp_path):
    """It was killed in the middle of a line, and its log is gone."""
    launcher = LocalLauncher(tmp_path)
    program = 'import os; os.write(1, b\'{"job": "a\'); os.kill(os.getpid(), 9)'
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    launcher._listen("a", process)
    (event,) = launcher.events(1.0)
    assert (event.job, event.kind) == ("a", "failed")
    assert "SIGKILL" in event.text


@pytest.fixture
def all_cores():
    yield
    use_cores(None)


@pytest.mark.usefixtures("all_cores")
def test_a_fleet_counts_on_its_cores_and_records_what_the_user_called(tmp_path):
    lengths = {"steps_per_task": 50, "update_after": 50, "random_steps": 50}
    few = {"evaluation_episodes": 1, "deterministic_episodes": 0, "updates_per_burst": 1}
    small = {"hidden": (8,), "head_layers": 0}
    spec = resolve("fine_tuning", "point-rich", (0,), changes=lengths | few | small)
    command, events = ["recall", "study", "cw3"], []
    description = json.loads(json.dumps(spec.describe()))
    work(Job("one", str(tmp_path), description, command=command), events.append, cpus=3)
    assert events[-1].kind == "evaluated"
    assert cores() == 3
    assert [default_workers(runs) for runs in (1, 5, 20)] == [3, 5, 9]
    # Another machine, on which it may be resumed, has another number.
    described = json.loads((tmp_path / "run.json").read_text())
    assert described["settings"]["schedule"]["workers"] is None
    assert described["command"] == command
