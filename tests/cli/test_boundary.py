"""Every error becomes a message and an exit code in a single place, and never a traceback."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from io import StringIO
from pathlib import Path, PurePath, PurePosixPath, PureWindowsPath
from pkgutil import walk_packages
from typing import Any

import pytest
import typer

import protocol
from cli.boundary import as_failure, report, tell_misuse
from cli.exits import ExitCode, Failure
from protocol.crypto.keys import KeyFileError
from protocol.errors import ErrorCode, NodeError, PeerError, ProtocolError, RefuseCode
from protocol.events import PlayerInfo
from protocol.storage.archive import find
from protocol.storage.database import StoreError
from protocol.storage.store import StoredMatch
from tests.cli.conftest import Run
from tests.programs import PATIENCE, ROOT, Done, environment, run
from tests.tiers import thoroughly


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (Failure("It is so."), ExitCode.FAILURE),
        (Failure("It is so.", code=ExitCode.REFUSED), ExitCode.REFUSED),
        (KeyFileError("can be read by others"), ExitCode.FAILURE),
        (PermissionError(13, "Permission denied", "/x"), ExitCode.FAILURE),
        (ModuleNotFoundError("No module named 'nacl'", name="nacl"), ExitCode.FAILURE),
        (NodeError(ErrorCode.UNREACHABLE, "nobody answers"), ExitCode.UNREACHABLE),
        (NodeError(ErrorCode.NOT_FOUND, "no such table"), ExitCode.UNREACHABLE),
        (NodeError(ErrorCode.VERSION, "other version"), ExitCode.MISMATCH),
        (NodeError(ErrorCode.RULES, "other rules"), ExitCode.MISMATCH),
        (NodeError(ErrorCode.FULL, "all seats are taken"), ExitCode.FULL),
        (NodeError(ErrorCode.REFUSED, "the table is private"), ExitCode.REFUSED),
        (NodeError(ErrorCode.HOME_IN_USE, "in use"), ExitCode.FAILURE),
        (NodeError(ErrorCode.NO_MATCH, "none"), ExitCode.FAILURE),
    ],
    ids=repr,
)
def test_an_expected_error_has_its_exit_code(error: Exception, code: ExitCode) -> None:
    failure = as_failure(error)
    assert failure is not None
    assert failure.code is code
    assert failure.what.endswith(".")


def test_an_unexpected_error_has_no_message_of_its_own() -> None:
    assert as_failure(ZeroDivisionError("division by zero")) is None


def complaints_of_typer() -> list[Exception]:
    """Return an instance of each of Typer's exceptions for wrong usage."""
    with typer.Context(typer.main.get_command(typer.Typer(callback=lambda: None))) as ctx:
        given = {"NoArgsIsHelpError": (ctx,), "BadOptionUsage": ("--x", "is wrong")}
        classes: list[Any] = [next(each for each in typer.BadParameter.__mro__ if each.__name__ == "ClickException")]
        for each in classes:
            classes += [one for one in each.__subclasses__() if one not in classes]
        return [each(*given.get(each.__name__, ("is wrong",))) for each in classes]


@pytest.mark.parametrize("error", complaints_of_typer(), ids=lambda error: type(error).__name__)
def test_every_error_of_typer_is_printed_with_its_exit_code(error: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert tell_misuse(error) == error.exit_code
    assert error.format_message() in "".join(capsys.readouterr())


@pytest.mark.parametrize("is_terminal", [True, False])
@pytest.mark.parametrize(
    "tell",
    [lambda text: report(Failure(text), sys.stderr), lambda text: tell_misuse(typer.BadParameter(text))],
    ids=["our own", "Typer's"],
)
def test_errors_are_wrapped_only_at_a_terminal(
    tell: Callable[[str], object], is_terminal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = StringIO()
    monkeypatch.setattr(stream, "isatty", lambda: is_terminal, raising=False)
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("COLUMNS", "80")
    tell(" ".join(["rules"] * 20))
    assert stream.getvalue().split().count("rules") == 20
    assert (max(map(len, stream.getvalue().splitlines())) < 80) is is_terminal


def test_our_own_errors_are_not_treated_as_errors_of_typer() -> None:
    assert tell_misuse(typer.Abort()) == ExitCode.FAILURE
    assert tell_misuse(Failure("It is so.")) is None
    assert tell_misuse(ValueError("is wrong")) is None


HOSTILE = "go away\x1b[2J\u202e"
ROSTER_INDEX, STEP = 1, 7
ARGUMENTS: dict[str, tuple[object, ...]] = {
    "ContradictionError": (None, None, HOSTILE),
    "MisconductError": (ROSTER_INDEX, STEP, HOSTILE, ()),
    "NamesakeError": (HOSTILE, (PlayerInfo("Ada", "AAAA"),)),
    "NodeError": (ErrorCode.FULL, HOSTILE),
    "NotOwnError": (Path("file"), "is", HOSTILE),
    "NotAdmittedError": (RefuseCode.VERSION, HOSTILE),
    "OtherStateError": (),
    "RefusedError": ("a code of theirs\x1b", HOSTILE),
    "NamesakesSeatedError": ((PlayerInfo(HOSTILE, "AAAA"),),),
    "WordError": (HOSTILE, HOSTILE),
}
"""The constructor arguments of errors that take more than a text."""


def kinds_of(family: type[ProtocolError]) -> list[type[ProtocolError]]:
    for module in walk_packages(protocol.__path__, "protocol."):
        import_module(module.name)
    return [family, *(each for kind in family.__subclasses__() for each in kinds_of(kind))]


@pytest.mark.parametrize("kind", kinds_of(ProtocolError), ids=lambda kind: kind.__name__)
def test_every_protocol_error_is_an_escaped_sentence_with_an_exit_code(
    kind: type[ProtocolError],
) -> None:
    failure, told = as_failure(kind(*ARGUMENTS.get(kind.__name__, (HOSTILE,)))), StringIO()  # type: ignore[arg-type]
    assert failure is not None
    assert failure.code in set(ExitCode) - {ExitCode.DONE}
    report(failure, told)
    lines = told.getvalue().splitlines()
    assert all(line.isprintable() for line in lines)
    assert all(line.endswith(".") for line in lines[: len(lines) - 2 * len(failure.choices)])
    assert kind.__name__ in ("OtherStateError",) or "o away\\x1b[2J\\u202e" in told.getvalue()


def test_an_error_without_a_text_is_still_a_sentence() -> None:
    failure = as_failure(PeerError())
    assert failure is not None
    assert failure.what == "PeerError."


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        (PureWindowsPath(r"C:\Users\Ada\store.sqlite3"), r"C:\Users\Ada\store.sqlite3"),
        (PureWindowsPath(r"C:\Ada Byron\store.sqlite3"), r'"C:\Ada Byron\store.sqlite3"'),
        (PurePosixPath("/srv/ada byron/store.sqlite3"), "'/srv/ada byron/store.sqlite3'"),
    ],
)
def test_a_path_in_an_error_of_the_protocol_can_be_copied(path: PurePath, shown: str) -> None:
    r"""Regression test: each backslash was shown as ``\x5c``, and paths with spaces were not quoted."""
    failure = as_failure(NodeError(ErrorCode.FAILED, StoreError("cannot use ", path, f": {HOSTILE}").parts))
    assert failure is not None
    assert failure.what == rf"Cannot use {shown}: go away\x1b[2J\u202e."


def test_text_of_a_peer_in_an_error_is_escaped() -> None:
    failure = as_failure(NodeError(ErrorCode.REFUSED, "go away\x1b[2J\u202e", "or\x07 else"))
    assert failure is not None
    assert (failure.what, failure.hint) == ("Go away\\x1b[2J\\u202e.", "or\\x07 else.")


NAMELESS = [StoredMatch(bytes(32), b"", b"", formed=True, created=0, over=False, port=0)]


@pytest.mark.parametrize("name", ["ff", " "])
def test_a_suggested_command_is_alone_on_its_line(name: str) -> None:
    """Regression test: the command ended with the full stop of its sentence."""
    with pytest.raises(NodeError) as caught:
        find(NAMELESS, name)
    failure, told = as_failure(caught.value), StringIO()
    assert failure is not None
    report(failure, told)
    assert told.getvalue().endswith("See all of them:\n    p2pdice matches\n")


def test_suggested_commands_name_the_home_if_it_was_named() -> None:
    """Regression test: a suggested command without --home gave up the purse of the default home."""
    failure, told = (
        Failure(
            "It fits nothing (see p2pdice people).",
            "Give one up with p2pdice purse forfeit; install p2pdice again.",
            "The matches: p2pdice matches. None: p2pdice identity passphrase --remove",
            choices=(
                ("p2pdice purse void last", "Begin"),
                ("p2pdice resume --home there", "Go back"),
                ("p2pdice bot check -- p2pdice x", "Try it"),
            ),
        ),
        StringIO(),
    )
    report(failure, told, ("--home", "Ada's home"))
    here = """ --home 'Ada'"'"'s home'""" if sys.platform != "win32" else ' --home "Ada\'s home"'
    assert told.getvalue().splitlines() == [
        f"Error: It fits nothing (see p2pdice people{here}).",
        f"Give one up with p2pdice purse forfeit{here}; install p2pdice again.",
        f"The matches: p2pdice matches{here}. None: p2pdice identity passphrase --remove{here}",
        "Begin:",
        f"    p2pdice purse void last{here}",
        "Go back:",
        "    p2pdice resume --home there",
        "Try it:",
        f"    p2pdice bot check{here} -- p2pdice x",
    ]


def test_an_error_of_a_home_that_was_named_names_it_in_its_commands(here: Run, tmp_path: Path) -> None:
    other = str(tmp_path / "other")
    assert here("verify", "nope", "--home", other).stderr.endswith(
        f"See all of them:\n    p2pdice matches --home {other}\n"
    )
    assert here("verify", "nope").stderr.endswith("    p2pdice matches\n")


def test_hints_of_the_protocol_contain_no_commands_within_sentences() -> None:
    for path in sorted((ROOT / "protocol").rglob("*.py")):
        for part in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(part, ast.Constant) and isinstance(part.value, str) and "\n" not in part.value:
                assert not re.search("[^`]p2pdice (tables|matches|watch|join|host|resume)", part.value), path


def test_an_error_lists_commands_with_escaped_explanations() -> None:
    choices = (("p2pdice join 192.0.2.1:7000/A", '"Fri\x1b[2Jday", hosted by Ada'), ("p2pdice join x/B", "Eve's"))
    failure, told = as_failure(NodeError(ErrorCode.REFUSED, "two answer", "ask the host", choices)), StringIO()
    assert failure is not None
    report(failure, told)
    assert told.getvalue().splitlines() == [
        "Error: Two answer.",
        "Ask the host.",
        '"Fri\\x1b[2Jday", hosted by Ada:',
        "    p2pdice join 192.0.2.1:7000/A",
        "Eve's:",
        "    p2pdice join x/B",
    ]


@pytest.mark.parametrize(
    ("error", "what"),
    [
        (NotADirectoryError(20, "Not a directory", "ro/new"), "ro/new: Not a directory."),
        (PermissionError(13, "Permission denied", "ro"), "ro: Permission denied."),
        (
            StoreError("ro/store.sqlite3 was written by a newer p2pdice"),
            "ro/store.sqlite3 was written by a newer p2pdice.",
        ),
        (StoreError(PurePosixPath("ben"), " is in use by another p2pdice"), "ben is in use by another p2pdice."),
        (NodeError(ErrorCode.UNREACHABLE, "laptop:7000 did not answer"), "laptop:7000 did not answer."),
        (NodeError(ErrorCode.UNREACHABLE, "'friday' is no table"), "'friday' is no table."),
        (NodeError(ErrorCode.UNREACHABLE, "nobody's table, it seems"), "Nobody's table, it seems."),
    ],
)
def test_a_path_or_address_at_the_start_of_an_error_is_not_capitalised(error: Exception, what: str) -> None:
    failure = as_failure(error)
    assert failure is not None
    assert failure.what == what


def test_a_home_below_a_file_is_reported_as_it_was_typed(
    p2pdice: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file").touch()
    assert p2pdice("host", "--home", "file/new").stderr == "Error: file/new: Not a directory.\n"


def broken_command(tmp_path: Path, statement: str) -> Done:
    """Run ``p2pdice verify`` with a verifier that executes this statement."""
    patch = f"import protocol.consensus.verifier as v\ndef judge(*_, **__):\n    {statement}\nv.verify = judge"
    code = f"{patch}\nimport cli; cli.main()"
    file = tmp_path / "file"
    file.write_bytes(b"x")
    return run("-c", code, "verify", str(file), home=tmp_path / "home")


def test_an_unexpected_error_is_logged_and_the_log_is_named(tmp_path: Path) -> None:
    done = broken_command(tmp_path, r"raise RuntimeError('odd \x1b[31m thing')")
    log = tmp_path / "home" / "p2pdice.log"
    assert done.returncode == ExitCode.FAILURE
    assert done.stderr.splitlines() == [
        "Error: Something went wrong inside p2pdice (RuntimeError: odd \\x1b[31m thing).",
        f"The details are in {log}.",
    ]
    logged = log.read_text(encoding="utf-8")
    assert "Traceback" in logged
    assert "\x1b" not in logged


def test_an_interrupt_ends_silently_with_130(tmp_path: Path) -> None:
    done = broken_command(tmp_path, "raise KeyboardInterrupt")
    assert (done.returncode, done.stdout, done.stderr) == (ExitCode.INTERRUPTED, "", "")


@pytest.mark.parametrize("unbuffered", ["", *thoroughly(["1"])])
@pytest.mark.parametrize("command", ["--version", "rules", *thoroughly(["--help"])])
def test_a_reader_that_stops_reading_gets_no_error(command: str, unbuffered: str, tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "p2pdice", command],
        env=environment(tmp_path) | {"PYTHONUNBUFFERED": unbuffered},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    complaints = process.stderr.read()
    process.stderr.close()
    assert (process.wait(timeout=PATIENCE), complaints) == (ExitCode.FAILURE, b"")


@pytest.mark.parametrize("closed", ["stdin", "stdout", "stderr"])
@pytest.mark.parametrize(("command", "code"), [(["rules"], ExitCode.DONE), (["verify", "nothing"], ExitCode.FAILURE)])
def test_commands_work_with_a_closed_standard_stream(
    closed: str, command: list[str], code: ExitCode, tmp_path: Path
) -> None:
    """A shell's `>&-` and pythonw on Windows start programs so."""
    start = f"import sys\nsys.{closed} = None\nimport cli\ncli.main()"
    done = run("-c", start, *command, home=tmp_path / "home")
    assert done.returncode == code
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("unbuffered", ["", *thoroughly(["1"])])
@pytest.mark.parametrize(
    "command", [["--version"], ["rules"], *thoroughly([["--help"], ["odds", "5x6", "--dice", "10"]])]
)
def test_output_to_a_full_device_is_reported_in_a_sentence(command: list[str], unbuffered: str, tmp_path: Path) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "p2pdice", *command],
            env=environment(tmp_path / "home") | {"PYTHONUNBUFFERED": unbuffered},
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert (done.returncode, done.stderr) == (ExitCode.FAILURE, "Error: No space left on device.\n")


def test_a_key_that_others_can_read_is_refused_with_the_remedy(here: Run, tmp_path: Path) -> None:
    if sys.platform == "win32":
        pytest.skip("Windows has no mode bits")
    here("identity", "show")
    key = tmp_path / "home" / "identity.key"
    key.chmod(0o644)
    done = here("identity", "show")
    assert done.returncode == ExitCode.FAILURE
    assert f"chmod 600 {key}" in done.stderr


def test_a_home_that_cannot_be_created_is_reported_in_a_sentence(here: Run, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    done = here("identity", "show", P2PDICE_HOME=str(file / "home"))
    assert done.returncode == ExitCode.FAILURE
    assert done.stderr.startswith("Error: Your identity cannot be used.\n")
    assert "Traceback" not in done.stderr
