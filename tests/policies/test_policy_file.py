"""A single policy file is of one run and one time; others are refused, as by `recall export`."""

import shutil

import pytest

import recall
from recall.cli import main
from recall.errors import BadValueError, RecallError
from tests.factories.policies import write_learnt, write_untrained

RUN, OTHER = (f"fine_tuning-point-rich,point-poor-seed{seed}" for seed in (0, 1))


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Write a fleet of two runs and return the folder of the first one's policies."""
    folder = write_untrained(tmp_path_factory.mktemp("fleet"), "point-rich,point-poor", (0, 1))
    write_learnt(folder)
    return folder / "policies" / RUN


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("final.npz", {"task": 1}),
        ("final.npz", {"task": 1, "run": RUN, "at": "final"}),
        ("task-1.npz", {}),
        ("task-1.npz", {"run": RUN, "at": "learnt"}),
    ],
)
def test_what_the_file_itself_says_is_accepted(files, name, arguments):
    policy = recall.load_policy(files / name, **arguments)
    assert (policy.run, policy.position) == (RUN, 1)


@pytest.mark.parametrize(
    ("name", "arguments", "reason"),
    [
        ("final.npz", {"run": OTHER}, f"holds policies of run {RUN} alone, not of '{OTHER}'"),
        ("final.npz", {"run": "nobody"}, "not of 'nobody': leave the run out, or give the fleet's"),
        ("final.npz", {"at": "learnt"}, "of one time, which by its name is not 'learnt': leave"),
        ("task-1.npz", {"at": "final"}, "which by its name is not 'final': leave the time out"),
        ("task-1.npz", {"at": "end"}, "unknown time 'end'"),
    ],
)
def test_another_run_or_time_than_the_files_is_refused(files, name, arguments, reason, capsys):
    with pytest.raises(RecallError, match=reason):
        recall.load_policy(files / name, 1, **arguments)
    options = [f"--{option}={value}" for option, value in arguments.items()]
    with pytest.raises(SystemExit):
        main(["export", str(files / name), "--task=1", "--onnx=never.onnx", *options])
    told = " ".join(capsys.readouterr().err.split())
    assert (reason in told) == (arguments.get("at") != "end"), "tyro words the choices itself"


def test_the_time_of_a_renamed_file_is_unknown(files, tmp_path):
    path = shutil.copy(files / "final.npz", tmp_path / "best.npz")
    assert recall.load_policy(path, 1, run=RUN).position == 1
    with pytest.raises(BadValueError, match="by its name is not 'final'"):
        recall.load_policy(path, 1, at="final")
