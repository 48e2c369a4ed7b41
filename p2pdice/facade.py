"""Names of a package that are loaded when they are first used (PEP 562), so that a program pays only for those."""

from collections.abc import Mapping
from importlib import import_module


def homes(modules: Mapping[str, str]) -> dict[str, str]:
    """Return the module of each name.

    :param modules: modules below the package, each with its names, separated by spaces.
    """
    return {name: module for module, names in modules.items() for name in names.split()}


def load(package: str, home: Mapping[str, str], name: str) -> object:
    """Return what a package gives under a name, and put it there, so that the next use does not come here.

    :param home: from :func:`homes`.
    :raises AttributeError: if it is none of its names.
    """
    if name not in home:
        raise AttributeError(f"module {package!r} has no attribute {name!r}")
    value: object = getattr(import_module(f"{package}.{home[name]}"), name)
    setattr(import_module(package), name, value)
    return value
