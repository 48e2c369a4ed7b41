"""The version of this software."""

from typing import Final

VERSION: Final = "0.1.0"
"""Equal to the version in pyproject.toml, as a test checks. Reading package metadata would slow down the start."""
