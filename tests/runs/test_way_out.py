"""What is told of a fleet that a full disk has stopped."""

from recall.runs.way_out import with_more_space
from tests.factories.folders import write_fleet


def test_only_a_checkpoint_that_was_written_is_called_intact(tmp_path):
    assert with_more_space(tmp_path) == "Nothing was saved: free some space, then train again"
    folder = write_fleet(tmp_path / "fleet", finished=False)
    resume = f"`recall resume {folder}`"
    (folder / "checkpoints" / "1.orbax-checkpoint-tmp").mkdir(parents=True)
    assert with_more_space(folder) == (
        f"No checkpoint was written yet: free some space, then {resume} starts from the beginning"
    )
    (folder / "checkpoints" / "1").mkdir()
    assert with_more_space(folder) == (
        f"The last checkpoint is intact: free some space, then continue with {resume}"
    )
