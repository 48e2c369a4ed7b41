"""Texts at one moment of a match: sentences about events and, on the full screen, the talk, the band, the key bar and
the window title.

No I/O. The talk does not repeat what the picture shows: bids, dice, turns, counts and verdicts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from cli.render import (
    capital,
    command_line,
    counted,
    escape,
    faces,
    initial,
    likely,
    listing,
    percent,
    sentence,
    shown_path,
)
from cli.table import answers
from cli.table.board import CupOpened
from cli.table.scene import Band, Talk
from cli.table.showdown import is_on as is_shown
from cli.text.move_forms import is_stake
from cli.text.narrate import conceded, moved, narrate, question, result, seat_asked, suspended
from cli.text.narrate_game import caught, counted_cup, narrate_game, tally, verdict
from cli.text.seating import display_names
from p2pdice import events as game
from p2pdice.moves import Bid, Exact, Liar
from p2pdice.plurals import number
from p2pdice.state import Expect
from protocol.events import (
    Claimed,
    CodeTried,
    ConcedeAccepted,
    CupsSeen,
    DiceRolled,
    Happened,
    MatchFormed,
    MatchResult,
    MatchStarted,
    Overdue,
    PeerLost,
    Recognised,
    Said,
    SeatAsked,
    SeatWanted,
    Suspended,
    TableJoined,
    TableMoved,
    TableOpened,
    TableWatched,
    YourTurn,
)
from protocol.limits import PLAYERS

if TYPE_CHECKING:
    from cli.table.board import Board, Showdown, Told
    from cli.text.rounds import Round
    from p2pdice.state import State
    from protocol.events import PlayerInfo

MOST_KEYS: Final = 8
_ON_THE_TABLE: Final = (
    game.RoundStarted,
    game.BidMade,
    game.ChallengeCalled,
    game.Sided,
    game.HandsShown,
    game.Judged,
    game.DieLost,
    game.DieGained,
    game.LeadPassed,
    game.Pledged,
    game.PhaseBegun,
    game.PrizeDrawn,
    game.Passed,
    game.TicketsEarned,
    game.StakesPaid,
    game.MatchOver,
)
_SEEN: Final = (
    YourTurn,
    DiceRolled,
    CupsSeen,
    MatchFormed,
    MatchStarted,
    MatchResult,
    TableOpened,
    TableJoined,
    TableWatched,
)
_CONFIRM: Final = {
    "liar": "Call liar? ! or Enter calls it, Esc takes it back.",
    "exact": "Call exact? = or Enter calls it, Esc takes it back.",
}
START: Final = "start"
"""The word that Enter types for a host in the lobby. A second Enter sends it."""


# Sentences


def tell(event: Told, board: Board) -> Iterator[str]:
    """Yield the sentences for an event that the board has just taken."""
    match event:
        case CupOpened():
            yield counted_cup(event.seat, event.shown, board.seating)
        case Happened(event=game.HandsShown() as shown):
            if shown.unopened:  # otherwise the verdict includes the count
                yield initial(tally(shown))
        case Happened(event=game.Judged() as judged):
            yield verdict(judged, board.showdown.shown if board.showdown is not None else None, board.seating)
        case Happened(event=game.LeadPassed()):
            return  # the sentence on the next round says who starts it
        case DiceRolled():  # if the reader has come back, these dice were rolled before
            yield f"You {'have' if board.is_back else 'roll'} {answers.own_hand(board)}."
        case TableMoved():
            yield moved(event, has_code=bool(board.code))
        case TableOpened() if not board.join_line:
            yield "Your bots take all other seats."
        case Recognised():
            pass  # the lobby shows a badge
        case SeatAsked():
            yield seat_asked(event, board.players)
        case SeatWanted(watched=True) if board.over is not None and board.hosts and board.seats < PLAYERS:
            yield f"{narrate(event, board.seating).removesuffix('.')}: type again {board.seats + 1}."
        case ConcedeAccepted():
            yield conceded(event, board.seating, after=_before_conceding(event.awaited, board))
        case CodeTried(tries_left=0):
            line = command_line("join", board.join_line)
            yield f"{narrate(event, board.seating)} The long line still works:\n    {line}"
        case Overdue() if not board.plays:  # a player who is out has no vote
            yield narrate(event, board.seating._replace(me=None))
        case Suspended():
            yield suspended(event, board.seating, plays=board.plays)
        case MatchResult():
            yield result(event, has_leavers=board.has_leavers)
        case PeerLost(left_on_purpose=True) if board.over is not None:
            yield f"{board.seating.named([event.player])} left."
        case _:
            yield narrate(event, board.seating)


def _before_conceding(awaited: Sequence[PlayerInfo], board: Board) -> str:
    """Return what the awaited players must do before the reader's concession takes effect.

    :returns: ``back``, ``moved`` or ``answered``.
    """
    if any(player in board.absent or player.fingerprint in board.away for player in awaited):
        return "back"
    if board.state is None or board.state.expects.kind is not Expect.MOVE:
        return "answered"
    on_turn = tuple(board.seating.players[seat] for seat in board.state.expects.seats)
    return "moved" if tuple(awaited) == on_turn else "answered"


# Talk


def talk(event: Told, board: Board, told: Iterable[str]) -> Iterator[Talk]:
    """Yield the entries of the talk for an event that the board has just taken.

    :param told: the sentences for the event.
    """
    happened = event.event if isinstance(event, Happened) else None
    if isinstance(event, Said):
        seat = next((at for at, one in enumerate(board.players) if one.fingerprint == event.player.fingerprint), None)
        name = capital(display_names([event.player], board.players)[0])
        yield Talk(seat, "You" if event.player.is_me else name, escape(event.text))
        return
    played = board.rounds if isinstance(event, MatchResult) else board.rounds[:-1]
    if isinstance(event, MatchResult) or isinstance(happened, game.RoundStarted):
        yield from (Talk(None, "", round_line(each, board)) for each in played[-1:] if each.verdict is not None)
    if isinstance(happened, _ON_THE_TABLE) or (not isinstance(event, Happened) and isinstance(event, _SEEN)):
        return
    if isinstance(happened, game.PlayerOut) and happened.reason in ("lost", "finished"):
        return
    if isinstance(event, Overdue) and not any(player.is_me for player in event.awaited):
        yield Talk(None, "", f"Waiting for {board.seating.named(event.awaited)}.")  # the clock shows the time
        return
    if isinstance(event, Claimed):  # the felt explains a claim, and the full path is printed when the table closes
        yield Talk(None, "", f"Transcript: {shown_path(Path(event.transcript.name))}")
    elif not isinstance(event, CupOpened):
        yield from (Talk(None, "", text) for text in told)


def round_line(played: Round, board: Board) -> str:
    """Return a one-line summary of a finished round."""
    keeps_wrong = board.ruleset is not None and board.ruleset.verdict == "right-side-discards"
    return played.line(board.seating, keeps_wrong=keeps_wrong)


# The band


def band(
    board: Board,
    typed: str,
    *,
    with_odds: bool,
    is_behind: bool,
    is_late: bool = False,
    is_waiting: bool = False,
) -> Band:
    """Return the band: the row that says whose move is awaited, and what the reader can do.

    :param typed: the typed bid, or else the text that keys have put into the line.
    :param is_late: whether the reader's time is up, and the others can go on without them.
    :param is_waiting: whether the reader is waiting for a seat in the next match.
    """
    seating, state = board.seating, board.state
    if board.over is not None:
        wins = [board.over.players[seat].is_me for seat in board.over.places[0]] == [True]
        name = "You win" if wins else f"{_winning(board, board.over)}"
        then = "You wait for the next match." if is_waiting else "Again?"
        return Band(f"{name}. {then}", "right" if wins else "quiet")
    if board.absent:
        names = seating.named(board.absent) if seating.names else listing(display_names(board.absent, board.players))
        leave = "leave and resume another day" if board.plays else "leave"
        return Band(f"The match waits for {names}. Wait, or {leave}.", "waiting")
    if board.claimed is not None:
        return Band("Claimed, not confirmed. This table is free again.")
    if board.false_friends and board.turn is None and board.showdown is None:
        return Band(f"Not the {escape(board.false_friends[0].name)} you know: compare keys before you play.", "waiting")
    if state is None or not seating.names:
        if board.is_asked_about and not board.players:
            return Band("The host is being asked whether you may sit down.", "waiting")
        if typed == START and board.may_start:
            return Band(f"Start with {number(len(board.players))}? Enter starts, Esc takes it back.", "waiting")
        return Band(_filling(board))
    if board.foul is not None and board.turn is None:
        whose = seating.named([board.foul.player])
        return Band(f"{whose}'s program broke the rules, and its own signature proves it.", "wrong")
    if board.showdown is not None and board.turn is None:
        return _showdown(board, board.showdown, state, with_odds=with_odds)
    if (call := board.call) is not None and state.challenge is not None and state.phase == "showdown":
        on = f"{seating.whose(call.bidder)} {faces(call.quantity, call.face)}"
        return Band(f"{seating.does(call.seat, 'calls', 'call')} {call.call} on {on}.", f"seat{call.seat}")
    if board.turn is not None:
        if is_late and typed not in _CONFIRM:
            return Band("Your time is up: the others can go on without you.", "waiting")
        text = _CONFIRM.get(typed) or question(board.turn.view, seating)
        return Band(text, f"seat{seating.me or 0}")
    if away := board.unreachable:
        return Band(f"Waiting for {seating.named(away)}, who can come back any time.", "waiting")
    waiting = answers.whose_turn(board)
    tone = f"seat{state.turn % 10}" if waiting and state.turn >= 0 else "quiet"
    return Band(sentence(waiting) if waiting else "", tone, "Space catches up" if is_behind else "")


def with_awaited(shown: Band, board: Board, awaited: Sequence[PlayerInfo]) -> Band:
    """Return the band with the names of players whose programs have not answered.

    A band that has a text at its right, or names absent players, stays as it is.

    :param awaited: players whose programs answer by themselves, without a choice of the player.
    """
    if not awaited or shown.right or board.absent or board.unreachable:
        return shown
    seating = board.seating
    names = seating.named(awaited) if seating.names else listing(display_names(awaited, board.players))
    waiting = f"waiting for {names if len(awaited) < 3 else counted(len(awaited), 'player')}"
    return replace(shown, right=waiting) if shown.text else replace(shown, text=sentence(waiting))


def _winning(board: Board, over: MatchResult) -> str:
    names, winners = board.final_names, over.places[0]
    return f"{listing([names[seat] for seat in winners])} {'wins' if len(winners) == 1 else 'win'}"


def _filling(board: Board) -> str:
    free = board.seats - len(board.players)
    if not board.players:
        return ""
    if not board.hosts:
        return "Waiting for the table to fill." if free > 0 else "The match is about to begin."
    if len(board.players) < 2:
        return "Waiting for somebody to sit down."
    return f"Starts when all {number(board.seats)} seats are taken, or when you start it." if free > 0 else ""


def _showdown(board: Board, showdown: Showdown, state: State, *, with_odds: bool) -> Band:
    seating, call, judged = board.seating, showdown.played.call, showdown.played.verdict
    if judged is not None:
        said = [capital(caught(judged, seating))]
        said += [narrate_game(event, state, seating) for event in showdown.played.changes]
        me = seating.me
        if me is None or me not in (*judged.right, *judged.wrong):
            tone = "quiet"
        else:
            tone = "right" if me in judged.right else "wrong"
        return Band(" ".join(said), tone, _call_odds(showdown.played, me) if with_odds else "")
    tone = f"seat{call.seat}" if call is not None else "quiet"
    if showdown.is_counted:
        return Band(f"{faces(showdown.shown.count, showdown.shown.face).capitalize()}.", tone)
    *before, seat = showdown.opened
    found = showdown.count_in(before)
    so_far = f"{number(found).replace('no', 'none').capitalize()} so far. " if before else ""
    hands = showdown.shown.hands
    if hands[seat] is None:
        return Band(f"{so_far}{capital(seating.whose(seat))} cup stays down.", tone)
    is_last = all(cup == () or each in showdown.opened for each, cup in enumerate(hands))
    if is_last and call is not None:  # whether the last cup can still change the verdict
        is_exact, most = call.call == "exact", found + len(hands[seat] or ()) + showdown.shown.unopened
        is_last = found < call.quantity + is_exact <= most + is_exact
    lifts = f"{seating.who(seat)} lifts the cup …" if seat != seating.me else "Now your dice …"
    now = f"It's down to {seating.who(seat)}." if is_last else capital(lifts)
    return Band(f"{so_far}{now}", tone)


def _call_odds(played: Round, me: int | None) -> str:
    """Return how likely the reader's own call was before the cups went up; empty if they did not call."""
    call = played.call
    if call is None or call.seat != me:
        return ""
    is_exact = call.call == "exact"
    chance = played.chance(me, call.quantity, call.face, is_exact=is_exact)
    return "" if chance is None else f"a {percent(chance if is_exact else 1 - chance)} call"


# The keys


def useful_keys(
    board: Board,
    typed: str,
    moves: Sequence[str],
    words: Iterable[str],
    *,
    with_odds: bool,
    is_behind: bool,
) -> list[tuple[str, str]]:
    """Return the keys and words that are useful now, with their effects: at most :data:`MOST_KEYS`, the last for help.

    :param typed: the typed bid, or else the text that keys have put into the line.
    :param moves: the listed moves, if none of them is a bid.
    """
    known = {word for word in words if word != "say" or board.may_speak}

    def those(*pairs: tuple[str, str]) -> list[tuple[str, str]]:
        found = [
            (key, text) for key, text in pairs if not key.islower() or len(key) == 1 or key.partition(" ")[0] in known
        ]
        return [*found[: MOST_KEYS - 1], ("?", "help")]

    if board.over is not None:
        return those((board.again, ""), ("quit", ""), ("say", ""), ("PgUp", "talk so far"), ("players", ""))
    if board.claimed is not None:
        return those(("again", ""), ("quit", ""))
    if board.turn is not None and (moves or is_stake(board.turn.view) or not is_shown(board)):
        return those(*_turn_keys(board, typed, moves))
    if board.showdown is not None:
        is_told = board.showdown.played.verdict is not None
        follows = "show the result" if board.is_decided else "next round"
        space = [("Space", follows if is_told else "show everything")] if is_behind else []
        return those(*space, ("say", "talk"))
    if board.state is None or not board.seating.names:
        if typed == START and board.may_start:
            return those(("Enter", "start"), ("Esc", "take it back"))
        start = [("Enter", f"start with {number(len(board.players))}")] if board.may_start else []
        pick = [("↑↓", "pick"), ("trust", "")] if len(board.players) > 1 else []
        pick += [("remove", "")] if pick and board.hosts else []
        ways = [("link", ""), ("code", ""), ("qr", "")] if board.hosts and board.join_line else []
        return those(*start, *pick, *ways[: 0 if start else 3], ("say", ""), ("quit", ""), ("rules", ""), ("learn", ""))
    if board.me is None:
        return those(("again", "sit down next match"), ("say", "talk"), ("rules", ""), ("players", ""), ("quit", ""))
    space = [("Space", "show everything")] if is_behind else []
    odds = [("%", "hide odds" if with_odds else "show odds")] if board.odds else []
    return those(*space, ("say", "talk"), *odds, ("PgUp", "talk so far"), ("quit", ""))


def _turn_keys(board: Board, typed: str, moves: Sequence[str]) -> Iterator[tuple[str, str]]:
    assert board.turn is not None
    view = board.turn.view
    if is_stake(view):
        yield from (("Enter", "seal it"), ("↑↓", "50 more, less"), ("←→", "10"))
        return
    if typed in _CONFIRM:
        yield ("!" if typed == "liar" else "=", "call it")
        yield "Esc", "take it back"
        return
    if moves:
        yield "Enter" if typed else "↑↓", "play it" if typed else "choose"
        lets_be = view.state.motes is not None and bool(view.state.motes.stack)
        yield from (
            (str(at), "let it be" if lets_be and move == "pass" else move) for at, move in enumerate(moves[:4], 1)
        )
        if len(moves) > 4:
            yield "Tab", "all moves"
        return
    bid = next((move for move in view.legal if isinstance(move, Bid) and str(move) == typed), None)
    if bid is not None:
        yield "Enter", f"bid {faces(bid.quantity, bid.face)}"
    yield from (
        (key, f"call {call}")
        for key, call, kind in (("!", "liar", Liar), ("=", "exact", Exact))
        if any(isinstance(move, kind) for move in view.legal)
    )
    if any(isinstance(move, Bid) for move in view.legal):
        yield "←→↑↓", "choose"
    others = [move for move in view.legal if not isinstance(move, Bid | Liar | Exact)]
    if others:
        yield "Tab", "all moves"


def hint(board: Board, typed: object, *, with_odds: bool) -> str:
    """Return the hint beside the line: the typed bid in words and, if odds are shown, how likely it is."""
    if board.turn is None or not isinstance(typed, Bid):
        return ""
    said = faces(typed.quantity, typed.face)
    return f"{said}: {likely(answers.chance(board, typed.quantity, typed.face))}" if with_odds else said


# The window


def title(board: Board) -> str:
    """Return the title of the terminal window."""
    name = escape(board.name) or "p2pdice"
    if board.claimed is not None:
        return f"Claimed - {name}"
    if board.over is not None:
        return f"{_winning(board, board.over)} - {name}"
    if board.state is None or not board.seating.names:
        return f"{name}: {len(board.players)} of {board.seats}" if board.seats else name
    if board.turn is not None:
        return f"▶ Your turn - {name}"
    waiting = answers.whose_turn(board)
    return f"{capital(waiting)} - {name}" if waiting else name
