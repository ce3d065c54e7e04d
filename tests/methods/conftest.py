import jax
import pytest


@pytest.fixture(autouse=True, scope="package")
def quick_compilation():
    """Compile without optimising: these networks are tiny, and most of the time is XLA's."""
    before = jax.config.read("jax_disable_most_optimizations")
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", before)
