"""Methods that train all tasks at once, to which forgetting and transfer do not apply."""

from recall.methods import METHODS


def learnt_together(method: str) -> bool:
    """Return True if a method trains all tasks at once, so that tasks have no stages."""
    return method in METHODS and METHODS[method]().collects == "all"
