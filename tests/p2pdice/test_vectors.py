"""Canonical values that SPEC.md prints. If one changes, the rules or the wire format have changed."""

from p2pdice.engine import apply, new_match
from p2pdice.moves import Pledges, Roll, Rolled, Stakes
from p2pdice.rulesets import PRESETS
from p2pdice.state import State, plain

from .scripted import play, rolled, show


def public(state: State) -> tuple[object, ...]:
    """Return the canonical value without its first item, the options."""
    return plain(state)[1:]


def test_vectors_of_a_classic_round() -> None:
    state = new_match(PRESETS["classic"], 3)
    assert plain(state)[0] == (
        ("dice", 5),
        ("dice-cap", "none"),
        ("exact", "none"),
        ("goal", "last-standing"),
        ("motes", "no"),
        ("next-leader", "loser"),
        ("ones-bid", "free"),
        ("palifico", "no"),
        ("raise", "strict"),
        ("siding", "no"),
        ("stakes", "no"),
        ("verdict", "loser-loses-die"),
        ("wild", "ones"),
    )
    # players, round, phase, awaits, leader, turn, dice, live, bids, challenge, palifico, dropped, hands, count, exits
    three, full = (0, 1, 2), (5, 5, 5)
    assert public(state) == (3, 1, "bidding", "deal", 0, -1, full, three, (), (), "no", (), (), (), ())

    state, _ = apply(state, Rolled())
    assert public(state) == (3, 1, "bidding", "move", 0, 0, full, three, (), (), "no", (), (), (), ())

    state, bids = play(state, "3x4", "4x4"), ((3, 4, 0), (4, 4, 1))
    assert public(state) == (3, 1, "bidding", "move", 0, 2, full, three, bids, (), "no", (), (), (), ())

    state, call = play(state, "liar"), (2, "liar", ())
    assert public(state) == (3, 1, "showdown", "hands", 0, -1, full, three, bids, call, "no", (), (), (), ())

    judged, _ = show(state, "12345", "13456", "22666")
    hands = ((1, 2, 3, 4, 5), (1, 3, 4, 5, 6), (2, 2, 6, 6, 6))
    assert public(judged) == (
        *(3, 2, "bidding", "deal", 2, -1, (5, 5, 4), three, (), (), "no", ()),
        *(hands, (4,), ()),
    )
    void, _ = show(play(state, "evict 0"), "?", "13456", "22666")
    assert public(void) == (
        *(3, 2, "bidding", "deal", 1, -1, (0, 5, 5), (1, 2), (), (), "no", ()),
        *(("unknown", *hands[1:]), (2,), (((0,), "evicted"),)),
    )
    assert public(play(judged, "concede 0", "evict 2")) == (
        *(3, 2, "over", "over", 2, -1, (0, 5, 0), (1,), (), (), "no", ()),
        *(hands, (4,), (((0,), "conceded"), ((2,), "evicted"))),
    )


def test_vectors_of_a_joker_round_with_sides() -> None:
    state = play(rolled(PRESETS["joker"], (1, 2, 2, 2)), "2x3", "liar", "accused")
    assert public(state) == (
        *(4, 1, "siding", "move", 0, 3, (1, 2, 2, 2), (0, 1, 2, 3), ((2, 3, 0),)),
        *((1, "liar", ((2, "accused"),)), "no", (), (), (), ()),
    )
    state, _ = show(play(state, "accuser"), "3", "12", "34", "56")
    assert public(state) == (
        *(4, 2, "bidding", "deal", 1, -1, (0, 2, 1, 2), (1, 2, 3), (), (), "no", ()),
        *(((3,), (1, 2), (3, 4), (5, 6)), (3,), (((0,), "finished"),)),
    )


def test_vectors_of_a_first_drop_to_one_die() -> None:
    state, _ = show(play(rolled(PRESETS["perudo"], (2, 4, 4)), "5x2", "liar"), "22", "3333", "3333")
    assert public(state) == (
        *(3, 2, "bidding", "deal", 0, -1, (1, 4, 4), (0, 1, 2), (), (), "yes", (0,)),
        *(((2, 2), (3, 3, 3, 3), (3, 3, 3, 3)), (2,), ()),
    )


def test_vectors_of_a_match_with_motes_and_stakes() -> None:
    state = new_match(PRESETS["motes"], 3)
    three, five = (0, 1, 2), (5, 5, 5)
    empty = ((), "none", (), (), (), (), -1, (), (), (), "no", -1, "none")
    assert public(state) == (
        *(3, 1, "pledges", "pledges", 0, -1, five, three, (), (), "no", (), (), (), ()),
        *(empty, ()),
    )
    state, _ = apply(state, Pledges(("redeemed", "cursed", "cursed")))
    stakes = ((100, 1000, 0, 0), (50, 1000, 1, 2), (0, 1000, 0, 0))
    state, _ = apply(state, Stakes(stakes))
    state, _ = apply(state, Roll(2))
    cups = tuple(tuple(f"{mote}@{seat}" for mote in ("light", "neutral", "blue", "red", "dark")) for seat in three)
    told = (("redeemed", "cursed", "cursed"), "grey")
    assert public(state) == (
        *(3, 1, "night", "deal", 0, -1, five, three, (), (), "no", (), (), (), ()),
        *((*told, cups, (), (), (), -1, (), (), (), "no", -1, "none"), stakes),
    )
    state, _ = show(play(apply(state, Rolled())[0], "9x2", "liar"), "33333", "44444", "55555")
    assert public(state)[2:6] == ("discard", "move", 0, 0)
    assert public(state)[15] == (*told, cups, (), (), (), -1, (), (), (), "no", 0, "none")

    state, _ = apply(play(state, "lose red@0"), Rolled())
    cups = (("light@0", "neutral@0", "blue@0", "dark@0"), *cups[1:])
    assert public(state)[2:7] == ("night", "move", 0, 0, (4, 5, 5))
    assert public(state)[15] == (*told, cups, (("red@0", 0),), (), (), -1, (1, 2), (), (), "no", -1, "none")

    state = play(state, "play red@0 on 2")
    assert public(state)[2:6] == ("night", "roll", 0, -1)
    stack = (("red@0", 0, 2),)
    assert public(state)[15] == (*told, cups, (), ("red@0",), stack, 0, (), (), (), "no", -1, "none")

    state, _ = apply(state, Roll(5))
    assert public(state)[2:6] == ("bidding", "move", 0, 0)
    blocked = ((2, "cursed", 0),)
    assert public(state)[15] == (*told, cups, (), ("red@0",), (), -1, (), (), blocked, "no", -1, "none")

    state = play(state, "evict 0", "evict 1")
    assert public(state)[2:7] == ("crown", "move", 1, 2, (0, 0, 5))
    state = play(state, "crown dark@2")
    removed, exits = ("red@0", *cups[0], *cups[1]), (((0,), "evicted"), ((1,), "evicted"))
    assert public(state) == (
        *(3, 2, "over", "over", 1, -1, (0, 0, 5), (2,), (), (), "no", (), (), (), exits),
        *((*told, ((), (), cups[2]), (), removed, (), -1, (), (), (), "no", -1, "dark@2"), stakes),
    )
