"""What is shown of many fleets at once."""

import io

from rich.console import Console

from recall.launch.board import Lines, LiveBoard
from recall.launch.jobs import Event, Job
from recall.launch.work import Reporter
from recall.studies.run import plan_study
from tests.studies.small_studies import CHOICES, FLEETS, ROOM, STUDY

ONE, TWO = FLEETS


def jobs(folder):
    fleets = plan_study(STUDY, CHOICES, folder, ROOM)
    return [Job(fleet.name, "", fleet.spec.describe()) for fleet in fleets]


def tell(board):
    board.take(Event(ONE, "started", steps=100))
    board.take(Event(ONE, "steps", steps=300))
    board.take(Event(ONE, "evaluated", value=0.25))
    board.take(Event(ONE, "activity", text="evaluating"))
    board.take(Event(TWO, "started"))
    board.take(Event(TWO, "message", text="a word"))
    board.take(Event(TWO, "failed", text="no luck"))


def test_lines_tell_of_starts_messages_and_ends(tmp_path):
    file = io.StringIO()
    board = Lines(jobs(tmp_path), finished=3, file=file)
    tell(board)
    assert board.transitions() == (300, 800)
    assert board.summary().startswith("3 of 5 fleets | 1 running | 300 of 800 transitions")
    board.take(Event(ONE, "finished"))
    board.give_up(TWO, "no luck")
    # What is given up is no longer waited for.
    assert board.summary().startswith("4 of 5 fleets | 1 failed | 0 running | 400 of 400")
    assert file.getvalue().splitlines() == [
        f"{ONE}: 1 x 400 steps, from step 100",
        f"{TWO}: 1 x 400 steps",
        f"{TWO}: a word",
        f"{ONE}: finished",
        f"{TWO}: given up: no luck",
    ]


def test_only_what_was_trained_since_counts_for_the_speed(tmp_path):
    board = Lines(jobs(tmp_path), file=io.StringIO())
    board.take(Event(ONE, "started", steps=300))
    assert board.transitions_per_second() == 0
    board.take(Event(ONE, "steps", steps=350))
    assert board.transitions_per_second() > 0
    assert board._gained == 50


def test_a_terminal_shows_every_fleet_in_one_picture(tmp_path):
    console = Console(file=io.StringIO(), force_terminal=True, width=120, legacy_windows=False)
    board = LiveBoard(jobs(tmp_path), console=console)
    try:
        tell(board)
        picture = Console(file=io.StringIO(), width=120)
        picture.print(board.view())
    finally:
        board.close()
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
