"""Health checks with known answers."""

import math

import pytest

from recall.runs.health import (
    COLLAPSED_TEMPERATURE,
    DIVERGING_CRITICS,
    DORMANT_CRITIC_UNITS,
    DORMANT_POLICY_UNITS,
    Q_RECORDS,
    VANISHED_POLICY_GRADIENT,
    due,
    symptoms,
)

TASKS = ("push", "hammer", "window-close")
NAN = math.nan
# Two tasks were met. The second is in training, and the batch had no rows of the first.
HEALTHY = {
    "run": 0,
    "step": 2_000,
    "grad_norm_pi": 0.3,
    "alpha": [1e-4, 0.2, 2.7],
    "q_value": [NAN, 40.0, NAN],
    "q_lowest": [-100.0, -100.0, NAN],
    "q_highest": [1_000.0, 1_000.0, NAN],
}
PLASTIC = {"run": 0, "step": 2_000, "dormant_pi": 0.3, "dormant_q": 0.1}


def found(learned=(1,), **changes):
    """(kind, position) of each symptom of the healthy record after changes."""
    return [symptom[:2] for symptom in symptoms(HEALTHY | PLASTIC | changes, learned, TASKS)]


def test_a_healthy_run_has_no_symptoms():
    assert found() == []
    assert not list(symptoms({"run": 0, "step": 50, "episode_return": 3.0}, (0,), TASKS))


@pytest.mark.parametrize(
    ("changes", "kind", "number"),
    [
        ({"grad_norm_pi": 1e-9}, VANISHED_POLICY_GRADIENT, "1e-09"),
        ({"alpha": [0.1, 3e-13, 0.1]}, COLLAPSED_TEMPERATURE, "3e-13"),
        ({"q_value": [NAN, 2e6, NAN]}, DIVERGING_CRITICS, "2e+06"),
        ({"dormant_pi": 0.75}, DORMANT_POLICY_UNITS, "75%"),
        ({"dormant_q": 0.5}, DORMANT_CRITIC_UNITS, "50%"),
    ],
)
def test_each_kind_is_seen_alone_and_names_its_task_and_number(changes, kind, number):
    (symptom,) = symptoms(HEALTHY | PLASTIC | changes, (1,), TASKS)
    assert symptom[:2] == (kind, 1)
    assert "hammer" in symptom.message
    assert number in symptom.message


def test_temperatures_count_for_the_tasks_in_training_alone():
    collapsed = [0.0, 0.1, 0.0]
    assert found(alpha=collapsed) == []
    assert found(learned=(0, 1, 2), alpha=collapsed) == [
        (COLLAPSED_TEMPERATURE, 0),
        (COLLAPSED_TEMPERATURE, 2),
    ]


@pytest.mark.parametrize(
    ("q", "low", "high", "diverges"),
    [
        # The range is 1,100 wide, so that 55 beyond either end are within the margin.
        (-154.0, -100.0, 1_000.0, False),
        (-156.0, -100.0, 1_000.0, True),
        (1_054.0, -100.0, 1_000.0, False),
        (1_056.0, -100.0, 1_000.0, True),
        # A new critic is near zero, whatever the rewards are.
        (0.0, -100.0, -2.0, False),
        (0.0, 2.0, 100.0, False),
        (6.0, -100.0, -2.0, True),
    ],
)
def test_q_may_overshoot_by_a_twentieth_of_a_range_that_includes_zero(q, low, high, diverges):
    columns = {"q_value": q, "q_lowest": low, "q_highest": high}
    changes = {name: [value, NAN, NAN] for name, value in columns.items()}
    assert found(**changes) == [(DIVERGING_CRITICS, 0)] * diverges


def test_each_symptom_is_due_once_for_each_run_and_task():
    counts = {}
    first, second = (
        list(symptoms(HEALTHY | {"grad_norm_pi": 0.0}, (position,), TASKS)) for position in (0, 1)
    )
    assert due(first, counts, "a") == first
    assert due(first, counts, "a") == []
    assert due(second, counts, "a") == second
    assert due(first, counts, "b") == first
    assert due(first + second, counts, "a") == []


def test_q_must_be_outside_in_several_records():
    counts = {}
    diverging = list(symptoms(HEALTHY | {"q_value": [1e9, NAN, NAN]}, (1,), TASKS))
    told = [due(diverging, counts, "a") for _ in range(2 * Q_RECORDS)]
    assert [len(symptoms) for symptoms in told] == [0] * (Q_RECORDS - 1) + [1] + [0] * Q_RECORDS
