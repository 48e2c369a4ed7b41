"""Importing the package loads no submodule, and every public error belongs to the right family."""

import subprocess
import sys
from importlib import import_module
from pkgutil import walk_packages

import protocol
from protocol.errors import LocalError, PeerError, ProtocolError

OUR_FAULT = {
    "BackupError",
    "DamagedMatchError",
    "DamagedPurseError",
    "DamagedStoreError",
    "DiscoveryUnavailable",
    "FullDiskError",
    "NoInterfaceError",
    "HomeInUseError",
    "KeyFileError",
    "LocalError",
    "LostStakeError",
    "NamesakeError",
    "NicknameError",
    "NoHomeError",
    "NodeError",
    "NotOwnError",
    "OtherFormatError",
    "PortError",
    "ReadOnlyError",
    "StaleMoveError",
    "StoreError",
    "UnknownWordError",
    "WordError",
    "WrongPassphraseError",
}
"""The errors that a peer or a file did not cause."""


def test_importing_the_package_imports_none_of_its_modules() -> None:
    code = "import protocol, sys; print(*(name for name in sys.modules if name.startswith('protocol')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["protocol"]


def test_every_public_error_is_either_a_local_or_a_peer_error() -> None:
    modules = [import_module(each.name) for each in walk_packages(protocol.__path__, "protocol.")]
    errors = {
        value
        for module in modules
        for name, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, Exception) and value.__module__ == module.__name__
        if not name.startswith("_") and value is not ProtocolError
    }
    assert len(errors) > 20
    assert [each for each in errors if issubclass(each, LocalError) == issubclass(each, PeerError)] == []
    assert {each.__name__ for each in errors if issubclass(each, LocalError)} == OUR_FAULT
