"""Test vectors of other projects; ``tests/data/third_party/README.md`` names their sources."""

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).with_name("data") / "third_party"


def third_party(name: str) -> Any:
    """Return the parsed content of a file of vectors."""
    return json.loads((FOLDER / name).read_text(encoding="utf-8"))
