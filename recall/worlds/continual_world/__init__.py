"""Continual World: ten Sawyer tasks on MuJoCo, with Meta-World's models but not its Python code."""

from typing import TYPE_CHECKING

from recall.plugins.python_process import safe_path

if TYPE_CHECKING:
    from recall.worlds.continual_world.sawyer import SawyerSimulator

# In the paper's order; a position is the paper's task number.
TASKS: tuple[str, ...] = (
    "hammer",
    "push-wall",
    "faucet-close",
    "push-back",
    "stick-pull",
    "handle-press-side",
    "push",
    "shelf-place",
    "window-close",
    "peg-unplug-side",
)
HORIZON_STEPS = 200
SETTINGS = ("reward", "observation")


def make_simulator(
    task: str, slots: int = 1, reward: str = "v1", observation: str = "classic"
) -> "SawyerSimulator":
    """Return a simulator of one task; the first call loads MuJoCo and the task's model."""
    # GLFW, which MuJoCo imports, asks a new Python process for its version, in the current folder.
    with safe_path():
        from recall.worlds.continual_world.sawyer import SawyerSimulator
        from recall.worlds.continual_world.tasks import load_task

    return SawyerSimulator(load_task(task), slots, reward, observation)
