"""The contents of the wheel and the sdist are fixed, and everybody who builds them gets the same bytes.

Other tests here cover the top folder of the checkout, and whether the pytest in use finds all fixtures.
"""

import os
import subprocess
import sys
import tarfile
import tomllib
from collections.abc import Iterator
from configparser import ConfigParser
from email.parser import Parser
from pathlib import Path
from zipfile import ZipFile

import pytest

import cli

pytestmark = pytest.mark.xdist_group("packaging")  # so that the packages are built in one process only

ROOT = Path(__file__).parents[1]
PACKAGES = ("cli", "p2pdice", "protocol")


def build(project: Path, packages: Path) -> None:
    """Build both packages with :mod:`hatchling`, as ``python -m build`` does, but without a package index."""
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(packages)]
    time_of_the_commit = os.environ | {"SOURCE_DATE_EPOCH": "1800000000"}
    subprocess.run(command, cwd=project, env=time_of_the_commit, check=True, capture_output=True, text=True)


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder with the wheel and the sdist of this checkout."""
    folder = tmp_path_factory.mktemp("packages")
    build(ROOT, folder)
    return folder


@pytest.fixture(scope="module")
def wheel(packages: Path) -> Iterator[ZipFile]:
    with ZipFile(next(packages.glob("*.whl"))) as opened:
        yield opened


def metadata(wheel: ZipFile, name: str) -> str:
    path = next(path for path in wheel.namelist() if path.endswith(f".dist-info/{name}"))
    return wheel.read(path).decode()


def test_the_wheel_holds_three_packages_the_man_page_and_nothing_else(wheel: ZipFile) -> None:
    sources = {path.relative_to(ROOT).as_posix() for package in PACKAGES for path in (ROOT / package).rglob("*.py")}
    page = f"p2pdice-{cli.VERSION}.data/data/share/man/man1/p2pdice.1"
    tables = {f"p2pdice/solved/{opener}-{responder}.policy" for opener in (1, 2, 3) for responder in (1, 2, 3)}
    tables |= {f"p2pdice/solved/{name}.net" for name in ("classic", "more", "perudo", "two")}
    report = {"cli/report/report.css", "cli/report/report.html.j2", "cli/report/show_checks.js"}
    order = ROOT / "cli" / "report" / "verifier" / "order.txt"
    report |= {f"cli/report/verifier/{name}" for name in ("order.txt", *order.read_text(encoding="ascii").split())}
    tables.add("protocol/wire/confusables.txt")
    expected = sources | tables | report | {f"{package}/py.typed" for package in PACKAGES} | {page}
    licenses = {"licenses/LICENSE", "licenses/LICENSE-Unicode-3.0.txt"}
    described = {"METADATA", "WHEEL", "entry_points.txt", "RECORD"} | licenses
    files = {path for path in wheel.namelist() if ".dist-info/" not in path}
    about = {path.partition(".dist-info/")[2] for path in wheel.namelist() if ".dist-info/" in path}
    assert (files, about) == (expected, described)


def test_the_sdist_holds_all_that_is_needed_to_test_to_read_and_to_build(packages: Path) -> None:
    with tarfile.open(next(packages.glob("*.tar.gz"))) as sdist:
        files = {path.partition("/")[2] for path in sdist.getnames()}
    folders = [ROOT / name for name in (*PACKAGES, "tests", "benchmarks", "docs", "examples")]
    found = [path for folder in folders for path in folder.rglob("*") if path.suffix in {".py", ".md", ".js"}]
    expected = {path.relative_to(ROOT).as_posix() for path in found}
    assert (
        expected
        | {"SPEC.md", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "pyproject.toml", "PKG-INFO"}
        | {"LICENSE", "LICENSE-Unicode-3.0.txt"}
        <= files
    )


def test_a_later_build_from_the_sdist_in_another_folder_gives_the_same_bytes(packages: Path, tmp_path: Path) -> None:
    with tarfile.open(next(packages.glob("*.tar.gz"))) as sdist:
        sdist.extractall(tmp_path, filter="data")
    (project,) = tmp_path.iterdir()
    for path in project.rglob("*"):
        os.utime(path)
    build(project, tmp_path)
    built = sorted(path.name for path in packages.iterdir())
    assert [path.suffix for path in map(Path, built)] == [".whl", ".gz"]
    for name in built:
        assert (tmp_path / name).read_bytes() == (packages / name).read_bytes(), name


def test_the_wheel_names_the_licenses_of_the_program_and_of_the_table_from_unicode(wheel: ZipFile) -> None:
    about = Parser().parsestr(metadata(wheel, "METADATA"))
    assert about["License-Expression"] == "MIT AND Unicode-3.0"
    header = (ROOT / "protocol" / "wire" / "confusables.txt").read_text(encoding="utf-8").partition("\n-:")[0]
    said = "\n".join(line.removeprefix("#").removeprefix(" ") for line in header.splitlines())
    assert metadata(wheel, "licenses/LICENSE-Unicode-3.0.txt") in said


def test_the_wheel_installs_one_command(wheel: ZipFile) -> None:
    scripts = ConfigParser()
    scripts.read_string(metadata(wheel, "entry_points.txt"))
    assert {section: dict(scripts[section]) for section in scripts.sections()} == {
        "console_scripts": {"p2pdice": "cli:main"}
    }


def test_the_version_is_the_same_everywhere(wheel: ZipFile) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    about = Parser().parsestr(metadata(wheel, "METADATA"))
    assert about["Version"] == project["version"] == cli.VERSION
    assert about["Requires-Python"] == project["requires-python"] == ">=3.11"


def test_tests_may_be_named_in_any_order(tmp_path: Path) -> None:
    """Some versions of pytest lose the fixtures of a folder if a test beside it is named first (issue 14964)."""
    inner = tmp_path / "outer" / "inner"
    inner.mkdir(parents=True)
    (inner / "conftest.py").write_text("import pytest\n\n@pytest.fixture\ndef given(): pass\n")
    for name in ("test_first.py", "../test_outside.py", "test_last.py"):
        (inner / name).write_text("def test_it(given): pass\n" if "/" not in name else "def test_it(): pass\n")
    files = [f"outer/{name}" for name in ("inner/test_first.py", "test_outside.py", "inner/test_last.py")]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *files]
    variables = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(command, cwd=tmp_path, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_the_top_folder_contains_only_known_entries() -> None:
    """A player's home with its key was once committed there."""
    asked = ["git", "-C", str(ROOT), "ls-files"]
    try:
        listed = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.splitlines()
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("asks git what is part of the project: this is no checkout")
    assert {path.partition("/")[0] for path in listed} == {
        *(".ci", ".github", ".gitignore", ".pre-commit-config.yaml", "pyproject.toml"),
        *("CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "LICENSE-Unicode-3.0.txt", "README.md", "SPEC.md"),
        *("benchmarks", "docs", "examples", "tests"),
        *PACKAGES,
    }
