"""What CONTRIBUTING.md names is there."""

import re
from pathlib import Path


def test_every_path_on_the_page_exists():
    root = Path(__file__).parents[1]
    page = (root / "CONTRIBUTING.md").read_text()
    named = re.findall(r"`((?:recall|tests|docs)/[\w./]*)`", page)
    assert len(named) > 10
    missing = [path for path in named if not (root / path).exists()]
    assert missing == []
