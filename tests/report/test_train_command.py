"""The commands that train a fleet again, as the report's page shows them."""

import dataclasses
import json
import shlex

import pytest

from recall.commands.train import parse_train, spec_of
from recall.config.resolve import resolve
from recall.config.spec import each_alone
from recall.report.train_command import reference_command, train_commands
from tests.factories.runs import made_collection


def described_by(command):
    """The description of the fleet that a command trains."""
    recall, train, *arguments = shlex.split(command)
    assert (recall, train) == ("recall", "train")
    return json.loads(json.dumps(spec_of(*parse_train(arguments)).describe()))


@pytest.mark.parametrize(
    ("method", "changes"),
    [
        ("recall", {}),
        ("recall", {"distillation_weight": 0.5, "best_return": False, "hidden": (64, 32, 32),
                    "bias_corrected": False, "horizon_steps": 100, "steps_per_task": 200_000,
                    "workers": 3}),
        ("ewc", {"evaluate_every": 10_000, "precision": "bfloat16", "learning_rate": 3e-4}),
    ],
)  # fmt: skip
def test_the_command_of_a_fleet_describes_the_same_fleet(method, changes):
    wanted = resolve(method, ["push,hammer", "hammer,push"], (4, 7), changes=changes)
    described = json.loads(json.dumps(wanted.describe()))
    (command,) = train_commands(described)
    again = described_by(command)
    again["settings"]["schedule"]["workers"] = described["settings"]["schedule"]["workers"]
    assert again == described
    (command,) = train_commands(described | {"plugins": ["my_worlds", "/a b/mine.py"]})
    assert command.endswith(" --plugin my_worlds --plugin '/a b/mine.py'")
    assert train_commands(described | {"functions": ["make_env"]}) == []


def test_the_commands_of_a_part_of_a_study_train_its_runs_and_no_others():
    kept = {"push": (0,), "hammer": (0, 1), "window-close": (0,)}
    options = ["--sequence push window-close --seeds 0", "--sequence hammer --seeds 0 1"]
    described = resolve("recall", each_alone(list(kept)), (0, 1)).describe()
    described["runs"] = [run for run in described["runs"] if run["seed"] in kept[run["sequence"]]]
    commands = train_commands(described)
    for command, option in zip(commands, options, strict=True):
        assert f"{option} --" in f"{command} --"
    runs = [run for command in commands for run in described_by(command)["runs"]]
    assert sorted(run["name"] for run in runs) == sorted(run["name"] for run in described["runs"])


def test_the_command_for_references_names_the_plug_ins_of_the_tasks():
    (run, *_) = made_collection(["recall"], ["cw3-1"], seeds=1).runs
    own = dataclasses.replace(run, description=dict(run.description) | {"plugins": ["my_env.py"]})
    assert reference_command(own, ["push"], [0]).endswith(" --plugin my_env.py")
    assert "--plugin" not in reference_command(run, ["push"], [0])
