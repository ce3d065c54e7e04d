"""Checks of a run's training records for signs that it no longer learns as it should.

    kind                        seen in a record as                   means
    vanished_policy_gradient    grad_norm_pi near 0                   the policy no longer changes
    collapsed_temperature       alpha of a task in training near 0    the policy no longer explores
    diverging_critics           mean Q of a task outside its bounds   policies follow a wrong Q
    dormant_policy_units        half its hidden units do nothing      the policy loses plasticity
    dormant_critic_units        half their hidden units do nothing    the critics lose plasticity

A symptom is what one record shows. It is reported once for each run, task and kind, as soon as
enough records have shown it; the run keeps training.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

VANISHED_POLICY_GRADIENT = "vanished_policy_gradient"
COLLAPSED_TEMPERATURE = "collapsed_temperature"
DIVERGING_CRITICS = "diverging_critics"
DORMANT_POLICY_UNITS = "dormant_policy_units"
DORMANT_CRITIC_UNITS = "dormant_critic_units"

_LOWEST_GRADIENT_NORM = 1e-6  # runs whose ReLU units had all died had exactly 0
_LOWEST_ALPHA = 1e-8  # healthy temperatures on the robots lie between 1e-4 and 0.2
_Q_MARGIN = 0.05  # share of the allowed range: critics overshoot slightly while they learn
Q_RECORDS = 3
"""Records that must show Q outside its bounds, since the first updates of a task may throw it out
for a moment. All other symptoms are reported from their first record on."""
# Share of hidden units. It is 0.5 if all ReLU units of two hidden layers are dead: one has tanh.
_TOO_MANY_DORMANT = 0.5


class Symptom(NamedTuple):
    """What one training record shows to be wrong with one task of a run."""

    kind: str
    position: int
    message: str


def symptoms(
    record: Mapping[str, Any], learned: Sequence[int], tasks: Sequence[str]
) -> Iterator[Symptom]:
    """Yield the symptoms that one run's training record shows.

    `learned` are the positions of the tasks in training, the current one last, and `tasks` the
    names of all tasks of the run. Metrics that the record lacks are not checked.
    """
    current = learned[-1]
    norm = record.get("grad_norm_pi", math.inf)
    if norm < _LOWEST_GRADIENT_NORM:
        where = tasks[current] if len(learned) == 1 else "all tasks"
        yield Symptom(
            VANISHED_POLICY_GRADIENT,
            current,
            f"the policy gradient on {where} has vanished (norm {norm:.2g}), so the policy no "
            "longer learns",
        )
    for position in learned if "alpha" in record else ():
        if (alpha := record["alpha"][position]) < _LOWEST_ALPHA:
            yield Symptom(
                COLLAPSED_TEMPERATURE,
                position,
                f"the temperature of {tasks[position]} has collapsed (alpha {alpha:.2g}), so its "
                "policy no longer explores",
            )
    columns = (record.get(name, ()) for name in ("q_value", "q_lowest", "q_highest"))
    # NaN, where the batch had no rows of a task or no reward of it was seen yet, passes the check.
    for position, (q, low, high) in enumerate(zip(*columns, strict=False)):
        # New critics start near 0, which rewards of one sign may exclude: 0 is always allowed.
        least, most = min(low, 0.0), max(high, 0.0)
        margin = _Q_MARGIN * (most - least)
        if q < least - margin or q > most + margin:
            yield Symptom(
                DIVERGING_CRITICS,
                position,
                f"the mean Q of {tasks[position]} is {q:.3g}, but its rewards only allow values "
                f"from {low:.3g} to {high:.3g}: its critics diverge, and so will a policy that "
                "learns from them",
            )
    for metric, kind, network in (
        ("dormant_pi", DORMANT_POLICY_UNITS, "policy"),
        ("dormant_q", DORMANT_CRITIC_UNITS, "critics"),
    ):
        if (share := record.get(metric, 0.0)) >= _TOO_MANY_DORMANT:
            yield Symptom(
                kind,
                current,
                f"{share:.0%} of the hidden units of the {network} are dormant on "
                f"{tasks[current]}, so little of the network is left to learn with",
            )


def due(found: Iterable[Symptom], counts: dict[str, int], run: str) -> list[Symptom]:
    """Add the symptoms of one record to `counts`; return those that are to be reported now.

    `counts` holds, for each run, task and kind, how many records have shown the symptom. A
    symptom is due exactly once: when its count reaches the number of records that it needs.
    """
    now = []
    for symptom in found:
        key = f"{run}/{symptom.position}/{symptom.kind}"
        counts[key] = counts.get(key, 0) + 1
        if counts[key] == (Q_RECORDS if symptom.kind == DIVERGING_CRITICS else 1):
            now.append(symptom)
    return now
