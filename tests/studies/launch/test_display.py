"""What is shown of many fleets at once."""

import io
import time

import pytest
from rich.console import Console

from recall.studies.launch.display import Display
from recall.studies.launch.jobs import Event, Job
from recall.studies.runner import plan_study
from tests.factories.studies import CHOICES, FLEETS, ROOM, STUDY

ONE, TWO = FLEETS
EVENTS = [
    Event(ONE, "started", steps=100),
    Event(ONE, "steps", steps=300),
    Event(ONE, "evaluated", value=0.25),
    Event(ONE, "activity", text="compiling"),
    Event(TWO, "started"),
    Event(TWO, "message", text="a word"),
    Event(TWO, "failed", text="no luck"),
]


@pytest.fixture
def jobs(tmp_path):
    fleets = plan_study(STUDY, CHOICES, tmp_path, ROOM)
    return [Job(fleet.name, "", fleet.spec.describe()) for fleet in fleets]


def shown(jobs, **options):
    """Return a display after the events, and the file to which it prints."""
    file = io.StringIO()
    display = Display(jobs, 3, console=Console(file=file, width=120), **options)
    for event in EVENTS:
        display.take(event)
    return display, file


def test_lines_tell_of_starts_messages_and_ends(jobs):
    assert not shown(jobs, quiet=True)[1].getvalue()
    display, file = shown(jobs)
    display._told_at -= 60.0  # half a minute is over
    display.refresh()
    line = file.getvalue().splitlines()[-1]
    assert line.startswith("3 of 5 fleets, 1 running")
    assert line.endswith("300 of 800 transitions")
    display.take(Event(ONE, "finished"))
    display.give_up(TWO, "no luck")
    display._told_at -= 60.0
    display.refresh()
    *lines, last = file.getvalue().splitlines()
    assert lines[:3] == [
        f"{ONE}: 1 run of 400 steps, from step 100",
        f"{TWO}: 1 run of 400 steps",
        f"{TWO}: a word",
    ]
    assert lines[-2:] == [f"{ONE}: finished", f"{TWO}: given up: no luck"]
    # What is given up is no longer waited for.
    assert last.startswith("4 of 5 fleets, 1 failed, 0 running")
    assert last.endswith("400 of 400 transitions")


def test_only_what_was_trained_since_counts_for_the_speed(jobs):
    display, _ = shown(jobs)
    display.take(Event(TWO, "started", steps=350))
    begin = time.monotonic()
    time.sleep(0.2)
    display.take(Event(ONE, "steps", steps=340))
    speed = display._bars.tasks[display._all].speed
    assert 0 < speed <= 40 / (time.monotonic() - begin) * 1.1


def test_a_terminal_shows_the_fleets_that_train(jobs):
    display, _ = shown(jobs)
    picture = Console(file=io.StringIO(), width=120)
    picture.print(display._bars.get_renderable())
    lines = picture.file.getvalue().splitlines()
    (row,) = [line for line in lines if line.startswith(f"{ONE}, 1 run")]
    for words in ("300 of 400", "compiling", "success 25%"):
        assert words in row
    assert not any(line.startswith(TWO) for line in lines), "it waits to be retried"
    assert any("3 of 5 fleets, 1 running" in line for line in lines)
