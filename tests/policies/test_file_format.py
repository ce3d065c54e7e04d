"""Policies in archives: half the size, nearly the same actions, everything else as before."""

import io
import shutil
import zipfile

import numpy as np
import pytest

import recall
from recall.collect.policy import PolicyShape
from recall.errors import RecallError
from recall.policies.file_format import PolicyInfo, pack, pack_compactly, read_policy_file

FIRST, SECOND = "recall-point-rich,point-poor-seed0", "recall-point-rich,point-poor-seed1"
SHAPE = PolicyShape(3, 2, (64, 64), "relu", 1)
INFO = PolicyInfo("recall", "run", 0, ("a", "b"), "v1", "classic", None, SHAPE, "0.0.7")


@pytest.mark.parametrize("at", ["final", "learned"])
def test_actions_of_an_archived_policy_nearly_agree(finished, tmp_path, at):
    kept = recall.archive(finished, tmp_path / "kept", "*").folder
    for task in ("point-rich", "point-poor"):
        before, after = (
            recall.load_policy(folder, task, SECOND, at) for folder in (finished, kept)
        )
        observations = np.random.default_rng(0).uniform(-1, 1, (500, before.observation_size))
        assert after.act(observations) == pytest.approx(before.act(observations), abs=1e-2)
        assert all(layer.dtype == np.float32 for layer in after.layers.values())
        assert (after.run, after.task, after.world) == (before.run, before.task, before.world)


def test_layers_that_tasks_share_are_stored_once(tmp_path):
    one = np.random.default_rng(0).normal(size=SHAPE.size).astype(np.float32)
    other = one.copy()
    other[-SHAPE.layer_shapes()["out_kernel"][0] :] += 1.0
    vectors = {0: one, 1: other}
    arrays = pack_compactly(INFO, vectors)
    halves = {name for name, array in arrays.items() if array.dtype == np.float16}
    assert halves == {"shared/kernel_1"}
    assert {"task_0/out_kernel", "task_1/out_kernel"} <= set(arrays)
    np.savez_compressed(tmp_path / "large.npz", **pack(INFO, vectors))
    np.savez_compressed(tmp_path / "small.npz", **arrays)
    large, small = ((tmp_path / f"{name}.npz").stat().st_size for name in ("large", "small"))
    assert small < 0.4 * large
    info, found = read_policy_file(tmp_path / "small.npz")
    assert info == INFO
    for position, vector in vectors.items():
        assert found[position] == pytest.approx(vector, rel=1e-3)


def test_numbers_beyond_float16_stay_as_they_are(tmp_path):
    vector = np.full(SHAPE.size, 1e6, np.float32)
    np.savez(tmp_path / "a.npz", **pack_compactly(INFO, {1: vector}))
    (found,) = read_policy_file(tmp_path / "a.npz")[1].values()
    assert np.array_equal(found, vector)


def test_the_first_format_has_no_float16(tmp_path):
    arrays = pack_compactly(INFO, {0: np.ones(SHAPE.size, np.float32)})
    np.savez(tmp_path / "a.npz", **(arrays | {"format": np.asarray(1)}))
    with pytest.raises(RecallError, match=r"is float16 \(64, 64\), expected float32 \(64, 64\)"):
        read_policy_file(tmp_path / "a.npz")


def test_chosen_policies_are_kept_and_used(finished, tmp_path):
    made = recall.archive(finished, tmp_path / "kept", "*-seed1", "final")
    assert made.policies == 1
    assert [path.name for path in made.folder.glob("policies/*/*")] == ["final.npz"]
    assert recall.load_policy(made.folder, "point-rich").run == SECOND
    before = {
        (record["position"], record["mode"]): record["return"]
        for record in recall.evaluate(finished, 2, workers=1)
        if record["run"] == 1
    }
    for record in recall.evaluate(made.folder, episodes=2, workers=1):
        assert record["run"] == 1
        known = before[record["position"], record["mode"]]
        assert record["return"] == pytest.approx(known, rel=0.05)
    film = recall.film(made.folder, ["point-rich"], sheet=True, size=(64, 64))
    assert (film.run, [take.at for take in film.takes]) == (SECOND, ["final"])
    assert film.path.parent == made.folder / "films"
    assert "recall archive --policies" in film.lacking


def test_damaged_policies_are_not_archived(finished, tmp_path):
    folder = shutil.copytree(finished, tmp_path / "run")
    (folder / "policies" / FIRST / "final.npz").write_bytes(b"garbage")
    with pytest.raises(RecallError, match=r"final.npz is damaged"):
        recall.archive(folder, tmp_path / "kept", "*")
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_texts_that_take_no_bytes_are_not_read_without_end(tmp_path):
    np.savez(tmp_path / "a.npz", **pack(INFO, {0: np.ones(SHAPE.size, np.float32)}))
    header, facts = io.BytesIO(), {"descr": "<U0", "fortran_order": False, "shape": (1 << 30,)}
    np.lib.format.write_array_header_1_0(header, facts)
    with zipfile.ZipFile(tmp_path / "a.npz") as whole:
        members = {name: whole.read(name) for name in whole.namelist()}
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as damaged:
        for name, content in (members | {"tasks.npy": header.getvalue()}).items():
            damaged.writestr(name, content)
    with pytest.raises(RecallError, match="one of its facts has more than 1,000,000 values"):
        read_policy_file(tmp_path / "a.npz")
