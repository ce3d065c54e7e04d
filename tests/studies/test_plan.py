"""Narrowing, shrinking, and dividing into fleets that fit."""

import dataclasses
import json

import jax
import numpy as np
import pytest

from recall.errors import BadValueError, UnknownNameError
from recall.files.atomic import hidden_name
from recall.learn import fleet as learner
from recall.replay.buffer import init
from recall.runs.fleet_folder import check_same
from recall.studies import STUDIES
from recall.studies.launch.place import Room
from recall.studies.plan import Shard, plan, split
from recall.studies.runner import plan_study
from recall.studies.selection import Choices, groups_of
from recall.studies.study_folder import write_study
from recall.training.agents import agent_of
from recall.training.memory import replay_bytes, run_bytes
from tests.factories.studies import SEQUENCE, SMALL, begin

STUDY = STUDIES["lambda"]
CHOICES = Choices(
    sequences=(SEQUENCE,), methods=("lambda=10", "lambda=100"), seeds=2, changes=SMALL
)
ROOM = Room(bytes_per_device=2**30)


def test_scale_shrinks_a_task_and_explores_as_long_as_there_is_time():
    (group,) = groups_of(STUDIES["cw10"], Choices(scale=0.3, methods=("packnet",)))
    schedule = group.spec.settings.schedule
    assert schedule.steps_per_task == 300_000
    assert schedule.evaluate_every == 6_000
    assert schedule.record_every == 300
    assert schedule.random_steps == 10_000
    assert schedule.update_after == 1_000
    assert group.spec.method.retraining_updates == 30_000
    (group,) = groups_of(STUDIES["cw10"], Choices(scale=0.00033, methods=("packnet",)))
    assert group.spec.method.retraining_updates == 50  # whole bursts
    quick = groups_of(STUDIES["cw10"], Choices(scale=0.5, preset="quick"))[0].spec.settings.schedule
    assert (quick.steps_per_task, quick.random_steps) == (1_500, 250)
    tiny = groups_of(STUDIES["cw10"], Choices(scale=0.0001))[0].spec.settings.schedule
    assert (tiny.steps_per_task, tiny.evaluate_every, tiny.random_steps) == (100, 50, 50)


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"scale": 0.00001}, "scale 1e-05 .* smallest scale is 5e-05"),
        ({"seeds": 0}, "at least one seed"),
        ({"tasks": ("hamer",)}, "'hamer'; did you mean 'hammer'"),
        ({"tasks": ("hammer",)}, "hammer alone"),
        ({"methods": ("recal",)}, "'recal'; did you mean 'recall'"),
    ],
)
def test_choices_that_make_no_sense_are_refused(choices, message):
    with pytest.raises((BadValueError, UnknownNameError), match=message):
        groups_of(STUDIES["cw3"], Choices(**choices))


def test_tasks_sequences_and_methods_narrow():
    pairs = Choices(tasks=("hammer", "push"), methods=("recall",), seeds=1)
    (group,) = groups_of(STUDIES["pairs"], pairs)
    of_two = ["pair-0-0", "pair-0-6", "pair-6-0", "pair-6-6"]
    assert sorted(run.sequence for run in group.spec.runs) == of_two
    groups = groups_of(STUDIES["cw3"], Choices(sequences=("cw3-2",), methods=("ewc", "reset")))
    assert [group.variant.title for group in groups] == ["ewc", "reset"]
    assert {run.sequence for group in groups for run in group.spec.runs} == {"cw3-2"}
    titles = [g.variant.title for g in groups_of(STUDIES["ablation"], Choices(methods=("recall",)))]
    assert titles == ["none", "tn", "pd", "tn+pd"]


@pytest.mark.parametrize("method", ["fine_tuning", "clonex", "perfect_memory", "recall"])
def test_replay_is_counted_as_it_is_allocated(method):
    (group,) = groups_of(STUDIES["cw3"], Choices(scale=0.02, methods=(method,), seeds=1))
    agent, _ = agent_of(group.spec)
    kept = 2 if group.spec.method.stores_old_data() else 0
    memory = {"clonex": 10_000}.get(method, 20_000) if kept else 0
    made = jax.eval_shape(lambda: init(agent.columns, 20_000, kept, memory, 1))
    size = sum(4 * np.prod(leaf.shape) for leaf in jax.tree.leaves(made))
    # Copying a task into D_old takes the room of two more while it lasts.
    assert replay_bytes(group.spec, agent) == size + 2 * 172 * memory


def test_a_run_needs_at_least_what_its_arrays_take():
    (group,) = groups_of(STUDY, dataclasses.replace(CHOICES, methods=("lambda=10",)))
    agent, _ = agent_of(group.spec)
    state = jax.eval_shape(lambda: learner.init(agent, jax.numpy.arange(2)))
    held = sum(4 * np.prod(leaf.shape) for leaf in jax.tree.leaves(state)) / 2
    assert held + replay_bytes(group.spec, agent) < run_bytes(group.spec)


@pytest.mark.parametrize(
    ("runs", "most", "parts", "room", "sizes"),
    [
        (40, 15, 1, Room(1), [14, 13, 13]),
        (40, 100, 4, Room(1, places=4), [10, 10, 10, 10]),
        (40, 100, 1, Room(1, runs_per_fleet=16), [14, 13, 13]),
        (3, 100, 8, Room(1, places=8), [1, 1, 1]),
        (10, 100, 1, Room(1, devices=4), [8, 2]),
        (40, 3, 1, Room(1, devices=4), [12, 12, 8, 8]),
        (5, 100, 1, Room(1, devices=4, runs_per_fleet=2), [2, 2, 1]),
        (0, 100, 1, Room(1), []),
    ],
)
def test_runs_are_divided_evenly_within_the_memory(runs, most, parts, room, sizes):
    divided = list(split(list(range(runs)), most, parts, room))
    assert [len(part) for part in divided] == sizes
    assert [run for part in divided for run in part] == list(range(runs))


def test_fleets_fit_the_device_and_hold_every_run_once(tmp_path):
    room = Room(bytes_per_device=2**33)
    fleets = plan(groups_of(STUDIES["cw3"], Choices()), tmp_path, room)
    assert all(fleet.memory_bytes <= room.bytes_per_device for fleet in fleets)
    names = [run.name for fleet in fleets for run in fleet.spec.runs]
    assert len(names) == len(set(names)) == 240
    assert len({fleet.name for fleet in fleets}) == len(fleets)


def test_what_has_begun_keeps_its_runs_and_more_runs_are_added(tmp_path):
    """More seeds, and less memory than before: fleets that have begun stay as they are."""
    first = plan_study(STUDY, CHOICES, tmp_path, ROOM)
    assert [(fleet.name, len(fleet.spec.runs)) for fleet in first] == [
        ("lambda=10", 2),
        ("lambda=100", 2),
    ]
    write_study(tmp_path, STUDY, CHOICES, first)
    begin(first[0], tmp_path)
    half = hidden_name(tmp_path / "archive").name
    begin(dataclasses.replace(first[1], name=half), tmp_path)
    more = dataclasses.replace(CHOICES, seeds=5)
    fleets = plan_study(STUDY, more, tmp_path, Room(2**30, runs_per_fleet=3))
    seeds = {fleet.name: [run.seed for run in fleet.spec.runs] for fleet in fleets}
    assert seeds == {
        "lambda=10": [0, 1],
        "lambda=10-2": [2, 3, 4],
        "lambda=100": [0, 1, 2],
        "lambda=100-2": [3, 4],
    }
    # Where workers differ it is still the same fleet.
    elsewhere = dataclasses.replace(CHOICES, changes=SMALL | {"workers": 2})
    assert plan(groups_of(STUDY, elsewhere), tmp_path, ROOM)[0].name == "lambda=10"
    tight = first[0].memory_bytes - 1
    with pytest.raises(BadValueError, match="lambda=10 was begun with more memory: it needs"):
        plan_study(STUDY, CHOICES, tmp_path, Room(tight))
    # What is finished needs no memory any more.
    alone = dataclasses.replace(CHOICES, methods=("lambda=10",))
    (tmp_path / "lambda=10" / "outcome.json").write_text('{"finished": true, "failed": {}}')
    (held,) = plan_study(STUDY, alone, tmp_path, Room(1))
    assert held.name == "lambda=10"


def test_fleets_of_a_version_with_other_defaults_are_refused_with_a_way_out(tmp_path):
    first = plan_study(STUDY, CHOICES, tmp_path, ROOM)
    write_study(tmp_path, STUDY, CHOICES, first)
    begin(first[0], tmp_path)
    run_json = tmp_path / "lambda=10" / "run.json"
    description = json.loads(run_json.read_text())
    del description["settings"]["schedule"]["noise_colour"]
    run_json.write_text(json.dumps(description))
    said = "lambda=10 was begun with noise_colour 0.0, and this version trains with 1.0: `recall"
    with pytest.raises(BadValueError, match=said):
        plan_study(STUDY, CHOICES, tmp_path, ROOM)
    # Other variants can be added.
    others = dataclasses.replace(CHOICES, methods=("lambda=100",))
    (added,) = plan_study(STUDY, others, tmp_path, ROOM)
    assert added.name == "lambda=100"
    # With the settings of that time, the fleet is the one that was begun.
    then = dataclasses.replace(CHOICES, changes=SMALL | {"noise_colour": 0.0})
    spec = plan(groups_of(STUDY, then), tmp_path, ROOM)[0].spec
    check_same(tmp_path / "lambda=10", spec.describe())


def test_every_shard_trains_other_fleets_whenever_it_begins(tmp_path):
    """What other shards have begun or finished before does not change the division."""
    choices = dataclasses.replace(CHOICES, seeds=6)
    parts = []
    for number in (1, 2, 3, 4):
        fleets = plan_study(STUDY, choices, tmp_path, ROOM, shards=4)
        write_study(tmp_path, STUDY, choices, fleets, shards=4)
        mine = Shard.parse(f"{number}/4").part(fleets)
        for fleet in mine if number < 3 else ():  # the others are only planned
            begin(fleet, tmp_path)
            (tmp_path / fleet.name / "outcome.json").write_text('{"finished": true, "failed": {}}')
        parts.append([(fleet.name, run.name) for fleet in mine for run in fleet.spec.runs])
    trained = [run for part in parts for run in part]
    variants = {(fleet.removesuffix("-2"), run) for fleet, run in trained}
    assert len(trained) == len(variants) == 12
    assert all(parts)
    # Alone and without shards, only what has begun stays as it is.
    assert len(plan_study(STUDY, choices, tmp_path, ROOM)) == 3
    # Beside other launchers, nothing is divided again.
    there = plan_study(STUDY, choices, tmp_path, ROOM, shards=9, others=True)
    assert sorted((each.name, run.name) for each in there for run in each.spec.runs) == sorted(
        trained
    )
    with pytest.raises(BadValueError, match="planned with runs that these choices leave out"):
        plan_study(STUDY, dataclasses.replace(choices, seeds=2), tmp_path, ROOM, others=True)
