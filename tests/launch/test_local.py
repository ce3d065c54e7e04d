"""Whole studies in real processes, which crash, fail, are stopped and are killed."""

import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

from recall.launch.board import Lines
from recall.launch.local import LocalLauncher
from recall.studies.folder import write_study
from recall.studies.run import plan_study
from tests.studies.small_studies import (
    CHOICES,
    FLEETS,
    ROOM,
    SEQUENCE,
    SMALL,
    STUDY,
    launch,
    left_by,
)


def wait_for(condition, what, seconds=90.0):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return
        time.sleep(0.02)
    raise AssertionError(f"waited {seconds} s in vain for {what}")


def rows_in(folder):
    """Bytes of transitions: grows with every chunk."""
    return sum(path.stat().st_size for path in folder.glob("*/replay/task-*.rows"))


def about(folder):
    return json.loads((folder / "study.json").read_text())


def test_a_study_ends_with_all_its_fleets_and_says_so(finished):
    assert finished.exit_status == 0
    assert finished.outcome.finished == list(FLEETS)
    assert finished.failed_runs() == {}
    assert [[run["seed"] for run in results.runs] for results in finished.results()] == [[0], [1]]
    told = about(finished.folder)
    assert told["study"] == "cw3"
    assert told["question"] == STUDY.question
    assert told["needs"] == ["reference"]
    assert [fleet["name"] for fleet in told["fleets"]] == list(FLEETS)
    for fleet in told["fleets"]:
        assert fleet["variant"] == "fine_tuning"
        assert fleet["finished"]
        assert fleet["seconds"] > 0
        assert fleet["attempts"] == 1


def test_the_same_command_again_finds_nothing_to_do(finished):
    before = left_by(finished.folder)
    again = launch(finished.folder)
    assert again.exit_status == 0
    assert again.outcome.attempts == {}
    assert len(again.finished) == 2
    assert left_by(finished.folder) == before
    assert [fleet["attempts"] for fleet in about(finished.folder)["fleets"]] == [1, 1]


class KillOnce(Lines):
    """Kills a fleet's process when it has evaluated for the first time."""

    def __init__(self, jobs, finished, launcher, told):
        super().__init__(jobs, finished, told)
        self._launcher, self._killed = launcher, False

    def take(self, event):
        super().take(event)
        if event.kind == "evaluated" and not self._killed:
            self._killed = True
            self._launcher._processes[event.job].kill()


def test_a_crash_is_resumed_and_what_always_fails_is_given_up_and_reported(tmp_path, finished):
    folder, (bad, good) = tmp_path / "study", FLEETS
    folder.mkdir()
    write_study(folder, STUDY, CHOICES, plan_study(STUDY, CHOICES, folder, ROOM))
    # Begun, with a file where it wants a folder: it can never go on.
    (folder / bad).mkdir()
    shutil.copy(finished.folder / bad / "run.json", folder / bad)
    (folder / bad / "replay").write_text("no folder")
    told, launcher = io.StringIO(), LocalLauncher(folder / "logs")
    result = launch(
        folder, launcher, board=lambda jobs, before: KillOnce(jobs, before, launcher, told)
    )
    assert result.exit_status == 1
    assert result.outcome.attempts == {bad: 2, good: 2}
    assert [fleet.name for fleet in result.finished] == [good]
    assert "FileExistsError" in result.outcome.failed[bad]
    assert "FileExistsError" in about(folder)["fleets"][0]["failure"]
    assert "Traceback" in (folder / "logs" / f"{bad}.log").read_text()
    lines = told.getvalue()
    assert f"{bad}: given up: FileExistsError" in lines
    assert f"{good}: its process ended by SIGKILL" in lines
    assert "going on from its last checkpoint (1 of 1)" in lines
    # From its last checkpoint, not from the start.
    assert re.search(rf"{good}: 1 x 400 steps, from step \d+", lines)
    # Once the cause is gone, the same command ends what is left.
    shutil.rmtree(folder / bad)
    again = launch(folder)
    assert again.exit_status == 0
    assert again.outcome.attempts == {bad: 1}
    assert left_by(folder) == left_by(finished.folder)


def study_process(folder, config):
    command = ["study", STUDY.name, "--sequences", SEQUENCE, "--methods", *CHOICES.methods]
    command += ["--seeds", "2", "--runs-per-fleet", "1", "--config", config, "--out", folder]
    return subprocess.Popen(
        [sys.executable, "-m", "recall", *map(str, command)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def children_of(pid):
    """The processes that `pid` has started."""
    listed = subprocess.run(["ps", "-e", "-o", "pid=,ppid="], capture_output=True, text=True)
    pairs = (map(int, line.split()) for line in listed.stdout.splitlines())
    return [child for child, parent in pairs if parent == pid]


def is_alive(pid):
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True


def test_a_launcher_that_is_killed_or_stopped_loses_nothing(tmp_path, finished):
    folder, config = tmp_path / "study", tmp_path / "small.json"
    config.write_text(json.dumps(SMALL))
    first = study_process(folder, config)
    wait_for(lambda: rows_in(folder), "a chunk")
    fleets = children_of(first.pid)
    for pid in (first.pid, *fleets):  # nothing moves while somebody else tries
        os.kill(pid, signal.SIGSTOP)
    second = study_process(folder, config)
    _, error = second.communicate(timeout=60)
    assert second.returncode == 2
    assert f"is in use by process {first.pid} on " in error

    first.kill()
    first.communicate()
    for pid in fleets:
        os.kill(pid, signal.SIGCONT)
    wait_for(lambda: not any(map(is_alive, fleets)), "its fleets to save and leave", 20)
    assert not list(folder.glob("*/outcome.json"))

    third = study_process(folder, config)
    before = rows_in(folder)
    wait_for(lambda: rows_in(folder) != before, "progress")
    third.send_signal(signal.SIGTERM)
    _, error = third.communicate(timeout=30)
    assert third.returncode == 143, error
    last = error.splitlines()[-1]
    left = "of 2 fleets are left; the same command goes on with them"
    assert re.fullmatch(rf"recall: [12] {left}", last)
    assert "Traceback" not in error

    assert launch(folder).exit_status == 0
    assert left_by(folder) == left_by(finished.folder)
