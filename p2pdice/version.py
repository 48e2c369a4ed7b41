"""The version of this software."""

from typing import Final

VERSION: Final = "0.1.0"
"""The same as in pyproject.toml, which a test checks; asking the package metadata takes longer than starting Python."""
