"""Film Meta-World's scripted policies: `python -m recall.filming.scripted_film OUT.gif`."""

import sys
from contextlib import ExitStack, closing
from pathlib import Path

from recall.filming.compose import Tile, animate, in_rows
from recall.filming.encode import writable, write
from recall.filming.episode import filmed_episode
from recall.worlds.continual_world import make_simulator
from recall.worlds.continual_world.scripted import ScriptedPolicy

TASKS = ("hammer", "shelf-place", "window-close")


def film_scripted(
    path: Path,
    tasks: tuple[str, ...] = TASKS,
    size: tuple[int, int] = (256, 192),
    steps: int = 100,
    every: int = 3,
    fps: int = 15,
) -> Path:
    """Film one episode of each task side by side, and return the path of the film."""
    with ExitStack() as simulators:
        tiles = []
        for task in tasks:
            simulator = make_simulator(task, 1, reward="v2", observation="full")
            simulators.enter_context(closing(simulator))
            policy = ScriptedPolicy(task)
            frames = filmed_episode(simulator, steps, policy, (1,), True, size, every)
            tiles.append([Tile(task, "scripted policy", frames)])
        path = writable(path)
        write(animate(in_rows(tiles), size, hold=fps), path, fps)
    return path


if __name__ == "__main__":
    print(film_scripted(Path(sys.argv[1])))
