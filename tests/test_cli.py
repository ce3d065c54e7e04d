import errno
import json
import os
import pty
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

import recall
from recall.cli import main
from recall.config.presets import PRESETS
from recall.config.resolve import paths
from recall.methods import METHODS, PerfectMemory
from recall.settings import Settings
from recall.worlds.registry import task_names

RECALL = Path(sys.executable).with_name("recall")


def run(command):
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


@pytest.fixture
def answer(capsys):
    """Run a command in this process, where it need not import anything; return what it leaves."""

    def answer_to(*arguments):
        status = 0
        try:
            main(arguments)
        except SystemExit as end:
            status = end.code
        return subprocess.CompletedProcess(arguments, status, *capsys.readouterr())

    return answer_to


def test_help_names_the_subcommands_and_loads_nothing_heavy():
    program = """
import sys
from recall.cli import main
try:
    main(["--help"])
except SystemExit:
    heavy = ("jax", "flax", "mujoco", "metaworld", "scipy")
    print([name for name in heavy if name in sys.modules], file=sys.stderr)
"""
    shown = run([sys.executable, "-c", program])
    assert shown.stderr.strip() == "[]"
    for name in ("demo", "train", "resume", "evaluate", "archive", "list", "bench"):
        assert f"• {name}" in shown.stdout


def test_only_public_names_are_listed():
    assert dir(recall) == sorted(recall.__all__)
    needs_more = {"make_sb3_vec"}  # the extra packages of which a message names
    assert all(hasattr(recall, name) for name in set(dir(recall)) - needs_more)
    assert [name for name in dir(recall) if name.startswith("_")] == ["__version__"]


@pytest.mark.parametrize(
    "words",
    ["", "train --method ewc", "evaluate", "film", "report", "study", "list", "bench fleet"],
)
def test_the_help_of_every_command_explains_every_option(words, answer):
    shown = " ".join(answer(*words.split(), "--help").stdout.replace("│", "").split())
    assert shown.count("Every command also accepts --plugin MODULE_OR_FILE") == 1
    # Between the name and the default there is the kind of value at most.
    assert re.findall(r"--([a-z.-]+) (?:\{[^}]*\}|[^a-z(])*\(default", shown) == []


@pytest.mark.parametrize(
    ("words", "reply"),
    [
        ("no-such-thing", "unknown command 'no-such-thing'"),
        ("list --json tasks", "Valid: list tasks, list sequences"),
        ("train --seed 0", "'seed'; did you mean 'seeds'?"),
        ("train --random-step 9", "'random_step'; did you mean 'random"),
        ("train --method recal", "'recal'; did you mean 'recall'?"),
        ("train --config nowhere.toml", "nowhere.toml does not exist"),
        ("bench fleet --runs 5 0", "--runs is 0"),
        ("bench fleet --tasks 3 21", "--tasks is 21"),
        ("bench fleet --last hamer", "hammer"),
        ("bench learner --runs 1,five", "'five'"),
        ("bench learner --methods fine_tunning", "unknown method 'fine_tunning'"),
        ("study ablatoin", "did you mean 'ablation'"),
        ("study cw3 --scale 1.5 --seeds=1.5", "--seeds is 1.5"),
        ("study lambda --dry-run --scale nan", "--scale is 'nan'"),
        ("study lambda --dry-run --scale -1", "the smallest scale is"),
        ("study lambda --dry-run --memory 1e300", "--memory is 1E+300"),
        ("film abc --task abc --size 32 abc", "--size is 'abc'"),
        ("list methods --plugin", "--plugin"),
        ("list methods all", "'all'"),
        ("train cw3-1 --quiet", "'cw3-1'"),
        ("bench learner --precision half", "unknown --precision 'half'"),
        ("report --no-figures", "FOLDERS is missing"),
        ("compare one", "SECOND is missing"),
        ("resume one two", "'two'"),
        ("bench fleet --workers 3", "unknown option '--workers'"),
    ],
)
def test_bad_input_is_one_line_and_code_2(words, reply, answer):
    shown = answer(*words.split())
    assert shown.returncode == 2
    assert shown.stderr.startswith("recall: ")
    assert reply in shown.stderr
    assert shown.stderr.count("\n") == 1


def test_ports_that_cannot_be_used_are_told(tmp_path, answer):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        used = taken.getsockname()[1]
        for port, reason in ((used, os.strerror(errno.EADDRINUSE)), (70000, "0-65535")):
            shown = answer("report", str(tmp_path), "--serve", "--port", str(port))
            assert (shown.returncode, shown.stderr.count("\n")) == (2, 1)
            assert f"port {port} cannot be used" in shown.stderr
            assert reason in shown.stderr


def test_places_that_cannot_be_written_are_named(finished, tmp_path, answer):
    occupied, folder = tmp_path / "occupied", tmp_path / "folder.png"
    occupied.write_text("a file")
    folder.mkdir()
    for words in (
        ("report", finished, "--no-figures", "--out", occupied),
        ("film", finished, "--task", "point-rich", "--out", occupied / "film.gif"),
        ("film", finished, "--task", "point-rich", "--out", "/proc/film.png"),
        ("film", finished, "--out", folder),
    ):
        shown = answer(*map(str, words))
        assert (shown.returncode, shown.stderr.count("\n")) == (2, 1)
        reason = "is a folder" if words[-1] == folder else "cannot be written ("
        assert shown.stderr.startswith(f"recall: {words[-1]} {reason}")


def test_lists_are_plain_lines_when_piped_even_if_colour_is_forced(monkeypatch, answer):
    monkeypatch.setenv("FORCE_COLOR", "1")
    header, *lines = answer("list", "tasks").stdout.splitlines()
    assert header == "task\tworld\thorizon_steps"
    assert [line.split("\t")[0] for line in lines] == list(task_names())
    assert "window-close\tcontinual_world\t200" in lines


def test_lists_can_be_printed_as_json(answer):
    for words, names in (("methods", METHODS), ("presets", PRESETS)):
        rows = json.loads(answer("list", words, "--json").stdout)
        assert [row[words.removesuffix("s")] for row in rows] == list(names)
    sequences = json.loads(answer("list", "sequences", "--json").stdout)
    assert {"sequence": "pair-8-5", "tasks": ["window-close", "handle-press-side"]} in sequences


def test_lists_are_tables_on_a_terminal():
    reader, terminal = pty.openpty()
    subprocess.run([RECALL, "list", "presets"], stdout=terminal, check=True, timeout=300)
    os.close(terminal)
    assert b"\r\nquick " in os.read(reader, 65536)


def test_a_reader_that_leaves_early_is_no_error():
    shown = run(["sh", "-c", f"{RECALL} list sequences | head -n 1"])
    assert shown.stdout == "sequence\ttasks\n"
    assert shown.stderr == ""


def test_every_setting_is_an_option_and_defaults_come_from_preset_and_file(tmp_path, answer):
    config = tmp_path / "settings.json"
    config.write_text('{"method": "perfect_memory", "random_steps": 700, "seeds": [4, 5]}')
    shown = answer("train", "--preset", "quick", "--config", str(config), "--help")
    assert shown.returncode == 0
    text = " ".join(shown.stdout.replace("│", "").split())
    names = {path.rsplit(".", 1)[-1] for path in (*paths(Settings()), *paths(PerfectMemory()))}
    for name in names:
        assert f"{name.replace('_', '-')} " in text, name
    steps = PRESETS["quick"].settings["steps_per_task"]
    assert f"trains on each task. (default: {steps})" in text
    assert "before its policy acts." in text
    assert "(default: 700)" in text
    assert "rows of all tasks. (default: 128)" in text
    assert "one run of every sequence. (default: 4 5)" in text
    assert "--distillation-weight" not in text


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
def test_output_that_cannot_be_written_is_one_line_and_code_2():
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "recall", "list", "sequences"],
            stdout=full, stderr=subprocess.PIPE, text=True, timeout=300,
        )  # fmt: skip
    assert done.stderr.startswith("recall: ")
    assert done.stderr.endswith("No space left on device\n")
    assert done.returncode == 2


def test_an_error_in_the_code_of_a_plugin_is_one_line_that_says_where(tmp_path, answer):
    plugin = tmp_path / "broken_plugin.py"
    plugin.write_text("import json\n\njson.loads(3)\n")
    for debug in ([], ["--debug"]):
        shown = answer("list", "methods", "--plugin", str(plugin), *debug)
        assert shown.returncode == 2
        *traceback, line = shown.stderr.splitlines()
        assert f"{plugin}:3: TypeError" in line
        assert bool(traceback) == bool(debug)
