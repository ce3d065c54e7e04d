"""Provenance of a fleet for run.json: versions, machine and state of the source code."""

import contextlib
import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from recall import plugins
from recall.plugins import sources
from recall.runs.description import Description
from recall.version import version

_CHECKOUT = Path(__file__).parents[2]
_PACKAGES = ("jax", "jaxlib", "numpy", "mujoco", "gymnasium")


def surroundings(command: Sequence[str] = ()) -> dict[str, Any]:
    """Return everything about this process that is not a setting.

    `command` is what the user called, if another process did it; by default, this one's command.
    """
    return {
        "versions": versions(),
        "machine": machine(),
        "git": git_state(_CHECKOUT),
        "command": list(command) or own_command(),
        "plugins": plugins.loaded(),
        "plugin_sources": sources(),
    }


def own_command() -> list[str]:
    """Return the command of this process, as a user would type it."""
    program = Path(sys.argv[0])
    is_module = program.name == "__main__.py" and program.parent.name == "recall"
    return ["recall" if is_module else sys.argv[0], *sys.argv[1:]]


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that affect numerical results."""
    found = {"python": platform.python_version(), "recall": version()}
    return found | {name: metadata.version(name) for name in _PACKAGES}


def machine() -> dict[str, Any]:
    """Return the machine's processor, cores, memory in bytes and accelerators."""
    import jax

    devices = jax.devices()
    return {
        "host": platform.node(),
        "system": platform.platform(),
        "processor": processor().get("model name") or platform.machine(),
        "cores": os.cpu_count(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "backend": devices[0].platform,
        "accelerators": [each.device_kind for each in devices if each.platform != "cpu"],
    }


def processor() -> dict[str, str]:
    """Return what programs for this machine's processor depend on, and its name."""
    with contextlib.suppress(OSError):
        lines = [line.split(":", 1) for line in Path("/proc/cpuinfo").read_text().splitlines()]
        kept = ("model", "model name", "flags", "Features")
        return {name.strip(): fact[0].strip() for name, *fact in lines if name.strip() in kept}
    return {"model name": platform.processor()}


def git_state(checkout: Path) -> dict[str, Any] | None:
    """Return the commit and whether the package differs from it, or None outside a git checkout."""
    if not (checkout / ".git").exists():
        return None  # perhaps installed in an environment that lies inside an unrelated checkout
    try:
        return {
            "commit": _git(checkout, "rev-parse", "HEAD"),
            "dirty": bool(_git(checkout, "status", "--porcelain", "--", "recall")),
        }
    except (OSError, subprocess.SubprocessError):
        return None


def _git(checkout: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=checkout, capture_output=True, text=True, check=True, timeout=10
    )
    return done.stdout.strip()


def other_versions(description: Description) -> str | None:
    """Return a warning that names what has another version than at the start, or None."""
    now, before = versions(), dict(description.get("versions", {}))
    if (code := git_state(_CHECKOUT)) and (commit := description.get("git", {}).get("commit")):
        now["source code"], before["source code"] = code["commit"][:12], commit[:12]
    changes = [
        f"{name} {was} (now {now[name]})"
        for name, was in before.items()
        if was != now.get(name, was)
    ]
    current = sources()
    own = [
        f"plug-in {name} source {facts.get('source')} (now source {current[name].get('source')})"
        for name, facts in description.get("plugin_sources", {}).items()
        if name in current and facts.get("source") != current[name].get("source")
    ]
    if not changes and not own:
        return None
    how_far = "differ" if own else "differ in the last bits"
    return (
        f"warning: this fleet was started with {', '.join([*changes, *own])}: its results may "
        f"{how_far} from those of a fleet that was never interrupted"
    )
