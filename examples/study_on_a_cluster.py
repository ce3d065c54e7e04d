"""Run a small study on a Ray cluster, with a method of one's own beside one of recall's.

    ray start --head                      # on the first machine; it prints an address
    ray start --address=10.0.0.1:6379     # on every other machine
    python examples/study_on_a_cluster.py --address 10.0.0.1:6379 --out /shared/study

Without an address, a cluster of this machine alone is started. The same command goes on with what
is left, and `recall report /shared/study --plugin examples/weight_decay.py` shows the results.
Options that are not listed here are passed on to `recall study`.
"""

import argparse
from pathlib import Path

from recall.cli import main as recall


def main() -> None:
    """Compare two methods on a sequence of pointworld."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--address", help="address of the cluster")
    parser.add_argument("--out", type=Path, default=Path("runs/study"))
    parser.add_argument("--methods", nargs="+", default=["fine_tuning", "weight_decay"])
    chosen, others = parser.parse_known_args()
    plugin = ["--plugin", str(Path(__file__).parent / "weight_decay.py")]
    study = ["study", "cw3", "--launcher", "ray", "--out", str(chosen.out), "--preset", "quick"]
    study += ["--methods", *chosen.methods, "--sequences", "point-slide,point-poor"]
    study += ["--address", chosen.address] if chosen.address else []
    recall([*study, *plugin, *others])


if __name__ == "__main__":
    main()
