"""What users have registered in this process, as plain data for the worker processes."""

from collections.abc import Collection
from typing import Any, NamedTuple

from recall.worlds.registry import is_gymnasium, register_worlds, registered_worlds


class Registrations(NamedTuple):
    """Worlds and Gymnasium environments that a new process does not know by itself."""

    worlds: dict[str, str]  # of plug-ins: name and module
    gym_specs: dict[str, bytes]  # by id, pickled; none if no task is Gymnasium's

    def register(self) -> None:
        """Register them in this process."""
        register_worlds(self.worlds)
        if self.gym_specs:
            from recall.worlds.gym_specs import register_specs

            register_specs(self.gym_specs)


def registrations_for(tasks: Collection[Any]) -> Registrations:
    """Return what a worker process needs to make the environments of these tasks."""
    specs: dict[str, bytes] = {}
    if any(is_gymnasium(task) for task in tasks):
        from recall.worlds.gym_specs import sendable_specs

        specs = sendable_specs(tasks)
    return Registrations(registered_worlds(), specs)
