"""`recall list`: lists of the names that other commands accept."""

from typing import Any

from recall.commands.show import AsJson, on_terminal, print_json, print_rows


def list_tasks(as_json: AsJson = False) -> None:
    """List the tasks with the world and the episode length of each."""
    from recall.worlds.registry import default_horizon_steps, task_names, world_of

    rows = [
        {"task": task, "world": world_of(task), "horizon_steps": default_horizon_steps(task)}
        for task in task_names()
    ]
    (print_json if as_json else print_rows)(rows)


def list_sequences(as_json: AsJson = False) -> None:
    """List the task sequences. On a terminal, the hundred pairs are shown as one row."""
    from recall.worlds.sequences import parse_sequence, sequence_names

    rows: list[dict[str, Any]] = [
        {"sequence": name, "tasks": parse_sequence(name).tasks} for name in sequence_names()
    ]
    if as_json:
        print_json(rows)
    else:
        print_rows(_with_pairs_folded(rows) if on_terminal() else rows)


def _with_pairs_folded(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    from recall.worlds.sequences import NUMBERED_TASKS

    numbers = ", ".join(f"{number} {task}" for number, task in enumerate(NUMBERED_TASKS))
    pairs = {"sequence": "pair-i-j", "tasks": f"task i, then task j, of {numbers}"}
    shown = [row for row in rows if not row["sequence"].startswith("pair-")]
    any_tasks = {"sequence": "a,b,c", "tasks": "any tasks, in that order"}
    return [*shown, pairs, any_tasks]


def list_methods(as_json: AsJson = False) -> None:
    """List the methods and what each does."""
    from recall.methods import METHODS

    rows = [
        {"method": name, "label": method.label, "summary": method.summary}
        for name, method in METHODS.items()
    ]
    (print_json if as_json else print_rows)(rows)


def list_presets(as_json: AsJson = False) -> None:
    """List the presets and what each is for."""
    from recall.config.presets import PRESETS

    rows = [{"preset": name, "summary": preset.summary} for name, preset in PRESETS.items()]
    (print_json if as_json else print_rows)(rows)


def list_studies(as_json: AsJson = False) -> None:
    """List the studies and the question that each answers."""
    from recall.studies import STUDIES

    rows = [
        {
            "study": name,
            "question": study.question,
            "methods": [variant.title for variant in study.variants],
            "sequences": len(study.sequences),
            "runs": len(study.variants) * len(study.sequences) * study.seeds,
        }
        for name, study in STUDIES.items()
    ]
    (print_json if as_json else print_rows)(rows)
