"""Files of an unfinished fleet that are damaged, lost or edited are noticed, never trained on."""

import json
import random
import shutil

import pytest

from recall.training.checkpoint import NoCheckpointError
from tests.factories.fleets import CrashAt, CrashError, go_on, left_by, run, small_spec, start

FLIPS = 28


@pytest.fixture(scope="module")
def crashed(tmp_path_factory):
    """A fleet that crashed in its second task: both its checkpoints need all of the first task."""
    folder = tmp_path_factory.mktemp("crashed") / "run"
    with pytest.raises(CrashError):
        run(start(small_spec(checkpoint_minutes=1e-9), folder, CrashAt(27)))
    return folder


@pytest.fixture
def copy(crashed, tmp_path):
    return shutil.copytree(crashed, tmp_path / "run")


def metadata_of(folder, newest):
    numbers = sorted(int(path.name) for path in folder.glob("checkpoints/[0-9]*"))
    path = folder / "checkpoints" / str(numbers[-1 if newest else 0]) / "metadata" / "metadata"
    return json.loads(path.read_text())


def covered(folder, newest=False):
    """The files that a checkpoint needs, with the number of bytes that it needs of each."""
    held = metadata_of(folder, newest)
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


def test_every_flipped_bit_is_noticed_and_its_file_named(copy):
    trainer, complaints = go_on(copy)
    try:
        assert complaints == []
        draw = random.Random(3)
        files = covered(copy)
        for number in range(FLIPS):
            path = list(files)[number % len(files)]
            whole = path.read_bytes()
            flipped = bytearray(whole)
            flipped[draw.randrange(files[path])] ^= 1 << draw.randrange(8)
            path.write_bytes(flipped)
            with pytest.raises(NoCheckpointError) as caught:
                trainer.restore()
            assert f"{path} is damaged" in str(caught.value)
            assert "train again in another folder" in str(caught.value)
            path.write_bytes(whole)
        assert trainer.restore() == []
    finally:
        trainer.close()


def test_every_lost_or_short_file_is_noticed_and_named(copy):
    trainer, _ = go_on(copy)
    try:
        for path, length in covered(copy).items():
            whole = path.read_bytes()
            for damage, words in ((whole[: length - 1], "is damaged"), (None, "is lost")):
                path.unlink()
                if damage is not None:
                    path.write_bytes(damage)
                with pytest.raises(NoCheckpointError) as caught:
                    trainer.restore()
                assert str(path) in str(caught.value)
                assert words in str(caught.value)
                path.write_bytes(whole)
        assert trainer.restore() == []
    finally:
        trainer.close()


def test_damage_that_only_the_newest_checkpoint_sees_falls_back_to_the_one_before(
    copy, uninterrupted
):
    path = copy / "replay" / "task-1.rows"
    old, new = covered(copy)[path], covered(copy, newest=True)[path]
    assert old < new
    content = bytearray(path.read_bytes())
    content[new - 1] ^= 1
    path.write_bytes(content)
    trainer, complaints = go_on(copy)
    assert [f"{path} is damaged" in complaint for complaint in complaints] == [True]
    run(trainer)
    assert left_by(copy) == uninterrupted


def test_damage_after_what_a_checkpoint_covers_does_not_matter(copy, uninterrupted):
    for name in ("evaluations.jsonl", "replay/task-1.rows"):
        with (copy / name).open("ab") as file:
            file.write(b"what a crash left")
    trainer, complaints = go_on(copy)
    assert complaints == []
    run(trainer)
    assert left_by(copy) == uninterrupted


def test_checkpoints_of_another_fleet_are_not_used(copy):
    path = copy / "run.json"
    description = json.loads(path.read_text())
    description["settings"]["learner"]["sac"]["discount"] = 0.9
    path.write_text(json.dumps(description))
    with pytest.raises(
        NoCheckpointError, match=r"another fleet: settings\.learner\.sac\.discount is 0\.9, but"
    ):
        go_on(copy)
