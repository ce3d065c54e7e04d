"""The studies, declared as data, and their registry. A new study is one entry in a file."""

from recall.errors import UnknownNameError
from recall.studies.declared.analyses import ABLATION, LAMBDA, REPLAY_MODE, SHARING
from recall.studies.declared.comparisons import CW3, CW6, CW10, CW20, PAIRS, REFERENCE
from recall.studies.declared.extra import COST, FIDELITY, MEMORY, SCALING, START
from recall.studies.study import Study, Variant

STUDIES: dict[str, Study] = {
    study.name: study
    for study in (
        REFERENCE,
        PAIRS,
        CW3,
        CW6,
        CW10,
        CW20,
        ABLATION,
        LAMBDA,
        SHARING,
        REPLAY_MODE,
        COST,
        FIDELITY,
        MEMORY,
        SCALING,
        START,
    )
}


def study_named(name: str) -> Study:
    """Return the study called `name`."""
    if name not in STUDIES:
        raise UnknownNameError(
            "study", name, STUDIES, "`recall list studies` shows the question of each."
        )
    return STUDIES[name]


__all__ = ["STUDIES", "Study", "Variant", "study_named"]
