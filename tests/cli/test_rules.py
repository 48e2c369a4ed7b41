"""``p2pdice rules``: the page about a ruleset is generated from its options, so it also describes house rules."""

import json
import re
from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.render import faces
from cli.text.explain import RAISES, WIDTH, explain, summary
from cli.text.speech import hear_bid
from p2pdice.engine import apply, new_match
from p2pdice.errors import IllegalMove, RulesetError
from p2pdice.motes import GROUP_OF, MOTES, TWIN_SOULS
from p2pdice.moves import Evict, Stakes, Wager, parse_move
from p2pdice.plurals import number
from p2pdice.rulesets import OPTIONS, PRESETS, Ruleset
from p2pdice.stakes import settlement
from p2pdice.state import State
from tests.cli.conftest import Run
from tests.p2pdice.rulesets import rulesets
from tests.p2pdice.scripted import play, random_play, rolled, rules

SPELLINGS = {
    name: option.choices or tuple(str(number) for number in range(option.low, option.high + 1))
    for name, option in OPTIONS.items()
}


@st.composite
def changed(draw: st.DrawFn) -> tuple[Ruleset, Ruleset]:
    """Return two rulesets that differ in at most one option."""
    base = PRESETS[draw(st.sampled_from(sorted(PRESETS)))]
    name = draw(st.sampled_from(sorted(SPELLINGS)))
    value = draw(st.sampled_from(SPELLINGS[name]))
    try:
        other = base.with_options({name: value})
    except RulesetError:
        return base, base
    return base, other


@given(changed())
def test_every_option_changes_the_rules_page(pair: tuple[Ruleset, Ruleset]) -> None:
    pages = [explain(ruleset, "Rules").partition("Options:")[0] for ruleset in pair]
    assert (pages[0] == pages[1]) == (pair[0] == pair[1])


@given(changed())
def test_no_rules_page_is_wider_than_a_terminal(pair: tuple[Ruleset, Ruleset]) -> None:
    assert max(map(len, explain(pair[1], "Rules").splitlines())) <= WIDTH
    assert "\n" not in summary(pair[1])


@pytest.mark.parametrize("name", [name for name in PRESETS if not PRESETS[name].motes])
@pytest.mark.parametrize("dice", range(1, 11))
def test_the_worked_rounds_are_correct_with_any_number_of_dice(name: str, dice: int) -> None:
    page = explain(rules(name, dice=str(dice), dice_cap="none"), "Rules")
    assert page.count("one short") + page.count("just enough") == page.count("The cups go up")


def test_rules_lists_every_preset(here: Run) -> None:
    done = here("rules")
    assert done.returncode == 0
    assert [line.partition(":")[0] for line in done.stdout.splitlines() if line[:1].strip()][:-1] == list(PRESETS)


@pytest.mark.parametrize("name", PRESETS)
def test_a_rules_page_names_the_options_of_its_ruleset(here: Run, name: str) -> None:
    page = here("rules", name).stdout
    options = " ".join(page.rpartition("Options: ")[2].partition("\n\n")[0].split())
    assert options == " ".join(f"{key}={value}" for key, value in PRESETS[name].options())


def test_house_rules_are_named_by_their_changes(here: Run) -> None:
    page = here("rules", "perudo", "--set", "dice-cap=none", "--set", "dice=3").stdout
    assert page.startswith("Perudo with dice-cap=none, dice=3\n")
    assert "three dice each" in page


def test_rules_prints_json(here: Run) -> None:
    load: Callable[[str], dict[str, object]] = json.loads
    every = load(here("rules", "--json").stdout)
    one = load(here("rules", "joker", "--json").stdout)
    house = load(here("rules", "--set", "raise=either", "--json").stdout)
    assert [each["name"] for each in every["rulesets"]] == list(PRESETS)  # type: ignore[attr-defined]
    assert one["options"] == dict(PRESETS["joker"].options())
    assert (house["name"], house["options"]) == (
        None,
        dict(PRESETS["classic"].with_options({"raise": "either"}).options()),
    )


def test_the_page_about_motes_explains_every_mote_and_power(here: Run) -> None:
    page = " ".join(here("rules", "motes").stdout.split())
    for mote in MOTES:
        assert f"{mote.capitalize()} ({'sunset, sunrise' if GROUP_OF[mote] == 'redeemed' else 'night'})." in page
    assert all(name in page for name in TWIN_SOULS.values())
    assert "A newcomer has 1,000 coins" in page
    assert not re.search(r"@\d", page)
    assert str(parse_move("stake 50 tickets 1")) in page
    assert "lost dice have powers; coins at stake" in here("rules").stdout.replace("\n    ", " ")


def page_of(name: str, **changes: str) -> str:
    """Return the page about a ruleset, with all whitespace collapsed."""
    return " ".join(explain(rules(name, **changes), "Rules").split())


def test_the_end_of_exact_calls_is_mentioned_once() -> None:
    for name in PRESETS:
        said = page_of(name).partition("Options:")[0].count("From round 1,000 on")
        assert said == (PRESETS[name].exact == "gain")


def test_special_rounds_are_explained_only_if_they_can_occur() -> None:
    assert "they start the next round, and it is special" in page_of("perudo")
    never = page_of("perudo", dice="1")
    assert "It never comes: everybody starts with one" in never
    assert "they start the next round, and it is special" not in never
    assert "A special round (see below)" not in never


def test_bidding_comes_before_motes() -> None:
    page = page_of("motes")
    headings = [
        "A round.",
        "Calling.",
        "The next round.",
        "Motes.",
        "A turn.",
        "The graveyard.",
        "The stack.",
        "Stakes.",
    ]
    assert sorted(headings, key=page.index) == headings


def test_the_page_about_stakes_explains_coins_and_payouts() -> None:
    page = page_of("classic", stakes="yes")
    assert "A newcomer has 1,000 coins and no run tickets; what is won and lost stays in the purse" in page
    assert "(stake 50 tickets 1)" in page
    assert "any run tickets" not in page
    paid = settlement(over(stakes=((100, 1000, 0, 0), (50, 1000, 0, 0)), winner=0))
    assert (paid.payout[0], paid.delta[0]) == (150 + 10, 60)
    assert "gets 150 and 10 by winning: 60 more than their stake" in page


def over(stakes: tuple[tuple[int, int, int, int], ...], winner: int) -> State:
    state, _ = apply(new_match(rules("classic", stakes="yes"), 2), Stakes(tuple(Wager(*stake) for stake in stakes)))
    return apply(state, Evict(1 - winner))[0]


@pytest.mark.parametrize("name", PRESETS)
def test_a_page_says_who_leads_the_first_round(name: str) -> None:
    assert "Seats are drawn by lot before the first round, and the player who gets the first one starts." in page_of(
        name
    )


def test_the_page_explains_the_limits_of_a_shield() -> None:
    page = page_of("motes")
    assert "It lasts until it is used or you are out" in page
    assert "while you are shielded you cannot play another Grey" in page


@given(rulesets(), st.integers(2, 5), st.integers(0, 2**32))
def test_places_are_shared_only_if_the_page_says_so(ruleset: Ruleset, players: int, seed: int) -> None:
    *_, (_, state, _) = random_play(ruleset, players, Random(seed))
    page = " ".join(explain(ruleset, "Rules").split())
    shared = "Players who go out on the same call share a place" in page
    unopened = "Players who do not open theirs are out, and share a place" in page
    assert shared or unopened or all(len(place) == 1 for place in state.places)
    assert unopened == ruleset.stakes
    assert "all of them win" in page or len(state.winners) == 1
    assert shared == (ruleset.siding or ruleset.exact == "others-lose")


def test_places_can_be_shared_in_joker_and_spot_on() -> None:
    assert "share a place; if it is the first, all of them win." in page_of("joker")
    assert "share a place. " in page_of("spot-on")
    assert "share a place" not in page_of("perudo")


CUP = re.compile(r"    (?:Ada|Ben|Cleo): ([1-6](?:, [1-6])*)\. (\w+)(?: die)? counts?\.")
RAISED = re.compile(r"[Oo]ver three fours that is (.*?)(?:, but not (\w+ \w+))?[.:]")


@pytest.mark.parametrize("order", RAISES)
def test_the_examples_of_raises_are_legal_raises(order: str) -> None:
    found = RAISED.search(RAISES[order])
    assert found is not None
    state = play(rolled(rules("classic", raise_=order), (5, 5)), "3x4")
    bids = [hear_bid(text.strip().removeprefix("even ")) for text in re.split(", | or ", found[1].partition(";")[0])]
    assert len(bids) >= 2
    for bid in bids:
        play(state, str(bid))
    if found[2]:
        with pytest.raises(IllegalMove):
            play(state, str(hear_bid(found[2])))


@given(rulesets())
def test_the_worked_rounds_of_every_page_are_counted_correctly(ruleset: Ruleset) -> None:
    page = explain(ruleset, "Rules")
    assert page == explain(ruleset, "Rules")
    shown = page.partition("worked round")[2]
    for text in re.split(r"\nRound \d+\. ", shown)[1:]:
        words = " ".join(text.split())
        cups = [CUP.fullmatch(line) for line in text.splitlines() if line[:4] == " " * 4]
        dice = [[int(face) for face in cup[1].split(", ")] for cup in cups if cup]
        in_all = re.search(r"(\d+) dice\.", words)
        assert in_all is not None
        assert sum(map(len, dice)) == int(in_all[1])
        bid = [hear_bid(bid) for bid in re.findall(r"bids (\w+ \w+)", words)][-1]
        assert bid is not None
        plain = [cup.count(bid.face) for cup in dice]
        wild = [cup.count(bid.face) + cup.count(1) * (bid.face != 1) for cup in dice]
        told = [["no", "one", "two", "three", "four", "five"].index(cup[2].lower()) for cup in cups if cup]
        assert told in (plain, wild)
        count, over = sum(told), sum(told) - bid.quantity
        measure = f"{number(-over)} short" if over < 0 else f"{number(over)} to spare" if over else "just enough"
        assert f"{faces(count, bid.face)}, {measure}.".lower() in words.lower()
        is_right = over == 0 if re.search("(Exact|Not exact): ", words) else over >= 0
        assert bool(re.search(r"(True|Exact): ", words)) == is_right
        assert bool(re.search(r"(A lie|Not exact): ", words)) != is_right
    assert re.search(r"[.!]$", shown.rstrip())


@pytest.mark.parametrize("name", PRESETS)
def test_the_worked_rounds_show_what_is_special_about_the_rules(name: str) -> None:
    shown = page_of(name).partition("worked round")[2]
    ruleset = PRESETS[name]
    assert "calls liar" in shown
    assert ("calls exact" in shown) == (ruleset.exact != "none")
    assert ("gains a die" in shown) == (ruleset.exact == "gain")
    assert ("sides with" in shown) == ruleset.siding
    assert ("puts a die away" in shown) == (ruleset.verdict == "right-side-discards")
    assert ("is shielded" in shown) == ruleset.motes
    assert ("The stakes are open" in shown) == ruleset.stakes
    assert ("two ones" in shown) == (ruleset.raise_ in ("half-ones", "double-ones"))
