"""Run a small study on a Ray cluster, with a method of one's own beside one of recall's.

    ray start --head                      # on the first machine; it prints an address
    ray start --address=10.0.0.1:6379     # on every other machine
    python examples/study_on_a_cluster.py --address 10.0.0.1:6379 --out /shared/study

Without an address, a cluster of this machine alone is started. The same command goes on with what
is left. Everything that follows the options here is passed on to `recall study`.
"""

import argparse
from pathlib import Path

from recall.cli import main as recall


def main() -> None:
    """Compare two methods on two sequences of pointworld, and make the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--address", help="address of the cluster")
    parser.add_argument("--out", type=Path, default=Path("runs/study"))
    chosen, others = parser.parse_known_args()
    plugin = ["--plugin", str(Path(__file__).parent / "weight_decay.py")]
    study = ["study", "cw3", "--launcher", "ray", "--out", str(chosen.out), "--preset", "quick"]
    study += ["--methods", "fine_tuning", "weight_decay", "--sequences", "point-slide,point-poor"]
    study += ["--address", chosen.address] if chosen.address else []
    recall([*study, *plugin, *others])
    recall(["report", str(chosen.out), "--out", str(chosen.out / "report"), *plugin])


if __name__ == "__main__":
    main()
