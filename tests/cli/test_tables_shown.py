"""How tables and matches are listed and picked."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st

from cli.commands.join import choose
from cli.commands.tables import Found, changes, data, describe, listed, pick, pick_one
from cli.commands.watch import choose as choose_to_watch
from cli.exits import ExitCode, Failure
from p2pdice.rulesets import PRESETS
from protocol.net.discovery import LOBBY, PLAYING, Advertisement, Sighting
from protocol.version import PROTOCOL_VERSION
from protocol.wire.names import ruleset_label

FRIDAY = Advertisement("ab" * 16, "Friday", "classic", 1, 3, LOBBY, PROTOCOL_VERSION)
MATCH = replace(FRIDAY, id="cd" * 32, seats_taken=3, status=PLAYING)


def told(advertisement: Advertisement, *nodes: int) -> list[Sighting]:
    """Return the records of nodes that advertise this."""
    hosts = [(f"192.0.2.{node}", f"fd00::{node}") for node in nodes]
    return [Sighting(advertisement, ((v6, 7000), (v4, 7000)), v4) for v4, v6 in hosts]


def test_a_match_that_all_players_advertise_is_listed_once() -> None:
    with_code = replace(MATCH, number=417)  # as its host advertises it
    (row,) = listed([*told(with_code, 1), *told(MATCH, 2, 3)])
    assert describe(row) == "Friday: classic, playing, at [fd00::1]:7000 and two other addresses"
    assert data(row)["addresses"] == [
        *(f"[fd00::{node}]:7000" for node in (1, 2, 3)),
        *(f"192.0.2.{node}:7000" for node in (1, 2, 3)),
    ]


def test_rules_are_listed_by_their_label() -> None:
    for rules, shown in (
        (PRESETS["classic"].with_options({"stakes": "yes"}), "classic with stakes"),
        (PRESETS["motes"], "motes"),
        (house := PRESETS["classic"].with_options({"dice": "3"}), ruleset_label(house)),
    ):
        (row,) = listed(told(replace(FRIDAY, rules=ruleset_label(rules)), 1))
        assert describe(row).startswith(f"Friday: {shown}, ")


@pytest.mark.parametrize(
    "lie",
    [
        {"name": "Sunday"},
        {"rules": "motes"},
        {"seats": 4},
        {"seats_taken": 2},
        {"status": LOBBY},
        {"version": PROTOCOL_VERSION + 1},
    ],
)
def test_a_false_record_of_a_match_hides_no_true_one(lie: dict[str, object]) -> None:
    false = replace(MATCH, **lie)  # type: ignore[arg-type]
    for found in ([*told(false, 9), *told(MATCH, 1, 2)], [*told(MATCH, 1), *told(false, 9), *told(MATCH, 2)]):
        rows = {row.advertisement: row for row in listed(found)}
        assert set(rows) == {MATCH, false}
        assert ("192.0.2.1", 7000) in rows[MATCH].addresses
        assert ("192.0.2.9", 7000) not in rows[MATCH].addresses


def test_an_open_table_advertised_by_two_nodes_is_listed_twice() -> None:
    assert len(listed(told(FRIDAY, 1, 2))) == 2


advertisements = st.sampled_from([FRIDAY, MATCH, replace(FRIDAY, seats_taken=2), replace(MATCH, name="Sunday")])
networks = st.dictionaries(st.integers(1, 5), advertisements, max_size=5).map(
    lambda nodes: [sighting for node, advertisement in nodes.items() for sighting in told(advertisement, node)]
)


@given(networks, networks)
def test_the_changes_add_up_to_the_list_of_tables(before: list[Sighting], now: list[Sighting]) -> None:
    """A match stays the same if another of its players advertises it, too."""
    old, new = listed(before), listed(now)
    reports = changes(old, new)
    kinds = [kind for kind, _ in reports]
    assert len(old) + kinds.count("open") - kinds.count("closed") == len(new)
    said = Counter(row.advertisement for kind, row in reports if kind != "closed")
    assert said == Counter(row.advertisement for row in new) - Counter(row.advertisement for row in old)


def test_a_table_whose_match_begins_is_reported_as_changed() -> None:
    steps = [told(FRIDAY, 1), told(MATCH, 1), told(MATCH, 1, 2), told(MATCH, 2), []]
    rows = [listed(step) for step in steps]
    assert [[kind for kind, _ in changes(*pair)] for pair in pairwise(rows)] == [
        ["changed"],
        [],
        [],
        ["closed"],
    ]


@pytest.mark.parametrize(
    ("answer", "place"),
    [("1", 0), ("friday", 0), ("FRIDAY", 1), ("Fr", None), ("sun", 2), ("4", None), ("", None), ("Saturday", None)],
)
def test_a_table_is_picked_by_number_or_by_an_unambiguous_part_of_its_name(answer: str, place: int | None) -> None:
    names = ("friday", "FRIDAY", "Sunday")
    rows = listed(each for number, name in enumerate(names) for each in told(replace(FRIDAY, name=name), number))
    assert pick(answer, rows) == (None if place is None else rows[place])


def test_an_empty_answer_picks_the_only_table() -> None:
    rows = listed(told(FRIDAY, 1))
    assert pick("", rows) == rows[0]


def test_both_open_tables_and_running_matches_can_be_watched() -> None:
    for row in (FRIDAY, MATCH):
        (there,) = told(row, 1)
        assert choose_to_watch(Found((there,), (there,))).advertisement == row
    with pytest.raises(Failure, match="No table was found on this network") as caught:
        choose_to_watch(Found((), ()))
    assert caught.value.code == ExitCode.UNREACHABLE


def asked(monkeypatch: pytest.MonkeyPatch, *answers: str) -> list[str]:
    """Simulate a terminal with these answers; return the list that collects the questions."""
    questions: list[str] = []
    coming = iter(answers)

    def answer(question: str) -> str:
        questions.append(question)
        return next(coming)

    monkeypatch.setattr("cli.commands.tables.is_interactive", lambda: True)
    monkeypatch.setattr("builtins.input", answer)
    return questions


SUNDAY = replace(FRIDAY, id="ef" * 16, name="Sunday")


@pytest.mark.parametrize("answer", ["", "1", "fri"])
def test_enter_picks_the_only_table_as_the_question_says(monkeypatch: pytest.MonkeyPatch, answer: str) -> None:
    questions = asked(monkeypatch, "no such table", answer)
    rows = listed(told(FRIDAY, 1))
    assert pick_one(rows, "Which table?", "p2pdice join NAME") == rows[0]
    assert questions == ["Which table? (number or name; Enter: 1) "] * 2


def test_enter_picks_none_of_several_tables_as_the_question_says(monkeypatch: pytest.MonkeyPatch) -> None:
    questions = asked(monkeypatch, "")
    with pytest.raises(typer.Exit) as caught:
        pick_one(listed([*told(FRIDAY, 1), *told(SUNDAY, 2)]), "Which table?", "p2pdice join NAME")
    assert caught.value.exit_code == ExitCode.DONE
    assert questions == ["Which table? (number or name; Enter: none) "]


def test_without_a_terminal_there_is_no_question(monkeypatch: pytest.MonkeyPatch) -> None:
    questions = asked(monkeypatch)
    monkeypatch.setattr("cli.commands.tables.is_interactive", lambda: False)
    rows = listed([*told(FRIDAY, 1), *told(SUNDAY, 2)])
    assert pick_one(rows[:1], "Which table?", "p2pdice join NAME") == rows[0]
    with pytest.raises(Failure, match="There are 2 to choose from: Friday, Sunday") as caught:
        pick_one(rows, "Which table?", "p2pdice join NAME")
    assert (caught.value.code, questions) == (ExitCode.USAGE, [])


def test_two_tables_with_the_same_name_are_both_chosen_with_a_warning(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Anybody can use the name of a table. Only the fingerprint in the join line identifies its host."""
    monkeypatch.setattr("cli.commands.join.is_interactive", lambda: True)
    asked(monkeypatch, "2")
    two = (*told(FRIDAY, 1), *told(replace(FRIDAY, id="99" * 16), 2), *told(SUNDAY, 3))
    assert choose(Found(two, two)) == two[:2]
    assert 'More than one table is called "Friday". ' in capsys.readouterr().out
    asked(monkeypatch, "1")
    assert choose(Found(two[1:], two[1:])) == two[1:2]
    assert "More than one" not in capsys.readouterr().out


def test_a_picked_table_comes_with_all_records_of_its_name() -> None:
    """This includes a table whose record was replaced while the list was shown."""
    before, now = told(FRIDAY, 1), told(replace(FRIDAY, id="99" * 16), 2)
    other = told(SUNDAY, 3)
    picked = choose(Found((*now,), (*now, *before, *other)))
    assert picked == (*now, *before)
