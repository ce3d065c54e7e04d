"""The demo: its sums, its table, and a small one that is trained, filmed and continued."""

import dataclasses

import pytest

from recall.analysis.estimates import estimate
from recall.analysis.frames import matrix
from recall.analysis.measures import FORGETTING, PERFORMANCE
from recall.config.presets import PRESETS
from recall.errors import BadValueError
from recall.methods import METHODS
from recall.runs.store import read
from recall.studies.demo import (
    POINTWORLD,
    ROBOTS,
    Plan,
    make_film,
    print_table,
    row_of,
    run_demo,
    with_normalised_targets,
)
from recall.training.callbacks import Callback
from tests.factories.fleets import CHANGES
from tests.factories.folders import write_fleet

TASKS = ["point-rich", "point-poor"]


def test_scores_are_those_of_the_paper_against_the_single_tasks(tmp_path):
    """Evaluated twice in each stage of 1,000 steps."""
    forgets = {500: (0.5, 0), 1_000: (1, 0), 1_500: (0.5, 0.5), 2_000: (0, 1)}
    keeps = {500: (0.5, 0), 1_000: (1, 0), 1_500: (1, 0.5), 2_000: (1, 1)}
    single = write_fleet(
        tmp_path / "single",
        "fine_tuning",
        [[task] for task in TASKS],
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
    scores, transfer = row_of(fleet, single)
    assert matrix(scores, "trained").mean(axis=0) == pytest.approx([1.0, 1.0])
    assert matrix(scores, "final").mean(axis=0) == pytest.approx([(0 + 1) / 2, 1.0])
    assert estimate(scores, PERFORMANCE).value == pytest.approx((0.5 + 1) / 2)
    assert estimate(scores, FORGETTING).value == pytest.approx(((1 - 0) / 2 + (1 - 1) / 2) / 2)
    assert transfer == pytest.approx((0.75 - 0.5) / 0.5)
    assert row_of(fleet).transfer is None
    failed = {"recall-cw3-1-seed0": 500}
    fleet = write_fleet(tmp_path / "failed", "recall", "cw3-1", seeds=(0,), failed=failed)
    with pytest.raises(BadValueError, match="has no run that was trained to its end"):
        row_of(fleet)


@pytest.mark.parametrize("plan", [POINTWORLD, with_normalised_targets(POINTWORLD)])
def test_the_table_names_every_method_and_fits_a_terminal(tmp_path, capsys, plan):
    changes = {"normalise_targets": True} if plan.normalised else {}
    single = write_fleet(
        tmp_path / "single", "fine_tuning", [[task] for task in plan.tasks], (0,), **changes
    )
    rows = []
    for name in METHODS:
        own = changes | dict(plan.of_methods.get(name, {}))
        fleet = write_fleet(
            tmp_path / name, name, ",".join(plan.tasks), (0,), lambda *_: 1.0, **own
        )
        rows.append(row_of(fleet, single))
    print_table(rows, plan)
    shown = capsys.readouterr().out
    for method in METHODS.values():
        assert method.label in shown
    assert "100→100%" in shown
    assert "+1.00" in shown, "forward transfer"
    assert max(map(len, shown.splitlines())) <= 80
    (together,) = [line for line in shown.splitlines() if METHODS["multi_task"].label in line]
    assert "→" not in together
    assert "0.00" not in together, "nothing to forget or to transfer"
    for heading in ("performance", "forgetting", "transfer"):
        assert heading in shown, "cut off"
    assert ("normalised" in shown.split("method")[0]) == plan.normalised


@pytest.mark.parametrize("plan", [POINTWORLD, with_normalised_targets(POINTWORLD), ROBOTS])
def test_the_plans_can_be_trained_by_every_method(plan):
    for name in METHODS:
        spec = plan.spec(name)
        assert spec.method.normalise_targets == (plan.normalised or name == "recall")
        assert [run.tasks for run in spec.runs] == [plan.tasks] * len(plan.seeds)
    assert (
        ROBOTS.spec("recall").settings.learner.network.hidden
        == (PRESETS["laptop"].settings["hidden"])
    )


@pytest.mark.slow
def test_a_demo_trains_shows_and_films_and_does_not_train_again(tmp_path, capsys):
    plan = Plan(tuple(TASKS), ("recall",), (0, 1), "quick", single=False, changes=CHANGES)
    (row,) = run_demo(tmp_path, plan, Callback)
    at_the_end = {
        (record["run"], record["position"]): record["success"]
        for record in read(tmp_path / "recall").evaluations
        if record["step"] == 600 and record["mode"] == "stochastic"
    }
    expected = [(at_the_end[0, task] + at_the_end[1, task]) / 2 for task in (0, 1)]
    assert matrix(row.scores, "final").mean(axis=0).tolist() == expected
    print_table([row], plan)
    shown = " ".join(capsys.readouterr().out.split())  # long titles are wrapped
    assert "mean of 2 seeds" in shown
    assert "transfer" not in shown
    make_film(tmp_path, plan)
    made = make_film(tmp_path, plan)  # which replaces the one before
    assert made.path.parent == tmp_path
    assert made.path.stat().st_size > 1_000
    assert {(take.task, take.at) for take in made.takes} == {
        (task, at) for task in TASKS for at in ("learned", "final")
    }
    records = (tmp_path / "recall" / "training.jsonl").stat()
    more = dataclasses.replace(plan, methods=("recall",))
    (again,) = run_demo(tmp_path, more, Callback)
    assert again.scores["final"].tolist() == row.scores["final"].tolist()
    assert (tmp_path / "recall" / "training.jsonl").stat().st_mtime_ns == records.st_mtime_ns
