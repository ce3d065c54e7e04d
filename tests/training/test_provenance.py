"""What run.json says about the state of the source code, in a real checkout."""

import subprocess

import pytest

from recall.training.provenance import git_state


@pytest.fixture
def checkout(tmp_path):
    (tmp_path / "recall").mkdir()
    (tmp_path / "recall" / "code.py").write_text("")
    for command in (
        ["init", "-q"],
        ["add", "-A"],
        ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "first"],
    ):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    return tmp_path


def test_a_clean_checkout_is_clean_whatever_results_lie_in_it(checkout):
    (checkout / "report").mkdir()
    (checkout / "report" / "index.html").write_text("")
    state = git_state(checkout)
    assert (len(state["commit"]), state["dirty"]) == (40, False)


@pytest.mark.parametrize("name", ["code.py", "new.py"])
def test_changed_and_new_code_count(checkout, name):
    (checkout / "recall" / name).write_text("x = 1")
    assert git_state(checkout)["dirty"]


def test_outside_a_checkout_nothing_is_known(checkout):
    assert git_state(checkout / "recall") is None
