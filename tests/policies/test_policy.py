"""Policies to take away: read without JAX, and equal to what an evaluation plays."""

import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import recall
from recall.cli import main
from recall.collect.messages import EVALUATION
from recall.config.resolve import resolve
from recall.config.stored import spec_from
from recall.errors import BadValueError
from recall.files.fleet_layout import FINAL
from recall.learn import fleet
from recall.runs.description import read_description
from recall.runs.policies import write_policies
from recall.runs.store import Store
from recall.training.agents import agent_of
from recall.training.evaluation import streams
from recall.worlds.pointworld import make_simulator

TASKS = ("point-rich", "point-poor", "point-rich")


def learner():
    """Return the spec, the agent and the first state of two runs."""
    changes = {"hidden": (9, 8, 7), "head_layers": 1, "steps_per_task": 300}
    spec = resolve("recall", ",".join(TASKS), (10, 2), changes=changes)
    agent, _ = agent_of(spec)
    return spec, agent, fleet.init(agent, jnp.array([10, 2]))


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """The fresh policies of two runs, after two of three tasks and at the end."""
    folder, (spec, agent, state) = tmp_path_factory.mktemp("fleet"), learner()
    Store.create(folder, spec.describe()).close()
    flat = {task: np.asarray(fleet.flat_policies(agent, state, task)) for task in range(3)}
    shape = fleet.policy_shape(agent)
    for task in (0, 1):
        write_policies(folder, spec, shape, f"task-{task}", {task: flat[task] * 2})
    write_policies(folder, spec, shape, FINAL, flat)
    return folder


@pytest.fixture(scope="module")
def observations(folder) -> np.ndarray:
    size = recall.load_policy(folder, 0).observation_size
    return np.random.default_rng(0).normal(size=(50, size)).astype(np.float32)


def test_loading_and_acting_imports_no_jax(folder):
    """A fresh process loads a policy and acts, and neither JAX nor MuJoCo is there afterwards."""
    code = (
        "import sys, numpy as np, recall\n"
        f"policy = recall.load_policy({str(folder)!r}, task='point-poor')\n"
        "policy.act(np.zeros(policy.observation_size))\n"
        "print([name for name in ('jax', 'flax', 'mujoco', 'torch') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_file_names_its_layers_and_its_environment(folder):
    """Plain NumPy is enough to read everything that acting needs."""
    (path,) = folder.glob("policies/*seed10/final.npz")
    with np.load(path, allow_pickle=False) as stored:
        assert stored["task_1/kernel_0"].shape == (int(stored["observation_size"]), 9)
        assert stored["task_1/out_kernel"].shape == (7, 2 * int(stored["action_size"]))
        assert stored["task_1/norm_scale"].shape == (9,)
        assert tuple(stored["tasks"]) == TASKS
        assert (str(stored["reward"]), str(stored["observation"])) == ("v1", "classic")
        assert str(stored["recall_version"]) == recall.__version__
        assert int(stored["format"]) == 1


def test_one_row_a_batch_and_the_networks_agree(folder, observations):
    """The actor in NumPy, row by row and in a batch, is the learner's actor."""
    policy, rows = recall.load_policy(folder, 1), observations
    one_by_one = np.stack([policy.act(row) for row in rows])
    np.testing.assert_allclose(policy.act(rows), one_by_one, atol=1e-6)
    _, agent, state = learner()
    actor = jax.tree.map(lambda leaf: leaf[0], state.trainable.actor)
    expected = agent.policy_of_task(actor, jnp.asarray(rows), 1)
    mean, log_std = policy.distribution(rows)
    np.testing.assert_allclose(mean, expected.mean, atol=2e-5)
    np.testing.assert_allclose(log_std, expected.log_std, atol=2e-5)
    np.testing.assert_allclose(policy.act(rows), np.tanh(expected.mean), atol=2e-5)


def test_acting_by_hand_is_the_episode_that_is_evaluated(folder):
    """An episode played with `act` has the return that `recall.evaluate` reports, to the bit."""
    known = {
        (each["run"], each["position"], each["mode"]): each["return"]
        for each in recall.evaluate(folder, 1, workers=1)
    }
    policy = recall.load_policy(folder, "point-poor")
    simulator = make_simulator("point-poor", 1)
    seed = spec_from(read_description(folder)).runs[0].own_seed
    (stream,) = streams(seed, EVALUATION, 1, 900, "deterministic", 1)
    observation = simulator.reset(0, np.random.default_rng([*stream, 0, 0]))
    total = 0.0
    for _ in range(recall.make(policy.task, **policy.world).horizon_steps):
        step = simulator.step(policy.act(observation)[np.newaxis])
        observation = step.observation[0]
        total += float(step.reward[0])
        if step.terminated[0]:
            break
    assert total == known[0, 1, "deterministic"]


def test_noise_comes_from_the_given_generator(folder, observations):
    """Equal seeds draw equal actions, with the policy's own spread around its mean."""
    policy = recall.load_policy(folder, 0)
    same = [policy.act(observations, deterministic=False, rng=5) for _ in range(2)]
    np.testing.assert_array_equal(*same)
    assert not np.array_equal(same[0], policy.act(observations, deterministic=False))
    mean, log_std = policy.distribution(observations[0])
    drawn = np.arctanh(
        np.float64(policy.act(np.tile(observations[0], (4000, 1)), deterministic=False, rng=1))
    )
    np.testing.assert_allclose(drawn.mean(axis=0), mean, atol=0.1)
    np.testing.assert_allclose(drawn.std(axis=0), np.exp(log_std), rtol=0.1)


def test_the_run_and_the_time_are_chosen(folder, observations):
    """The first run is that of run.json, not of the alphabet; a policy just learned is another."""
    assert recall.load_policy(folder, 0).seed == 10
    learned = recall.load_policy(folder, "point-poor", at="learned")
    final = recall.load_policy(folder, "point-poor")
    np.testing.assert_array_equal(learned.layers["kernel_0"], 2 * final.layers["kernel_0"])
    (path,) = folder.glob("policies/*seed10/task-1.npz")
    np.testing.assert_array_equal(
        recall.load_policy(path).act(observations), learned.act(observations)
    )


def test_damaged_files_are_refused_and_not_quoted_at_length(tmp_path, folder):
    whole = next(folder.glob("policies/*/final.npz")).read_bytes()
    long_name = bytearray(whole)
    long_name[27] = 3  # the name of the first array seems to have hundreds of bytes
    for content in (whole[:3000], long_name, b""):
        path = tmp_path / "policy.npz"
        path.write_bytes(content)
        with pytest.raises(BadValueError, match="damaged") as refused:
            recall.load_policy(path, 0)
        assert len(str(refused.value)) < len(str(path)) + 300
    np.savez(path, task_0=np.zeros(3))
    with pytest.raises(BadValueError, match="format None"):
        recall.load_policy(path, 0)


def test_observations_of_another_size_are_refused(folder):
    with pytest.raises(BadValueError, match=r"observation of shape \(3,\)"):
        recall.load_policy(folder, 1).act(np.zeros(3))


def test_an_exported_onnx_model_agrees(folder, observations, tmp_path, capsys):
    """ONNX Runtime gives our actions, means and spreads to 1e-5, for any batch size."""
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    pytest.importorskip("onnx", reason="onnx is not installed")
    path = tmp_path / "new" / "policy.onnx"
    main(["export", str(folder), "--task", "point-poor", "--onnx", str(path)])
    assert capsys.readouterr().out.strip() == str(path)
    session = runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    policy = recall.load_policy(folder, "point-poor")
    for rows in (observations, observations[:1]):
        action, mean, log_std = session.run(None, {"observation": rows})
        np.testing.assert_allclose(action, policy.act(rows), atol=1e-5)
        np.testing.assert_allclose((mean, log_std), policy.distribution(rows), atol=1e-5)
    facts = session.get_modelmeta().custom_metadata_map
    assert (facts["task"], facts["reward"], facts["seed"]) == ("point-poor", "v1", "10")


@pytest.mark.slow
def test_an_exported_pytorch_program_agrees_and_needs_no_recall(folder, observations, tmp_path):
    """A process without this package loads the file and gives our actions to 1e-5."""
    pytest.importorskip("torch", reason="torch is not installed")
    path, rows = tmp_path / "policy.pt2", tmp_path / "rows.npy"
    main(["export", str(folder), "--task", "1", "--at", "learned", "--torch", str(path)])
    np.save(rows, observations)
    code = (
        "import sys, json, numpy as np, torch\n"
        "facts = {'recall.json': ''}\n"
        f"program = torch.export.load({str(path)!r}, extra_files=facts).module()\n"
        f"rows = torch.from_numpy(np.load({str(rows)!r}))\n"
        "assert program(rows[:1])[0].shape[0] == 1\n"
        "assert json.loads(facts['recall.json'])['task'] == 'point-poor'\n"
        "assert not any(name.split('.')[0] == 'recall' for name in sys.modules)\n"
        f"np.save({str(tmp_path / 'out.npy')!r}, torch.stack(program(rows)).detach().numpy())"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path)
    policy = recall.load_policy(folder, 1, at="learned")
    action, mean, log_std = np.load(tmp_path / "out.npy")
    np.testing.assert_allclose(action, policy.act(observations), atol=1e-5)
    np.testing.assert_allclose((mean, log_std), policy.distribution(observations), atol=1e-5)


def test_an_export_without_a_file_is_refused(folder, capsys):
    with pytest.raises(SystemExit):
        main(["export", str(folder), "--task", "1"])
    assert "--onnx, --torch" in capsys.readouterr().err
