"""Kill fleets at random moments for as long as asked, and compare what they leave.

    make soak MINUTES=60
    python -m tests.soak --minutes 5 --methods recall packnet --seed 3

Every method in turn trains a small fleet that is killed, stopped or robbed of its workers until it
has finished anyway. Its records and policies must then have the same bytes as those of a fleet that
was never disturbed. It ends with one line of JSON that says what was done, and with status 1 if
anything differed.
"""

import collections
import itertools
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import tyro

import tests.conftest  # noqa: F401  (compiles quickly, and once for all processes)
from recall.methods import METHODS
from tests.factories.fleets import CHANGES, SEQUENCE, left_by, rows_in
from tests.factories.processes import children_of, is_alive

# Of ten disturbances, how many are of which kind.
KINDS = {"kill of the trainer": 5, "kill of a worker": 2, "SIGTERM": 1, "SIGINT": 1, "SIGHUP": 1}
SPECIAL = {"packnet": {"retraining_updates": 15}, "clonex": {"memory_per_task": 60}}
MOST_DISTURBANCES = 12
SLOWEST_SECONDS = 600.0


@dataclass
class Soak:
    """What was done so far."""

    folder: Path
    draw: random.Random
    deadline: float
    counts: collections.Counter = field(default_factory=collections.Counter)
    fleets: collections.Counter = field(default_factory=collections.Counter)
    mismatches: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)  # of a fleet that is left alone
    whole: dict[str, dict[str, bytes]] = field(default_factory=dict)

    def start(self, method: str, folder: Path) -> subprocess.Popen:
        """Train a fleet, or go on with it."""
        if (folder / "run.json").exists():
            words = ["resume", str(folder), "--quiet"]
        else:
            config = self.folder / f"{method}.json"
            config.write_text(json.dumps(CHANGES | SPECIAL.get(method, {})))
            words = ["train", "--method", method, "--sequence", SEQUENCE, "--seeds", "0", "1"]
            words += ["--config", str(config), "--out", str(folder), "--quiet"]
        return subprocess.Popen(
            [sys.executable, "-m", "recall", *words],
            stdout=subprocess.DEVNULL,
            stderr=(folder.parent / f"{folder.name}.log").open("a"),
        )

    def undisturbed(self, method: str) -> dict[str, bytes]:
        """What a fleet of the method leaves that nothing happens to; it is trained once."""
        if method not in self.whole:
            folder = self.folder / f"{method}-whole"
            began = time.monotonic()
            self.start(method, folder).wait(SLOWEST_SECONDS)
            self.seconds[method] = time.monotonic() - began
            self.whole[method] = left_by(folder)
        return self.whole[method]

    def wait(self, process: subprocess.Popen, folder: Path, method: str) -> None:
        """Wait for a random moment: from the start on, or soon after the fleet has moved on."""
        if self.draw.random() < 0.4:
            time.sleep(self.draw.uniform(0.0, self.seconds[method]))
            return
        before = rows_in(folder)
        while process.poll() is None and rows_in(folder) == before:
            time.sleep(0.02)
        time.sleep(self.draw.uniform(0.0, 1.0))

    def disturb(self, process: subprocess.Popen) -> str:
        """Do something to a fleet's process; return what."""
        kind = self.draw.choices(list(KINDS), list(KINDS.values()))[0]
        workers = children_of(process.pid)
        if kind == "kill of a worker":
            try:
                os.kill(self.draw.choice(workers), signal.SIGKILL)
            except (IndexError, ProcessLookupError):  # there is none, or it ended meanwhile
                return "nothing"
        elif kind == "kill of the trainer":
            process.kill()
            process.wait()
            end = time.monotonic() + 20
            while any(map(is_alive, workers)):
                if time.monotonic() > end:
                    self.mismatches.append("workers outlived their trainer")
                    break
                time.sleep(0.05)
        else:
            process.send_signal(signal.Signals[kind])
            process.wait(SLOWEST_SECONDS)
        return kind

    def one_fleet(self, method: str, number: int) -> None:
        """Train a fleet to its end in spite of everything, and compare what it leaves."""
        expected = self.undisturbed(method)
        folder = self.folder / f"{method}-{number}"
        process, disturbed = self.start(method, folder), 0
        while process.poll() is None or not (folder / "outcome.json").exists():
            if process.poll() is not None:
                if process.returncode == 2:
                    log = (folder.parent / f"{folder.name}.log").read_text()
                    self.mismatches.append(f"{method}: refused: {log.splitlines()[-1]}")
                    return
                process = self.start(method, folder)
            if disturbed >= MOST_DISTURBANCES or time.monotonic() > self.deadline:
                process.wait(SLOWEST_SECONDS)
                continue
            self.wait(process, folder, method)
            if process.poll() is None:
                self.counts[self.disturb(process)] += 1
                disturbed += 1
        self.fleets[method] += 1
        if left_by(folder) != expected:
            self.mismatches.append(f"{method}: {folder} differs from {method}-whole")


def main(
    minutes: float = 10.0, methods: tuple[str, ...] = tuple(METHODS), seed: int | None = None
) -> None:
    """Kill fleets of these methods at random moments, for this long."""
    seed = random.randrange(10**6) if seed is None else seed
    began = time.monotonic()
    folder = Path(tempfile.mkdtemp(prefix="recall-soak-"))
    soak = Soak(folder, random.Random(seed), began + 60 * minutes)
    for number in itertools.count():
        if time.monotonic() > soak.deadline:
            break
        method = methods[number % len(methods)]
        soak.one_fleet(method, number)
        print(f"{method}: {dict(soak.counts)}, {len(soak.mismatches)} mismatches", flush=True)
    report = {
        "minutes": round((time.monotonic() - began) / 60, 1),
        "seed": seed,
        "fleets": dict(soak.fleets),
        "disturbances": dict(soak.counts),
        "mismatches": soak.mismatches,
        "folder": str(folder),
    }
    print(json.dumps(report))
    sys.exit(1 if soak.mismatches else 0)


if __name__ == "__main__":
    tyro.cli(main)
