"""Studies that compare RECALL with other methods: the paper's sections 5.2, 5.3 and 5.5."""

from recall.studies.study import Study, methods
from recall.worlds.sequences import NUMBERED_TASKS, TRIPLETS

# In the order of the paper's tables.
SIX_METHODS = methods("fine_tuning", "ewc", "packnet", "clonex", "perfect_memory", "recall")

_NUMBERS = range(len(NUMBERED_TASKS))
_TRIPLETS = range(1, 1 + len(TRIPLETS))

REFERENCE = Study(
    name="reference",
    question="How well is each task learnt alone, from scratch?",
    variants=methods("fine_tuning"),
    sequences=NUMBERED_TASKS,
    tables=("single-tasks",),
    figures=("task_curves",),
    transfer=False,
)

PAIRS = Study(
    name="pairs",
    question="Does replay leave room to learn a second task, and does the first one stay?",
    variants=methods("perfect_memory", "recall"),
    sequences=tuple(f"pair-{i}-{j}" for i in _NUMBERS for j in _NUMBERS),
    tables=("pairs", "pairs-counts"),
    figures=("pair_matrices", "current_task", "task_switch", "q_scale"),
    transfer=False,
)

CW3 = Study(
    name="cw3",
    question="Which method does best on the eight triplets of tasks?",
    variants=SIX_METHODS,
    sequences=tuple(f"cw3-{number}" for number in _TRIPLETS),
    tables=("cw3",),
    figures=("average_success", "current_task", "task_curves", "seeds"),
)

CW6 = Study(
    name="cw6",
    question="Which method does best when the tasks of a triplet come back?",
    variants=SIX_METHODS,
    sequences=tuple(f"cw6-{number}" for number in _TRIPLETS),
    tables=("cw6",),
    figures=("average_success", "current_task", "task_curves", "seeds"),
)

CW10 = Study(
    name="cw10",
    question="Which method does best on ten tasks in a row?",
    variants=SIX_METHODS,
    sequences=("cw10",),
    tables=("cw10",),
    figures=("average_success", "current_task", "task_curves", "transfer_areas", "seeds"),
)

CW20 = Study(
    name="cw20",
    question="Which method does best on twenty tasks, the ten tasks repeated once?",
    variants=SIX_METHODS,
    sequences=("cw20",),
    tables=("cw20",),
    figures=("average_success", "current_task", "task_curves", "transfer_areas", "seeds"),
)
