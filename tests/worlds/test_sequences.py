import pytest

from recall.errors import BadValueError, UnknownNameError
from recall.worlds.registry import task_names, tasks_of
from recall.worlds.sequences import parse_sequence, sequence_names

CW10 = (
    "hammer,push-wall,faucet-close,push-back,stick-pull,handle-press-side,push,shelf-place,"
    "window-close,peg-unplug-side"
)


def tasks(name):
    return parse_sequence(name).tasks


def test_the_papers_sequences_are_known_by_name():
    assert ",".join(tasks("cw10")) == CW10
    assert tasks("cw20") == 2 * tasks("cw10")
    assert tasks("cw3-1") == ("push", "window-close", "hammer")
    assert tasks("cw3-6") == ("stick-pull", "peg-unplug-side", "stick-pull")
    assert tasks("cw6-8") == 2 * tasks("cw3-8")
    assert tasks("pair-5-0") == ("handle-press-side", "hammer")
    assert tasks("pointworld") == tasks_of("pointworld")


def test_every_listed_sequence_is_made_of_known_tasks():
    names = sequence_names()
    assert len(names) == len(set(names)) == 8 + 8 + 2 + 100 + 1
    for name in names:
        assert set(tasks(name)) <= set(task_names())


def test_a_sequence_of_ones_own():
    own = parse_sequence("push, gym:Pendulum-v1,push")
    assert own.tasks == ("push", "gym:Pendulum-v1", "push")
    assert own.name == "push,gym:Pendulum-v1,push"
    assert parse_sequence("point-rich").tasks == ("point-rich",)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("cw3-9", "unknown sequence 'cw3-9'; did you mean 'cw3-.*`recall list sequences`.*commas"),
        ("hamer", "unknown sequence 'hamer'; did you mean 'hammer'"),
        ("hammer,pushwall", "unknown task 'pushwall'; did you mean 'push-wall'"),
        ("Pendulum-v1", r"is gym:Pendulum-v1 here\."),
        ("push,Pendulum-v1", r"is gym:Pendulum-v1 here\."),
    ],
)
def test_unknown_names_are_told_with_the_nearest(name, told):
    with pytest.raises(UnknownNameError, match=told):
        parse_sequence(name)


@pytest.mark.parametrize("name", ["", "hammer,,push", "hammer,"])
def test_empty_places_are_refused(name):
    with pytest.raises(BadValueError, match="empty task name"):
        parse_sequence(name)
