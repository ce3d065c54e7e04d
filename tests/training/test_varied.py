"""A fleet whose runs differ in scalars: names, records, labels, and resuming."""

import json

import pytest

from recall.analysis.collection import gather
from recall.config.resolve import resolve
from recall.config.stored import spec_from
from recall.errors import BadValueError, RecallError
from recall.report.train_command import train_commands
from recall.runs.description import read_description
from recall.training.agents import agent_of
from tests.factories.fleets import CHANGES, CrashAt, CrashError, go_on, left_by, run, start

VARY = {"learning_rate": (1e-3, 3e-4), "clip_norm": (0.1,)}


def varied(vary=VARY, seeds=(0,)):
    return resolve("fine_tuning", "point-rich", seeds, changes=CHANGES, vary=vary)


def test_there_is_a_run_for_every_combination_of_values():
    spec = varied({"sac.learning-rate": (1e-3, 3e-4), "discount": (0.9, 0.99)}, seeds=(0, 1))
    assert len({each.name for each in spec.runs}) == 8
    last = spec.alone(spec.runs[-1])
    assert last.settings.learner.sac.learning_rate == 3e-4
    assert last.settings.learner.sac.discount == 0.99
    assert last.runs[0].own_seed == spec.runs[1].own_seed
    described = json.loads(json.dumps(spec.describe()))
    assert spec_from(described) == spec
    (command,) = train_commands(described)
    assert command.endswith("--vary sac.learning_rate=0.001,0.0003 sac.discount=0.9,0.99")
    described["runs"][0]["own"] = {"settings.learner.network.hidden": 5}
    with pytest.raises(BadValueError, match="cannot vary"):
        spec_from(described)


@pytest.mark.parametrize(
    ("vary", "told"),
    [
        ({"batch_size": (8, 16)}, "batch_size cannot vary"),
        ({"learning_rate": 1e-3}, "expected a list"),
        ({"learning_rate": (1e-3, -1)}, "learning_rate is -1"),
        ({"learning_rate": ()}, "at least one"),
        ({"discount": (0.9,), "sac.discount": (0.99,)}, "given twice"),
        ({"learning_rat": (1e-3,)}, "did you mean 'learning_rate'"),
        ({"clip_norm": (None, 0.1)}, "None cannot vary"),
        ([1e-3], "give a dict"),
    ],
)
def test_what_cannot_vary_is_refused(vary, told):
    with pytest.raises(RecallError, match=told):
        varied(vary)


@pytest.mark.slow
def test_a_varied_fleet_resumes_bit_for_bit_and_is_labelled_by_value(tmp_path):
    run(start(varied(), tmp_path / "whole"))
    with pytest.raises(CrashError):
        run(start(varied(), tmp_path / "resumed", CrashAt(6)))
    trainer, complaints = go_on(tmp_path / "resumed")
    assert not complaints
    assert trainer.total_steps > 0
    run(trainer)
    assert left_by(tmp_path / "resumed") == left_by(tmp_path / "whole")
    runs = gather([tmp_path / "whole"]).runs
    rates = {each.settings["learner.sac.learning_rate"]: each for each in runs}
    assert rates.keys() == {1e-3, 3e-4}
    assert "learning rate 0.0003" in rates[3e-4].label
    assert "learning rate" not in rates[1e-3].label
    spec = spec_from(read_description(tmp_path / "whole"))
    assert agent_of(spec)[0].settings.sac.learning_rate.tolist() == pytest.approx([1e-3, 3e-4])
