"""What is in the wheel, pinned: three packages, their typing markers, the console script, the license; nothing else."""

import subprocess
import sys
import tomllib
from collections.abc import Iterator
from configparser import ConfigParser
from email.parser import Parser
from pathlib import Path
from zipfile import ZipFile

import pytest

import cli

ROOT = Path(__file__).parents[1]
PACKAGES = ("cli", "p2pdice", "protocol")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZipFile]:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    with ZipFile(next(folder.glob("*.whl"))) as opened:
        yield opened


def metadata(wheel: ZipFile, name: str) -> str:
    path = next(path for path in wheel.namelist() if path.endswith(f".dist-info/{name}"))
    return wheel.read(path).decode()


def test_the_wheel_holds_the_sources_of_three_packages_and_nothing_else(wheel: ZipFile) -> None:
    sources = {path.relative_to(ROOT).as_posix() for package in PACKAGES for path in (ROOT / package).rglob("*.py")}
    expected = sources | {f"{package}/py.typed" for package in PACKAGES}
    described = {"METADATA", "WHEEL", "entry_points.txt", "licenses/LICENSE", "RECORD"}
    files = {path for path in wheel.namelist() if ".dist-info/" not in path}
    about = {path.partition(".dist-info/")[2] for path in wheel.namelist() if ".dist-info/" in path}
    assert (files, about) == (expected, described)


def test_the_wheel_installs_one_command(wheel: ZipFile) -> None:
    scripts = ConfigParser()
    scripts.read_string(metadata(wheel, "entry_points.txt"))
    assert {section: dict(scripts[section]) for section in scripts.sections()} == {
        "console_scripts": {"p2pdice": "cli:main"}
    }


def test_the_version_is_the_same_wherever_it_is_asked(wheel: ZipFile) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    about = Parser().parsestr(metadata(wheel, "METADATA"))
    assert about["Version"] == project["version"] == cli.VERSION
    assert about["Requires-Python"] == project["requires-python"] == ">=3.11"
