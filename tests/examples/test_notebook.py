"""The notebook runs from its first cell to its last."""

import pytest

from tests.plugins.restored import EXAMPLES


def test_the_notebook_runs(tmp_path, monkeypatch):
    """With fewer steps, in a Jupyter kernel; it shows the live view, the curves and the film."""
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed")
    pytest.importorskip("ipywidgets", reason="ipywidgets is not installed")
    monkeypatch.setenv("PYTHONPATH", str(EXAMPLES.parent))
    notebook = nbformat.read(EXAMPLES / "quickstart.ipynb", as_version=4)
    nbformat.validate(notebook)
    first = notebook.cells[1]
    assert "STEPS = 1_500" in first.source
    first.source = first.source.replace("STEPS = 1_500", "STEPS = 250")
    nbclient.NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": tmp_path}}
    ).execute()
    kinds = {kind for cell in notebook.cells if cell.cell_type == "code"
             for output in cell.outputs for kind in output.get("data", {})}  # fmt: skip
    assert {"application/vnd.jupyter.widget-view+json", "image/png", "image/gif"} <= kinds
    assert (tmp_path / "quickstart.gif").stat().st_size > 1000
