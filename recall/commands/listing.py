"""`recall list`: lists of the names that other commands accept."""

from recall.commands.show import AsJson, print_rows


def list_tasks(json: AsJson = False) -> None:
    """List the tasks with the world and the episode length of each."""
    from recall.worlds.registry import default_horizon_steps, task_names, world_of

    rows = [
        {"task": task, "world": world_of(task), "horizon_steps": default_horizon_steps(task)}
        for task in task_names()
    ]
    print_rows(rows, json)


def list_sequences(json: AsJson = False) -> None:
    """List the named task sequences. Tasks joined by commas are a sequence too."""
    from recall.worlds.sequences import parse_sequence, sequence_names

    rows = [{"sequence": name, "tasks": parse_sequence(name).tasks} for name in sequence_names()]
    print_rows(rows, json)


def list_methods(json: AsJson = False) -> None:
    """List the methods and what each does."""
    from recall.methods import METHODS

    rows = [
        {"method": name, "label": method.label, "summary": method.summary}
        for name, method in METHODS.items()
    ]
    print_rows(rows, json)


def list_presets(json: AsJson = False) -> None:
    """List the presets and what each is for."""
    from recall.config.presets import PRESETS

    rows = [{"preset": name, "summary": preset.summary} for name, preset in PRESETS.items()]
    print_rows(rows, json)


def list_studies(json: AsJson = False) -> None:
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
    print_rows(rows, json)
