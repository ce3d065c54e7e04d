from tests.methods.conftest import quick_compilation  # noqa: F401
