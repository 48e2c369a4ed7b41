"""A sentence for each event of the game. A showdown takes a line for each cup."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from cli.render import bid, capital, columns, dice_count, escape, faces, hand, listing, ordinal
from cli.text.narrate_motes import narrate_ending, narrate_opening, narrate_playing
from p2pdice import Expect
from p2pdice import events as game

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cli.text.seating import Seating
    from p2pdice import Die, Hand, State
    from protocol.events import Eviction


def standing(state: State, seating: Seating, when: str = "") -> str:
    """Return the state of a match: the round, the dice, the bid, and the player on turn.

    :param when: the event that must come before the move, if any.
    """
    parts = [f"Round {state.round}.", dice_by_player(state.dice, seating)]
    if state.bid is not None:
        parts.append(f"The bid is {bid(state.bid.quantity, state.bid.face)} by {seating.who(state.bid.seat)}.")
    if waiting := awaited(state, seating):
        parts.append(f"{capital(waiting)} to move{when}.")
    return " ".join(parts)


def awaited(state: State, seating: Seating) -> str:
    """Return the player on turn, ``you are`` or ``Ada is``; empty if no single player is awaited."""
    if state.expects.kind is not Expect.MOVE:
        return ""
    seat = state.expects.seats[0]
    return "you are" if seat == seating.me else f"{seating.names[seat]} is"


def dice_by_player(dice: Sequence[int], seating: Seating) -> str:
    """Return the dice left: ``Dice: Ada 5, you 3; 8 in play.`` Seats without dice are left out."""
    counts = ", ".join(f"{seating.who(seat)} {count}" for seat, count in enumerate(dice) if count)
    return f"Dice: {counts}; {sum(dice)} in play."


def narrate_game(event: game.Event, state: State, seating: Seating) -> str:
    """Return the sentence for an event of the game; ``state`` is the one after it."""
    match event:
        case game.RoundStarted():
            special = " It is a special round: ones are not wild." if event.palifico else ""
            leads = seating.does(event.leader, "leads", "lead")
            return f"Round {event.round}: {leads}. {dice_by_player(event.dice, seating)}{special}"
        case game.BidMade():
            # A player wants to know whose turn is next; for others the order of seats says it.
            waiting = awaited(state, seating) if seating.me is not None else ""
            turn = f"; {waiting} next" if waiting else ""
            return f"{seating.does(event.seat, 'bids', 'bid')} {bid(event.quantity, event.face)}{turn}."
        case game.ChallengeCalled():
            what = f"{seating.whose(event.bidder)} {bid(event.quantity, event.face)}"
            return f"{seating.does(event.seat, 'calls', 'call')} {event.call} on {what}."
        case game.Sided():
            return f"{seating.does(event.seat, 'sides', 'side')} with the {event.side}."
        case game.HandsShown() | game.Judged() | game.RoundVoid():
            return _showdown(event, seating)
        case game.DieLost() | game.DieGained():
            return _dice_changed(event, state, seating)
        case game.PlayerOut():
            return player_out(event, None, seating)
        case game.LeadPassed():
            return f"{seating.does(event.seat, 'leads', 'lead')} next."
        case game.PalificoBegins():
            who = seating.does(event.seat, "is", "are")
            return f"{who} down to one die for the first time: a special round follows, without wild ones."
        case game.Pledged() | game.StakesOpened() | game.PrizeDrawn():
            return narrate_opening(event, seating)
        case game.TwinSoulJoined() | game.TicketsEarned() | game.StakesPaid():
            return narrate_ending(event, state, seating)
        case game.MatchOver():
            return _result(event, seating)
        case _:
            return narrate_playing(event, seating)


def _showdown(event: game.HandsShown | game.Judged | game.RoundVoid, seating: Seating) -> str:
    match event:
        case game.HandsShown():
            lines = [cup_line(seat, event.hands, seating) for seat, cup in enumerate(event.hands) if cup != ()]
            return "\n".join(["The cups are opened:", *lines, tally(event)])
        case game.Judged():
            verdict = "true" if event.bid_true else "false"
            if event.call == "exact":
                verdict = "exactly true" if event.call_right else "not exactly true"
            # A verdict on exact is no verdict on the bidder, who did not say that the bid is exactly true.
            unjudged = event.bidder if event.call == "exact" else None
            sides = ((event.right, "right"), (event.wrong, "wrong"))
            judged = [(seats, side) for all_, side in sides if (seats := [s for s in all_ if s != unjudged])]
            first = judged[0][0]
            are = "is" if len(first) == 1 and first[0] != seating.me else "are"
            (name, side), *rest = [(seating.everyone(seats), side) for seats, side in judged]
            return ", ".join([f"The bid is {verdict}: {name} {are} {side}", *(" ".join(each) for each in rest)]) + "."
        case game.RoundVoid():
            cups = listing([f"{seating.whose(seat)} cup" for seat in event.unopened])
            return f"Round {event.round} is void, because the verdict depends on {cups}: nobody loses a die."


def cup_line(seat: int, hands: Sequence[Hand | None], seating: Seating) -> str:
    """Return the dice of one cup, in columns below those of the others."""
    width = max(map(columns, map(seating.who, range(len(seating.names)))))
    cup = hands[seat]
    name = seating.who(seat)
    return f"    {name}{' ' * (width - columns(name))}  {'never opened' if cup is None else hand(cup)}"


def tally(shown: game.HandsShown) -> str:
    """Return the bid, and the number of dice that count for it."""
    wild = ", wild ones included" if shown.ones_wild and shown.face != 1 else ""
    hidden = f", and {dice_count(shown.unopened)} unknown" if shown.unopened else ""
    there = f"there {'is' if shown.count == 1 else 'are'} {faces(shown.count, shown.face)}{wild}{hidden}"
    return f"The bid was {faces(shown.quantity, shown.face)}; {there}."


def _dice_changed(event: game.DieLost | game.DieGained, state: State, seating: Seating) -> str:
    match event:
        case game.DieLost():
            loses, lose = ("loses", "lose") if state.ruleset.verdict == "loser-loses-die" else ("puts away", "put away")
            where = " to the graveyard" if event.die is not None else ""
            what = f"{_the_die(event.die)}{where}: {dice_count(event.left)} left"
            return f"{seating.does(event.seat, loses, lose)} {what}."
        case game.DieGained():
            return f"{seating.does(event.seat, 'gains', 'gain')} {_the_die(event.die)}: {dice_count(event.left)} now."


def _the_die(die: Die | None) -> str:
    return "a die" if die is None else str(die)


_REASONS: Final = {
    "lost": ".",
    "finished": " in good standing: the aim is to be rid of all dice.",
    "evicted": ": the others have gone on without them.",
    "conceded": ", having given up.",
}


def player_out(event: game.PlayerOut, eviction: Eviction | None, seating: Seating) -> str:
    """Return that a player is out, and why. Only the protocol, not the game, knows the reason for an eviction."""
    out = f"{seating.does(event.seat, 'is', 'are')} out"
    if eviction is None:
        return out + _REASONS[event.reason]
    if eviction.misconduct:
        return f"{out} for breaking the rules: {escape(eviction.misconduct)}."
    them = "you" if event.seat == seating.me else "them"
    what = "no move" if eviction.was_on_turn else "nothing"
    have = "has" if len(eviction.voters) == 1 and eviction.voters[0] != seating.me else "have"
    signed = f"{seating.everyone(eviction.voters)} {have} signed"
    return f"{out}: {what} came from {them} in time, as {signed}."


def _result(event: game.MatchOver, seating: Seating) -> str:
    wins = "wins" if len(event.winners) == 1 and event.winners[0] != seating.me else "win"
    behind = []
    for index, seats in enumerate(event.places[1:], 1):
        come = "share" if len(seats) > 1 else "come" if seats[0] == seating.me else "comes"
        place = f"{ordinal(1 + sum(map(len, event.places[:index])))}{' place' if len(seats) > 1 else ''}"
        behind.append(f"{seating.everyone(seats)} {come} {place}")
    places = f"; {listing(behind)}" if behind else ""
    return f"The match is over: {seating.everyone(event.winners)} {wins}{places}."
