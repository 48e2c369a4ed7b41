"""One plain sentence for each event, fit to be read aloud: no boxes, no colours, nothing that moves.

A showdown takes a line for each cup. Everything that a peer wrote is escaped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, assert_never

from cli.render import (
    bid,
    capital,
    clause,
    columns,
    command_line,
    counted,
    dice_count,
    escape,
    faces,
    hand,
    listing,
    number,
    ordinal,
    sentence,
)
from cli.rulesets import nearest_preset
from cli.text.narrate_motes import (
    also_playable,
    graveyard,
    narrate_choice,
    narrate_ending,
    narrate_opening,
    narrate_playing,
)
from cli.text.seating import Seating, display_names
from cli.text.transcript_names import words_for
from p2pdice import Exact, Expect, Liar
from p2pdice import events as game
from protocol import events as node

if TYPE_CHECKING:
    from collections.abc import Sequence

    from p2pdice import Die, Hand, Ruleset, State


def narrate(event: node.NodeEvent, seating: Seating) -> str:
    """Return what a node's event tells its owner."""
    match event:
        case node.Happened(event=game.PlayerOut() as out):
            return _player_out(out, event.eviction, seating)
        case node.Happened():
            return narrate_game(event.event, event.state, seating)
        case node.DiceRolled():
            return f"You roll {hand(event.hand)}."
        case node.CupsSeen():
            lines = [cup_line(seat, event.hands, seating) for seat, cup in enumerate(event.hands) if cup != ()]
            powers = graveyard(event.state, seating)
            return "\n".join(["All dice of this round:", *lines, *([powers] if powers else [])])
        case node.YourTurn():
            return _your_turn(event, seating)
        case node.MatchStarted() | node.MatchOver() | node.MatchFormed() | node.ConcedeAccepted():
            return _match(event, seating)
        case node.TableOpened() | node.TableMoved() | node.TableJoined() | node.TableWatched():
            return _table(event)
        case node.LobbyChanged():
            return _sitting(event)
        case node.TableClosed():
            return f"The table is closed: {clause(escape(event.reason))}"
        case node.AwaitingHost():
            return _awaiting(event, seating)
        case node.PeerLost() | node.PeerBack() | node.Misbehaved():
            return _peers(event, seating)
        case node.Suspended() | node.Continued() | node.Overdue() | node.TakenBack():
            return _course(event, seating)
        case node.Said():
            who = "You say" if event.player.is_me else f"{seating.named([event.player])} says"
            return f"{who}: {escape(event.text)}"
        case node.Stopped():
            return f"This program has stopped: {clause(escape(event.reason))} The match can be resumed."
        case node.Diverged():
            told = "The players' programs disagree about the game. That is a bug in one of them"
            return f"{told}, and no player's fault. The match cannot go on. What this one holds is in the log."
        case node.Notice():
            return sentence(escape(event.text))
        case _:
            assert_never(event)


def _table(event: node.TableOpened | node.TableMoved | node.TableJoined | node.TableWatched) -> str:
    match event:
        case node.TableOpened():
            command = f"    {command_line('join', event.join_line)}"
            if not event.is_reachable:
                opened = (
                    f'The table "{escape(event.name)}" is open to this laptop only: it has no address on a network.'
                )
                return f"{opened} In another terminal, type:\n{command}"
            lines = [f'The table "{escape(event.name)}" is open. On another laptop, type:', command]
            if event.advertised:
                lines.append("Where the network lets multicast through, plain p2pdice join finds it too.")
            elif event.problem:
                lines.append(f"Plain p2pdice join does not find it: {escape(event.problem)}.")
            return "\n".join(lines)
        case node.TableMoved():
            command = command_line("join", event.join_line)
            return f"This laptop has another address now. On another laptop, type:\n    {command}"
        case node.TableJoined() | node.TableWatched():
            host = f"{escape(event.host.name)} ({event.host.fingerprint})"
            table = f'"{escape(event.name)}", hosted by {host}; {_rules(event.ruleset)}, {counted(event.seats, "seat")}'
            if isinstance(event, node.TableJoined):
                return f"You sit at {table}."
            return f"You watch {table}. You will see the match as soon as it begins."


def _rules(ruleset: Ruleset) -> str:
    if ruleset.name:
        return f"the rules called {ruleset.name}"
    base, changes = nearest_preset(ruleset)
    return f"house rules ({base} with {listing(changes)})"


def _sitting(event: node.LobbyChanged) -> str:
    changes = [
        f"{listing(display_names(players, event.players))} {verb}{'s' if len(players) == 1 else ''}"
        for players, verb in ((event.joined, "join"), (event.left, "leave"))
        if players
    ]
    names = [
        f"{name} (you)" if player.is_me else name
        for player, name in zip(event.players, display_names(event.players), strict=True)
    ]
    now = f"{number(len(names))} of {counted(event.seats, 'seat')} taken, by {listing(names)}."
    return f"{listing(changes)}: {now}" if changes else f"At the table: {now}"


def _match(
    event: node.MatchStarted | node.MatchOver | node.MatchFormed | node.ConcedeAccepted, seating: Seating
) -> str:
    match event:
        case node.MatchFormed():
            return f"Everybody has signed the roster and the rules of match {event.match_id[:8]}; seats are drawn."
        case node.MatchStarted():
            order = seating.everyone(range(len(seating.names)))
            if event.resumed:
                role = "You watch" if event.my_seat is None else "You are back in"
                table = f' at the table "{escape(event.table)}",' if event.table else ""
                match = f"{role} match {event.match_id[:8]}{table} of {order}, by {_rules(event.ruleset)}."
                mine = event.my_seat is not None and event.state.turn == event.my_seat
                return (
                    f"{match} {standing(event.state, seating, ' as soon as the others have answered' if mine else '')}"
                )
            return f"The match begins, by {_rules(event.ruleset)}. Clockwise sit {order}."
        case node.ConcedeAccepted():
            if not event.awaited:
                return "You give up; you are out as soon as the others have heard of it."
            return f"You give up as soon as the match goes on: it waits for {seating.named(event.awaited)}."
        case node.MatchOver():
            words = words_for(event.transcript, event.match_id[:8])
            kept = f"The transcript is {event.transcript}"
            return "\n".join(
                (
                    " ".join(filter(None, (confirmation(event), kept))),
                    "Verify it with:",
                    f"    {command_line('verify', *words)}",
                    "See the match again with:",
                    f"    {command_line('replay', *words)}",
                )
            )


def confirmation(over: node.MatchOver) -> str:
    """Return whether everybody holds the same result, as a sentence; nothing where that is not known."""
    if over.confirmed is None:
        return ""
    return "Everybody has confirmed the result." if over.confirmed else "Not everybody has confirmed the result yet."


def _awaiting(event: node.AwaitingHost, seating: Seating) -> str:
    host = seating.named([event.host]) if event.host is not None else "the host"
    match event.host_is:
        case "asked":
            return f"Asking {host} for a seat."
        case "silent":
            seconds = f"{event.seconds:.0f} seconds"
            return f"{capital(host)} does not answer. If that lasts {seconds}, you stop waiting."
        case "there":
            return f"Waiting for {host} to open the table again."
        case "full":
            return "No seat is free now. You get the next one."
        case "playing":
            look_on = "You watch, and get a seat in the next match if one is free."
            return f"{capital(host)} is playing with others. {look_on}"


def _peers(event: node.PeerLost | node.PeerBack | node.Misbehaved, seating: Seating) -> str:
    match event:
        case node.PeerLost():
            who = seating.named([event.player])
            if event.left_on_purpose:
                return f"{who} has left the table, and can still come back."
            return f"{who} cannot be reached at the moment."
        case node.PeerBack():
            return f"{seating.named([event.player])} is back."
        case node.Misbehaved():
            who = seating.named([event.player])
            told = f"{who} broke the rules, as their own signature proves: {clause(escape(event.reason))}"
            if event.proof is None:
                return told
            command = command_line("verify", *words_for(event.proof, event.proof.stem))
            return f"{told} The proof is {event.proof}\nVerify it with:\n    {command}"


def _course(event: node.Suspended | node.Continued | node.Overdue | node.TakenBack, seating: Seating) -> str:
    match event:
        case node.Suspended():
            names = seating.named(event.awaited)
            return (
                f"The match waits for {names}: too few are left to go on without them. You may wait, or quit and resume"
                " it another day."
            )
        case node.Continued():
            return "The match goes on."
        case node.Overdue():
            seconds = counted(event.seconds, "second")
            if any(player.is_me for player in event.awaited):
                return f"You have {seconds} left; then the others may go on without you, and you are out of the match."
            names = seating.named(event.awaited)
            return f"Waiting for {names}. In {seconds} the others may go on without them."
        case node.TakenBack():
            void = "The last moves are void: most players have agreed on another course."
            return f"{void} {standing(event.state, seating)}"


def _your_turn(event: node.YourTurn, seating: Seating) -> str:
    state = event.view.state
    if choice := narrate_choice(event.view, seating):
        return choice
    also = f" {also_playable(event.view, seating)}".rstrip()
    mine = f"You have {hand(event.view.hand)}."
    challenge = state.challenge
    if challenge is not None and state.bid is not None:
        accuser, accused = seating.who(challenge.seat), seating.who(state.bid.seat)
        return f"Your turn: do you side with {accuser} (type accuser) or with {accused} (type accused)? {mine}"
    if state.bid is None:
        such = ", such as 2x3 for two threes" if state.round == 1 else ""
        return f"Your turn: open the round with a bid{such}.{also}"
    standing_bid = f"{seating.whose(state.bid.seat)} {bid(state.bid.quantity, state.bid.face)}"
    calls = listing([str(move) for move in event.view.legal if isinstance(move, Liar | Exact)], "or")
    return f"Your turn: raise {standing_bid}, or call it: {calls}. {mine}{also}"


def standing(state: State, seating: Seating, when: str = "") -> str:
    """Return where a match stands: the round, the dice, the bid, and who is awaited.

    :param when: what must come before the move, if it is not time for it yet.
    """
    parts = [f"Round {state.round}.", dice_by_player(state.dice, seating)]
    if state.bid is not None:
        parts.append(f"The bid is {bid(state.bid.quantity, state.bid.face)} by {seating.who(state.bid.seat)}.")
    if waiting := awaited(state, seating):
        parts.append(f"{capital(waiting)} to move{when}.")
    return " ".join(parts)


def awaited(state: State, seating: Seating) -> str:
    """Return whose move it is, ``you are`` or ``Ada is``; nothing if no single player is awaited."""
    if state.expects.kind is not Expect.MOVE:
        return ""
    seat = state.expects.seats[0]
    return "you are" if seat == seating.me else f"{seating.names[seat]} is"


def dice_by_player(dice: Sequence[int], seating: Seating) -> str:
    """Return the dice left: ``Dice: Ada 5, you 3; 8 in play.`` Seats without dice are left out."""
    counts = ", ".join(f"{seating.who(seat)} {count}" for seat, count in enumerate(dice) if count)
    return f"Dice: {counts}; {sum(dice)} in play."


def narrate_game(event: game.Event, state: State, seating: Seating) -> str:
    """Return what happened in the game; ``state`` is the one after it."""
    match event:
        case game.RoundStarted():
            special = " It is a special round: ones are not wild." if event.palifico else ""
            leads = seating.does(event.leader, "leads", "lead")
            return f"Round {event.round}: {leads}. {dice_by_player(event.dice, seating)}{special}"
        case game.BidMade():
            # A player wants to know who is next; for others the order of seats says it.
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
            return _player_out(event, None, seating)
        case game.LeadPassed():
            return f"{seating.does(event.seat, 'leads', 'lead')} next."
        case game.PalificoBegins():
            who = seating.does(event.seat, "is", "are")
            return f"{who} down to one die for the first time: a special round follows, without wild ones."
        case game.Pledged() | game.StakesOpened() | game.PrizeDrawn():
            return narrate_opening(event, seating)
        case game.TwinSoulJoined() | game.TicketsEarned() | game.StakesPaid():
            return narrate_ending(event, seating)
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
            are = "is" if len(event.right) == 1 and event.right[0] != seating.me else "are"
            wrong = f", {seating.everyone(event.wrong)} wrong" if event.wrong else ""
            return f"The bid is {verdict}: {seating.everyone(event.right)} {are} right{wrong}."
        case game.RoundVoid():
            cups = listing([f"{seating.whose(seat)} cup" for seat in event.unopened])
            return f"Round {event.round} is void, as the verdict depends on {cups}: nobody loses a die."


def cup_line(seat: int, hands: Sequence[Hand | None], seating: Seating) -> str:
    """Return what is in one cup, in columns below those of the others."""
    width = max(map(columns, map(seating.who, range(len(seating.names)))))
    cup = hands[seat]
    name = seating.who(seat)
    return f"    {name}{' ' * (width - columns(name))}  {'never opened' if cup is None else hand(cup)}"


def tally(shown: game.HandsShown) -> str:
    """Return what was bid, and how many dice there are."""
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


def _player_out(event: game.PlayerOut, eviction: node.Eviction | None, seating: Seating) -> str:
    """Return who is out and why; an eviction has a reason that only the agreement between the nodes knows."""
    out = f"{seating.does(event.seat, 'is', 'are')} out"
    if eviction is None:
        return out + _REASONS[event.reason]
    if eviction.misconduct:
        return f"{out} for breaking the rules: {escape(eviction.misconduct)}."
    them = "you" if event.seat == seating.me else "them"
    what = "no move" if eviction.was_on_turn else "nothing"
    have = "has" if len(eviction.witnesses) == 1 and eviction.witnesses[0] != seating.me else "have"
    signed = f"{seating.everyone(eviction.witnesses)} {have} signed"
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
