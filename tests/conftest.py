"""What all tests share. Read before JAX is imported anywhere."""

import gc
import os
import shutil
import signal
from importlib.metadata import version
from pathlib import Path

import pytest

# Tests compile many small programs and run each for a moment: compile quickly, not tightly.
QUICKLY = ["--xla_backend_optimization_level=0", "--xla_llvm_disable_expensive_passes=true"]
JAXLIB = tuple(map(int, version("jaxlib").split(".")[:2]))
if JAXLIB >= (0, 10):  # XLA refuses what it knows not
    QUICKLY += ["--xla_cpu_parallel_codegen_split_count=1"]
if JAXLIB == (0, 10):  # later versions know the newer emitters only
    # The newer emitters of fused loops take three times as long as those before them.
    QUICKLY += ["--xla_cpu_use_fusion_emitters=false"]
os.environ.setdefault("XLA_FLAGS", " ".join(QUICKLY))

# What one process compiles, all others find, however little it takes.
CACHE = Path(__file__).parents[1] / ".cache" / "jax"
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(CACHE))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")

# Tracing makes many objects that stay: look for garbage a tenth as often.
gc.set_threshold(10_000, 20, 20)

# In the background of a script Ctrl-C is ignored, and below `nohup` the end of a terminal. The
# processes that tests start would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture(scope="session", autouse=True)
def free_programs():
    """Keep what one test has compiled for the next one; return what would free it."""
    from recall.training import programs

    free = programs._free
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(programs, "_free", lambda: None)
        yield free


@pytest.fixture(scope="session")
def finished(tmp_path_factory) -> Path:
    """The folder of a small fleet that was never interrupted."""
    from tests.factories.fleets import run, small_spec, start

    folder = tmp_path_factory.mktemp("finished")
    run(start(small_spec(), folder))
    return folder


@pytest.fixture(scope="session")
def uninterrupted(finished) -> dict[str, bytes]:
    """What it left."""
    from tests.factories.fleets import left_by

    return left_by(finished)


@pytest.fixture(scope="session")
def crashed(tmp_path_factory) -> Path:
    """The folder of a fleet like that, which crashed in its second task; to be copied.

    Both its checkpoints need all of the first task.
    """
    from tests.factories.fleets import CrashAt, CrashError, run, small_spec, start

    folder = tmp_path_factory.mktemp("crashed")
    with pytest.raises(CrashError):
        run(start(small_spec(checkpoint_minutes=1e-9), folder, CrashAt(27)))
    return folder


@pytest.fixture
def stopped(crashed, tmp_path) -> Path:
    """A copy of the crashed fleet, to edit, damage or resume."""
    return shutil.copytree(crashed, tmp_path / "run")
