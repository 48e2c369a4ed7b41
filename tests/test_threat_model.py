"""docs/threat-model.md names existing tests and the numbers in the code, and covers every claim of the design."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from p2pdice.stakes import NEWCOMER_COINS
from protocol import limits
from protocol.match import waiting
from protocol.net import addresses
from tests.programs import ROOT

PAGE = (ROOT / "docs" / "threat-model.md").read_text(encoding="utf-8")
REFERENCE = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")
CLAIMS = {
    "Nobody chooses or biases dice in a round that completes": "Promised",
    "Dice stay hidden until the challenge": "Promised",
    "Cheating that matters leaves a portable proof": "Promised",
    "Nobody is put out if a connected player has their message": "Promised",
    "One history": "Promised",
    "A fork among players who are cut off from each other": "Not promised",
    "A crash costs nothing": "Promised",
    "Leaving costs the leaver's place": "Promised",
    "Players who talk outside the game": "Not promised",
    "Several seats run by one person": "Not promised",
    "A majority that conspires": "Not promised",
    "Which of two went silent": "Not promised",
    "Nobody bets a coin twice before the same eyes": "Promised",
    "Coins are worth what their keys are worth": "Not promised",
}
"""The claims of the design, including its explicit limits."""
ATTACKERS = (
    "A stranger on the network",
    "A forger of mDNS",
    "A player",
    "Several players together",
    "A spectator",
    "A thief of a home folder",
    "An editor of a transcript",
)
LEAST_REASON = 40
"""The fewest characters of a reason why no test is possible, which has to be a sentence."""


def sections() -> dict[str, tuple[str, str]]:
    """Return for each section, by title, the part of the page that contains it, and its text."""
    found: dict[str, tuple[str, str]] = {}
    for part in re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:]:
        name, _, body = part.partition("\n")
        for section in re.split(r"^### ", body, flags=re.MULTILINE)[1:]:
            title, _, text = section.partition("\n")
            assert title not in found, f"two sections are called {title!r}"
            found[title] = name, text
    return found


def shown_by() -> dict[str, str]:
    """Return the tests of each section by title, from the last part of the page."""
    _, _, last = PAGE.partition("\n## Which tests show it\n")
    return dict(re.findall(r"^- \*\*(.+)\*\*\n((?:[^-].+\n)+)", last, flags=re.MULTILINE))


SECTIONS = sections()
SHOWN_BY = shown_by()


def functions_of(path: Path) -> set[str]:
    """Return the names of a file's top-level functions, from which pytest collects tests."""
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    return {node.name for node in ast.parse(path.read_text(encoding="utf-8")).body if isinstance(node, functions)}


def references() -> list[tuple[str, str]]:
    return sorted(set(REFERENCE.findall(PAGE)))


@pytest.mark.parametrize("path", sorted({path for path, _ in references()}))
def test_every_test_that_is_named_exists(path: str) -> None:
    assert (ROOT / path).is_file(), path
    missing = {name for file, name in references() if file == path} - functions_of(ROOT / path)
    assert not missing


def test_every_mentioned_test_is_checked() -> None:
    assert len(REFERENCE.findall(PAGE)) == PAGE.count("`tests/") > 100
    assert PAGE.count("::test_") == PAGE.count("`tests/")


@pytest.mark.parametrize("title", SECTIONS)
def test_every_section_says_what_an_attacker_gets_and_which_test_shows_it(title: str) -> None:
    """For a promise, the table on the first page may say all that an attacker gets."""
    part, text = SECTIONS[title]
    assert part == "Promised" or re.search(r"\*\*An attacker( gets)?\*\*", text)
    reason = text.partition("**No test**:")[2].strip()
    assert (title in SHOWN_BY) != bool(reason), "either tests, or a reason why none is possible"
    assert REFERENCE.search(SHOWN_BY.get(title, "")) or len(reason) >= LEAST_REASON


def test_tests_are_listed_for_sections_only() -> None:
    assert SHOWN_BY.keys() <= SECTIONS.keys()


def test_the_first_page_has_a_row_for_every_section_in_their_order() -> None:
    first, _, _ = PAGE.partition("\n## Who attacks\n")
    rows = re.findall(r"^\| ([^|]+?) \|", first, flags=re.MULTILINE)
    assert [row for row in rows if row not in {"promise", "not promised", "---"}] == [*SECTIONS]


@pytest.mark.parametrize("title", [title for title, (part, _) in SECTIONS.items() if part == "Promised"])
def test_every_promise_has_its_condition_and_a_test(title: str) -> None:
    assert SECTIONS[title][1].lstrip().startswith("Holds ")
    assert title in SHOWN_BY


def test_every_claim_has_a_section_in_the_right_part() -> None:
    assert {title: SECTIONS[title][0] for title in CLAIMS} == CLAIMS
    assert {part for part, _ in SECTIONS.values()} == {"Promised", "Not promised"}


def test_every_attacker_is_introduced() -> None:
    assert tuple(re.findall(r"^- \*\*(.+?)\*\* ", PAGE, flags=re.MULTILINE)) == ATTACKERS


def test_sections_refer_to_sections() -> None:
    """Words in italics are titles of sections, except names of attackers and the verifier's verdicts."""
    verdicts = {"fair", "unproven", "incomplete", "misconduct", "altered", "several players together"}
    named = {" ".join(name.split()) for name in re.findall(r"(?<!\*)\*([^*]+)\*(?!\*)", PAGE)}
    assert named - verdicts <= SECTIONS.keys()


def test_the_numbers_agree_with_the_code() -> None:
    human, automatic = limits.PATIENCE_HUMAN, limits.PATIENCE_AUTOMATIC
    low, high = limits.PATIENCE_BOUNDS
    returns, tries = limits.REPRIEVES, limits.CODE_TRIES
    figures = {
        "each patience": f"{low} to {high} s",
        "patience with a person, for a choice": f"{human} s",
        "patience with a program, for a step; for a voting round without agreement": f"{automatic} s",
        "grace: a program's time that is not charged, for a step": f"{limits.GRACE:.0f} s",
        "account: a program's time beyond the grace, in a match": f"{limits.BANK * automatic} s",
        "returns that renew the patience with a player, in a step": f"{returns}",
        "with these returns: a move; a step of a program with an empty account": (
            f"{human + returns * automatic} s; {(1 + returns) * limits.GRACE:.0f} s"
        ),
        "wait for a RESULT from a player without a link": f"{waiting.RESULT_WAIT:.0f} s",
        "links of all strangers; of one address": f"{limits.LINKS_OUTSIDE_ROSTER}; {limits.LINKS_PER_ADDRESS}",
        "handshakes begun in a second, with all addresses; with one": (
            f"{limits.ACCEPT_RATE:.0f}; {limits.HANDSHAKE_RATE:.0f}"
        ),
        "a frame of a player; of a stranger": (
            f"{limits.FRAME // limits.KIB} KiB; {limits.FRAME_BEFORE_WELCOME // limits.KIB} KiB"
        ),
        "messages read from a player in a second": f"{limits.RATE:.0f}",
        "connections begun in a second, to all addresses; to one; under way": (
            f"{limits.DIAL_RATE:.0f}; {limits.DIAL_RATE_PER_ADDRESS:.0f}; {limits.DIALS}"
        ),
        "time between two replacements of an identity's link": f"{limits.REPLACEMENT:.0f} s",
        "messages of one author kept for later steps": f"{limits.FUTURE_PER_AUTHOR}",
        "later voting rounds whose votes are kept": f"{limits.VOTE_ROUNDS_LATER}",
        "advertised tables kept; addresses of each": f"{limits.TABLES}; {limits.ADDRESSES_PER_PEER}",
        "multicast packets read in a second; parsed; parsed from one address": (
            f"{limits.DATAGRAM_RATE:.0f}; {limits.HEARD_RATE:.0f}; {limits.HEARD_RATE_PER_ADDRESS:.0f}"
        ),
        "a multicast packet": f"{limits.DATAGRAM} bytes",
        "addresses dialled for a peer; for a name": f"{limits.ADDRESSES_PER_PEER}; {limits.ADDRESSES_PER_NAME}",
        "wrong guesses that close a short code; hosts that it is proven to": f"{tries}; {tries}",
        "exchanges of a code broken off until the host is notified": f"{limits.CODE_BREAKS}",
        "the secret in a join line": f"{addresses._TOKEN_BYTES * 8} bits",
        "requests of all spectators in one place, at once; then in a second": (
            f"{limits.SPECTATOR_PAGES}; {limits.SPECTATOR_PAGE_RATE:.0f}"
        ),
        "characters of a nickname; of a chat message": f"{limits.NICKNAME_CHARACTERS}; {limits.WORD_CHARACTERS}",
        "chat messages of one author, at once; then in a second": (
            f"{limits.WORD_BURST_HEARD}; {limits.WORD_RATE:.0f}"
        ),
        "chat messages of all authors, at once; then in a second": f"{limits.FLOOR_BURST}; {limits.FLOOR_RATE:.0f}",
        "seats that a host gives, at once; then in a second": f"{limits.JOIN_BURST}; {limits.JOIN_RATE:.0f}",
        "changes and proposals of a host, at once; then in a second": (
            f"{limits.LOBBY_BURST}; {limits.LOBBY_RATE:.0f}"
        ),
        "proposals kept": f"{limits.PROPOSALS}",
        "coins of a new key": f"{NEWCOMER_COINS:,}",
    }
    _, _, table = PAGE.partition("| limit | figure |\n| --- | --- |\n")
    rows, _, _ = table.partition("\n\n")
    assert dict(row.strip("| ").split(" | ") for row in rows.splitlines()) == figures
    said = (
        f"{human} seconds for every move, {limits.GRACE:.0f} seconds for every step of a program",
        f"it is {human + returns * automatic} and {(1 + returns) * limits.GRACE:.0f} seconds",
        f"as unconfirmed after {waiting.RESULT_WAIT:.0f} seconds",
        f"{human} s for a move",
        f"name of up to {limits.NICKNAME_CHARACTERS} characters",
        f"begins with {NEWCOMER_COINS:,} coins",
        f"until {limits.BOUND:.0f} s have passed",
        f"at most {limits.UNSIGNED:.0f} s in all for each guest",
        f"as long as at most {limits.SPEAKERS} people speak",
    )
    words = " ".join(PAGE.split())
    assert not [each for each in said if each not in words]
    assert limits.RELAY == 0.5
    assert "half a second" in words
    assert limits.FORMER_LIFE == 60
    assert "keep the earlier ones for a minute" in words
