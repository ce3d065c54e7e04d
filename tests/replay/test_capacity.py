import pytest

from recall.replay.history import rows_held


@pytest.mark.parametrize(
    ("capacity", "steps_per_task", "memory_per_task", "held"),
    [
        (1_000, 500, None, (500, 500)),
        (300, 500, None, (300, 300)),
        (300, 500, 100, (300, 100)),
        (300, 500, 400, (300, 300)),
        (1_000, 500, 0, (500, 0)),
    ],
)
def test_replay_holds_no_more_than_its_capacity_the_task_and_the_memory(
    capacity, steps_per_task, memory_per_task, held
):
    assert rows_held(capacity, steps_per_task, memory_per_task) == held
