"""The events of a node in plain sentences, suitable for reading aloud, and as NDJSON, one JSON object per line.

In sentences, all text from peers is escaped. The events of the game are in :mod:`cli.text.narrate_game`.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, Final, assert_never

from cli.render import (
    capital,
    clause,
    command_line,
    counted,
    default_table_name,
    escape,
    faces,
    hand,
    initial,
    listing,
    sentence,
    shown_path,
)
from cli.rulesets import described
from cli.settings import home_words
from cli.text.move_forms import example_stake, is_stake, offers
from cli.text.narrate_game import (
    cup_line,
    funds,
    graveyard,
    narrate_game,
    play_first,
    player_out,
    question_of_motes,
    standing,
)
from cli.text.seating import Seating, display_names
from p2pdice import events as game
from p2pdice.moves import Bid, Exact, Liar
from p2pdice.plurals import number
from p2pdice.rulesets import Ruleset
from p2pdice.views import View
from protocol import events as node
from protocol.errors import RefuseCode
from protocol.storage.home import home_around

_ODDS: Final = ("Nobody is shown odds here.", "Everybody is shown odds here.", "")
_TALK: Final = ("", "Spectators may talk.")
_UNNAMED: Final = "a spectator"
"""The name for a spectator whose name is not known here."""
BOT_FAILED: Final = "BotFailed"
BOT_FAULT: Final = "BotFault"
BOT_DONE: Final = "BotDone"
OF_BOTS: Final = (BOT_FAILED, BOT_FAULT, BOT_DONE)
"""Events about a program that plays, not about the match."""
STANDINGS: Final = "Standings"
NIGHT_OVER: Final = "NightOver"
"""Events of a league night: the first after each match, the second at the end."""
VERDICT: Final = "Verdict"
"""The event with the verdict on a file. It comes before the events in the file."""
_LEFT_OUT: Final = {"state", "view", "is_last"}
"""Omitted fields: states and views, which follow from the events and would be most of the output, and ``is_last``."""


def narrate(event: node.NodeEvent, seating: Seating) -> str:
    """Return the report of an event to a node's owner: a sentence, sometimes several, or several lines."""
    match event:
        case node.Happened(event=game.PlayerOut() as out):
            return player_out(out, event.eviction, seating)
        case node.Happened():
            return narrate_game(event.event, event.state, seating)
        case node.DiceRolled():
            return f"You roll {hand(event.hand)}."
        case node.CupsSeen():
            lines = [f"    {cup_line(seat, cup, seating)}" for seat, cup in enumerate(event.hands) if cup != ()]
            powers = graveyard(event.state, seating)
            return "\n".join(["All dice of this round:", *lines, *([powers] if powers else [])])
        case node.YourTurn():
            return your_turn(event.view, seating)
        case node.MatchFormed():
            return "Everybody has signed in. Seats are drawn."
        case node.MatchStarted():
            order = f"In order: {', '.join(map(seating.who, range(len(seating.names))))}."
            if event.resumed:
                role = "You watch" if event.my_seat is None else "You are back in"
                table = f' at the table "{escape(event.table)}",' if event.table else ""
                match = f"{role} match {event.match_id[:8]}{table} playing {_rules(event)}. {order}"
                mine = event.my_seat is not None and event.state.turn == event.my_seat
                return (
                    f"{match} {standing(event.state, seating, ' as soon as the others have answered' if mine else '')}"
                )
            return f"Playing {_rules(event)}. {order}"
        case node.ConcedeAccepted():
            return conceded(event, seating)
        case node.MatchResult():
            return result(event)
        case node.TableOpened():
            return _with_customs(_opened(event), event)
        case node.TableJoined() | node.TableWatched():
            return _with_customs(_entered(event), event)
        case node.CodeMade():
            return f"A new code. Your friends type:\n    {command_line('join', event.code)}"
        case node.CodeTried():
            if event.tries_left:
                tries = "try closes" if event.tries_left == 1 else "tries close"
                return f"Somebody typed a wrong code. {number(event.tries_left).capitalize()} more wrong {tries} it."
            return "Too many wrong tries: the code is closed. Type code for a new one."
        case node.TableMoved():
            return moved(event, has_code=False)
        case node.LobbyChanged():
            return _sitting(event)
        case node.SeatAsked():
            return seat_asked(event, seating.players)
        case node.SeatPending():
            return "The host is being asked whether you may sit down."
        case node.Watching():
            verb = "is" if len(event.names) < 2 else "are"
            known = [escape(name) for name in event.names if name != _UNNAMED]
            unnamed = len(event.names) - len(known)
            others = (_UNNAMED if unnamed == 1 else counted(unnamed, "spectator")) if unnamed else ""
            who = listing([*known, *filter(None, [others])]) if known else initial(others or "nobody")
            return f"{who} {verb} watching."
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
        case node.SeatWanted():
            wants = "a seat" if event.watched else "another match"
            return f"{capital(seating.named([event.player]))} wants {wants}."
        case node.Recognised():
            who = capital(seating.named([event.player]))
            met = f"You have met {who} in {counted(event.matches, 'match', 'matches')}." if event.matches else ""
            return f"You trust the key of {who}." if event.is_trusted else met or f"{who} is new to you."
        case node.Unfamiliar():
            return unfamiliar(event.player, event.known_as, event.namesakes, event.trusted)
        case node.PeerLost():
            who = seating.named([event.player])
            if event.left_on_purpose:
                return f"{who} left, and can still come back."
            return f"{who} isn't answering."
        case node.PeerBack():
            return f"{seating.named([event.player])} is back."
        case node.Misbehaved():
            who = seating.named([event.player])
            proves = f"{who}'s program broke the rules, and its own signature proves it"
            told = f"{proves}: {clause(escape(event.reason))}"
            if event.proof is None:
                return told
            command = command_line("verify", *words_for(event.proof, event.proof.stem))
            return f"{told} The proof is {event.proof}\nVerify it with:\n    {command}"
        case node.Suspended():
            return suspended(event, seating, plays=seating.me is not None)
        case node.Continued():
            return "The match goes on."
        case node.Overdue():
            if any(player.is_me for player in event.awaited):
                return f"{_time(event.seconds)} left. Then the others can go on without you."
            names = seating.named(event.awaited)
            them = names if len(event.awaited) == 1 else "them"
            others = "The others" if seating.me is None else "You"
            return f"Waiting for {names}. {others} can go on without {them} in {time_left(event.seconds)}."
        case node.TakenBack():
            return f"The last moves are taken back: the others had already gone on. {standing(event.state, seating)}"
        case node.Claimed():
            return _claimed(event)
        case node.Said():
            who = "You say" if event.player.is_me else f"{capital(seating.named([event.player]))} says"
            return f"{who}: {escape(event.text)}"
        case node.Stopped():
            return f"This program has stopped: {clause(escape(event.reason))} The match can be resumed."
        case node.Diverged():
            return "The programs disagree. That's a bug, nobody's fault. The log says more."
        case node.Notice():
            return sentence(escape(event.text))
        case _:
            assert_never(event)


def seat_asked(event: node.SeatAsked, players: Sequence[node.PlayerInfo]) -> str:
    """Return the question about a newcomer: the host says whether they may sit down, a guest whether to play with them.

    :param players: the players at the table. A newcomer whose name looks like one of theirs is shown with part of the
        fingerprint.
    """
    (name,) = display_names([event.player], players)
    who, false = f"{name} ({event.player.fingerprint})", ""
    if event.namesake:
        false = " under a name you trust, but with a different key"
    if not event.came_by:
        return f"{who} sits here{false}. Do you play with them? Type seat {name}, or quit."
    return f"{who} wants to sit down{false}. Type seat {name}, watch {name} or refuse {name}."


def _claimed(event: node.Claimed) -> str:
    players = listing(display_names(event.away, event.players))
    home = home_around(event.transcript)
    words = home_words(home) if home is not None else ()
    return (
        f"You left the match: {players} had been away for {counted(event.since_seconds, 'second')} by your clock."
        " It counts as claimed, not confirmed: nobody has won. To return to it:\n"
        f"    {command_line('resume', event.match_id[:8], *words)}\n"
        f"The match so far is in {shown_path(event.transcript)}"
    )


def unfamiliar(
    player: node.PlayerInfo,
    known_as: Sequence[str],
    namesakes: Sequence[node.PlayerInfo],
    trusted: Collection[str] = (),
    *,
    is_over: bool = False,
) -> str:
    """Return the conflicts between a key and its name: the key has had other names, or other keys have had this name.

    :param trusted: fingerprints of the namesakes whom the reader trusts.
    :param is_over: whether the match is over; then all fingerprints are included.
    """
    name = escape(player.name)
    shown = f"{name} ({player.fingerprint})" if is_over else name
    told = []
    if known_as:
        told.append(f"{shown} used to be called {listing([escape(each) for each in known_as])} (same key).")
    known = [
        f"the {escape(each.name)} you {'trust' if each.fingerprint in trusted else 'have met'}" for each in namesakes
    ]
    if known and is_over:
        known = [f"{each} ({other.fingerprint})" for each, other in zip(known, namesakes, strict=True)]
        told.append(f"{shown} is not {', nor '.join(known)}: compare keys.")
    elif known:
        marked = f"{name} [{player.fingerprint.partition('-')[0]}]"
        told.append(f"{marked} is here. Not {known[0]}: compare keys before you play.")
    return " ".join(told)


def _opened(event: node.TableOpened) -> str:
    if not event.is_reachable:
        opened = f'The table "{escape(event.name)}" is open to this laptop only: it has no address on a network.'
        elsewhere = command_line("join", event.join_line, "--home", "DIR")
        return f"{opened} In another terminal, with another folder DIR as its home, type:\n    {elsewhere}"
    lines = [invitation(event.join_line, event.code)]
    if event.advertised:
        lines.append("On most networks p2pdice join alone finds it too.")
    elif event.problem:
        lines.append(f"p2pdice join alone does not find it: {escape(event.problem)}.")
    return "\n".join(lines)


def invitation(join_line: str, code: str) -> str:
    """Return what a host tells friends: the command with the code, if there is one, and the one with the join line."""
    lines = ["Tell your friends. They type:"]
    if code:
        lines += [f"    {command_line('join', code)}", "Not found? This long line always works:"]
    return "\n".join([*lines, f"    {command_line('join', join_line)}"])


def _entered(event: node.TableJoined | node.TableWatched) -> str:
    host = escape(event.host.name)
    name = "" if event.name == default_table_name(event.host.name) else f' "{escape(event.name)}"'
    at = f"at {host}'s table{name}, playing {_rules(event)}"
    if isinstance(event, node.TableJoined):
        return f"You are {at}."
    return f"You are watching {at}. The match is shown as soon as it begins."


def moved(event: node.TableMoved, *, has_code: bool) -> str:
    """Return how others find an open table whose laptop has a new address.

    :param has_code: whether the table has a short code, which stays valid.
    """
    still = " The code still works." if has_code else ""
    command = command_line("join", event.join_line)
    return f"This laptop has a new address.{still} The long line is now:\n    {command}"


def _rules(event: node.TableJoined | node.TableWatched | node.MatchStarted) -> str:
    rules = described(event.ruleset, event.rules_name)
    if event.ruleset.name:
        return rules
    return f"the house rules {rules}" if event.rules_name else f"house rules ({rules})"


def _sitting(event: node.LobbyChanged) -> str:
    free = event.seats - len(event.players)
    changes = [
        f"{listing(display_names(players, event.players))} {one if len(players) == 1 else many}"
        for players, one, many in ((event.joined, "sits down", "sit down"), (event.left, "leaves", "leave"))
        if players
    ]
    if changes:
        are_free = f"{number(free).capitalize()} {'seat is' if free == 1 else 'seats are'} free."
        return f"{listing(changes)}. {are_free if free else 'All seats are taken.'}"
    names = display_names(event.players)
    shown = [name for player, name in zip(event.players, names, strict=True) if not player.is_me]
    shown += ["you"] if len(shown) < len(names) else []
    has = "has a seat" if len(shown) == 1 and shown != ["you"] else "have a seat" if len(shown) == 1 else "have seats"
    left = f"{number(free).capitalize()} {'is' if free == 1 else 'are'} free."
    return f"{capital(listing(shown))} {has}. {left if free else 'All seats are taken.'}"


def result(over: node.MatchResult, *, has_leavers: bool = True) -> str:
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
    """Return a sentence on whether all players have signed the result; empty if unknown.

    :param has_leavers: whether players may have left before the end. They were not asked to sign.
    """
    if over.confirmed is None:
        return ""
    asked = "everybody who stayed" if has_leavers else "everybody"
    return f"{asked.capitalize()} signed the result." if over.confirmed else f"Not {asked} has signed yet."


def _awaiting(event: node.AwaitingHost, seating: Seating) -> str:
    host = seating.named([event.host]) if event.host is not None else "one of the players"  # any may open the table
    match event.host_is:
        case "asked":
            return f"Asking {host} for a seat."
        case "silent":
            seconds = counted(round(event.seconds), "second")
            silent = f"{capital(host)} isn't" if event.host is not None else "None of the players is"
            return f"{silent} answering. If that lasts {seconds}, you stop waiting."
        case "there":
            return f"Waiting for {host} to open the table again."
        case "full":
            return "No seat is free now. You get the next one."
        case "playing":
            look_on = "You watch, and get a seat in the next match if one is free."
            return f"{capital(host)} is playing with others. {look_on}"


def conceded(event: node.ConcedeAccepted, seating: Seating, *, after: str = "back") -> str:
    """Return the sentences for a player who concedes.

    :param after: what the awaited players must do first: be ``back``, have ``moved`` or have ``answered``.
    """
    if event.next_round:
        return "You concede. Your program has just voted about an absent player, so it stays in until the next round."
    if not event.awaited:
        return "You concede. You'll be out as soon as the others have heard of it."
    one, many = ("is", "are") if after == "back" else ("has", "have")
    verb = one if len(event.awaited) == 1 else many
    return f"You concede. You'll be out as soon as {seating.named(event.awaited)} {verb} {after}."


def suspended(event: node.Suspended, seating: Seating, *, plays: bool) -> str:
    """Return the sentences for a match that has to wait.

    :param plays: whether the reader is still in the game, so that the match needs them.
    """
    leave = "leave and resume another day" if plays else "leave"
    return f"The match waits for {seating.named(event.awaited)}. Wait, or {leave}."


def time_left(seconds: int) -> str:
    """Return the time left in minutes and seconds: ``1:58``."""
    return f"{seconds // 60}:{seconds % 60:02}"


def _time(seconds: int) -> str:
    """Return the time left in words: ``One minute``, ``45 seconds``."""
    minutes, rest = divmod(seconds, 60)
    return initial(counted(minutes, "minute") if minutes and not rest else counted(seconds, "second"))


def question(view: View, seating: Seating) -> str:
    """Return the table's question to the player whose turn it is."""
    state = view.state
    if of_motes := question_of_motes(view, seating):
        return of_motes
    if state.challenge is not None and state.bid is not None:
        caller, bidder = seating.who(state.challenge.seat), seating.who(state.bid.seat)
        return f"Who's right: {caller}, who called, or {bidder}, who bid?"
    first = play_first(view, seating)
    if state.bid is None:
        return f"Your turn: make the first bid{f', or {first}' if first else ''}."
    what = f"{seating.whose(state.bid.seat)} {faces(state.bid.quantity, state.bid.face)}"
    if not any(isinstance(move, Bid) for move in view.legal):
        return f"Your turn: call {what}{f', or {first}' if first else ''}."
    return f"Your turn: raise {what}{f', call it, or {first}' if first else ', or call it'}."


def your_turn(view: View, seating: Seating) -> str:
    """Return the question to the player whose turn it is, with the moves to type that are neither bids nor calls."""
    state, asked = view.state, question(view, seating)
    if is_stake(view):
        if not view.funds and not view.tickets:
            return asked
        return f"{asked} You have {funds(view)}. Type {example_stake(view)}, or stake 0 for nothing."
    if state.bid is not None and state.motes is not None and state.motes.must_raise:
        who = seating.does(state.bid.seat, "bid", "bid")
        return f"{asked} {who} {faces(state.bid.quantity, state.bid.face)}."
    # Bids and calls are left out: players know how to type them.
    offered = zip(view.legal, offers(view, seating.names), strict=True)
    texts = [text for move, text in offered if not isinstance(move, Bid | Liar | Exact)]
    rest = len(texts) - _SHOWN
    # Always show the last move, which is often to pass.
    shown = texts if rest <= 0 else [*texts[: _SHOWN - 1], f"{rest} more", texts[-1]]
    return f"{asked} Type {listing(shown, 'or')}." if shown else asked


_SHOWN: Final = 6
"""Maximum number of moves in a sentence. The Tab key shows all of them."""


def _with_customs(told: str, event: node.TableOpened | node.TableJoined | node.TableWatched) -> str:
    """Add sentences on who sees the odds of bids and who may talk, unless these are the defaults."""
    customs = " ".join(filter(None, (_ODDS[event.odds], _TALK[event.talk])))
    return "\n".join(filter(None, (told, customs)))


def words_for(path: Path, name: str) -> tuple[str | Path, ...]:
    """Return the words to type for a file: a name if a home holds the file, otherwise its path.

    :param name: the name of the file in its home.
    """
    home = home_around(path)
    return (path,) if home is None else (name, *home_words(home))


# NDJSON


def event_name(event: type[node.NodeEvent]) -> str:
    """Return the ``type`` of an event: the name of its class. Other programs rely on these names."""
    return "MatchOver" if event is node.MatchResult else event.__name__


def event_line(event: node.NodeEvent, seating: Seating, **beside: Any) -> str:
    """Return an event as one line of JSON: its name as ``type``, its ``sentence``, and its fields.

    An event of the game is an object under ``event``, in the form that the engine writes.

    :param beside: additional keys.
    """
    data: dict[str, Any] = {"type": event_name(type(event)), "sentence": narrate(event, seating)}
    for field in fields(event):
        if field.name not in _LEFT_OUT:
            data[field.name] = _data(getattr(event, field.name))
    if isinstance(event, node.Happened):
        data["event"] = event.event.to_json()
    return json.dumps(data | beside)


def _data(value: object) -> Any:
    match value:
        case node.PlayerInfo():
            return {"name": value.name, "fingerprint": value.fingerprint, "is_me": value.is_me}
        case Ruleset():
            return dict(value.options())
        case node.Eviction():
            return {field.name: _data(getattr(value, field.name)) for field in fields(value)}
        case Path():
            return str(value)
        case tuple():
            return [_data(item) for item in value]
    return value
