"""A place to load plug-ins in, which forgets them afterwards."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from recall import plugins
from recall.methods import METHODS
from recall.report.figures import FIGURES
from recall.worlds import registry

EXAMPLES = Path(__file__).parents[2] / "examples"
SETTINGS = {
    "hidden": [8, 8],
    "batch_size": 8,
    "steps_per_task": 100,
    "random_steps": 50,
    "update_after": 50,
    "updates_per_burst": 5,
    "evaluate_every": 100,
    "evaluation_episodes": 1,
    "record_every": 100,
    "replay_capacity": 500,
    "workers": 1,
}


def small(folder: Path) -> list[str]:
    """Return options for a fleet that trains in a moment; `folder` gets a settings file."""
    path = folder / "small.json"
    path.write_text(json.dumps(SETTINGS))
    return ["--preset", "quick", "--config", str(path), "--quiet"]


@contextmanager
def plugins_forgotten() -> Iterator[None]:
    """Restore registries, modules and search path at the end, however it comes."""
    kept = [each.known() for each in (METHODS, FIGURES, registry._WORLDS)]
    path, modules, loaded = list(sys.path), set(sys.modules), dict(plugins._loaded)
    digests = dict(plugins._digests)
    try:
        yield
    finally:
        for each, known in zip((METHODS, FIGURES, registry._WORLDS), kept, strict=True):
            each._known = known
            each._all_loaded = False
        sys.path[:] = path
        plugins._loaded.clear()
        plugins._loaded.update(loaded)
        plugins._digests.clear()
        plugins._digests.update(digests)
        examples = {example.stem for example in EXAMPLES.glob("*.py")}
        for name in examples & (set(sys.modules) - modules):
            del sys.modules[name]
