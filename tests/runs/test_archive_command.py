"""The command that archives: what it tells, and which options it refuses."""

import re
import shlex
import shutil

import numpy as np
import pytest

import recall
from recall.cli import main
from recall.config.stored import spec_from
from recall.errors import BadValueError, RecallError
from recall.files.fleet_layout import FINAL
from recall.learn import fleet
from recall.runs.policies import write_policies
from recall.runs.store import read_description
from recall.training.agents import agent_of
from tests.factories.folders import write_fleet, write_log


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"policies": "recal-*"}, "unknown run 'recal-\\*'"),
        ({"policies": "*"}, "runs has no policies of runs '\\*'"),
        ({"training_every": 0}, "at least 1"),
        ({"policies_at": "never"}, "unknown time 'never'"),
    ],
)
def test_options_that_select_nothing_are_refused(fleets, tmp_path, options, words):
    with pytest.raises(RecallError, match=words):
        recall.archive(fleets, tmp_path / "kept", **options)
    assert not (tmp_path / "kept").exists()


def test_the_command_says_what_it_wrote(fleets, tmp_path, capsys):
    write_log(fleets / "theirs")
    words = ["archive", str(fleets), str(tmp_path / "kept"), "--training-every", "1e3"]
    main(words)
    told = capsys.readouterr()
    assert told.out == f"2 fleets of 6 runs and 0 policy files, 0.01 MB in {tmp_path / 'kept'}\n"
    assert told.err == f"{fleets / 'theirs'} holds a log of other code, which is not archived.\n"
    with pytest.raises(SystemExit):
        main(words)
    assert "already holds an archive" in capsys.readouterr().err
    main([*words, "--replace"])


def test_the_command_tells_when_it_keeps_no_policies(finished, fleets, tmp_path, capsys):
    def told(*words):
        main(["archive", *map(str, words)])
        return capsys.readouterr().err

    assert "No policies were kept" in told(finished, tmp_path / "a")
    shutil.copytree(finished, tmp_path / "study" / "one")
    assert "--policies" in told(tmp_path / "study", tmp_path / "b")
    assert told(finished, tmp_path / "c", "--policies", "*-seed0") == ""
    assert told(fleets, tmp_path / "d") == "", "these have no policies"


def test_the_advice_to_keep_policies_works_as_printed(tmp_path, capsys):
    folder = tmp_path / "study" / "second"
    write_fleet(tmp_path / "study" / "first", "recall", "push,hammer")  # without policies
    write_fleet(folder, "ewc", "point-rich,point-poor", seeds=(3, 4))
    spec = spec_from(read_description(folder))
    shape = fleet.policy_shape(agent_of(spec)[0])
    flat = np.zeros((2, shape.size), np.float32)
    write_policies(folder, spec, shape, FINAL, {0: flat, 1: flat})
    main(["archive", str(tmp_path / "study"), str(tmp_path / "a")])
    (advice,) = re.findall(r"name their runs: (.*), or", capsys.readouterr().err)
    assert advice == "--policies 'ewc-*-seed3'"
    main(["archive", str(tmp_path / "study"), str(tmp_path / "b"), *shlex.split(advice)])
    assert "1 policy file" in capsys.readouterr().out


@pytest.mark.parametrize("every", ["x", 1.5, 0])
def test_intervals_that_are_no_whole_number_are_refused(fleets, tmp_path, every):
    with pytest.raises(
        BadValueError, match=f"training_every is {every!r}; expected a whole number"
    ):
        recall.archive(fleets, tmp_path / "kept", training_every=every)
    assert not (tmp_path / "kept").exists()
