"""One plain sentence for each event, fit to be read aloud: no boxes, no colours, nothing that moves.

Everything that a peer wrote is escaped. The events of the game are in :mod:`cli.text.narrate_game`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import assert_never

from cli.render import bid, capital, clause, command_line, counted, escape, hand, listing, number, sentence, shown_path
from cli.rulesets import described
from cli.text.narrate_game import cup_line, narrate_game, player_out, standing
from cli.text.narrate_motes import also_playable, graveyard, narrate_choice
from cli.text.seating import Seating, display_names
from cli.text.transcript_names import words_for
from p2pdice import Exact, Liar
from p2pdice import events as game
from protocol import RefuseCode
from protocol import events as node


def narrate(event: node.NodeEvent, seating: Seating) -> str:
    """Return the sentence that tells a node's owner of an event."""
    match event:
        case node.Happened(event=game.PlayerOut() as out):
            return player_out(out, event.eviction, seating)
        case node.Happened():
            return narrate_game(event.event, event.state, seating)
        case node.DiceRolled():
            return f"You roll {hand(event.hand)}."
        case node.CupsSeen():
            lines = [cup_line(seat, event.hands, seating) for seat, cup in enumerate(event.hands) if cup != ()]
            powers = graveyard(event.state, seating)
            return "\n".join(["All dice of this round:", *lines, *([powers] if powers else [])])
        case node.YourTurn():
            return your_turn(event, seating)
        case node.MatchStarted() | node.MatchResult() | node.MatchFormed() | node.ConcedeAccepted():
            return _match(event, seating)
        case (
            node.TableOpened()
            | node.CodeMade()
            | node.CodeTried()
            | node.TableMoved()
            | node.TableJoined()
            | node.TableWatched()
        ):
            return _table(event)
        case node.LobbyChanged():
            return _sitting(event)
        case node.TableClosed(code=RefuseCode.CLOSED):
            return f"The table is closed: {clause(escape(event.reason))}"
        case node.TableClosed():
            return f"You cannot stay at this table: {clause(escape(event.reason))}"
        case node.AwaitingHost():
            return _awaiting(event, seating)
        case node.AwaitingPlayers():
            proposed = f"Match {event.match_id[:8]} was proposed, and this program has not seen it begin."
            if not event.awaited:
                return f"{proposed} All players are here."
            return f"{proposed} It waits for {listing(display_names(event.awaited, event.players))}."
        case node.AgainAsked():
            return f"{capital(seating.named([event.player]))} wants to play again."
        case node.Unfamiliar():
            return unfamiliar(event.player, event.known_as, event.namesakes, event.trusted)
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
            bug = "The players' programs disagree about the game. That is a bug in one of them, and no player's fault."
            return f"{bug} The match cannot go on. The log has the details."
        case node.Notice():
            return sentence(escape(event.text))
        case _:
            assert_never(event)


def unfamiliar(
    player: node.PlayerInfo,
    known_as: Sequence[str],
    namesakes: Sequence[node.PlayerInfo],
    trusted: Collection[str] = (),
) -> str:
    """Return what does not fit when a key plays under a name: it has had others, or others have had the name.

    :param trusted: fingerprints of the namesakes whom the reader trusts.
    """
    shown = f"{escape(player.name)} ({player.fingerprint})"
    told = []
    if known_as:
        names = listing([escape(name) for name in known_as])
        told.append(f"{shown} uses a new name: you have met this key as {names}.")
    if namesakes:
        known: dict[str, list[str]] = {}
        for each in namesakes:
            how = "trust" if each.fingerprint in trusted else "have met"
            known.setdefault(how, []).append(f"{escape(each.name)} ({each.fingerprint})")
        others = ", and ".join(f"{listing(people)}, whom you {how}" for how, people in known.items())
        told.append(f"{shown} has a different key from {others}. Compare fingerprints.")
    return " ".join(told)


def _table(
    event: node.TableOpened | node.CodeMade | node.CodeTried | node.TableMoved | node.TableJoined | node.TableWatched,
) -> str:
    match event:
        case node.TableOpened():
            command = f"    {command_line('join', event.join_line)}"
            if not event.is_reachable:
                opened = (
                    f'The table "{escape(event.name)}" is open to this laptop only: it has no address on a network.'
                )
                elsewhere = command_line("join", event.join_line, "--home", "DIR")
                return f"{opened} In another terminal, with another folder DIR as its home, type:\n    {elsewhere}"
            lines = [f'The table "{escape(event.name)}" is open. On another laptop, type:']
            if event.code:
                lines += [f"    {command_line('join', event.code)}", "If that does not find it, type the long line:"]
            lines.append(command)
            if event.advertised:
                lines.append("Where the network lets multicast through, plain p2pdice join finds it too.")
            elif event.problem:
                lines.append(f"Plain p2pdice join does not find it: {escape(event.problem)}.")
            return "\n".join(lines)
        case node.CodeMade():
            command = command_line("join", event.code)
            return f"This table has a new short code. On another laptop, type:\n    {command}"
        case node.CodeTried():
            if event.tries_left:
                more = (
                    f"{number(event.tries_left)} more wrong {'try closes' if event.tries_left == 1 else 'tries close'}"
                )
                return f"Somebody tried a wrong short code for this table: {more} the code."
            closed = "The short code of this table is closed after too many wrong tries."
            return f"{closed} Type code for a new one. The long line is still good."
        case node.TableMoved():
            command = command_line("join", event.join_line)
            return f"This laptop has another address now. On another laptop, type:\n    {command}"
        case node.TableJoined() | node.TableWatched():
            host = f"{escape(event.host.name)} ({event.host.fingerprint})"
            table = f'"{escape(event.name)}", hosted by {host}; {_rules(event)}, {counted(event.seats, "seat")}'
            if isinstance(event, node.TableJoined):
                return f"You sit at {table}."
            return f"You watch {table}. You will see the match as soon as it begins."


def _rules(event: node.TableJoined | node.TableWatched | node.MatchStarted) -> str:
    rules = described(event.ruleset, event.rules_name)
    if event.ruleset.name:
        return f"the rules called {rules}"
    return f"the house rules called {rules}" if event.rules_name else f"house rules ({rules})"


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
    event: node.MatchStarted | node.MatchResult | node.MatchFormed | node.ConcedeAccepted, seating: Seating
) -> str:
    match event:
        case node.MatchFormed():
            return f"Everybody has signed the roster and the rules of match {event.match_id[:8]}; seats are drawn."
        case node.MatchStarted():
            order = seating.everyone(range(len(seating.names)))
            if event.resumed:
                role = "You watch" if event.my_seat is None else "You are back in"
                table = f' at the table "{escape(event.table)}",' if event.table else ""
                match = f"{role} match {event.match_id[:8]}{table} of {order}, by {_rules(event)}."
                mine = event.my_seat is not None and event.state.turn == event.my_seat
                return (
                    f"{match} {standing(event.state, seating, ' as soon as the others have answered' if mine else '')}"
                )
            return f"The match begins, by {_rules(event)}. The seats, clockwise: {order}."
        case node.ConcedeAccepted():
            if not event.awaited:
                return "You give up; you are out as soon as the others have heard of it."
            return f"You give up as soon as the match goes on: it waits for {seating.named(event.awaited)}."
        case node.MatchResult():
            return result(event)


def result(over: node.MatchResult, *, has_leavers: bool = False) -> str:
    """Return the sentences for the end of a match. The parameters are those of :func:`confirmation`."""
    words = words_for(over.transcript, over.match_id[:8])
    kept = f"The transcript is {shown_path(over.transcript)}"
    return "\n".join(
        (
            " ".join(filter(None, (confirmation(over, has_leavers=has_leavers), kept))),
            "Verify it with:",
            f"    {command_line('verify', *words)}",
            "See the match again, or make a page of it:",
            f"    {command_line('replay', *words)}",
            f"    {command_line('report', *words)}",
        )
    )


def confirmation(over: node.MatchResult, *, has_leavers: bool) -> str:
    """Return a sentence on whether everybody has confirmed the result; empty if that is not known.

    :param has_leavers: players left before the end. They were not asked.
    """
    if over.confirmed is None:
        return ""
    asked = "everybody who stayed" if has_leavers else "everybody"
    done = sentence(f"{asked} has confirmed the result")
    return done if over.confirmed else f"Not {asked} has confirmed the result yet."


def _awaiting(event: node.AwaitingHost, seating: Seating) -> str:
    host = seating.named([event.host]) if event.host is not None else "the host"
    match event.host_is:
        case "asked":
            return f"Asking {host} for a seat."
        case "silent":
            seconds = counted(round(event.seconds), "second")
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


def suspended(event: node.Suspended, seating: Seating, *, plays: bool) -> str:
    """Return the sentences for a match that waits.

    :param plays: the reader is in the game, and the match needs them.
    """
    waits = f"The match waits for {seating.named(event.awaited)}: too few are left to go on without them."
    return f"{waits} You may wait, or quit{' and resume it another day' if plays else ''}."


def _course(event: node.Suspended | node.Continued | node.Overdue | node.TakenBack, seating: Seating) -> str:
    match event:
        case node.Suspended():
            return suspended(event, seating, plays=seating.me is not None)
        case node.Continued():
            return "The match goes on."
        case node.Overdue():
            seconds = counted(event.seconds, "second")
            if any(player.is_me for player in event.awaited):
                return f"You have {seconds} left; then the others may go on without you, and you are out of the match."
            names = seating.named(event.awaited)
            return f"Waiting for {names}. In {seconds} the others may go on without them."
        case node.TakenBack():
            void = "The last moves are void: the match goes on from an earlier point."
            return f"{void} {standing(event.state, seating)}"


def your_turn(event: node.YourTurn, seating: Seating, *, with_dice: bool = True) -> str:
    """Return the question to the player on turn.

    :param with_dice: repeat the player's own dice.
    """
    state = event.view.state
    if choice := narrate_choice(event.view, seating):
        return choice
    also = f" {also_playable(event.view, seating)}".rstrip()
    mine = f" You have {hand(event.view.hand)}." if with_dice else ""
    challenge = state.challenge
    if challenge is not None and state.bid is not None:
        accuser, accused = seating.who(challenge.seat), seating.who(state.bid.seat)
        return f"Your turn: do you side with {accuser} (type accuser) or with {accused} (type accused)?{mine}"
    if state.bid is None:
        such = ", such as 2x3 for two threes" if state.round == 1 else ""
        return f"Your turn: open the round with a bid{such}.{also}"
    standing_bid = f"{seating.whose(state.bid.seat)} {bid(state.bid.quantity, state.bid.face)}"
    calls = listing([str(move) for move in event.view.legal if isinstance(move, Liar | Exact)], "or")
    return f"Your turn: raise {standing_bid}, or call it: {calls}.{mine}{also}"
