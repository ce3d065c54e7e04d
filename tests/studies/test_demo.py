"""The demo's sums; the fleets it trains are tested elsewhere."""

from pathlib import Path

import pytest

from recall.config.resolve import resolve
from recall.methods import METHODS
from recall.results.store import Results
from recall.studies.demo import (
    PLAN,
    Plan,
    print_table,
    reference_areas,
    row_of,
    with_normalised_targets,
)

STEPS = 1000


def results(method, tasks, curves):
    """Runs with these success rates: curves[run][evaluation][task], evaluated every 500 steps."""
    runs = [{"name": f"run{number}", "tasks": tasks} for number in range(len(curves))]
    evaluations = [
        {"run": run, "step": 500 * (at + 1), "position": task, "mode": "stochastic", "success": p}
        for run, curve in enumerate(curves)
        for at, rates in enumerate(curve)
        for task, p in enumerate(rates)
    ]
    settings = {"schedule": {"steps_per_task": STEPS}}
    description = {"method": {"name": method}, "runs": runs, "settings": settings}
    return Results(Path(), description, evaluations, [], None)


def test_a_row_is_the_mean_over_runs_of_the_papers_metrics():
    areas = reference_areas(
        Results(
            Path(),
            {
                "runs": [{"name": "a", "tasks": ["x"]}, {"name": "b", "tasks": ["y"]}],
                "settings": {"schedule": {"steps_per_task": STEPS}},
            },
            [
                {"run": 0, "step": 500, "position": 0, "mode": "stochastic", "success": 0.5},
                {"run": 0, "step": 1000, "position": 0, "mode": "stochastic", "success": 0.5},
                {"run": 1, "step": 500, "position": 0, "mode": "stochastic", "success": 0.0},
                {"run": 1, "step": 1000, "position": 0, "mode": "stochastic", "success": 0.5},
            ],
            [],
            None,
        )
    )
    assert areas == {"x": 0.5, "y": 0.25}
    forgets = [[0.5, 0], [1, 0], [0.5, 0.5], [0, 1]]
    stores_old_data = [[0.5, 0], [1, 0], [1, 0.5], [1, 1]]
    row = row_of(results("recall", ["x", "y"], [forgets, stores_old_data]), areas, window=2)
    # A window is at most a fifth of a stage: of two evaluations, the last one counts.
    assert row.learnt == pytest.approx((1.0, 1.0))
    assert row.success == pytest.approx(((0 + 1) / 2, 1.0))
    assert row.performance == pytest.approx((0.5 + 1) / 2)
    assert row.forgetting == pytest.approx(((1 - 0) / 2 + (1 - 1) / 2) / 2)
    assert row.transfer == pytest.approx(((0.75 - 0.5) / 0.5 + (0.75 - 0.25) / 0.75) / 2)


def test_the_table_names_every_method(capsys):
    plan = Plan(methods=tuple(METHODS))
    tasks = list(plan.tasks)
    rows = [row_of(results(name, tasks, [[[1] * 3] * 6]), dict.fromkeys(tasks, 0.0), window=1)
            for name in plan.methods]  # fmt: skip
    print_table(rows, plan)
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


def test_the_table_says_whether_targets_were_normalised(capsys):
    rows = [row_of(results("recall", ["x"], [[[1]] * 2]), {"x": 0.0}, window=1)]
    for plan in (Plan(tasks=("point-rich",)), with_normalised_targets(Plan(tasks=("point-rich",)))):
        print_table(rows, plan)
        title = " ".join(capsys.readouterr().out.split("method")[0].split())
        assert ("normalised" in title) == plan.normalised
