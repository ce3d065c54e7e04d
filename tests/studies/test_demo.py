"""The demo's sums; the fleets it trains are tested elsewhere."""

import pytest

from recall.config.resolve import resolve
from recall.errors import BadValueError
from recall.methods import METHODS
from recall.studies.demo import (
    PLAN,
    Plan,
    print_table,
    row_of,
    scores_in,
    with_normalised_targets,
)
from tests.factories.folders import write_fleet

TASKS = ["point-rich", "point-poor"]


def test_scores_are_those_of_the_paper_against_the_single_tasks(tmp_path):
    """Evaluated twice in each stage of 1,000 steps."""
    forgets = {500: (0.5, 0), 1_000: (1, 0), 1_500: (0.5, 0.5), 2_000: (0, 1)}
    keeps = {500: (0.5, 0), 1_000: (1, 0), 1_500: (1, 0.5), 2_000: (1, 1)}
    single = write_fleet(
        tmp_path / "single",
        "fine_tuning",
        TASKS,
        (0,),
        lambda *_: 0.5,
        evaluate_every=500,
    )
    fleet = write_fleet(
        tmp_path / "recall",
        "recall",
        ",".join(TASKS),
        (0, 1),
        lambda seed, position, step: (forgets, keeps)[seed][step][position],
        evaluate_every=500,
    )
    scores, transfer = row_of(fleet, single, window=2)
    # A window is at most a fifth of a stage: of two evaluations, the last one counts.
    assert scores.trained.mean(axis=0) == pytest.approx([1.0, 1.0])
    assert scores.final.mean(axis=0) == pytest.approx([(0 + 1) / 2, 1.0])
    assert scores.performance.value == pytest.approx((0.5 + 1) / 2)
    assert scores.forgetting.value == pytest.approx(((1 - 0) / 2 + (1 - 1) / 2) / 2)
    assert transfer == pytest.approx((0.75 - 0.5) / 0.5)


def learnt_at_once(folder, method, plan=PLAN):
    changes = {name: plan.changes[name] for name in plan.changes if name != "steps_per_task"}
    single = write_fleet(
        folder / "single" / method, "fine_tuning", list(plan.tasks), (0,), **changes
    )
    changes |= plan.of_methods.get(method, {})
    fleet = write_fleet(
        folder / method, method, ",".join(plan.tasks), (0,), lambda *_: 1.0, **changes
    )
    return row_of(fleet, single, plan.window)


def test_the_table_names_every_method(tmp_path, capsys):
    plan = Plan(methods=tuple(METHODS))
    print_table([learnt_at_once(tmp_path, name) for name in plan.methods], plan)
    shown = capsys.readouterr().out
    for name in plan.methods:
        assert METHODS[name].label in shown
    assert "100→100%" in shown
    assert max(map(len, shown.splitlines())) <= 80
    (together,) = [line for line in shown.splitlines() if METHODS["multi_task"].label in line]
    assert "→" not in together
    assert "0.00" not in together, "nothing to forget or to transfer"
    for heading in ("performance", "forgetting", "transfer"):
        assert heading in shown, "cut off"


@pytest.mark.parametrize("plan", [PLAN, with_normalised_targets(PLAN)])
def test_the_plan_can_be_trained_by_every_method(plan):
    for name in METHODS:
        changes = plan.changes | plan.of_methods.get(name, {})
        spec = resolve(name, ",".join(plan.tasks), plan.seeds, plan.preset, changes=changes)
        assert spec.method.normalise_targets == (plan.normalised or name == "recall")
        assert len(spec.runs) == len(plan.seeds)


def test_the_table_says_whether_targets_were_normalised(tmp_path, capsys):
    for plan in (Plan(tasks=TASKS), with_normalised_targets(Plan(tasks=TASKS))):
        row = learnt_at_once(tmp_path / str(plan.normalised), "recall", plan)
        print_table([row], plan)
        shown = capsys.readouterr().out
        title = " ".join(shown.split("method")[0].split())
        assert ("normalised" in title) == plan.normalised
        assert "+1.00" in shown, "forward transfer"


def test_a_fleet_without_a_run_that_reached_its_end_is_told(tmp_path):
    failed = {"recall-cw3-1-seed0": 500}
    fleet = write_fleet(tmp_path, "recall", "cw3-1", seeds=(0,), failed=failed)
    with pytest.raises(BadValueError, match="has no run that was trained to its end"):
        scores_in(fleet, window=1)
