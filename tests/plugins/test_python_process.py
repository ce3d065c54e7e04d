"""New processes find the modules that this one finds, and none that merely lie in the folder."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from recall.cli import main
from recall.files.fleet_layout import status
from recall.plugins.python_process import python_command
from recall.studies.launch.place import probe
from recall.worlds.continual_world.camera import _why_not
from tests.plugins.restored import EXAMPLES, plugins_forgotten, small

ROOT = Path(__file__).parents[2]
SHADOWS = ("recall", "pickle", "json", "mujoco", "numpy", "struct")


@pytest.fixture
def shadowed(tmp_path, monkeypatch):
    """Go to a folder whose files have the names of modules, and must not be run."""
    for name in SHADOWS:
        (tmp_path / f"{name}.py").write_text("raise OSError('a file in the folder was run')")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def printed(imports, program, **keywords):
    command = python_command(imports, program)
    done = subprocess.run(command, capture_output=True, text=True, check=False, **keywords)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("own", [[], [""]], ids=["command", "notebook"])
def test_files_in_the_current_folder_are_not_run(shadowed, monkeypatch, own):
    monkeypatch.setattr(sys, "path", [*own, *sys.path])
    shown = printed("import recall, pickle, json, numpy", "print(recall.__file__, sys.path[0])")
    assert shown == f"{ROOT / 'recall' / '__init__.py'} {sys.path[0]}".strip()


def test_a_checkout_that_is_not_installed_is_found(shadowed, monkeypatch):
    """As after `python -c` in the checkout, where the current folder stands for it."""
    elsewhere = [folder for folder in sys.path if folder not in ("", str(ROOT))]
    monkeypatch.setattr(sys, "path", ["", *elsewhere])
    bare = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    shown = printed("import recall", "print(recall.__file__)", env=bare)
    assert Path(shown) == ROOT / "recall" / "__init__.py"


def test_what_was_added_to_the_search_path_is_found(tmp_path, monkeypatch):
    """Before others of its name, in the order of this process."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "beside_the_script.py").write_text(f"where = {name!r}")
        monkeypatch.syspath_prepend(str(tmp_path / name))
    monkeypatch.setattr(sys, "path", [tmp_path, *sys.path])  # Python ignores what is no text
    assert printed("import os", "import beside_the_script as it; print(it.where)") == "two"


def test_devices_and_drawing_are_tried_without_the_current_folder(shadowed):
    assert probe().number >= 1
    assert "was run" not in str(_why_not("egl"))
    assert printed("import recall", "print(recall.make('push').reset(seed=0)[0].shape)") == "(12,)"


def test_worker_processes_do_not_run_files_in_the_current_folder(shadowed):
    main(["train", "--method", "fine_tuning", "--sequence", "point-slide", "--out", "fleet",
          *small(shadowed), "--update-after", "500"])  # fmt: skip
    assert status(shadowed / "fleet").is_over


@pytest.mark.slow
def test_a_plugin_is_not_mistaken_for_a_file_in_the_current_folder(shadowed):
    (shadowed / "code").mkdir()
    plugin = shadowed / "code" / "decaying.py"
    plugin.write_text(
        (EXAMPLES / "weight_decay.py").read_text().replace("weight_decay", "decaying")
    )
    (shadowed / "decaying.py").write_text("raise OSError('a file in the folder was run')")
    with plugins_forgotten():
        main(
            ["study", "cw3", "--plugin", "code/decaying.py", "--methods", "decaying",
             "--sequences", "point-slide", "--seeds", "1", "--memory", "1", "--out", "study",
             *small(shadowed)]
        )  # fmt: skip
    (folder,) = (path.parent for path in (shadowed / "study").glob("*/outcome.json"))
    assert "loss_decay" in (folder / "training.jsonl").read_text()
