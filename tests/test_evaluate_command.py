"""What `recall evaluate` prints."""

from recall.cli import main
from tests.factories.policies import write_untrained


def test_repeated_tasks_are_numbered_where_results_are_printed(tmp_path, capsys):
    folder = write_untrained(tmp_path / "fleet", "point-rich,point-poor,point-rich")
    main(["evaluate", str(folder), "--episodes", "1", "--workers", "1"])
    header, *rows = (line.split("\t") for line in capsys.readouterr().out.splitlines())
    assert header == ["run", "task", "mode", "episodes", "success", "last_success", "return"]
    shown = [dict(zip(header, row, strict=True))["task"] for row in rows]
    assert list(dict.fromkeys(shown)) == ["1 point-rich", "point-poor", "3 point-rich"]
