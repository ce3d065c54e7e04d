"""What is shown of many fleets at once."""

import io

from rich.console import Console

from recall.studies.launch.display import Lines, LiveDisplay
from recall.studies.launch.job_runner import Reporter
from recall.studies.launch.jobs import Event, Job
from recall.studies.runner import plan_study
from tests.factories.studies import CHOICES, FLEETS, ROOM, STUDY

ONE, TWO = FLEETS


def jobs(folder):
    fleets = plan_study(STUDY, CHOICES, folder, ROOM)
    return [Job(fleet.name, "", fleet.spec.describe()) for fleet in fleets]


def tell(display):
    display.take(Event(ONE, "started", steps=100))
    display.take(Event(ONE, "steps", steps=300))
    display.take(Event(ONE, "evaluated", value=0.25))
    display.take(Event(ONE, "activity", text="evaluating"))
    display.take(Event(TWO, "started"))
    display.take(Event(TWO, "message", text="a word"))
    display.take(Event(TWO, "failed", text="no luck"))


def test_lines_tell_of_starts_messages_and_ends(tmp_path):
    file = io.StringIO()
    display = Lines(jobs(tmp_path), finished=3, file=file)
    tell(display)
    assert display.transitions() == (300, 800)
    assert display.summary().startswith("3 of 5 fleets | 1 running | 300 of 800 transitions")
    display.take(Event(ONE, "finished"))
    display.give_up(TWO, "no luck")
    # What is given up is no longer waited for.
    assert display.summary().startswith("4 of 5 fleets | 1 failed | 0 running | 400 of 400")
    assert file.getvalue().splitlines() == [
        f"{ONE}: 1 x 400 steps, from step 100",
        f"{TWO}: 1 x 400 steps",
        f"{TWO}: a word",
        f"{ONE}: finished",
        f"{TWO}: given up: no luck",
    ]


def test_only_what_was_trained_since_counts_for_the_speed(tmp_path):
    display = Lines(jobs(tmp_path), file=io.StringIO())
    display.take(Event(ONE, "started", steps=300))
    assert display.transitions_per_second() == 0
    display.take(Event(ONE, "steps", steps=350))
    assert display.transitions_per_second() > 0
    assert display._gained == 50


def test_a_terminal_shows_every_fleet_in_one_picture(tmp_path):
    console = Console(file=io.StringIO(), force_terminal=True, width=120, legacy_windows=False)
    display = LiveDisplay(jobs(tmp_path), console=console)
    try:
        tell(display)
        picture = Console(file=io.StringIO(), width=120)
        picture.print(display.view())
    finally:
        display.close()
    shown = picture.file.getvalue()
    assert "0 of 2 fleets | 1 running" in shown
    row = next(line for line in shown.splitlines() if line.startswith(f"{ONE} "))
    assert "300 of 400" in row
    assert "evaluating" in row
    assert "success 25%" in row
    assert "a word" in console.file.getvalue()


def test_a_health_warning_of_a_fleet_reaches_the_board_as_a_message():
    told = []
    Reporter(ONE, told.append).on_health("recall-push-seed0", 1_000, "it is odd")
    text = "warning: run recall-push-seed0 at step 1,000: it is odd"
    assert told == [Event(ONE, "message", text=text)]
