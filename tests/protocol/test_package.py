"""What importing the package costs and brings."""

import subprocess
import sys

import pytest

import protocol


def test_importing_the_package_imports_none_of_its_modules() -> None:
    code = "import protocol, sys; print(*(name for name in sys.modules if name.startswith('protocol')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["protocol"]


def test_every_public_name_is_there_and_no_other() -> None:
    assert set(protocol.__all__) == set(protocol._HOME)
    for name in protocol.__all__:
        assert getattr(protocol, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        protocol.nothing  # noqa: B018
