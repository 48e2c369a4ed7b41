"""Sentences for dice with powers and for stakes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, assert_never

from cli.render import capital, counted, initial, listing
from cli.text.choices import is_stake
from cli.text.seating import Seating
from p2pdice import events as game
from p2pdice.motes import Die
from p2pdice.moves import Power, Stake
from p2pdice.plurals import plural
from p2pdice.powers import POWERS
from p2pdice.stakes import bonus
from p2pdice.state import Expect, State
from p2pdice.views import View

if TYPE_CHECKING:
    from collections.abc import Sequence

Opening = game.Pledged | game.StakesOpened | game.PrizeDrawn
Playing = game.PhaseBegun | game.PowerPlayed | game.Passed | game.AccusationVoid | game.PowerFailed | game.PowerEvent
Ending = game.TwinSoulJoined | game.TicketsEarned | game.StakesPaid

ANSWERS: Final = listing([power.one for power in POWERS.values() if power.is_answer], "or")
"""The dice that answer the top of the stack, such as ``a Blue``."""
_STOPPERS: Final = [power for power in POWERS.values() if power.is_answer]
PHASES: Final = {
    "sunset": "Sunset: Redeemed dice can be played.",
    "night": f"Night: Cursed dice can be played; {listing([each.mote.capitalize() for each in _STOPPERS], 'or')}"
    f" {_STOPPERS[0].deed}s them.",
    "sunrise": "Sunrise: Redeemed dice can be played once more.",
}
WINDOWS: Final = {
    "sunset": "It is sunset.",
    "night": "It is night.",
    "bidding": "It is time to bid.",
    "sunrise": "It is sunrise.",
}
"""The parts of a turn, in their order."""
DILEMMAS: Final = {"discard": "choosing a die to lose", "crown": "choosing a die to crown"}
"""By phase: what the player on turn does, where it is not just to choose a move."""


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
            whose = "the dice" if seating.me is None else "your dice"
            return f"The prize is {event.mote.capitalize()}; {whose} are the other five."
        case _:
            assert_never(event)


_GROUPS: Final = {"redeemed": "Redeemed", "cursed": "Cursed"}


def narrate_playing(event: Playing, seating: Seating) -> str:
    """Return the sentence for an event about dice of the graveyard."""
    match event:
        case game.PhaseBegun():
            return PHASES[event.phase]
        case game.PowerPlayed():
            die = seating.die(event.die, event.seat)
            return f"{seating.does(event.seat, 'plays', 'play')} {die}{_purpose(event, seating)}."
        case game.Passed():
            return f"{seating.does(event.seat, 'passes', 'pass')}."
        case game.AccusationVoid():
            shield = f"{capital(seating.whose(event.bidder))} shield holds"
            return f"{shield}: the call doesn't count. {seating.does(event.seat, 'must', 'must')} raise."
        case game.PowerFailed():
            return f"{capital(played(event.die, event.seat, seating))} does nothing: its target is gone."
        case game.PowerEvent():
            return capital(event.sentence(seating))
        case _:
            assert_never(event)


def _purpose(event: game.PowerPlayed, seating: Seating) -> str:
    match event.target:
        case int():
            target = seating.who(event.target)
        case Die():
            target = seating.die(event.target, event.seat)
        case None:
            target = ""
    return POWERS[event.die.mote].purpose.format(target=target)


def played(die: Die, by: int, seating: Seating) -> str:
    """Return a die that somebody plays: ``Ben's Dark``, or ``Dan's Dark, played by Ben,``."""
    if die.seat == by:
        return f"{seating.whose(by)} {die.mote.capitalize()}"
    return f"{seating.die(die, by)}, played by {seating.who(by)},"


def narrate_ending(event: Ending, state: State, seating: Seating) -> str:
    """Return the sentence for an event at the end of the match.

    :param state: after the event.
    """
    match event:
        case game.TwinSoulJoined():
            crowns = f"{seating.does(event.seat, 'crowns', 'crown')} {seating.die(event.die, event.seat)}"
            return f"{crowns}. With the prize, {event.prize.capitalize()}, it is the Twin Soul {event.name}."
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


def question(view: View, seating: Seating) -> str:
    """Return the question to the player on turn, about dice with powers or stakes; empty for a plain bid."""
    state = view.state
    if is_stake(view):
        if not view.funds and not view.tickets:
            return "You have nothing to stake, so you stake nothing."
        return "What do you stake on your own victory? Nobody sees it yet."
    motes = state.motes
    if motes is None:
        return ""
    if state.phase == "discard":
        return "You lose a die. Which one?"
    if state.phase == "crown":
        return "You win. Which die do you crown?"
    if motes.stack:
        die, by, _ = motes.stack[-1]
        answers = playable(view)
        deed = POWERS[answers[0].mote].deed.capitalize()
        return f"{deed} {played(die, by, seating)} with {_one_of(answers, seating)}, or let it be."
    if state.phase != "bidding":
        return "Play a die from the graveyard, or pass."
    if motes.must_raise and state.bid is not None:
        return "Your turn: you must raise; this bid can't be called."
    return ""


def playable(view: View) -> list[Die]:
    """Return the dice of the graveyard that can be played now, in the order of the menu."""
    return list(dict.fromkeys(move.die for move in view.legal if isinstance(move, Power)))


def play_first(view: View, seating: Seating) -> str:
    """Return what can be played before a bid, inside a question: ``play Red first``; empty if nothing can be."""
    dice = playable(view)
    if not dice:
        return ""
    return f"play {seating.die(dice[0], view.seat) if len(dice) == 1 else 'a die'} first"


def _one_of(dice: Sequence[Die], seating: Seating) -> str:
    if len(dice) == 1:
        return f"{seating.whose(dice[0].seat)} {dice[0].mote.capitalize()}"
    return POWERS[dice[0].mote].one


def funds(view: View) -> str:
    """Return what the player can stake, in words: ``1,000 coins and one run ticket``."""
    return _coins(view.funds) + (f" and {_tickets(view.tickets)}" if view.tickets else "")


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
        *(f"{_whose(seat, seating)} cup: {_dice(cup, seat, seating)}" for seat, cup in enumerate(motes.cups) if cup),
        *(
            f"In the graveyard, for {seating.who(seat)} to play: {_dice(sent, seat, seating)}"
            for seat, sent in _sent(state)
            if sent
        ),
        *(f"To take effect: {played(die, by, seating).rstrip(',')}" for die, by, _ in reversed(motes.stack)),
        *(initial(effect.note(seating.who(effect.seat))) for effect in motes.lasting),
    ]
    return "\n".join(f"    {part}" for part in parts)


def _whose(seat: int, seating: Seating) -> str:
    return capital(seating.whose(seat))


def _sent(state: State) -> list[tuple[int, list[Die]]]:
    assert state.motes is not None
    buried = state.motes.graveyard
    return [(seat, [die for die, by in buried if by == seat]) for seat in range(state.players)]


def _dice(dice: Sequence[Die], holder: int, seating: Seating) -> str:
    return ", ".join(seating.die(die, holder) for die in dice)


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
