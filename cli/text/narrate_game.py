"""A sentence for each event of the game. A showdown takes a line for each cup."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from cli.render import capital, dice_count, escape, faces, hand, initial, listing, number, ordinal
from cli.text.narrate_motes import DILEMMAS, narrate_ending, narrate_opening, narrate_playing
from p2pdice import events as game
from p2pdice.moves import FACE_NAMES
from p2pdice.state import Expect

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cli.text.seating import Seating
    from p2pdice.moves import Hand
    from p2pdice.state import State
    from protocol.events import Eviction

SPECIAL: Final = "Special round: ones aren't wild."
CUPS: Final = "The cups go up."


def standing(state: State, seating: Seating, when: str = "") -> str:
    """Return the state of a match: the round, the dice, the bid, and the player on turn.

    :param when: the event that must come before the move, if any.
    """
    parts = [f"Round {state.round}.", dice_by_player(state.dice, seating)]
    if state.bid is not None:
        parts.append(f"{seating.does(state.bid.seat, 'bid', 'bid')} {faces(state.bid.quantity, state.bid.face)}.")
    if waiting := choosing(state, seating):
        parts.append(f"{capital(waiting)}{when}.")
    return " ".join(parts)


def choosing(state: State, seating: Seating) -> str:
    """Return whose turn it is, ``Cleo is choosing`` or ``it is your turn``; empty if no single player is awaited."""
    if state.expects.kind is not Expect.MOVE:
        return ""
    seat = state.expects.seats[0]
    return (
        "it is your turn" if seat == seating.me else f"{seating.names[seat]} is {DILEMMAS.get(state.phase, 'choosing')}"
    )


def dice_by_player(dice: Sequence[int], seating: Seating) -> str:
    """Return the dice left: ``Dice: Ada five, you three; eight in all.`` Seats without dice are left out."""
    counts = ", ".join(f"{seating.who(seat)} {number(count)}" for seat, count in enumerate(dice) if count)
    return f"Dice: {counts}; {number(sum(dice))} in all."


def narrate_game(event: game.Event, state: State, seating: Seating) -> str:
    """Return the sentence for an event of the game; ``state`` is the one after all events of the same input."""
    match event:
        case game.RoundStarted():
            special = f" {SPECIAL}" if event.palifico else ""
            starts = seating.does(event.leader, "starts", "start")
            return f"Round {event.round}. {starts}. {sum(event.dice)} dice.{special}"
        case game.BidMade():
            return f"{seating.does(event.seat, 'bids', 'bid')} {faces(event.quantity, event.face)}."
        case game.ChallengeCalled():
            what = f"{seating.whose(event.bidder)} {faces(event.quantity, event.face)}"
            return f"{seating.does(event.seat, 'calls', 'call')} {event.call} on {what}.{_cups(state)}"
        case game.Sided():
            return (
                f"{seating.does(event.seat, 'sides', 'side')} with {_sided_with(event, state, seating)}.{_cups(state)}"
            )
        case game.HandsShown():
            lines = [counted_cup(seat, event, seating) for seat, cup in enumerate(event.hands) if cup != ()]
            return "\n".join([*lines, initial(tally(event))])
        case game.Judged():
            return verdict(event, None, seating)
        case game.RoundVoid():
            whose = listing([seating.whose(seat) for seat in event.unopened])
            cups = "cup" if len(event.unopened) == 1 else "cups"
            return f"Round {event.round} doesn't count: {whose} {cups} stayed down. Nobody loses a die."
        case game.DieLost() | game.DieGained():
            return _dice_changed(event, state, seating)
        case game.PlayerOut():
            return player_out(event, None, seating)
        case game.LeadPassed():
            return f"{seating.does(event.seat, 'starts', 'start')} the next round."
        case game.PalificoBegins():
            return f"{seating.does(event.seat, 'is', 'are')} down to one die: a special round follows."
        case game.Pledged() | game.StakesOpened() | game.PrizeDrawn():
            return narrate_opening(event, seating)
        case game.TwinSoulJoined() | game.TicketsEarned() | game.StakesPaid():
            return narrate_ending(event, state, seating)
        case game.MatchOver():
            return _result(event, seating)
        case _:
            return narrate_playing(event, seating)


def _cups(state: State) -> str:
    """Return that the cups go up, as nobody is left to take a side, or to say that the call doesn't count."""
    return f" {CUPS}" if state.awaits is Expect.HANDS else ""


def _sided_with(event: game.Sided, state: State, seating: Seating) -> str:
    if state.challenge is None or state.bid is None:  # the match ended, or somebody left, with this very step
        return "the caller" if event.side == "accuser" else "the bidder"
    return seating.who(state.challenge.seat if event.side == "accuser" else state.bid.seat)


# The showdown


def cup_line(seat: int, cup: Hand | None, seating: Seating) -> str:
    """Return the dice of one cup: ``You: 1, 3, 3.``"""
    if cup is None:
        return f"{capital(seating.whose(seat))} cup stayed down."
    return f"{capital(seating.who(seat))}: {hand(cup)}."


def counted_cup(seat: int, shown: game.HandsShown, seating: Seating) -> str:
    """Return the dice of one cup that went up, and how many count for the bid: ``You: 1, 3, 3. Two count.``"""
    cup = shown.hands[seat]
    line = cup_line(seat, cup, seating)
    if cup is None:
        return line
    count = sum(face == shown.face or (face == 1 and shown.ones_wild) for face in cup)
    return f"{line} {'No die' if not count else initial(number(count))} {'counts' if count < 2 else 'count'}."


def tally(shown: game.HandsShown) -> str:
    """Return how many dice count, measured by the bid: ``six fives, one short.``"""
    there = faces(shown.count, shown.face)
    if shown.unopened:
        return f"{there}, and {dice_count(shown.unopened)} unseen."
    over = shown.count - shown.quantity
    measure = f"{number(-over)} short" if over < 0 else f"{number(over)} to spare" if over else "just enough"
    return f"{there}, {measure}."


def what_counts(face: int, *, ones_wild: bool) -> str:
    """Return the faces that count for a bid: ``sixes and wild ones``."""
    return f"{FACE_NAMES[face - 1]}{' and wild ones' if ones_wild and face != 1 else ''}"


def verdict_in_letters(event: game.Judged) -> str:
    """Return the verdict as the table writes it large: ``A LIE``, ``TRUE``, ``EXACT`` or ``NOT EXACT``."""
    if event.call == "exact":
        return "EXACT" if event.call_right else "NOT EXACT"
    return "TRUE" if event.bid_true else "A LIE"


def measured(event: game.Judged, shown: game.HandsShown) -> str:
    """Return the count that stands behind a verdict: ``six fives, one short.``, ``six, not five.``"""
    if event.call != "exact" or shown.unopened:
        return tally(shown)
    return f"{faces(shown.count, shown.face)} on the nose." if event.call_right else f"{_not(shown)}."


def _not(shown: game.HandsShown) -> str:
    return f"{number(shown.count) if shown.count else 'none'}, not {number(shown.quantity)}"


def caught(event: game.Judged, seating: Seating) -> str:
    """Return what a verdict means for the two who stood against each other: ``You caught Dan.``"""
    if event.call == "exact" or event.bid_true:
        return _who_was_right(event, seating)
    return f"{capital(seating.everyone(event.right))} caught {seating.who(event.bidder)}."


def verdict(event: game.Judged, shown: game.HandsShown | None, seating: Seating) -> str:
    """Return the verdict, and who was right: ``True: six sixes, two to spare. Cleo was right; you were wrong.``

    :param shown: the count; None if it was told before.
    """
    said = verdict_in_letters(event).capitalize()
    right = _who_was_right(event, seating)
    if shown is None:
        return f"{said}: {right}"
    return f"{said}: {measured(event, shown)} {capital(right)}"


def _who_was_right(event: game.Judged, seating: Seating) -> str:
    # A verdict on exact is no verdict on the bidder, who did not say that the bid is exactly true.
    unjudged = event.bidder if event.call == "exact" else None
    sides = ((event.right, "right"), (event.wrong, "wrong"))
    judged = [(seats, side) for all_, side in sides if (seats := [s for s in all_ if s != unjudged])]
    said = []
    for seats, side in judged:
        was = "was" if len(seats) == 1 and seats[0] != seating.me else "were"
        said.append(f"{seating.everyone(seats)} {was} {side}")
    return f"{'; '.join(said)}."


def _dice_changed(event: game.DieLost | game.DieGained, state: State, seating: Seating) -> str:
    what = "a die" if event.die is None else seating.die(event.die, event.seat)
    match event:
        case game.DieLost():
            left = "none" if not event.left else number(event.left)
            if state.ruleset.verdict == "right-side-discards":
                who = seating.does(event.seat, "was right and puts", "were right and put")
                return f"{who} {what} away: {left} left."
            where = " to the graveyard" if event.die is not None else ""
            return f"{seating.does(event.seat, 'loses', 'lose')} {what}{where}: {left} left."
        case game.DieGained():
            gains = ("gains", "gain") if event.die is None else ("takes back", "take back")
            return f"{seating.does(event.seat, *gains)} {what}: {number(event.left)} now."


def player_out(event: game.PlayerOut, eviction: Eviction | None, seating: Seating) -> str:
    """Return that a player is out, and why. Only the protocol, not the game, knows the reason for an eviction."""
    is_out = f"{'are' if event.seat == seating.me else 'is'} out"
    match event.reason:
        case "conceded":
            return f"{seating.does(event.seat, 'conceded', 'conceded')} and {is_out}."
        case "finished":
            return f"{seating.does(event.seat, 'has', 'have')} no dice left."
        case "lost":
            return f"{seating.does(event.seat, 'is', 'are')} out."
    if eviction is not None and eviction.misconduct:
        return f"{seating.does(event.seat, 'is', 'are')} out for breaking the rules: {escape(eviction.misconduct)}."
    voters = sorted(eviction.voters, key=lambda seat: seat != seating.me) if eviction is not None else []
    signed = f" (signed by {seating.everyone(voters)})" if voters else ""
    return f"{seating.does(event.seat, 'ran', 'ran')} out of time and {is_out}{signed}."


def _result(event: game.MatchOver, seating: Seating) -> str:
    """Return the places: ``Ada wins. Then Cleo, Ben and Dan.``"""
    wins = "wins" if len(event.winners) == 1 and event.winners[0] != seating.me else "win"
    said = [f"{capital(seating.everyone(event.winners))} {wins}."]
    alone: list[int] = []
    for index, seats in enumerate(event.places[1:], 1):
        if len(seats) == 1:
            alone += seats
            continue
        if alone:
            said.append(f"Then {seating.everyone(alone)}.")
            alone = []
        place = ordinal(1 + sum(map(len, event.places[:index])))
        said.append(f"{capital(seating.everyone(seats))} share {place} place.")
    return " ".join([*said, *([f"Then {seating.everyone(alone)}."] if alone else [])])
