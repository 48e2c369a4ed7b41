"""``p2pdice people``, and warnings of tables and ``verify`` about keys and names that do not match."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from cli.exits import ExitCode
from cli.table.picture import picture
from cli.table.scene import Scene
from cli.table.theme import Theme
from cli.text.narrate import unfamiliar
from p2pdice.rulesets import PRESETS
from protocol.consensus.transcript import write_transcript
from protocol.crypto.keys import Identity, MatchKey, fingerprint
from protocol.crypto.words import fingerprint_words
from protocol.events import LobbyChanged, PlayerInfo, Recognised, SeatAsked, Unfamiliar
from protocol.files import write_whole
from protocol.match.lobby import TableSettings
from protocol.storage import archive
from protocol.storage.database import DamagedStoreError
from protocol.storage.home import Home
from protocol.storage.people import Mismatch
from protocol.storage.store import Store
from protocol.wire.genesis import Genesis, Join, Patience, make_join_record, match_id
from tests.cli.conftest import Run
from tests.cli.paper import on_paper
from tests.cli.seat import seated
from tests.network.company import CLASSIC, Company
from tests.simulation.world import World, join_record
from tests.tiers import thoroughly
from tests.waiting import until

if sys.platform != "win32":
    from tests.cli.screen import Terminal

NOON = 1_700_000_000
OWN, ADA, EVE = (Identity(Ed25519PrivateKey.from_private_bytes(bytes([each]) * 32)) for each in range(3))


def meet(home: Home, number: int, *others: tuple[Identity, str]) -> None:
    """Store a match that the owner of the home has played with others."""
    table = join_record(b"people", 0).join.table
    seeds = {identity.public: bytes([number, place]) * 16 for place, (identity, _) in enumerate([(OWN, ""), *others])}
    records = [
        make_join_record(
            Join(
                table,
                identity.public,
                MatchKey(seeds[identity.public]).public,
                name,
                (),
                bytes([number]) * 32,
                "redeemed",
            ),
            identity,
            MatchKey(seeds[identity.public]),
        )
        for identity, name in [(OWN, "Me"), *others]
    ]
    roster = tuple(sorted(records, key=lambda record: record.join.identity))
    data = Genesis(table, PRESETS["classic"], Patience(), roster).encoded()
    with closing(Store(home.store)) as store:
        own = MatchKey(seeds[OWN.public]).public
        store.add_seed(own, seeds[OWN.public])
        store.add_match(match_id(data), data, own, NOON + number, 7000)
        store.mark_formed(match_id(data))
        store.mark_formed(match_id(data))  # a second time, as after a restart: the meeting counts once


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """The home of the commands. Its owner has met Ada twice, once as Addie; another Ada; and a bot."""
    made = Home(tmp_path / "home")
    meet(made, 1, (ADA, "Addie"))
    meet(made, 2, (ADA, "Ada"), (Identity.generate(), "Ben (bot)"))
    meet(made, 3, (EVE, "\u0410da"))  # begins with a Cyrillic letter
    OWN.save(made.identity)
    return made


def listed(here: Run) -> dict[str, dict[str, object]]:
    return {each["fingerprint"]: each for each in json.loads(here("people", "--json").stdout)["people"]}


def test_people_are_listed_without_bots_and_oneself(here: Run, home: Home) -> None:
    found = listed(here)
    assert set(found) == {ADA.fingerprint, EVE.fingerprint}
    ada = found[ADA.fingerprint]
    assert (ada["name"], ada["matches"], ada["trusted"]) == ("Ada", 2, False)
    assert [(each["name"], each["matches"]) for each in ada["names"]] == [("Ada", 1), ("Addie", 1)]  # type: ignore[attr-defined]
    lines = here("people").stdout.splitlines()
    assert lines[1::2] == [f"    {fingerprint_words(each.fingerprint)}" for each in (EVE, ADA)]
    assert lines[0].startswith(EVE.fingerprint), "the person met last comes first"
    assert lines[2].startswith(f"{ADA.fingerprint}  Ada, Addie  two matches, last on 2023-11-1")


def test_a_new_home_lists_no_people(here: Run, tmp_path: Path) -> None:
    assert here("people").stdout == "You have met nobody yet; bots are not listed.\n"
    assert not Home(tmp_path / "home").store.exists()


def test_a_home_with_transcripts_but_no_store_says_that_the_people_are_lost(here: Run, tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    world = World(PRESETS["classic"], 2, 1)
    write_whole(home.matches / "classic.p2pdice", write_transcript(world.machines[0].match.history))
    told = here("people").stdout
    assert "store.sqlite3 is missing, and with it the list of the people you have met." in told
    assert "If you have a backup, it brings them back:\n    p2pdice identity restore FILE" in told


def test_only_successful_trust_creates_a_store(here: Run, tmp_path: Path) -> None:
    for command in (("trust", "Ada"), ("untrust", "Ada"), ("untrust", ADA.fingerprint)):
        assert here("people", *command).returncode != ExitCode.DONE
        assert not (tmp_path / "home").exists()
    assert here("people", "trust", ADA.fingerprint).returncode == ExitCode.DONE
    assert Home(tmp_path / "home").store.exists()


@pytest.mark.parametrize(
    "who", [ADA.fingerprint, ADA.fingerprint.lower(), ADA.fingerprint[:9], "addie", fingerprint_words(ADA.fingerprint)]
)
def test_a_person_can_be_trusted_by_name_fingerprint_or_words(here: Run, home: Home, who: str) -> None:
    assert here("people", "trust", *who.split()).returncode == ExitCode.DONE
    assert [key for key, each in listed(here).items() if each["trusted"]] == [ADA.fingerprint]
    assert "TRUSTED" in here("people").stdout
    assert here("people", "untrust", who).returncode == ExitCode.DONE
    assert not any(each["trusted"] for each in listed(here).values())


def test_a_name_used_by_two_people_is_ambiguous(here: Run, home: Home) -> None:
    done = here("people", "trust", "Ada")
    assert done.returncode == ExitCode.USAGE
    assert ADA.fingerprint in done.stderr
    assert EVE.fingerprint in done.stderr
    assert here("people", "trust", "Zoe").returncode == ExitCode.USAGE


def test_a_short_word_is_never_taken_for_a_fingerprint(here: Run, home: Home) -> None:
    """Otherwise an attacker could make a key whose fingerprint begins like the name."""
    for length in range(1, 9):
        done = here("people", "trust", ADA.fingerprint[:length])
        assert done.returncode == ExitCode.USAGE
        assert "You have met nobody called" in done.stderr
    assert not any(each["trusted"] for each in listed(here).values())


LETTERS, WORDS = ADA.fingerprint, fingerprint_words(ADA.fingerprint)
FIRST_WORD = WORDS.split()[0]


@pytest.mark.parametrize(
    ("who", "problem"),
    [
        (LETTERS[:-1] + "23"[LETTERS[-1] == "2"], "The fingerprint has a typing error: its check character"),
        (LETTERS[:-1].replace("-", "") + "23"[LETTERS[-1] == "2"], "The fingerprint has a typing error"),
        (LETTERS[1:], "A fingerprint has 20 letters and digits 2-7, or nine words."),
        (WORDS.replace(FIRST_WORD, "tigger"), "No fingerprint has the word tigger: did you mean trigger or tiger?"),
        (" ".join(reversed(WORDS.split())), "These are not the words of a fingerprint: one is wrong"),
        (WORDS.removeprefix(FIRST_WORD).strip(), "A fingerprint has 20 letters and digits 2-7, or nine words."),
        ("Bartholomew the Great", "A fingerprint has 20 letters"),
        ("Bartholomewthegreats", "You have met nobody called Bartholomewthegreats."),
    ],
)
def test_a_wrong_fingerprint_is_refused_with_the_reason(here: Run, home: Home, who: str, problem: str) -> None:
    done = here("people", "trust", who)
    assert done.returncode == ExitCode.USAGE
    assert f"Error: {problem}" in " ".join(done.stderr.split())


@pytest.mark.parametrize("length", [9, 14, 19])
def test_a_name_that_looks_like_a_fingerprint_is_ambiguous(here: Run, home: Home, length: int) -> None:
    """A nickname has at most 20 characters, so it can look like up to four groups of a fingerprint."""
    meet(home, 4, (EVE, ADA.fingerprint[:length]))
    done = here("people", "trust", ADA.fingerprint[:length])
    assert done.returncode == ExitCode.USAGE
    assert f"{ADA.fingerprint[:length]} fits two people." in done.stderr
    assert not any(each["trusted"] for each in listed(here).values())


def test_a_person_is_trusted_by_the_name_that_was_typed(here: Run, home: Home) -> None:
    """The person chose the name that they used last, and it is another one."""
    said = here("people", "trust", "addie").stdout
    assert "You trust Addie's key." in said
    assert ADA.fingerprint in said
    assert listed(here)[ADA.fingerprint]["name"] == "Addie"
    assert "You trust Addie's key." in here("people", "trust", ADA.fingerprint).stdout


@pytest.mark.parametrize("who", ["", " "])
def test_an_empty_name_is_refused(here: Run, home: Home, who: str) -> None:
    done = here("people", "trust", who)
    assert done.returncode == ExitCode.USAGE
    assert "it is empty" in done.stderr


def test_a_person_can_be_trusted_before_a_meeting(here: Run, home: Home) -> None:
    key = fingerprint(bytes(range(32)))
    here("people", "trust", key)
    assert listed(here)[key]["trusted"] is True


def test_forgetting_a_match_forgets_its_players_unless_trusted(here: Run, home: Home) -> None:
    here("people", "trust", "addie")
    for match in json.loads(here("matches", "--json").stdout)["matches"]:
        here("matches", "forget", match["match"], "--yes")
    assert set(listed(here)) == {ADA.fingerprint}


@pytest.mark.parametrize("between", ["", " ", ":", "-"])
def test_the_groups_of_a_fingerprint_may_have_any_separator(here: Run, home: Home, between: str) -> None:
    here("people", "trust", ADA.fingerprint.replace("-", between))
    assert listed(here)[ADA.fingerprint]["trusted"] is True


def test_ones_own_key_cannot_be_trusted(here: Run, home: Home) -> None:
    own = json.loads(here("identity", "--json").stdout)["fingerprint"]
    done = here("people", "trust", own)
    assert done.returncode == ExitCode.USAGE
    assert "That is your own key." in done.stderr
    assert own not in listed(here)


def test_at_most_three_namesakes_are_named_trusted_ones_first(home: Home) -> None:
    others = [Identity(Ed25519PrivateKey.from_private_bytes(bytes([each]) * 32)) for each in range(10, 15)]
    for number, each in enumerate(others[1:], 4):
        meet(home, number, (each, "Zoe"))
    with closing(Store(home.store)) as store:
        store.people.trust(others[0].fingerprint, "Zoe", 1)
        told = store.people.mismatch(EVE.fingerprint, "Zoe").namesakes
    assert [each.fingerprint for each in told] == [others[place].fingerprint for place in (0, 4, 3)]


def test_a_trusted_name_is_protected_even_from_earlier_users(home: Home) -> None:
    """Regression test: there was no warning if the other player had used that name before."""
    meet(home, 4, (ADA, "Zoe"))
    meet(home, 5, (EVE, "Zoe"))
    with closing(Store(home.store)) as store:
        assert not store.people.mismatch(EVE.fingerprint, "Zoe").namesakes
        store.people.trust(ADA.fingerprint, "Zoe", NOON)
        (other,) = store.people.mismatch(EVE.fingerprint, "Zoe").namesakes
        assert other.fingerprint == ADA.fingerprint
        assert store.people.mismatch(ADA.fingerprint, "Zoe") == Mismatch()
        store.people.trust(EVE.fingerprint, "Zoe", NOON)
        assert store.people.mismatch(EVE.fingerprint, "Zoe") == Mismatch()


@pytest.mark.parametrize(
    ("trusted", "name", "is_namesake"),
    [
        *(("Ada", name, True) for name in ("аԁа", "ᴀᴅᴀ", "ꓮꓓꓮ", "Adɑ", "ᎪᎠᎪ", "Ađa")),
        ("🎲", "🦊", False),
        ("🎲", "🎲", True),
    ],
)
def test_names_that_look_alike_are_namesakes(home: Home, trusted: str, name: str, is_namesake: bool) -> None:
    with closing(Store(home.store)) as store:
        store.people.trust(ADA.fingerprint, trusted, NOON)
        assert bool(store.people.mismatch(EVE.fingerprint, name).namesakes) is is_namesake


def test_neither_bots_nor_players_of_the_judged_match_count_as_namesakes(home: Home) -> None:
    meet(home, 4, (ADA, "Zoe"))
    with closing(Store(home.store)) as store:
        newest = store.matches()[0].match
        store.people.trust(ADA.fingerprint, "Ada (bot)", NOON)
        assert store.people.mismatch(EVE.fingerprint, "Zoe").namesakes
        assert not store.people.mismatch(EVE.fingerprint, "Zoe", newest).namesakes
        assert not store.people.mismatch(EVE.fingerprint, "Ada (bot)").namesakes


def other(number: int) -> Identity:
    return Identity(Ed25519PrivateKey.from_private_bytes(bytes([number]) * 32))


@pytest.mark.parametrize("name", ["Ada", "\u0410da", "ADA", "ada"])
def test_a_name_like_that_of_a_known_person_has_namesakes(home: Home, name: str) -> None:
    """A reader may take a Cyrillic letter for a Latin one."""
    with closing(Store(home.store)) as store:
        told = store.people.mismatch(other(10).fingerprint, name).namesakes
    assert {each.fingerprint for each in told} == {ADA.fingerprint, EVE.fingerprint}


def test_names_are_ordered_by_last_use(home: Home) -> None:
    """The first name is shown, because it is the current one."""
    meet(home, 4, (ADA, "Addie"))
    meet(home, 5, (ADA, "Zoe"))
    with closing(Store(home.store)) as store:
        person = store.people.person(ADA.fingerprint)
        assert store.people.everybody()[0] == person
    assert [(each.name, each.matches, each.met - NOON) for each in person.names] == [
        ("Zoe", 1, 5),
        ("Addie", 2, 4),
        ("Ada", 1, 2),
    ]
    assert (person.name, person.met) == ("Zoe", NOON + 5)


def test_namesakes_are_ordered_by_last_meeting(home: Home) -> None:
    """A person who was met long ago and again yesterday comes before one who was met last week."""
    for number, each in enumerate((10, 11, 12, 13, 10), 4):
        meet(home, number, (other(each), "Zoe"))
    with closing(Store(home.store)) as store:
        told = store.people.mismatch(EVE.fingerprint, "Zoe").namesakes
    assert [each.fingerprint for each in told] == [other(number).fingerprint for number in (10, 13, 12)]


def test_the_figures_of_namesakes_exclude_the_judged_match(home: Home) -> None:
    """Otherwise the match itself would count as an earlier meeting."""
    meet(home, 4, (ADA, "Zoe"))
    meet(home, 5, (ADA, "Anna"), (EVE, "Zoe"))
    with closing(Store(home.store)) as store:
        judged = store.matches()[0].match
        (ada,) = store.people.mismatch(EVE.fingerprint, "Zoe", judged).namesakes
    assert (ada.fingerprint, ada.name, ada.matches, ada.met) == (ADA.fingerprint, "Zoe", 3, NOON + 4)


def test_a_person_trusted_without_a_name_has_the_last_used_name(home: Home) -> None:
    """An empty name would identify nobody."""
    with closing(Store(home.store)) as store:
        for each in (ADA, other(10)):
            store.people.trust(each.fingerprint, "", NOON)
        ada, unmet = (store.people.person(each.fingerprint) for each in (ADA, other(10)))
        assert ada in store.people.everybody()
    assert (ada.is_trusted, ada.name) == (True, "Ada")
    assert (unmet.is_trusted, unmet.name) == (True, "")


@pytest.mark.parametrize("table", ["meetings", "trusted"])
@pytest.mark.parametrize(
    "change",
    [str.lower, lambda key: key.replace("-", ""), lambda key: key[:-1]],
    ids=["small letters", "no hyphens", "cut"],
)
def test_a_stored_fingerprint_in_another_form_is_damage(home: Home, table: str, change: Callable[[str], str]) -> None:
    """Otherwise a key in two forms would be two people, and a table would not recognise a trusted key."""
    with closing(Store(home.store)) as store:
        store.people.trust(EVE.fingerprint, "Ada", NOON)
        with store.database.transaction() as database:
            for old in (EVE.fingerprint, ADA.fingerprint):
                database.execute(f"UPDATE {table} SET fingerprint = ? WHERE fingerprint = ?", (change(old), old))
        with pytest.raises(DamagedStoreError, match="a fingerprint is invalid"):
            store.people.everybody()
        with pytest.raises(DamagedStoreError, match="a fingerprint is invalid"):
            store.people.mismatch(other(10).fingerprint, "Ada")


def test_verify_reports_changed_names_and_namesakes(here: Run, demo: dict[str, object], tmp_path: Path) -> None:
    transcript = str(demo["transcripts"][0])  # type: ignore[index]
    verdict = json.loads(here("verify", "--json", transcript).stdout)
    assert verdict["people"] == []
    first, second, third = verdict["fingerprints"][:3]
    name = verdict["players"][2]
    with closing(Store(Home(tmp_path / "home").store)) as store:
        store.people.trust(first, "\x1b[2JBob", NOON)
        store.people.trust(second, verdict["players"][1], NOON)
        store.people.trust(EVE.fingerprint, name, NOON)
    output = here("verify", transcript).stdout
    assert f"{verdict['players'][0]} ({first}) used to be called " in output
    assert "\x1b" not in output
    assert f"{name} ({third}) is not the {name} you trust ({EVE.fingerprint}): compare keys." in output
    people = {each["fingerprint"]: each for each in json.loads(here("verify", "--json", transcript).stdout)["people"]}
    assert people[second]["trusted"] is True
    assert people[second]["known_as"] == people[second]["namesakes"] == []
    assert people[third]["namesakes"] == [{"name": name, "fingerprint": EVE.fingerprint}]


def test_trusted_namesakes_are_told_apart_from_others() -> None:
    new, ada, eve = (PlayerInfo("Ada", key) for key in ("NEW", "TRUSTED", "MET"))
    told = "Ada (NEW) is not the Ada you trust (TRUSTED), nor the Ada you have met (MET): compare keys."
    assert unfamiliar(new, (), (ada, eve), ("TRUSTED",), is_over=True) == told
    assert unfamiliar(new, (), (ada, eve), ("TRUSTED",)).startswith("Ada [NEW] is here. Not the Ada you trust:")
    assert unfamiliar(new, (), (eve,)).endswith("Not the Ada you have met: compare keys before you play.")


async def test_a_player_can_be_trusted_at_the_table(people: Company, tmp_path: Path) -> None:
    """The home is in use, so ``people trust`` in another terminal would be refused."""
    (ada, ben), _ = await people.table(3, ["Ada", "Ben"])
    await ada.until(LobbyChanged, lambda event: len(event.players) == 2)
    table, paper = on_paper(ada.node, home=ada.node.home.path)
    table.take(ada.told(LobbyChanged)[-1])
    table.obey("trust")
    table.obey("trust ben")
    key = ben.node.identity.fingerprint
    assert paper.said[-2] == "Type trust and a name: Ben."
    words = fingerprint_words(key)
    assert f"You trust Ben's key. Ben's laptop must show the same words: {words}\n" in paper.said[-1]
    assert paper.said[-1].endswith(f"\n    p2pdice people untrust {key} --home {ada.node.home.path}")
    with archive.read_store(ada.node.home) as store:
        assert store.people.person(key).trusted_as == "Ben"


async def test_no_bot_can_be_trusted_at_the_table(people: Company) -> None:
    """A bot's key lasts for one evening. If a person has the same name, that person is trusted instead."""
    (ada, bot, _), _ = await people.table(5, ["Ada", "Ben", "Cleo (odds bot)"])
    bots = frozenset({bot.node.identity.fingerprint})
    table, paper = on_paper(ada.node, home=ada.node.home.path, bots=bots)
    await ada.until(LobbyChanged, lambda event: len(event.players) == 3)
    table.take(ada.told(LobbyChanged)[-1])
    for named, bot_name in (("ben", "Ben"), ("cleo", "Cleo (odds bot)")):
        table.obey(f"trust {named}")
        assert paper.said[-1] == f"{bot_name} is a bot: it has another key every evening, so there is nothing to trust."
    assert [each for each in ada.node._store.people.everybody() if each.is_trusted] == []
    person = await people.sit("Cleo")
    await person.node.join(f"127.0.0.1:{ada.node.port}")
    await ada.until(LobbyChanged, lambda event: len(event.players) == 4)
    table.take(ada.told(LobbyChanged)[-1])
    table.obey("trust cleo")
    (trusted,) = [each for each in ada.node._store.people.everybody() if each.is_trusted]
    assert trusted.fingerprint == person.node.identity.fingerprint


async def test_a_lobby_with_motes_shows_ones_own_pledge_and_coins(people: Company) -> None:
    ada = await people.sit("Ada")
    ada.node.pledge = "cursed"
    await ada.node.host(TableSettings("Mischief", PRESETS["motes"], 3))
    table, _ = on_paper(ada.node, home=ada.node.home.path)
    await ada.until(LobbyChanged, lambda event: True)
    for event in ada.events:
        table.take(event)
    assert "pledged to Cursed, 1,000 coins" in picture(table.board, Scene(), 80, 24, Theme()).text()


async def test_a_table_warns_if_key_and_name_do_not_match(people: Company, tmp_path: Path) -> None:
    bens_key = Identity.load_or_create(tmp_path / "ben")[0].fingerprint
    with closing(Store(Home(tmp_path / "ada").store)) as store:
        store.people.trust(bens_key, "Bob", NOON)
        store.people.trust(EVE.fingerprint, "Ben", NOON)
    ada = await people.sit("Ada", home=tmp_path / "ada")
    await ada.node.host(TableSettings("Friday", CLASSIC, 3))
    ben = await people.sit("Ben", home=tmp_path / "ben")
    joining = asyncio.create_task(ben.node.join(f"127.0.0.1:{ada.node.port}"))
    await until(lambda: bool(ada.told(SeatAsked)))
    ada.node.seat(ada.told(SeatAsked)[0].player)
    await joining
    await until(lambda: bool(ada.told(Unfamiliar)))
    ada.node.start_match()
    await until(lambda: ada.node.match is not None and ada.node.match.is_formed)
    (told,) = ada.told(Unfamiliar)
    eve = PlayerInfo("Ben", EVE.fingerprint)
    assert told == Unfamiliar(PlayerInfo("Ben", bens_key), ("Bob",), (eve,), (EVE.fingerprint,))
    assert ben.told(Unfamiliar) == []


@pytest.mark.parametrize("wait", ["--wait", *thoroughly(["--no-wait"])])
def test_without_a_terminal_join_refuses_a_false_namesake(tmp_path: Path, wait: str) -> None:
    with seated(tmp_path / "Ada", "host", "Falsehood", "--name", "Ada") as host:
        line = host.until("/").split()[-1]
        key = line.rpartition("/")[2]
        trust_another("Ada", tmp_path / "Ben")
        with seated(tmp_path / "Ben", "join", line, wait, "--name", "Ben") as guest:
            code, told = guest.finish()
        assert code == ExitCode.REFUSED
        assert f"Ada ({key}) is at this table, under a name you trust, but with a different key." in told
        assert "Compare keys with them. At a terminal p2pdice join asks" in told
        assert "Ben sits down" not in host.shown()


@pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX pseudo-terminal")
def test_at_a_terminal_join_asks_about_a_false_namesake(tmp_path: Path) -> None:
    with seated(tmp_path / "Ada", "host", "Falsehood", "--name", "Ada") as host:
        line = host.until("/").split()[-1]
        trust_another("Ada", tmp_path / "Ben")
        with Terminal(tmp_path / "Ben", "join", line, "--name", "Ben") as guest:
            guest.until("under a name you trust", "with a different", "[y/N]")
            guest.type("\r")
            guest.until("You did not sit down.")
            assert guest.end() == ExitCode.REFUSED
        with Terminal(tmp_path / "Ben", "join", line, "--name", "Ben") as guest:
            guest.until("[y/N]")
            assert "Ben sits down" not in host.shown()
            guest.type("y\r")
            host.until("Round 1")


def trust_another(name: str, home: Path) -> None:
    """Let the owner of a home trust Eve's key under this name."""
    home.mkdir(mode=0o700)
    with closing(Store(Home(home).store)) as store:
        store.people.trust(EVE.fingerprint, name, NOON)


async def test_a_newcomer_is_told_apart_from_a_seated_namesake(people: Company, tmp_path: Path) -> None:
    ada = await people.sit("Ada")
    await ada.node.host(TableSettings("Friday", CLASSIC, 4, asks="always"))
    table, paper = on_paper(ada.node, home=ada.node.home.path)
    place = f"127.0.0.1:{ada.node.port}"
    for number in range(2):
        ben = await people.sit("Ben", home=tmp_path / f"Ben {number}")
        joining = asyncio.create_task(ben.node.join(place))
        await until(lambda: bool(ada.node.asked))
        for event in ada.events:
            table.take(event)
        ada.events.clear()
        shown = "Ben" if not number else f"Ben [{ben.node.identity.fingerprint[:4]}]"
        assert f"Type seat {shown}, watch {shown} or refuse {shown}." in paper.said[-1]
        table.obey(f"seat {shown}")
        assert paper.said[-1] == f"{shown} can sit down."
        await joining
        await ada.until(LobbyChanged, lambda event: any(each.name == "Ben" for each in event.joined))


async def test_a_node_reports_how_well_it_knows_players(people: Company, tmp_path: Path) -> None:
    _, ben, cleo = (Identity.load_or_create(tmp_path / name)[0] for name in ("ada", "ben", "cleo"))
    meet(Home(tmp_path / "ada"), 1, (ben, "Ben"))
    meet(Home(tmp_path / "ada"), 2, (ben, "Benny"))
    ada = await people.sit("Ada", home=tmp_path / "ada")
    await ada.node.host(TableSettings("Friday", CLASSIC, 4))
    for name in ("Ben", "Cleo", "Dan (bot)"):
        guest = await people.sit(name, home=tmp_path / name.split()[0].lower())
        await guest.node.join(f"127.0.0.1:{ada.node.port}")
    await ada.until(LobbyChanged, lambda event: len(event.players) == 4)
    his, hers = PlayerInfo("Ben", ben.fingerprint), PlayerInfo("Cleo", cleo.fingerprint)
    ada.node.trust(hers)
    await until(lambda: len(ada.told(Recognised)) == 3)
    assert ada.told(Recognised) == [Recognised(his, False, 2), Recognised(hers, False, 0), Recognised(hers, True, 0)]
