"""A sentence for each event of the game, including powers and stakes. A showdown takes a line for each cup."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, assert_never

from cli.render import capital, counted, dice_count, escape, faces, hand, initial, listing, numbered, ordinal
from cli.text.move_forms import is_stake
from cli.text.seating import Seating
from p2pdice import events as game
from p2pdice.motes import Die, PowerTarget
from p2pdice.moves import Hand, Power, Stake
from p2pdice.plurals import number, plural
from p2pdice.powers import POWERS
from p2pdice.stakes import bonus
from p2pdice.state import Expect, State
from p2pdice.views import View
from protocol.events import Eviction

SPECIAL: Final = "Special round: ones aren't wild."
CUPS: Final = "The cups go up."


def standing(state: State, seating: Seating, when: str = "") -> str:
    """Return the state of a match in sentences: the round, the dice, the bid, and whose turn it is.

    :param when: what must happen before the move, as the end of a sentence; empty if nothing must.
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
    """Return the sentence for an event of the game. ``state`` is the state after all events of the same input."""
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
                # A match that ended before the stakes were opened has no wagers.
                added = bonus(state.wagers[seat]) if state.wagers and seat in state.winners else 0
                of_it = f"with a bonus of {added:,}" if added else ""
                tickets = ticket_change(event.ticket_delta[seat])
                beside = ", ".join(filter(None, (received, of_it, tickets)))
                paid.append(f"{seating.who(seat)} {delta:+,d}" + (f" ({beside})" if beside else ""))
            return f"Coins won and lost: {', '.join(paid)}."
        case game.MatchOver():
            return _result(event, seating)
        case game.PhaseBegun():
            return PHASES[event.phase]
        case game.PowerPlayed():
            return f"{power_played(event.die, event.seat, event.target, seating)}."
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


def _cups(state: State) -> str:
    """Return a sentence that the cups go up, if nobody must take a side first and no shield voids the call."""
    return f" {CUPS}" if state.awaits is Expect.HANDS else ""


def _sided_with(event: game.Sided, state: State, seating: Seating) -> str:
    if state.challenge is None or state.bid is None:  # the match ended, or a player left, in this step
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
    count = shown.counting.count((cup,), shown.face)
    return f"{line} {'No die' if not count else initial(number(count))} {'counts' if count < 2 else 'count'}."


def tally(shown: game.HandsShown) -> str:
    """Return the number of dice that count, compared with the bid: ``six fives, one short.``"""
    there = faces(shown.count, shown.face)
    if shown.unopened:
        return f"{there}, and {dice_count(shown.unopened)} unseen."
    over = shown.count - shown.quantity
    measure = f"{number(-over)} short" if over < 0 else f"{number(over)} to spare" if over else "just enough"
    return f"{there}, {measure}."


def verdict_in_letters(event: game.Judged) -> str:
    """Return the verdict as the table shows it in large letters: ``A LIE``, ``TRUE``, ``EXACT`` or ``NOT EXACT``."""
    if event.call == "exact":
        return "EXACT" if event.call_right else "NOT EXACT"
    return "TRUE" if event.bid_true else "A LIE"


def measured(event: game.Judged, shown: game.HandsShown) -> str:
    """Return the count behind a verdict: ``six fives, one short.``, ``six, not five.``"""
    if event.call != "exact" or shown.unopened:
        return tally(shown)
    if event.call_right:
        return f"{faces(shown.count, shown.face)} on the nose."
    return f"{number(shown.count) if shown.count else 'none'}, not {number(shown.quantity)}."


def caught(event: game.Judged, seating: Seating) -> str:
    """Return the meaning of a verdict for the caller and the bidder: ``You caught Dan.``"""
    if event.call == "exact" or event.bid_true:
        return _who_was_right(event, seating)
    return f"{capital(seating.everyone(event.right))} caught {seating.who(event.bidder)}."


def verdict(event: game.Judged, shown: game.HandsShown | None, seating: Seating) -> str:
    """Return the verdict and who was right: ``True: six sixes, two to spare. Cleo was right; you were wrong.``

    :param shown: the count; None if it has been reported before.
    """
    said = verdict_in_letters(event).capitalize()
    right = _who_was_right(event, seating)
    if shown is None:
        return f"{said}: {right}"
    return f"{said}: {measured(event, shown)} {capital(right)}"


def _who_was_right(event: game.Judged, seating: Seating) -> str:
    # A verdict on exact does not judge the bidder, who did not claim that the bid is exactly true.
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
    """Return that a player is out, and why. Only the protocol knows the reason for an eviction, the game does not."""
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
    """Return a sentence on the places: ``Ada wins. Then Cleo, Ben and Dan.``"""
    wins = "wins" if len(event.winners) == 1 and event.winners[0] != seating.me else "win"
    said = [f"{capital(seating.everyone(event.winners))} {wins}."]
    alone: list[int] = []
    for place, seats in numbered(event.places)[1:]:
        if len(seats) == 1:
            alone += seats
            continue
        if alone:
            said.append(f"Then {seating.everyone(alone)}.")
            alone = []
        said.append(f"{capital(seating.everyone(seats))} share {ordinal(place)} place.")
    return " ".join([*said, *([f"Then {seating.everyone(alone)}."] if alone else [])])


ANSWERS: Final = listing([power.one for power in POWERS.values() if power.is_answer], "or")
"""The dice that can answer the top of the stack, such as ``a Blue``."""
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
"""The windows of a turn in order, each with a sentence."""
DILEMMAS: Final = {"discard": "choosing a die to lose", "crown": "choosing a die to crown"}
"""The current activity of the player to move, in phases in which it is more than choosing a move."""


_GROUPS: Final = {"redeemed": "Redeemed", "cursed": "Cursed"}


def power_played(die: Die, by: int, target: PowerTarget, seating: Seating) -> str:
    """Return a sentence on a played power, without its full stop: ``Cleo plays Dark to destroy your Light``."""
    return f"{seating.does(by, 'plays', 'play')} {seating.die(die, by)}{purpose(die, by, target, seating)}"


def purpose(die: Die, by: int, target: PowerTarget, seating: Seating) -> str:
    """Return what a die is played for, as the end of a sentence: `` to destroy your Light``."""
    aim = seating.who(target) if isinstance(target, int) else "" if target is None else seating.die(target, by)
    return POWERS[die.mote].purpose.format(target=aim)


def played(die: Die, by: int, seating: Seating) -> str:
    """Return a die with the player who plays it: ``Ben's Dark``, or ``Dan's Dark, played by Ben,``."""
    if die.seat == by:
        return f"{seating.whose(by)} {die.mote.capitalize()}"
    return f"{seating.die(die, by)}, played by {seating.who(by)},"


def question_of_motes(view: View, seating: Seating) -> str:
    """Return the question about powers or stakes to the player whose turn it is; empty if there is none."""
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
    """Return the dice in the graveyard that can be played now, in the order of the menu."""
    return list(dict.fromkeys(move.die for move in view.legal if isinstance(move, Power)))


def play_first(view: View, seating: Seating) -> str:
    """Return the dice that can be played before a bid, as part of a question: ``play Red first``; empty for none."""
    dice = playable(view)
    if not dice:
        return ""
    return f"play {seating.die(dice[0], view.seat) if len(dice) == 1 else 'a die'} first"


def _one_of(dice: Sequence[Die], seating: Seating) -> str:
    if len(dice) == 1:
        return f"{seating.whose(dice[0].seat)} {dice[0].mote.capitalize()}"
    return POWERS[dice[0].mote].one


def funds(view: View) -> str:
    """Return everything that the player can stake, in words: ``1,000 coins and one run ticket``."""
    return _coins(view.funds) + (f" and {_tickets(view.tickets)}" if view.tickets else "")


def window(state: State) -> str:
    """Return which window in :data:`WINDOWS` is open; empty if none is."""
    if state.motes is None or state.motes.prize is None or state.phase in ("discard", "crown", "over"):
        return ""
    if state.awaits is Expect.ROLLED:  # the state already has the phase that follows the roll
        return ""
    return state.phase if state.phase in WINDOWS else "bidding"


def window_and_prize(state: State) -> str:
    """Return the open window and the prize as sentences; empty without a prize."""
    prize = state.motes.prize if state.motes is not None else None
    now = WINDOWS.get(window(state), "")
    return f"{now} The prize is {prize.capitalize()}.".lstrip() if prize is not None else ""


def graveyard(state: State, seating: Seating) -> str:
    """Return the public state of dice with powers in lines: cups, graveyard, stack, and lasting effects."""
    motes = state.motes
    if motes is None:
        return ""
    parts = [
        *(
            f"{capital(seating.whose(seat))} cup: {_dice(cup, seat, seating)}"
            for seat, cup in enumerate(motes.cups)
            if cup
        ),
        *(
            f"In the graveyard, for {seating.who(seat)} to play: {_dice(sent, seat, seating)}"
            for seat, sent in _sent(state)
            if sent
        ),
        *(f"To take effect: {played(die, by, seating).rstrip(',')}" for die, by, _ in reversed(motes.stack)),
        *(initial(effect.note(seating.who(effect.seat))) for effect in motes.lasting),
    ]
    return "\n".join(f"    {part}" for part in parts)


def _sent(state: State) -> list[tuple[int, list[Die]]]:
    assert state.motes is not None
    buried = state.motes.graveyard
    return [(seat, [die for die, by in buried if by == seat]) for seat in range(state.players)]


def _dice(dice: Sequence[Die], holder: int, seating: Seating) -> str:
    return ", ".join(seating.die(die, holder) for die in dice)


def staked(stake: Stake) -> str:
    """Return the reader's stake as a phrase to follow *you*.

    >>> staked(Stake(1000)), staked(Stake(0, 1))
    ('stake 1,000 coins', 'stake no coins and one run ticket')
    """
    return f"stake {_coins(stake.bet)}" + (f" and {_tickets(stake.tickets)}" if stake.tickets else "")


def _coins(count: int) -> str:
    return counted(count, "coin")


def _tickets(count: int) -> str:
    return counted(count, "run ticket")


def ticket_change(count: int) -> str:
    """Return a change in run tickets in words; empty for zero."""
    return f"{count:+,d} {plural(count, 'run ticket')}" if count else ""
