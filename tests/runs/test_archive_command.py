"""The command that archives: what it tells, and which options it refuses."""

import pytest

import recall
from recall.cli import main
from recall.errors import BadValueError, RecallError
from tests.factories.folders import write_log


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"policies": "recal-*"}, "unknown run 'recal-\\*'"),
        ({"policies": "*"}, "no such policies of runs '\\*'"),
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
    assert f"{fleets / 'theirs'} holds a log of other code" in told.err
    with pytest.raises(SystemExit):
        main(words)
    assert "already holds an archive" in capsys.readouterr().err
    main([*words, "--replace"])


def test_the_command_tells_when_it_keeps_no_policies(finished, tmp_path, capsys):
    main(["archive", str(finished), str(tmp_path / "a")])
    assert "--policies" in capsys.readouterr().err
    main(["archive", str(finished), str(tmp_path / "b"), "--policies", "*-seed0"])
    told = capsys.readouterr()
    assert "3 policy files" in told.out
    assert told.err == ""


@pytest.mark.parametrize("every", ["x", 1.5, 0])
def test_intervals_that_are_no_whole_number_are_refused(fleets, tmp_path, every):
    with pytest.raises(
        BadValueError, match=f"training_every is {every!r}; expected a whole number"
    ):
        recall.archive(fleets, tmp_path / "kept", training_every=every)
    assert not (tmp_path / "kept").exists()
