"""Tables of variants: each set of sequences has its own, under a name of its own."""

import json

from recall.analysis.collection import gather
from recall.analysis.scores import ScoreBoard
from recall.report.tables import all_tables
from tests.factories.folders import write_fleet
from tests.factories.tables import tables_of


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


def test_runs_of_other_code_are_variants_that_rows_tell_apart(tmp_path):
    for source in ("aaa", "bbb"):
        for name, changes in (("plain", {}), ("bare", {"distil": False})):
            folder = write_fleet(tmp_path / source / name, "recall", **changes)
            path = folder / "run.json"
            known = {"plugin_sources": {"my_plugin": {"source": source}}}
            path.write_text(json.dumps(json.loads(path.read_text()) | known))
    tables = tables_of(tmp_path)
    assert [row.heading for row in tables["variants-RECALL-push,hammer-1"].rows] == [
        "my_plugin source aaa",
        "my_plugin source bbb",
        "no distillation, my_plugin source aaa",
        "no distillation, my_plugin source bbb",
    ]
    assert not any(name.startswith("lambda") for name in tables), "λ is the same in all"
