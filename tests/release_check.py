"""Build the package as PyPI would get it, and try it as its users would install it.

    make release-check

The source distribution and the wheel are built without a warning, `twine` finds nothing to say, and
the wheel is installed, without constraints, into a fresh environment of every supported Python that
is found here. In each, a smoke test runs in an empty folder.
"""

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
MINORS = range(11, 15)
IN_SDIST = ("recall", "tests", "docs", "examples", "results", "Makefile", "constraints.txt")
SMOKE = """
import recall
assert "site-packages" in recall.__file__, recall.__file__
results = recall.train("recall", "point-slide,point-rich", preset="quick", steps_per_task=500)
assert results.outcome is not None
policy = recall.load_policy("push")
env = recall.make(policy.task, **policy.world)
observation, info = env.reset(seed=0)
print(recall.__version__, env.step(policy.act(observation))[4])
"""


def run(command: list[str | Path], folder: Path) -> str:
    """Run a command and return what it wrote; a failure ends the check."""
    print("$", *command, flush=True)
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(command, cwd=folder, env=environment, text=True, capture_output=True)
    written = done.stdout + done.stderr
    if done.returncode:
        sys.exit(f"{written}\nexit status {done.returncode}")
    return written


def pythons() -> list[str]:
    """Return this Python, and the others in pyenv's folder or on PATH."""
    found = {sys.version_info.minor: sys.executable}
    for minor in MINORS:
        kept = sorted(Path("~/.pyenv/versions").expanduser().glob(f"3.{minor}.*/bin/python"))
        # pyenv's commands on PATH work only for the versions that it is told to use.
        other = kept[-1] if kept else shutil.which(f"python3.{minor}")
        if other is not None:
            found.setdefault(minor, str(other))
    return [found[minor] for minor in sorted(found)]


def build(folder: Path) -> Path:
    """Build and check the source distribution and the wheel; return the wheel."""
    written = run([sys.executable, "-m", "build", "--outdir", folder, ROOT], folder)
    if "warning" in written.lower():
        sys.exit(f"{written}\nthe build warns")
    built = sorted(folder.iterdir())
    print(run([sys.executable, "-m", "twine", "check", "--strict", *built], folder))
    (sdist,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    with tarfile.open(sdist) as archive:
        names = {Path(name).parts[1] for name in archive.getnames()}
    if missing := [name for name in IN_SDIST if name not in names]:
        sys.exit(f"{sdist.name} lacks {', '.join(missing)}")
    return wheel


def try_wheel(python: str, wheel: Path, folder: Path) -> None:
    """Install the wheel into a fresh environment of this Python and run the smoke test."""
    run([python, "-m", "venv", folder / "venv"], folder)
    binaries = folder / "venv" / "bin"
    run([binaries / "python", "-m", "pip", "install", "--quiet", wheel], folder)
    empty = folder / "empty"
    empty.mkdir()
    run([binaries / "recall", "list", "tasks"], empty)
    print(run([binaries / "python", "-c", SMOKE], empty))


def main() -> None:
    """Run the whole check, in a folder that is removed in the end."""
    with tempfile.TemporaryDirectory() as name:
        dist = Path(name, "dist")
        dist.mkdir()
        wheel = build(dist)
        for python in pythons():
            with tempfile.TemporaryDirectory() as fresh:
                try_wheel(python, wheel, Path(fresh))


if __name__ == "__main__":
    main()
