"""Names of a package that are loaded when they are first used (PEP 562), so that a program pays only for those.

A package lists its names once: in imports for type checkers, ``from package.module import Name as Name``. They are read
from there, so the source must be at hand, as it is in every wheel.
"""

import re
from functools import cache
from importlib import import_module

_IMPORT = re.compile(r"^    from ([\w.]+) import (\w+) as \2$", re.MULTILINE)


@cache
def _homes(package: str) -> dict[str, str]:
    """Return the module of each name of a package."""
    found = import_module(package).__spec__
    assert found is not None
    assert found.loader is not None
    source: str = found.loader.get_source(package)  # type: ignore[attr-defined]  # every loader of source has it
    return {name: module for module, name in _IMPORT.findall(source)}


def names(package: str) -> list[str]:
    """Return the names of a package."""
    return sorted(_homes(package))


def load(package: str, name: str) -> object:
    """Return what a package gives under a name, and put it there, so that the next use does not come here.

    :raises AttributeError: if it is none of its names.
    """
    if name == "__all__":
        return names(package)
    if name not in _homes(package):
        raise AttributeError(f"module {package!r} has no attribute {name!r}")
    value: object = getattr(import_module(_homes(package)[name]), name)
    setattr(import_module(package), name, value)
    return value
