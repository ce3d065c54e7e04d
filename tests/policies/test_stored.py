"""Which policy of a fleet is meant, and what is said if there is none."""

import json
import shutil

import pytest

import recall
from recall.cli import main
from recall.errors import BadValueError, RecallError, UnknownNameError
from recall.files.atomic import hidden_name
from recall.runs.description import read_description
from recall.training.callbacks import Callback
from tests.factories.policies import write_learned, write_untrained

SEQUENCES = ("point-rich,point-poor", "point-poor,point-slide")
FIRST, OTHER = (f"fine_tuning-{sequence}-seed0" for sequence in SEQUENCES)
FIRST_TWO, OTHER_TWO = (name.replace("seed0", "seed2") for name in (FIRST, OTHER))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Write a fleet of two sequences and seeds with policies of zeros, at both times."""
    folder = write_untrained(tmp_path_factory.mktemp("fleet"), SEQUENCES, (0, 2))
    write_learned(folder)
    return folder


@pytest.mark.parametrize(
    ("arguments", "run", "position"),
    [
        ({"task": "point-slide"}, OTHER, 1),
        ({"task": "point-poor"}, FIRST, 1),
        ({"task": 1}, FIRST, 1),
        ({"task": "1"}, FIRST, 1),
        ({"task": "1 point-poor"}, OTHER, 0),
        ({"task": "2 point-poor"}, FIRST, 1),
        ({"task": 1, "run": OTHER_TWO}, OTHER_TWO, 1),
        ({"task": "point-slide", "at": "learned"}, OTHER, 1),
    ],
)
def test_the_first_run_that_has_the_task_is_taken(folder, arguments, run, position):
    policy = recall.load_policy(folder, **arguments)
    assert (policy.run, policy.position) == (run, position)


def test_a_repeated_task_is_named_with_its_number(tmp_path):
    repeated = write_untrained(tmp_path, "point-rich,point-poor,point-rich")
    policy = recall.load_policy(repeated, "3 point-rich")
    assert (policy.task, policy.position) == ("point-rich", 2)
    assert "3 point-rich" in repr(policy)
    with pytest.raises(BadValueError, match="1 point-rich, 3 point-rich"):
        recall.load_policy(repeated, "point-rich")
    with pytest.raises(BadValueError, match="1 point-rich, point-poor, 3 point-rich"):
        recall.load_policy(repeated)


@pytest.mark.parametrize(
    ("arguments", "valid", "told"),
    [
        ({"task": "point-swop"}, ["point-rich", "point-poor", "point-slide"], "did you mean"),
        ({"task": "point-slide", "run": FIRST}, ["point-rich", "point-poor"], "point-slide"),
        ({"task": 3, "run": FIRST}, ["point-rich", "point-poor"], "3"),
        ({"task": 0, "run": "nobody"}, [FIRST, FIRST_TWO, OTHER, OTHER_TWO], "'nobody'"),
        ({"task": 0, "at": "end"}, ["final", "learned"], "'end'"),
    ],
)
def test_unknown_names_are_told_with_the_known_ones(folder, arguments, valid, told):
    with pytest.raises(UnknownNameError, match=told) as caught:
        recall.load_policy(folder, **arguments)
    assert caught.value.valid == valid


@pytest.mark.parametrize(
    ("marks", "told"),
    [
        ({}, "it is not finished"),
        ({"outcome.json": {"schema": 1, "failed": {}}}, "restore them from a copy"),
        ({"outcome.json": {"finished": False, "failed": {FIRST: 150}}}, "at step 150"),
        ({"archive.json": {"schema": 1}}, "`recall archive --policies`"),
    ],
)
def test_why_policies_are_missing_is_told(folder, tmp_path, marks, told):
    """All policies of a run, only its final ones, one of those just learned: the reason is one."""
    lost = shutil.copytree(folder, tmp_path / "lost")
    for name, content in marks.items():
        (lost / name).write_text(json.dumps(content))
    uses = [lambda: recall.load_policy(lost, 1, FIRST, "learned")]
    (lost / "policies" / FIRST / "task-1.npz").unlink()
    for path in lost.glob("policies/*/final.npz"):
        path.unlink()
    uses += [lambda: recall.load_policy(lost, 0, FIRST), lambda: recall.film(lost, at="final")]
    shutil.rmtree(lost / "policies" / OTHER)
    uses += [lambda: recall.load_policy(lost, 0, OTHER), lambda: recall.film(lost, run=OTHER)]
    for use in uses:
        with pytest.raises(BadValueError, match=told):
            use()
    assert recall.load_policy(lost, 0, at="learned").run == FIRST
    shutil.rmtree(lost / "policies")
    for use in (recall.load_policy, recall.film, recall.evaluate):
        with pytest.raises(BadValueError, match=told):
            use(lost)


def test_what_is_no_fleet_is_called_what_it_is(tmp_path):
    (tmp_path / "text.md").write_text("")
    for name in ("text.md", "nowhere", "nothing.npz"):
        with pytest.raises(BadValueError, match=f"{name}.*fleet"):
            recall.load_policy(tmp_path / name)
    for name in ("a", "b", hidden_name(tmp_path / "c").name):
        (tmp_path / name).mkdir()
        (tmp_path / name / "run.json").write_text("{}")
    with pytest.raises(
        BadValueError, match=r"a folder of fleets: name one of them \(\S+/a, \S+/b\)"
    ):
        recall.load_policy(tmp_path)


def test_lost_and_damaged_final_policies_can_be_written_again(finished, tmp_path):
    fleet = shutil.copytree(finished, tmp_path / "run")
    name = read_description(fleet)["runs"][0]["name"]
    path = fleet / "policies" / name / "final.npz"
    whole = path.read_bytes()
    path.write_bytes(whole[:1_000])
    for what in ("damaged", "final policies"):
        with pytest.raises(RecallError, match=f"{what}.*from a copy"):
            recall.evaluate(fleet)
        path.unlink(missing_ok=True)
    (fleet / "outcome.json").unlink()
    recall.resume(fleet, callback=Callback())
    assert path.read_bytes() == whole


@pytest.mark.parametrize(
    ("name", "arguments", "told"),
    [
        ("final.npz", {"run": OTHER}, "leave out the run and the time"),
        ("final.npz", {"at": "learned"}, "leave out the run and the time"),
        ("task-1.npz", {"task": 0}, "only of point-poor"),
    ],
)
def test_another_run_or_time_than_the_files_is_refused(folder, name, arguments, told, capsys):
    path = folder / "policies" / FIRST / name
    options = [f"--{option}={value}" for option, value in ({"task": 1} | arguments).items()]
    with pytest.raises(SystemExit):
        main(["export", str(path), "--onnx=never.onnx", *options])
    assert told in " ".join(capsys.readouterr().err.split())
