"""What all tests share. Read before JAX is imported anywhere."""

import os

# Tests compile many small programs and run each for a moment: compile quickly, not tightly.
os.environ.setdefault(
    "XLA_FLAGS", "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"
)
