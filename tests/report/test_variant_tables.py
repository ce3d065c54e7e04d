"""Tables of variants: each set of sequences has its own, under a name of its own."""

from recall.report.tables import all_tables
from recall.results.collection import gather
from recall.results.scores import ScoreBoard
from tests.factories.folders import write_fleet


def test_variants_on_other_sequences_have_tables_of_their_own(tmp_path):
    write_fleet(tmp_path / "plain", "recall", ["cw3-1", "cw3-2", "cw3-3"])
    write_fleet(tmp_path / "a", "recall", ["cw3-1", "cw3-2"], distil=False)
    write_fleet(tmp_path / "b", "recall", ["cw3-1", "cw3-3"], normalise_targets=False)
    every = all_tables(ScoreBoard(gather(tmp_path)))
    titles = {table.name: table.title for table in every if table.name.startswith("variants")}
    assert titles == {
        "variants-RECALL-cw3-1-2": "Variants of RECALL on cw3-1 to cw3-2",
        "variants-RECALL-cw3-1-2-2": "Variants of RECALL on cw3-1, cw3-3",
    }
