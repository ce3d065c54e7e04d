"""Files of an unfinished fleet that are damaged, lost or edited are noticed, never trained on."""

import json
import random
import shutil
from contextlib import closing

import numpy as np
import pytest

from recall.training.checkpoint import NoCheckpointError
from tests.factories.fleets import go_on, left_by, run


def checkpoints(folder):
    """The checkpoints of a fleet, the newest one last."""
    return sorted(folder.glob("checkpoints/*.npz"), key=lambda path: int(path.stem))


def truncate(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def flip(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 255
    path.write_bytes(content)


def covered(folder, newest=False):
    """The files that a checkpoint needs, with the number of bytes that it needs of each."""
    with np.load(checkpoints(folder)[-1 if newest else 0]) as stored:
        held = json.loads(stored["metadata"].tobytes())
    names = {f"{name}.jsonl": stamp for name, stamp in held["records"].items()}
    names |= {f"replay/{name}": stamp for name, stamp in held["replay"].items()}
    names |= held["policies"]
    return {folder / name: length for name, (length, _) in names.items() if length}


def test_a_checkpoint_covers_replay_records_and_policies(crashed):
    names = sorted(path.relative_to(crashed).as_posix() for path in covered(crashed))
    runs = [f"recall-point-rich,point-poor-seed{seed}" for seed in (0, 1)]
    assert names == sorted(
        ["evaluations.jsonl", "training.jsonl"]
        + [f"policies/{name}/task-0.npz" for name in runs]
        + ["replay/old-0.npy", "replay/task-0.rows", "replay/task-1.rows"]
    )


def test_every_damage_is_noticed_and_its_file_named(stopped):
    """Flipped bits, a lost last byte, and a lost file."""
    trainer, complaints = go_on(stopped)
    assert complaints == []
    draw = random.Random(3)
    with closing(trainer):
        for path, length in covered(stopped).items():
            whole = path.read_bytes()
            flips = [bytearray(whole), bytearray(whole)]
            for flipped in flips:
                flipped[draw.randrange(length)] ^= 1 << draw.randrange(8)
            for damage in (*flips, whole[: length - 1], None):
                path.unlink()
                if damage is not None:
                    path.write_bytes(damage)
                told = f"{path} is {'lost' if damage is None else 'damaged'}"
                with pytest.raises(NoCheckpointError) as caught:
                    trainer.restore()
                assert told in str(caught.value)
                assert "can be used: checkpoint" in str(caught.value)
                path.write_bytes(whole)
        assert trainer.restore() == []


def test_damage_that_only_the_newest_checkpoint_sees_falls_back_to_the_one_before(
    stopped, uninterrupted
):
    path = stopped / "replay" / "task-1.rows"
    old, new = covered(stopped)[path], covered(stopped, newest=True)[path]
    assert old < new
    content = bytearray(path.read_bytes())
    content[new - 1] ^= 1
    path.write_bytes(content)
    trainer, complaints = go_on(stopped)
    assert [f"{path} is damaged" in complaint for complaint in complaints] == [True]
    run(trainer)
    assert left_by(stopped) == uninterrupted


def test_damage_after_what_a_checkpoint_covers_does_not_matter(stopped, uninterrupted):
    for name in ("evaluations.jsonl", "replay/task-1.rows"):
        with (stopped / name).open("ab") as file:
            file.write(b"what a crash left")
    trainer, complaints = go_on(stopped)
    assert complaints == []
    run(trainer)
    assert left_by(stopped) == uninterrupted


def test_checkpoints_of_another_fleet_are_not_used(stopped):
    path = stopped / "run.json"
    description = json.loads(path.read_text())
    description["settings"]["learner"]["sac"]["discount"] = 0.9
    path.write_text(json.dumps(description))
    with pytest.raises(NoCheckpointError, match=r"another fleet: discount .* and not 0\.9"):
        go_on(stopped)


def test_checkpoints_of_another_version_are_left_alone(stopped):
    evaluations = (stopped / "evaluations.jsonl").read_bytes()
    for number, path in enumerate(checkpoints(stopped)):
        path.unlink()
        (stopped / "checkpoints" / str(number)).mkdir()
    with pytest.raises(NoCheckpointError, match="no checkpoint of this version"):
        go_on(stopped)
    assert (stopped / "evaluations.jsonl").read_bytes() == evaluations


def test_a_damaged_checkpoint_is_told_of_and_the_one_before_used(crashed, tmp_path, uninterrupted):
    restored = set()
    for damage in (flip, truncate):
        folder = shutil.copytree(crashed, tmp_path / damage.__name__)
        damage(checkpoints(folder)[-1])
        trainer, complaints = go_on(folder)
        assert len(complaints) == 1
        assert "cannot be used" in complaints[0]
        restored.add(trainer.total_steps)
        if damage is not truncate:
            trainer.close()
    assert len(restored) == 1
    run(trainer)
    assert left_by(folder) == uninterrupted
