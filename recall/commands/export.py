"""`recall export`: trained policies, and what they have collected, for other programs."""

from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import Positional, arg

from recall.errors import BadValueError


def export(
    folder: Annotated[Positional[Path], arg(metavar="FOLDER")],
    onnx: Path | None = None,
    torch: Path | None = None,
    minari: str | None = None,
    task: str | None = None,
    run: str | None = None,
    at: Literal["final", "learned"] | None = None,
) -> None:
    """Export a trained policy to ONNX or PyTorch, or kept transitions to Minari.

    Args:
        folder: Folder of a fleet, one of its policy files, or a robot task.
        onnx: ONNX file to write; needs the package onnx.
        torch: PyTorch file to write (.pt2, read by torch.export.load).
        minari: Minari dataset to write with the transitions of a fleet trained with --keep-replay,
            such as recall/push-v0; needs the package minari.
        task: Task whose policy is exported. A name, such as push or, of a task that the sequence
            repeats, "3 push"; or a position, from 0 on.
        run: Name of the run. None: the first that has the task, or that of the file; for Minari all
            runs.
        at: final: the end of the sequence; learned: the end of the task's own training. None:
            final, or the time of the file.
    """
    from recall.policies.export import write_onnx, write_torch
    from recall.policies.policy import load_policy

    if minari is not None:
        from recall.api import export_minari

        dataset = export_minari(folder, minari, task, run)
        print(f"{minari}: {dataset.total_episodes:,} episodes, {dataset.total_steps:,} steps")
    if onnx is None and torch is None:
        if minari is None:
            raise BadValueError("nothing to export to: give --onnx, --torch or --minari")
        return
    policy = load_policy(folder, task, run, at)
    for path, write in ((onnx, write_onnx), (torch, write_torch)):
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            write(policy, path)
            print(path)
