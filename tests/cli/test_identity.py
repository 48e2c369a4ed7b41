"""``p2pdice identity``: no key is replaced without confirmation or lost, and a passphrase protects it."""

from __future__ import annotations

import json
import shutil
import sys
from contextlib import closing
from pathlib import Path

import pytest

from cli.exits import ExitCode
from cli.settings import LOCK_VARIABLE, UNLOCK_VARIABLE
from protocol.crypto.keys import Identity, is_protected
from protocol.crypto.words import parse_words
from protocol.storage.home import Home
from protocol.storage.purses import OwnPurse
from protocol.storage.store import Store
from protocol.wire.purses import Purse
from tests.cli.conftest import Run
from tests.protocol.test_backup import OWNER, filled

NEW, OLD = {LOCK_VARIABLE: "correct horse"}, {UNLOCK_VARIABLE: "correct horse"}


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """The home of the commands."""
    return filled(tmp_path)


def shown(here: Run, **variables: str) -> dict[str, object]:
    found: dict[str, object] = json.loads(here("identity", "--json", **variables).stdout)
    return found


def test_identity_shows_the_key_in_letters_and_in_words(here: Run, home: Home) -> None:
    done = here("identity")
    assert OWNER.fingerprint in done.stdout
    assert done.stdout == here("identity", "show").stdout
    assert parse_words(str(shown(here)["words"])) == OWNER.fingerprint


def test_a_passphrase_is_set_changed_and_removed(here: Run, home: Home) -> None:
    assert here("identity", "passphrase", **NEW).returncode == ExitCode.DONE
    assert is_protected(home.identity.read_bytes())
    refused = here("identity", **{UNLOCK_VARIABLE: "another"})
    assert (refused.returncode, refused.stderr.count("\n")) == (ExitCode.FAILURE, 1)
    assert refused.stderr.startswith(f"Error: That is not the passphrase of {home.identity}")
    unlocked = shown(here, **OLD)
    assert (unlocked["fingerprint"], unlocked["passphrase"]) == (OWNER.fingerprint, True)
    assert "changed" in here("identity", "passphrase", **OLD, **{LOCK_VARIABLE: "battery"}).stdout
    assert Identity.load(home.identity, "battery").public == OWNER.public
    assert "removed" in here("identity", "passphrase", "--remove", **{UNLOCK_VARIABLE: "battery"}).stdout
    assert shown(here)["passphrase"] is False
    assert "no passphrase" in here("identity", "passphrase", "--remove").stderr
    assert not list(home.path.glob("*.part"))


def test_without_a_terminal_no_command_asks_for_the_passphrase(here: Run, home: Home) -> None:
    here("identity", "passphrase", **NEW)
    for command in ("host --bots 1", "resume", "join 127.0.0.1:1", "watch 127.0.0.1:1"):
        done = here(*command.split())
        assert done.returncode == ExitCode.USAGE
        assert UNLOCK_VARIABLE in done.stderr


def test_bots_do_not_get_the_passphrase(here: Run, home: Home, tmp_path: Path) -> None:
    here("identity", "passphrase", **NEW)
    shutil.rmtree(home.path / "bots", ignore_errors=True)
    told = tmp_path / "told"
    program = f"import os; open({str(told)!r}, 'w').write(str(sorted(os.environ)))"
    here("host", "--bot", f'"{sys.executable}" -c "{program}"', **OLD)
    assert not told.exists() or UNLOCK_VARIABLE not in told.read_text()


def test_a_new_key_needs_confirmation_and_the_former_one_can_be_restored(here: Run, home: Home) -> None:
    before = home.identity.read_bytes()
    refused = here("identity", "new")
    assert refused.returncode == ExitCode.USAGE
    assert "identity new --yes" in refused.stderr
    assert home.identity.read_bytes() == before
    done = here("identity", "new", "--yes")
    assert "You cannot return to one unfinished match with a new key." in done.stdout
    assert shown(here)["fingerprint"] != OWNER.fingerprint
    assert "was begun as" in here("resume").stderr
    kept = home.identity.with_name("identity.key.old-1")
    assert kept.read_bytes() == before
    assert here("identity", "restore", str(kept), "--yes").returncode == ExitCode.DONE
    assert home.identity.read_bytes() == before


def test_a_backup_is_restored_in_another_home(here: Run, home: Home, tmp_path: Path) -> None:
    here("identity", "passphrase", **NEW)
    made, new = tmp_path / "my backup", str(tmp_path / "new")
    done = here("identity", "backup", str(made))
    assert "your key, protected by its passphrase, one finished match, three people" in done.stdout
    assert "exists already" in here("identity", "backup", str(made)).stderr
    assert here("identity", "restore", str(made), "--home", new).returncode == ExitCode.USAGE
    assert not Home(Path(new)).identity.exists()
    done = here("identity", "restore", str(made), "--yes", "--home", new)
    assert "Unfinished matches are not in a backup" in done.stdout
    assert json.loads(here("identity", "--json", "--home", new, **OLD).stdout)["fingerprint"] == OWNER.fingerprint
    (match,) = json.loads(here("matches", "--json", "--home", new).stdout)["matches"]
    assert match["state"] == "finished"
    again = here("identity", "restore", str(made), "--home", new).stdout
    assert f"identity restore '{made}' --home DIR" in again.replace('"', "'")


def test_restoring_a_purse_says_that_it_may_be_outdated(here: Run, home: Home, tmp_path: Path) -> None:
    made, new = tmp_path / "made", str(tmp_path / "new")
    assert "your purse" not in here("identity", "backup", str(tmp_path / "before")).stdout
    assert "Its purse is" not in here("identity", "restore", str(tmp_path / "before"), "--home", new).stdout
    with closing(Store(home.store)) as store:
        store.purses.keep(OwnPurse(Purse.new(OWNER.public)))
    assert "your key, your purse, " in here("identity", "backup", str(made)).stdout
    said = here("identity", "restore", str(made), "--home", new).stdout
    assert "Its purse is as it was then." in said
    assert "they hand back what is newer" in said


def asked(here: Run, file: Path, home: Home) -> str:
    """Return what is printed before the question whether to restore a key."""
    done = here("identity", "restore", str(file), "--home", str(home.path))
    assert done.returncode == ExitCode.USAGE
    return " ".join(done.stdout.split())


def test_restoring_names_the_key_in_the_backup_and_the_present_one(here: Run, home: Home, tmp_path: Path) -> None:
    made, new = tmp_path / "made", Home(tmp_path / "new")
    here("identity", "backup", str(made))
    said = asked(here, made, new)
    assert f"Its key is {OWNER.fingerprint}." in said
    assert "here" not in said.replace("where", "")
    assert "The same key is here already. " in asked(here, made, home)
    other, _ = Identity.load_or_create(new.path)
    assert f"There is another key here, {other.fingerprint}. It is kept" in asked(here, made, new)
    new.identity.write_bytes(OWNER.encoded().replace(b"\n", b"\r\n"))
    assert "The same key is here already, in another file." in asked(here, made, new)
    new.identity.write_bytes(OWNER.encoded("horse"))
    assert "There is a key here, protected by a passphrase." in asked(here, made, new)
    new.identity.write_bytes(b"no key")
    assert "cannot be read as a key. It is kept beside" in asked(here, made, new)
    here("identity", "passphrase", **NEW)
    shutil.copy(home.identity, tmp_path / "key")
    assert "Its key is protected by a passphrase." in asked(here, tmp_path / "key", new)


@pytest.mark.parametrize("folder", ["", "."])
def test_a_folder_is_refused_as_the_file_of_a_backup(here: Run, home: Home, folder: str) -> None:
    done = here("identity", "backup", folder)
    assert (done.returncode, done.stderr.partition("\n")[0]) == (ExitCode.FAILURE, "Error: . is a folder.")


def test_a_home_in_use_keeps_its_key(here: Run, home: Home, tmp_path: Path) -> None:
    key = home.identity.read_bytes()
    with closing(Store(home.store)):
        here("identity", "backup", str(tmp_path / "backup"))
        for command in (("new", "--yes"), ("restore", str(tmp_path / "backup"), "--yes"), ("passphrase",)):
            done = here("identity", *command, **NEW)
            assert (done.returncode, "in use" in done.stderr) == (ExitCode.FAILURE, True)
    assert home.identity.read_bytes() == key


@pytest.mark.parametrize("content", [b"", b"\x1b[2J", b"SQLite format 3\0" + bytes(4096)])
def test_a_file_that_is_not_a_backup_is_refused(here: Run, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "file").write_bytes(content)
    done = here("identity", "restore", str(tmp_path / "file"), "--yes")
    assert done.returncode == ExitCode.FAILURE
    assert "Nothing was changed." in done.stderr
    assert not Home(tmp_path / "home").identity.exists()


if sys.platform != "win32":
    from tests.cli.screen import Terminal

    def test_at_a_terminal_the_passphrase_is_asked_for_and_not_echoed(home: Home) -> None:
        with Terminal(home.path, "identity", "passphrase") as terminal:
            for asked in ("New passphrase:", "Once more:"):
                terminal.until(asked)
                terminal.type("correct horse\r")
            assert terminal.end() == ExitCode.DONE
            assert "horse" not in terminal.shown()
        with Terminal(home.path, "identity") as terminal:
            terminal.until("Passphrase of")
            terminal.type("wrong\r")
            terminal.until("Try again.")
            # The program discards what is typed before its question.
            terminal.wait_for(lambda: terminal.shown().count("Passphrase of") == 2, "the second question")
            terminal.type("correct horse\r")
            assert terminal.end() == ExitCode.DONE
            assert OWNER.fingerprint in terminal.shown()

    def test_a_new_key_that_is_not_confirmed_is_not_made(home: Home) -> None:
        key = home.identity.read_bytes()
        with Terminal(home.path, "identity", "new") as terminal:
            terminal.until("Make a new key? [y/N]")
            assert "somebody new" in terminal.shown()
            terminal.type("\r")
            assert terminal.end() == ExitCode.DONE
        assert home.identity.read_bytes() == key
