"""The command that trains a fleet again, as the report's page shows it."""

import dataclasses
import html
import json
import re
import shlex
from pathlib import Path

import pytest

from recall.commands.train import parse_train, spec_of
from recall.config.resolve import resolve
from recall.report.page.runs import runs_section
from recall.report.train_command import reference_command, train_command
from recall.results.collection import Collection
from recall.results.departures import settings_of
from tests.factories.runs import made_collection


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
    recall, train, *arguments = shlex.split(train_command(described))
    assert (recall, train) == ("recall", "train")
    again = json.loads(json.dumps(spec_of(*parse_train(arguments)).describe()))
    again["settings"]["schedule"]["workers"] = described["settings"]["schedule"]["workers"]
    assert again == described


def test_runs_tell_their_command_and_what_is_special_about_them():
    (made, *_) = made_collection(["recall"], ["cw3-1"], seeds=1).runs
    described = {}
    for method in ("recall", "ewc"):
        spec = resolve(method, preset="quick", changes={"discount": 0.9})
        described[method] = spec.describe()
    runs = [
        dataclasses.replace(
            made, folder=Path(method), description=about,
            settings=settings_of(about),
        )
        for method, about in described.items()
    ]  # fmt: skip
    section = runs_section(Collection(tuple(runs)))
    fleets, _, shared = section.partition("Settings that all runs share")
    words = html.unescape(re.sub("<[^>]*>", "", section))
    for about in described.values():
        assert train_command(about) in words
    assert "<dt>learner.sac.discount</dt><dd>0.9</dd>" in shared
    assert "<dt>method.distillation_weight</dt>" in fleets
    assert "learner.sac.discount" not in fleets


def test_the_command_of_a_fleet_names_its_plugins():
    described = resolve("ewc", "push", (0,)).describe() | {"plugins": ["my_worlds", "/a b/mine.py"]}
    assert train_command(described).endswith(" --plugin my_worlds --plugin '/a b/mine.py'")


def test_tasks_that_are_functions_have_no_command():
    assert train_command({"functions": ["make_env"]}) is None


def test_the_command_for_references_names_the_plug_ins_of_the_tasks():
    (run, *_) = made_collection(["recall"], ["cw3-1"], seeds=1).runs
    own = dataclasses.replace(run, description=dict(run.description) | {"plugins": ["my_env.py"]})
    assert reference_command(own, ["push"], [0]).endswith(" --plugin my_env.py")
    assert "--plugin" not in reference_command(run, ["push"], [0])
