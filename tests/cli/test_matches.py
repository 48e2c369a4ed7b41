"""``p2pdice matches``: matches are listed, saved and forgotten, but not forgotten while the home is in use."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import date, datetime
from pathlib import Path

import pytest

from cli.exits import ExitCode
from cli.front import build
from cli.settings import Settings
from cli.text.match_list import listed
from p2pdice.rulesets import PRESETS
from protocol.consensus.transcript import TRANSCRIPT_TAG
from protocol.crypto.keys import Identity, MatchKey, fingerprint
from protocol.files import write_whole
from protocol.storage import archive
from protocol.storage.archive import transcript_of
from protocol.storage.home import Home
from protocol.storage.store import StoredMatch
from protocol.wire.canonical import encode
from protocol.wire.genesis import Genesis, match_id
from protocol.wire.names import ruleset_label
from tests.cli.conftest import Run
from tests.protocol.test_archive import stored
from tests.simulation.world import IDENTITIES, UNHURRIED, World, genesis, identity_of, join_record

CLASSIC = PRESETS["classic"].with_options({"dice": "1"})


@pytest.fixture
def match(tmp_path: Path) -> str:
    """Put an unfinished match, which waits for a move, into the home of the commands; return its id."""
    world = World(CLASSIC, 2, 3)
    while not any(machine.turn for machine in world.machines):
        assert world.step()
    with stored(tmp_path / "home", world, 0, table="Friday \u202e../") as (_, match):
        return match.match.hex()


def test_an_empty_home_lists_no_matches_and_is_not_created(here: Run, tmp_path: Path) -> None:
    assert here("matches").stdout == "No match is kept here.\n"
    assert json.loads(here("matches", "--json").stdout) == {"matches": []}
    for command in ("save", "forget"):
        done = here("matches", command, "last")
        assert done.returncode == ExitCode.FAILURE
        assert "No match is kept in" in done.stderr
    assert not (tmp_path / "home").exists()


def test_matches_are_listed_as_resume_lists_them(here: Run, match: str) -> None:
    done = here("matches")
    assert done.stdout == here("resume", "--list").stdout == here("matches", "list").stdout
    name = f"{date.fromtimestamp(0)}-friday"
    time = f"{datetime.fromtimestamp(0):%H:%M}"
    assert done.stdout.splitlines() == [
        f"{name}  unfinished  {time}  {ruleset_label(CLASSIC)}: player 0 (you) and player 1",
        f"Return to: p2pdice resume {name}",
    ]
    data = here("matches", "--json").stdout
    assert data == here("resume", "--list", "--json").stdout == here("matches", "list", "--json").stdout
    (listed,) = json.loads(data)["matches"]
    assert (listed["match"], listed["state"], listed["transcript"]) == (match, "unfinished", None)
    assert (listed["name"], listed["table"], listed["winners"]) == (name, "Friday \u202e../", [])


def kept(home: Home, seed: int, *, formed: bool, over: bool, table: str = "") -> str:
    """Put a match into a home; return its id."""
    store = archive.open_store(home)
    data = genesis(CLASSIC, 2, seed.to_bytes(4, "big"))[0].encoded()
    key = MatchKey(bytes([seed]) * 32).public
    store.add_seed(key, bytes([seed]) * 32)
    store.add_match(match_id(data), data, key, created=0, port=0, table=table)
    if formed:
        store.mark_formed(match_id(data))
    if over:
        store.mark_over(match_id(data), (1,))
    store.close()
    return match_id(data).hex()


def test_lists_check_no_signatures_but_other_commands_do(here: Run, tmp_path: Path) -> None:
    """Checking the signatures took most of the time for a long list."""
    made, seeds = genesis(CLASSIC, 2, b"unsigned")
    data = made._replace(roster=tuple(each._replace(match_signature=bytes(64)) for each in made.roster)).encoded()
    home = Home(tmp_path / "home")
    write_whole(home.matches / "watched.p2pdice", encode((TRANSCRIPT_TAG, data)))
    for command in ("matches", "history"):
        assert f"{ruleset_label(CLASSIC)}: player 0 and player 1" in here(command).stdout
    assert here("verify", "watched").returncode == here("replay", "watched").returncode == ExitCode.ALTERED
    IDENTITIES[made.roster[0].join.identity].save(home.identity)
    with closing(archive.open_store(home)) as store:
        store.add_seed(made.roster[0].join.match_key, seeds[0])
        store.add_match(match_id(data), data, made.roster[0].join.match_key, created=0, port=0, table="Friday")
        store.mark_formed(match_id(data))
    assert "unfinished" in here("resume", "--list").stdout
    for words in (("matches", "save", "last"), ("resume", "last")):
        assert "a signature of a player's entry is wrong" in here(*words).stderr


def test_unfinished_matches_are_listed_first_and_newest_first(here: Run, tmp_path: Path) -> None:
    """The proposal is outdated, because a later match was formed."""
    home = Home(tmp_path / "home")
    states = {"finished": (True, True), "unfinished": (True, False), "proposed": (False, False)}
    order = ["finished", "unfinished", "proposed", "unfinished", "finished"]
    ids = [kept(home, seed, formed=states[each][0], over=states[each][1]) for seed, each in enumerate(order, 5)]
    listed = [(each["match"], each["state"]) for each in json.loads(here("matches", "--json").stdout)["matches"]]
    assert listed == [(ids[place], order[place]) for place in (3, 2, 1, 4, 0)]
    lines = here("matches").stdout.splitlines()
    day = date.fromtimestamp(0)
    names = [f"{day}-house-rules-{n}" if n > 1 else f"{day}-house-rules" for n in (3, 2, 4, 1)]
    names.insert(1, ids[2][:8])
    assert [line.split()[:2] for line in lines[:5]] == [
        [name, state] for name, (_, state) in zip(names, listed, strict=True)
    ]
    assert lines[5:] == [
        f"Return to: p2pdice resume {names[0]}",
        f"First:     p2pdice matches save {names[3]}",
        f"See again: p2pdice replay {names[3]}",
        f"Verify:    p2pdice verify {names[3]}",
    ]
    assert all(re.search(r": player [01] and player [01]; player [01] won$", line) for line in lines[3:5])
    assert max(map(len, lines)) <= 120


def test_an_outdated_proposal_cannot_be_resumed(here: Run, tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    proposed = kept(home, 1, formed=False, over=False)
    assert here("matches").stdout.splitlines()[1:] == [f"Return to: p2pdice resume {proposed[:8]}"]
    kept(home, 2, formed=True, over=True)
    done = here("matches").stdout
    assert f"{proposed[:8]}  " in done
    assert "resume" not in done
    assert here("resume", "--list").stdout == "There is no unfinished match here.\n"
    assert "There is no unfinished match here." in here("resume").stderr


def test_a_watched_or_forgotten_match_is_listed_while_its_transcript_exists(
    here: Run, match: str, tmp_path: Path
) -> None:
    """A spectator has only transcripts."""
    here("matches", "save", "last")
    here("matches", "forget", "last", "--yes")
    name = f"{date.fromtimestamp(0)}-house-rules-{match[:8]}"
    done = here("matches")
    assert done.stdout.splitlines() == [
        f"{name}  transcript  {ruleset_label(CLASSIC)}: player 0 (you) and player 1",
        f"See again: p2pdice replay {name}",
        f"Verify:    p2pdice verify {name}",
    ]
    assert here("verify", name).returncode == ExitCode.INCOMPLETE
    (told,) = json.loads(here("matches", "--json").stdout)["matches"]
    assert (told["name"], told["state"], told["begun"], told["match"]) == (name, "transcript", None, match)
    assert here("resume", "--list").stdout == "There is no unfinished match here.\n"
    Path(told["transcript"]).rename(tmp_path / "home" / "matches" / "\x1b[2J --yes.p2pdice")
    assert here("matches").stdout.splitlines()[1] == f"See again: p2pdice replay {match[:8]}"


def test_the_owner_of_a_key_with_a_passphrase_is_marked_in_a_forgotten_match(here: Run, tmp_path: Path) -> None:
    """The key cannot be read without the passphrase, but another match shows whose it is."""
    home = Home(tmp_path / "home")
    sitting = [(identity_of(b"owner", number), None) for number in range(2)]
    forgotten, _ = genesis(CLASSIC, 2, b"forgotten", sitting=sitting)
    write_whole(home.matches / "forgotten.p2pdice", encode((TRANSCRIPT_TAG, forgotten.encoded())))
    kept, seeds = genesis(CLASSIC, 2, b"kept", sitting=sitting)
    me = kept.roster[0].join
    IDENTITIES[me.identity].save(home.identity, "secret")
    with closing(archive.open_store(home)) as store:
        store.add_seed(me.match_key, seeds[0])
        store.add_match(match_id(kept.encoded()), kept.encoded(), me.match_key, created=0, port=0)
        store.mark_formed(match_id(kept.encoded()))
    for command in ("matches", "history"):
        (line,) = (line for line in here(command).stdout.splitlines() if "  transcript  " in line)
        assert f"{me.nickname} (you)" in line


def test_a_missing_transcript_of_a_finished_match_can_be_written_again(here: Run, tmp_path: Path) -> None:
    """For example after a backup was restored, which contains no transcripts."""
    world = World(CLASSIC, 2, 3)
    world.run()
    with stored(tmp_path / "home", world, 0, table="Friday") as (store, match):
        store.mark_over(match.match, (0,))
        name = match.name
    for command in ("verify", "replay", "report"):
        what, *choice = here(command, "last").stderr.splitlines()
        assert what == "Error: The transcript of the last match is not here."
        assert choice == ["Write it again:", f"    p2pdice matches save {name}"]
    commands = [line.partition("p2pdice ")[2] for line in here("matches").stdout.splitlines()[1:]]
    assert commands == [f"matches save {name}", f"replay {name}", f"verify {name}"]
    for command in commands:
        assert here(*command.split()).returncode == 0
    assert "matches save" not in here("matches").stdout


@pytest.mark.parametrize("has_passphrase", [False, True])
def test_a_match_with_a_replaced_key_needs_the_old_key(
    here: Run, match: str, tmp_path: Path, has_passphrase: bool
) -> None:
    home = Home(tmp_path / "home")
    if has_passphrase:
        here("identity", "passphrase", P2PDICE_NEW_PASSPHRASE="secret")
    begun = Identity.load(home.identity, "secret" if has_passphrase else None).fingerprint
    here("identity", "new", "--yes", P2PDICE_PASSPHRASE="secret")
    for command in (("matches",), ("resume", "--list")):
        (line,) = here(*command).stdout.splitlines()
        assert line.endswith(f"; begun with another key, {begun}")
    (told,) = json.loads(here("matches", "--json").stdout)["matches"]
    assert told["other_key"] == begun
    failed = here("resume").stderr.splitlines()
    assert failed[1] == "Only its owner can return."
    meaning = "Go back to the key in identity.key.old-1, if it is that one" if has_passphrase else "Go back to that key"
    assert failed[2:] == [f"{meaning}:", f"    p2pdice identity restore {home.path / 'identity.key.old-1'}"]
    assert here(*shlex.split(failed[3])[1:], "--yes").returncode == 0
    if not has_passphrase:
        assert here("matches").stdout.splitlines()[1].startswith("Return to: p2pdice resume ")


def test_listed_names_need_no_quoting(here: Run, tmp_path: Path) -> None:
    for seed, table in enumerate(
        ["Friday", "friday", "; rm -rf ~", "\u91d1\u66dc\u65e5", "x" * 40, "--yes", "$(reboot)"]
    ):
        kept(Home(tmp_path / "home"), seed, formed=True, over=True, table=table)
    lines = [line.split() for line in here("matches").stdout.splitlines() if "finished" in line]
    assert len(lines) == 7
    with archive_of(tmp_path) as matches:
        for typed in (words[0] for words in lines):
            assert shlex.quote(typed) == typed
            assert len(f"    p2pdice matches forget {typed} --yes") <= 80
        assert {archive.find(matches, name) for name, *_ in lines} == {*matches}


def test_listed_commands_name_the_home_if_it_was_named(here: Run, match: str, tmp_path: Path) -> None:
    home = str(tmp_path / "home")
    shown = here("matches", "--home", home, P2PDICE_HOME=str(tmp_path / "other")).stdout.splitlines()[-1]
    assert shown.endswith(f"-friday --home {home}")
    saved = here("matches", "save", "last", "--home", home, P2PDICE_HOME=str(tmp_path / "other")).stdout.splitlines()
    command = saved[-1].split()
    assert (command[:2], command[3:]) == (["p2pdice", "verify"], ["--home", home])
    assert here(*command[1:]).returncode == ExitCode.INCOMPLETE


def test_players_with_the_same_name_are_listed_with_their_keys(match: str, tmp_path: Path) -> None:
    with archive_of(tmp_path) as (unfinished,):
        roster = sorted(
            (join_record(b"alike", n, nickname="Cy") for n in range(2)), key=lambda each: each.join.identity
        )
        alike = Genesis(roster[0].join.table, CLASSIC, UNHURRIED, tuple(roster))
        changed = [unfinished._replace(genesis=alike.encoded())]
        shown = listed(Home(tmp_path / "home"), changed, changed)[0].line()
    keys = [fingerprint(each.join.identity)[:4] for each in roster]
    assert shown.endswith(f": Cy [{keys[0]}] and Cy [{keys[1]}]")


@pytest.mark.parametrize("name", ["last", "id", "table"])
def test_an_unfinished_match_can_be_saved_and_is_judged_incomplete(
    here: Run, match: str, tmp_path: Path, name: str
) -> None:
    table = f"{date.fromtimestamp(0)}-friday"
    done = here("matches", "save", {"last": "last", "id": match[:6].upper(), "table": table}[name])
    path = tmp_path / "home" / "matches" / f"{date.fromtimestamp(0)}-house-rules-{match[:8]}.p2pdice"
    assert done.stdout == f"The transcript of {table} is {path}\nVerify it with:\n    p2pdice verify {table}\n"
    verdict = here("verify", "--json", table)
    assert verdict.returncode == ExitCode.INCOMPLETE
    data = json.loads(verdict.stdout)
    assert "the file ends in round 1, waiting for player " in data["reason"]
    assert len(data["awaited"]) == 1
    assert json.loads(here("matches", "--json").stdout)["matches"][0]["transcript"] == str(path)


def test_saving_neither_overwrites_a_file_nor_creates_a_folder(here: Run, match: str, tmp_path: Path) -> None:
    new, old, missing = tmp_path / "new.p2pdice", tmp_path / "old.p2pdice", tmp_path / "missing"
    old.write_bytes(b"mine")
    assert here("matches", "save", match, "-o", str(new)).returncode == 0
    assert here("verify", str(new)).returncode == ExitCode.INCOMPLETE
    done = here("matches", "save", match, "-o", str(old))
    assert (done.returncode, old.read_bytes()) == (ExitCode.FAILURE, b"mine")
    assert "exists already" in done.stderr
    done = here("matches", "save", match, "-o", str(missing / "one.p2pdice"))
    assert done.returncode == ExitCode.FAILURE
    assert done.stderr.startswith(f"Error: There is no folder {missing}.")
    assert not missing.exists()


def test_a_finished_match_cannot_be_resumed(here: Run, tmp_path: Path) -> None:
    world = World(CLASSIC, 2, 3)
    world.run()
    with stored(tmp_path / "home", world, 0, table="Friday") as (store, ended):
        store.mark_over(ended.match, (0,))
    name = f"{date.fromtimestamp(0)}-friday"
    done = here("resume", ended.match.hex()[:8])
    assert done.returncode == ExitCode.FAILURE
    assert done.stderr.splitlines() == [
        f"Error: {name} is over; you won.",
        "See it again:",
        f"    p2pdice replay {name}",
        "Verify it:",
        f"    p2pdice verify {name}",
    ]


def test_forgetting_needs_confirmation_and_keeps_transcripts(here: Run, match: str, tmp_path: Path) -> None:
    here("matches", "save", match)
    asked = here("matches", "forget", match[:8], given="y\n")
    assert asked.returncode == ExitCode.USAGE
    assert "--yes" in asked.stderr
    assert "-friday  unfinished" in here("matches").stdout
    done = here("matches", "forget", match[:8], "--yes")
    path = transcript_of(Home(tmp_path / "home"), bytes.fromhex(match))
    assert path is not None
    assert (
        done.stdout == f"{date.fromtimestamp(0)}-friday is forgotten.\n"
        f"One file about it stays. Delete it if you want no trace of it:\n    {path}\n"
    )
    assert path.exists()
    path.unlink()
    assert here("matches").stdout == "No match is kept here.\n"
    assert here("resume").returncode == ExitCode.FAILURE


def test_while_the_home_is_in_use_matches_can_be_read_but_not_forgotten(here: Run, tmp_path: Path) -> None:
    world = World(CLASSIC, 2, 2)
    with stored(tmp_path / "home", world, 0, table="Friday") as (store, kept):
        for command in (("matches",), ("resume", "--list"), ("matches", "save", "last")):
            done = here(*command)
            assert (kept.name in done.stdout, done.stderr) == (True, "")
        assert here("verify", kept.name).returncode == ExitCode.INCOMPLETE
        done = here("matches", "forget", "last", "--yes")
        assert here("resume").stderr.startswith(f"Error: {tmp_path / 'home'} is in use by another p2pdice.")
        assert len(store.matches()) == 1
        assert {path.name for path in (tmp_path / "home").iterdir() if path.is_dir()} <= {"matches"}
    assert done.returncode == ExitCode.FAILURE
    assert "is in use by another p2pdice" in done.stderr
    assert "First quit the match that is using this home" in done.stderr
    assert done.stdout == ""


def test_an_option_of_the_list_is_refused_with_a_subcommand(here: Run) -> None:
    done = here("matches", "--json", "save", "last")
    assert done.returncode == ExitCode.USAGE
    told = " ".join(done.stderr.replace("│", " ").split())
    assert "it does not go with a subcommand. Perhaps: p2pdice matches list --json" in told


def test_help_shows_the_whole_summary_of_each_subcommand(here: Run) -> None:
    told = here("matches", "--help", COLUMNS="80").stdout
    assert "…" not in told
    assert "..." not in told.partition("Commands")[2]


def test_an_unknown_match_name_is_reported(here: Run, match: str) -> None:
    other = "f" if match[0] != "f" else "e"
    done = here("matches", "forget", other, "--yes")
    assert done.returncode == ExitCode.FAILURE
    assert f"No match here is called {other}." in done.stderr
    assert "p2pdice matches" in done.stderr


@pytest.mark.parametrize("answer", ["y", "YES ", "n", "", None])
def test_at_a_terminal_forgetting_asks_for_confirmation(
    match: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], answer: str | None
) -> None:
    def answered(question: str) -> str:
        assert question == "Forget it? [y/N] "
        if answer is None:
            raise EOFError
        return answer

    monkeypatch.setattr("cli.output.is_interactive", lambda: True)
    monkeypatch.setattr("builtins.input", answered)
    monkeypatch.setenv("P2PDICE_HOME", str(tmp_path / "home"))
    is_yes = answer in ("y", "YES ")
    build().main(["matches", "forget", match[:6]], prog_name="p2pdice", obj=Settings(), standalone_mode=False)
    with archive_of(tmp_path) as kept:
        assert bool(kept) is not is_yes
    told = capsys.readouterr().out
    assert "If you forget it, you cannot return" in told
    assert ("Nothing was changed." in told) is not is_yes


@contextmanager
def archive_of(folder: Path) -> Iterator[tuple[StoredMatch, ...]]:
    store = archive.open_store(Home(folder / "home"))
    yield store.matches()
    store.close()
