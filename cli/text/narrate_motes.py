"""Sentences for dice with powers and for stakes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, assert_never

from cli.render import bid, capital, counted, listing
from cli.text.choices import example_stake, is_stake
from cli.text.move_forms import offers
from cli.text.seating import Seating
from p2pdice import POWERS, Die, Expect, Move, Stake, State, View
from p2pdice import events as game
from p2pdice.moves import Power
from p2pdice.plurals import plural
from p2pdice.stakes import bonus

if TYPE_CHECKING:
    from collections.abc import Sequence

Opening = game.Pledged | game.StakesOpened | game.PrizeDrawn
Playing = game.PhaseBegun | game.PowerPlayed | game.Passed | game.AccusationVoid | game.PowerFailed | game.PowerEvent
Ending = game.TwinSoulJoined | game.TicketsEarned | game.StakesPaid

ANSWERS: Final = listing([power.one for power in POWERS.values() if power.is_answer], "or")
"""The dice that answer the top of the stack, such as ``a Blue``."""
PHASES: Final = {
    "sunset": "Sunset has come: Redeemed dice can be played out of the graveyard.",
    "night": f"Night has come: Cursed dice can be played out of the graveyard, and be answered with {ANSWERS}.",
    "sunrise": "Sunrise has come: Redeemed dice can be played out of the graveyard once more.",
}
WINDOWS: Final = {
    "sunset": "It is sunset.",
    "night": "It is night.",
    "bidding": "It is time to bid.",
    "sunrise": "It is sunrise.",
}
"""The parts of a turn, in their order."""
TASKS: Final = {"discard": "send a die to the graveyard", "crown": "name the winning die"}
"""By phase: the task of the player on turn, where it is not just to move."""
_SHOWN: Final = 6
"""The most moves in a sentence. The tab key shows all of them."""


def narrate_opening(event: Opening, seating: Seating) -> str:
    """Return the sentence for an event before the first round."""
    match event:
        case game.Pledged():
            groups = {group: [s for s, pledge in enumerate(event.pledges) if pledge == group] for group in _GROUPS}
            (first, group), *rest = [(seats, _GROUPS[group]) for group, seats in groups.items() if seats]
            are = "is" if len(first) == 1 and first[0] != seating.me else "are"
            pledged = [f"{seating.everyone(first)} {are} pledged to {group}"]
            pledged += [f"{seating.everyone(seats)} to {group}" for seats, group in rest]
            return f"{capital(listing(pledged))}."
        case game.StakesOpened():
            stakes = [
                f"{seating.who(seat)} {bet:,} of {_coins(funds)}" + (f" and {_tickets(staked)}" if staked else "")
                for seat, (bet, funds, staked, _) in enumerate(event.stakes)
            ]
            return f"The stakes are open: {'; '.join(stakes)}."
        case game.PrizeDrawn():
            return f"The prize is the mote {event.mote.capitalize()}: everybody's five dice bear the five others."
        case _:
            assert_never(event)


_GROUPS: Final = {"redeemed": "Redeemed", "cursed": "Cursed"}


def narrate_playing(event: Playing, seating: Seating) -> str:
    """Return the sentence for an event about dice of the graveyard."""
    match event:
        case game.PhaseBegun():
            return PHASES[event.phase]
        case game.PowerPlayed():
            return f"{seating.does(event.seat, 'plays', 'play')} {event.die}{_purpose(event, seating)}."
        case game.Passed():
            return f"{seating.does(event.seat, 'passes', 'pass')}."
        case game.AccusationVoid():
            immune = seating.does(event.bidder, "was", "were")
            return f"{immune} immune: the accusation is void, no cup is opened, and {_must_raise(event.seat, seating)}."
        case game.PowerFailed():
            return f"{capital(seating.whose(event.seat))} {event.die} does nothing: its target is gone."
        case game.PowerEvent():
            return capital(event.sentence(seating))
        case _:
            assert_never(event)


def _purpose(event: game.PowerPlayed, seating: Seating) -> str:
    target = seating.who(event.target) if isinstance(event.target, int) else str(event.target)
    return POWERS[event.die.mote].purpose.format(target=target)


def _must_raise(seat: int, seating: Seating) -> str:
    return "you have to raise" if seat == seating.me else f"{seating.names[seat]} has to raise"


def narrate_ending(event: Ending, state: State, seating: Seating) -> str:
    """Return the sentence for an event at the end of the match.

    :param state: after the event.
    """
    match event:
        case game.TwinSoulJoined():
            soul = f"the Twin Soul {event.name}, of {event.die.mote.capitalize()} and {event.prize.capitalize()}"
            return f"{capital(seating.whose(event.seat))} {event.die} joins the prize: {soul}."
        case game.TicketsEarned():
            group = _GROUPS[event.group]
            if not event.seats:
                return f"Nobody was pledged to {group}, so nobody earns a run ticket."
            each = " each" if len(event.seats) > 1 else ""
            verb = "earns" if len(event.seats) == 1 and event.seats[0] != seating.me else "earn"
            return f"Pledged to {group}, {seating.everyone(event.seats)} {verb} a run ticket{each}."
        case game.StakesPaid():
            paid = []
            for seat, (coins, delta) in enumerate(zip(event.payout, event.delta, strict=True)):
                received = f"paid {coins:,}" if coins else ""
                # There are no wagers if the match ended before the stakes were opened.
                added = bonus(state.wagers[seat]) if state.wagers and seat in state.winners else 0
                of_it = f"with a bonus of {added:,}" if added else ""
                tickets = ticket_change(event.ticket_delta[seat])
                beside = ", ".join(filter(None, (received, of_it, tickets)))
                paid.append(f"{seating.who(seat)} {delta:+,d}" + (f" ({beside})" if beside else ""))
            return f"Coins won and lost: {', '.join(paid)}."
        case _:
            assert_never(event)


def narrate_choice(view: View, seating: Seating) -> str:
    """Return the question to the player on turn; empty for a plain bid."""
    state = view.state
    if is_stake(view):
        if not view.funds and not view.tickets:
            return "You have nothing to stake, so you stake nothing."
        tickets = f" and {_tickets(view.tickets)}" if view.tickets else ""
        return (
            f"Your turn: stake on your own victory, out of {_coins(view.funds)}{tickets}; type {example_stake(view)},"
            " or stake 0 for nothing. Nobody sees it before all have staked."
        )
    motes = state.motes
    if motes is None:
        return ""
    offered = _type(view, view.legal, seating)
    if state.phase in TASKS:
        return f"Your turn: {TASKS[state.phase]}. {offered}"
    if motes.stack:
        die, by, _ = motes.stack[-1]
        return f"Your turn: answer {seating.whose(by)} {die} or let it be. {offered}"
    if state.phase != "bidding":
        return f"Your turn: play a die out of the graveyard, or pass. {offered}"
    if motes.must_raise and state.bid is not None:
        standing = f"{seating.whose(state.bid.seat)} {bid(state.bid.quantity, state.bid.face)}"
        return f"Your turn: raise {standing}; it cannot be called."
    return ""


def also_playable(view: View, seating: Seating) -> str:
    """Return the dice that may be played before a bid, as a sentence; empty if there are none."""
    powers = [move for move in view.legal if isinstance(move, Power)]
    return f"Before that you may play a die. {_type(view, powers, seating)}" if powers else ""


def window(state: State) -> str:
    """Return which of :data:`WINDOWS` is open; empty if none is."""
    if state.motes is None or state.motes.prize is None or state.phase in ("discard", "crown", "over"):
        return ""
    if state.awaits is Expect.ROLLED:  # the phase is the one that may follow the roll
        return ""
    return state.phase if state.phase in WINDOWS else "bidding"


def window_and_prize(state: State) -> str:
    """Return the window and the prize as sentences; empty without them."""
    prize = state.motes.prize if state.motes is not None else None
    now = WINDOWS.get(window(state), "")
    return f"{now} The prize is {prize.capitalize()}.".lstrip() if prize is not None else ""


def graveyard(state: State, seating: Seating) -> str:
    """Return the public state of dice with powers: cups, graveyard, stack, and the effects that last."""
    motes = state.motes
    if motes is None:
        return ""
    parts = [
        *(f"seat {seat}, {seating.who(seat)}:  {_dice(cup)}" for seat, cup in enumerate(motes.cups) if cup),
        *(f"in the graveyard by {seating.who(seat)}:  {_dice(sent)}" for seat, sent in _sent(state) if sent),
        *(f"on the stack: {die} by {seating.who(by)}" for die, by, _ in reversed(motes.stack)),
        *(effect.note(seating.who(effect.seat)) for effect in motes.lasting),
    ]
    return "\n".join(f"    {part}" for part in parts)


def _sent(state: State) -> list[tuple[int, list[Die]]]:
    assert state.motes is not None
    buried = state.motes.graveyard
    return [(seat, [die for die, by in buried if by == seat]) for seat in range(state.players)]


def _dice(dice: Sequence[Die]) -> str:
    return ", ".join(map(str, dice))


def _type(view: View, moves: Sequence[Move], seating: Seating) -> str:
    rest = len(moves) - _SHOWN
    short = dict(zip(view.legal, offers(view, seating.names), strict=True))
    texts = [_offered(move, short[move], seating) for move in moves]
    # The last one, which is often to pass, is always shown.
    shown = texts if rest <= 0 else [*texts[: _SHOWN - 1], f"{rest} more", texts[-1]]
    return f"Type {listing(shown, 'or')}."


def _offered(move: Move, text: str, seating: Seating) -> str:
    """Return a move as it is typed, with the name of a player beside their seat."""
    if isinstance(move, Power) and isinstance(move.target, int):
        return f"{text} ({seating.names[move.target]})"
    return text


def staked(stake: Stake) -> str:
    """Return a stake of the reader behind *you*.

    >>> staked(Stake(1000)), staked(Stake(0, 1))
    ('stake 1,000 coins', 'stake no coins and one run ticket')
    """
    return f"stake {_coins(stake.bet)}" + (f" and {_tickets(stake.tickets)}" if stake.tickets else "")


def _coins(count: int) -> str:
    return counted(count, "coin")


def _tickets(count: int) -> str:
    return counted(count, "run ticket")


def ticket_change(count: int) -> str:
    """Return a change in run tickets, in words; empty for none."""
    return f"{count:+,d} {plural(count, 'run ticket')}" if count else ""
