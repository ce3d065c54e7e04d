"""Signals as terminals, shells and job systems send them, to whole processes."""

import contextlib
import os
import pty
import signal
import subprocess
import sys

import pytest

from tests.factories.fleets import SEQUENCE, go_on, left_by, options, rows_in, run
from tests.factories.processes import wait_for

# The first terminal that the leader of a session opens becomes its controlling terminal.
IN_A_TERMINAL = """
import os, sys
terminal = os.open(sys.argv[1], os.O_RDWR)
for number in range(3):
    os.dup2(terminal, number)
os.execv(sys.executable, [sys.executable, "-m", "recall", *sys.argv[2:]])
"""


@pytest.mark.slow
@pytest.mark.parametrize("disowned", [False, True])
def test_a_terminal_that_is_closed_costs_nothing(tmp_path, uninterrupted, disowned):
    """The kernel sends SIGHUP unless the process was disowned; whatever is printed is an error."""
    folder = tmp_path / "run"
    words = ["train", "--sequence", SEQUENCE, "--seeds", "0", "1", "--out", str(folder)]
    words += options(checkpoint_minutes=10)
    terminal, inner = pty.openpty()
    if disowned:
        child = subprocess.Popen(
            [sys.executable, "-m", "recall", *words],
            stdout=inner, stderr=inner, start_new_session=True,
        )  # fmt: skip
    else:
        child = subprocess.Popen(
            [sys.executable, "-c", IN_A_TERMINAL, os.ttyname(inner), *words], start_new_session=True
        )
    os.close(inner)
    os.set_blocking(terminal, False)
    wait_for(lambda: _rows_while_reading(folder, terminal), "a chunk")
    os.close(terminal)
    assert child.wait(120) == (0 if disowned else 128 + signal.SIGHUP)
    if not disowned:
        assert list(folder.glob("checkpoints/*.npz"))
        run(go_on(folder)[0])
    assert left_by(folder) == uninterrupted


def _rows_while_reading(folder, terminal):
    with contextlib.suppress(OSError):
        os.read(terminal, 1 << 16)  # a terminal that nobody reads stops its writers
    return folder.exists() and rows_in(folder)


COMPILING = """
import jax, jax.numpy as jnp
from recall.training.signals import stopping

def long(x):
    for _ in range(400):
        x = jnp.tanh(x @ x + 1.0)
    return x.sum()

def tell():
    print("heard", flush=True)

lowered = jax.jit(jax.grad(long)).lower(jnp.zeros((8, 8)))
with stopping(tell, tell) as stop:
    print("compiling", flush=True)
    lowered.compile()
    print("compiled", flush=True)
print(stop.exit_status)
"""


@pytest.mark.slow
def test_a_signal_is_acknowledged_during_a_compilation():
    process = subprocess.Popen(
        [sys.executable, "-c", COMPILING],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"JAX_ENABLE_COMPILATION_CACHE": "false"},
    )
    assert process.stdout.readline() == "compiling\n"
    process.send_signal(signal.SIGTERM)
    said, _ = process.communicate(timeout=300)
    assert said.split() == ["heard", "compiled", "143"]


def test_a_fleet_under_nohup_outlives_its_terminal():
    """A signal that is ignored when the process starts stays ignored."""
    program = (
        "import os, signal; from recall.training.signals import stopping\n"
        "with stopping(lambda: None, lambda: None) as stop:\n"
        "    os.kill(os.getpid(), signal.SIGHUP)\n"
        "print(stop.signal_number)"
    )
    done = subprocess.run(
        ["nohup", sys.executable, "-c", program], capture_output=True, text=True, timeout=300
    )
    assert done.stdout.strip() == "None"
