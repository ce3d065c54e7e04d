"""Plug-ins are known to every command and every process, and only if somebody names them."""

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import partial

import gymnasium
import pytest

import recall
from recall.cli import main
from recall.errors import BadValueError, RecallError
from recall.files.fleet_layout import status
from recall.methods import METHODS, Method, register_method
from recall.report.figures import register_figure
from recall.worlds.registry import register_world
from tests.plugins.restored import EXAMPLES, plugins_forgotten, small

DECAY = str(EXAMPLES / "weight_decay.py")
CORRIDOR = str(EXAMPLES / "corridor_world.py")
FIGURE = str(EXAMPLES / "learned_tasks_figure.py")


@pytest.fixture(autouse=True)
def forgotten():
    with plugins_forgotten():
        yield


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A fleet whose method and world are plug-ins, trained by the command."""
    below = tmp_path_factory.mktemp("trained")
    folder = below / "fleet"
    with plugins_forgotten():
        main(
            ["train", "--plugin", DECAY, f"--plugin={CORRIDOR}", "--method", "weight_decay",
             "--sequence", "corridor-left,corridor-right", "--out", str(folder), *small(below)]
        )  # fmt: skip
    return folder


def test_a_fleet_of_plugins_is_trained_and_says_which(trained):
    """The worker processes know the world, and the records hold the method's own metric."""
    assert status(trained).is_over
    assert "loss_decay" in (trained / "training.jsonl").read_text()
    description = json.loads((trained / "run.json").read_text())
    assert description["plugins"] == [DECAY, CORRIDOR]
    assert description["method"]["decay"] == 1e-4


@pytest.mark.slow
def test_evaluate_film_and_report_know_them(trained, tmp_path, capsys):
    plugins = ["--plugin", DECAY, "--plugin", CORRIDOR]
    main(["evaluate", str(trained), "--episodes", "1", "--workers", "1", "--json", *plugins])
    rows = json.loads(capsys.readouterr().out)
    assert {row["task"] for row in rows} == {"corridor-left", "corridor-right"}
    out = tmp_path / "report"
    main(["report", str(trained), "--out", str(out), "--plugin", DECAY, "--plugin", FIGURE])
    assert "Decay" in (out / "index.html").read_text()
    assert list((out / "figures").glob("learned_tasks*.png"))
    with pytest.raises(SystemExit):
        main(["film", str(trained), *plugins])
    assert "cannot be rendered" in capsys.readouterr().err  # our corridor draws none


@pytest.mark.parametrize("command", ["resume", "evaluate", "film"])
def test_code_that_a_folder_names_is_not_run(trained, tmp_path, capsys, command):
    """Without --plugin the command is refused, names the plug-ins, and imports nothing."""
    folder = tmp_path / "fleet"
    shutil.copytree(trained, folder)
    (folder / "outcome.json").unlink()
    with pytest.raises(SystemExit):
        main([command, str(folder)])
    message = capsys.readouterr().err
    assert f"--plugin {DECAY} --plugin {CORRIDOR}" in message
    assert "weight_decay" not in sys.modules
    assert "corridor_world" not in sys.modules


def test_a_fleet_of_plugins_resumes(trained, tmp_path):
    """Named again, they are enough to go on to the same results."""
    folder = tmp_path / "fleet"
    shutil.copytree(trained, folder)
    (folder / "outcome.json").unlink()
    main(["resume", str(folder), "--quiet", "--no-tensorboard", "--plugin", CORRIDOR,
          "--plugin", DECAY])  # fmt: skip
    assert status(folder).is_over
    for name in ("evaluations.jsonl", "training.jsonl"):
        assert (folder / name).read_bytes() == (trained / name).read_bytes()


def test_slots_in_worker_processes_know_a_world():
    recall.load_plugin(CORRIDOR)
    env = recall.make_vec("corridor-right", 4, workers=2, seed=0)
    env.reset()
    assert env.step(env.action_space.sample())[0].shape == (4, 1)
    env.close()


def test_a_modules_name_works_as_well_as_its_file(monkeypatch, capsys):
    monkeypatch.syspath_prepend(EXAMPLES)
    main(["list", "methods", "--json", "--plugin", "weight_decay"])
    assert "weight_decay" in {row["method"] for row in json.loads(capsys.readouterr().out)}


def test_a_plugin_that_is_missing_or_cannot_be_used_is_told(tmp_path):
    wrong, json = tmp_path / "wrong_plugin.py", tmp_path / "json.py"
    wrong.write_text("import no_such_package_at_all")
    json.write_text("")
    for source, message in (
        ("no_such_module", "No module named 'no_such_module'"),
        ("./method", r"give a file with its \.py"),
        ("/nowhere/method.py", "no such file"),
        (wrong, "No module named 'no_such_package_at_all'"),
        (json, "another module called 'json'"),
    ):
        with pytest.raises(BadValueError, match=message):
            recall.load_plugin(source)


def test_what_does_not_fit_is_refused():
    class NoDataclass(Method):
        name = "bare"

    nameless = dataclass(frozen=True)(type("Nameless", (Method,), {}))
    heir = dataclass(frozen=True)(type("Heir", (METHODS["ewc"],), {}))
    for register, message in (
        (partial(register_method, NoDataclass), "frozen=True"),
        (partial(register_method, METHODS["ewc"]), "one of recall's own"),
        (partial(register_method, dict), "not a class derived from Method"),
        (partial(register_method, nameless), r'Nameless does not define its own n.*"my_method"'),
        (partial(register_method, heir), "Heir does not define its own name"),
        (partial(register_world, "empty", "json"), "TASKS"),
        (partial(register_world, "copy", "recall.worlds.pointworld"), "has a task"),
        (partial(register_figure, "seeds", lambda scene: iter(())), "one of recall's own"),
        (partial(recall.make, "corridor-left"), "--plugin"),
    ):
        with pytest.raises(RecallError, match=message):
            register()
    assert "method" not in METHODS


def test_an_installed_package_adds_to_the_registries(tmp_path, monkeypatch):
    """A real distribution with entry points, in a folder on the search path of a new process."""
    info = tmp_path / "somebody-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: somebody\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[recall.methods]\nweight_decay = weight_decay:WeightDecay\nbroken = nowhere:Broken\n"
        "[recall.worlds]\ncorridor = corridor_world\n"
        "[recall.figures]\nlearned_tasks = learned_tasks_figure:make_figures\n"
    )
    for name in ("weight_decay", "corridor_world", "learned_tasks_figure"):
        text = (EXAMPLES / f"{name}.py").read_text()
        lines = [line for line in text.splitlines() if not line.startswith("register_")]
        text = "\n".join(line for line in lines if line != "@register_method")
        (tmp_path / f"{name}.py").write_text(text)
    code = (
        "import recall, warnings\n"
        "from recall.methods import method_class, METHODS\n"
        "from recall.report.figures import FIGURES\n"
        "assert method_class('weight_decay')().decay == 1e-4\n"
        "env = recall.make_vec('corridor-left', 2, workers=2, seed=0)\n"
        "env.reset(); env.close()\n"
        "assert 'learned_tasks' in FIGURES and 'seeds' in FIGURES\n"
        "with warnings.catch_warnings(record=True) as told:\n"
        "    warnings.simplefilter('always')\n"
        "    assert list(METHODS)[-1] == 'weight_decay'\n"
        "assert 'somebody' in str(told[0].message)\n"
        "try:\n    method_class('broken')\n"
        "except recall.errors.RecallError as error:\n    print(error)\n"
    )
    script = tmp_path / "script.py"
    script.write_text("if __name__ == '__main__':\n" + "".join(
        f"    {line}\n" for line in code.splitlines()))  # fmt: skip
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "broken of somebody" in done.stdout


GYMNASIUM = """
import gymnasium
from gymnasium.envs.classic_control.pendulum import PendulumEnv

gymnasium.register("Heavy-v0", entry_point=PendulumEnv, max_episode_steps=50, kwargs={"g": 15.0})
"""


@pytest.mark.slow
def test_a_plugin_may_register_an_environment_with_gymnasium(tmp_path, capsys):
    """In a process in which it is not named, the environment is unknown."""
    source, folder = tmp_path / "heavy_plugin.py", tmp_path / "fleet"
    source.write_text(GYMNASIUM)
    main(["train", "--method", "fine_tuning", "--sequence", "gym:Heavy-v0", "--out", str(folder),
          "--plugin", str(source), *small(tmp_path)])  # fmt: skip
    evaluate = ["evaluate", str(folder), "--episodes", "1", "--workers", "1"]
    main([*evaluate, "--plugin", str(source)])
    assert "gym:Heavy-v0" in capsys.readouterr().out
    gymnasium.registry.pop("Heavy-v0")
    del sys.modules["heavy_plugin"]
    with pytest.raises(SystemExit):
        main(evaluate)
    assert f"name them again: --plugin {source}" in capsys.readouterr().err
