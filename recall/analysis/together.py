"""An earlier name of `is_multi_task`."""

from recall.analysis.run_result import is_multi_task as learnt_together

__all__ = ["learnt_together"]
