"""Sentences about a board: answers to what a person types, and the dialogs of the full screen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from math import ceil
from typing import TYPE_CHECKING, Final

from cli.render import counted, dice_count, faces, hand, listing, percent, sentence
from cli.table.scene import Choice, Dialog
from cli.text.narrate import time_left, your_turn
from cli.text.narrate_game import choosing, dice_by_player, graveyard, verdict, window_and_prize
from cli.text.seating import display_names
from cli.text.speech import hear_bid
from p2pdice.state import NOBODY, Expect

if TYPE_CHECKING:
    from fractions import Fraction

    from cli.table.board import Board
    from p2pdice.state import State
    from protocol.events import PlayerInfo
    from protocol.match.waiting import Clock

NOT_BEGUN: Final = "the match has not begun."
FIRST_GAME: Final = "First game? Type rules to read them, or learn to play a 60-second round."


def table(board: Board) -> Iterator[str]:
    """Yield lines on the round, the bids, the dice and whose turn it is; before a match, on the players."""
    if board.state is None:
        yield from players(board)
        if board.absent:
            yield f"The match was proposed, and has not begun. It waits for {board.seating.named(board.absent)}."
        return
    yield " ".join(filter(None, (f"Round {board.round}.", window_and_prize(board.state))))
    yield from bids(board)
    yield from dice(board)
    if board.turn is not None:
        yield your_turn(board.turn.view, board.seating)
    elif waiting := whose_turn(board):
        yield sentence(waiting)


def bids(board: Board) -> Iterator[str]:
    """Yield the bids of this round, then the standing bid."""
    if board.state is None:
        yield f"There are no bids yet: {NOT_BEGUN}"
    elif not board.state.bids:
        yield from _called(board)
    else:
        made = [f"{board.seating.who(each.seat)} {faces(each.quantity, each.face)}" for each in board.state.bids]
        if made[1:]:
            yield f"Bids of this round: {', '.join(made)}."
        standing = board.state.bids[-1]
        who = board.seating.does(standing.seat, "bid", "bid")
        yield f"{who} {faces(standing.quantity, standing.face)}."


def _called(board: Board) -> Iterator[str]:
    """Yield the last call and its verdict, for use while no bid stands; without a call, say that there is no bid."""
    seating, played = board.seating, board.rounds[-1] if board.rounds else None
    if played is None or played.call is None:
        yield "There is no bid in this round yet."
        return
    call = played.call
    what = f"{seating.whose(call.bidder)} {faces(call.quantity, call.face)}"
    yield f"{seating.does(call.seat, 'called', 'called')} {call.call} on {what}."
    if played.verdict is not None:
        yield verdict(played.verdict, played.shown, seating)


def dice(board: Board) -> Iterator[str]:
    """Yield a line with the reader's dice and how many each player has, then a line on the graveyard, if any."""
    if board.state is None:
        yield f"There are no dice yet: {NOT_BEGUN}"
        return
    own = "" if board.me is None else _my_dice(board, board.state)
    yield own + dice_by_player(board.state.dice, board.seating)
    if motes := graveyard(board.state, board.seating):
        yield motes


def _my_dice(board: Board, state: State) -> str:
    if board.hand:
        return f"You have {own_hand(board)}. "
    has_dice = board.me is not None and state.dice[board.me]
    return "Your dice wait for the next roll. " if has_dice else "You have no dice left. "


def own_hand(board: Board) -> str:
    """Return the reader's dice, each with its mote if the rules have motes: ``2 Grey, 5 Neutral``."""
    motes = board.state.motes if board.state is not None else None
    cup = motes.cups[board.me] if motes is not None and motes.cups and board.me is not None else ()
    if board.me is None or len(cup) != len(board.hand):
        return hand(board.hand)
    return hand(f"{face} {board.seating.die(die, board.me)}" for face, die in zip(board.hand, cup, strict=True))


def chance(board: Board, quantity: int, face: int) -> Fraction:
    """Return the chance that a bid is true, given the reader's dice."""
    from p2pdice.counting import at_least

    state = board.state
    assert state is not None
    return at_least(quantity, face, board.hand, sum(state.dice) - len(board.hand), state.counting)


def odds(board: Board, asked: str = "") -> str:
    """Return a sentence on the chance of a bid.

    :param asked: a bid as it is typed; empty for the standing one.
    """
    if board.state is None:
        return f"There are no odds yet: {NOT_BEGUN}"
    if asked:
        heard = hear_bid(asked)
        if heard is None:
            return "Type odds and a bid, such as odds 3x5."
        return _chances(board, board.state, heard.quantity, heard.face)
    if board.state.bid is None:
        return "There is no bid yet; type odds 3x5 to weigh one."
    return _chances(board, board.state, board.state.bid.quantity, board.state.bid.face)


def _chances(board: Board, state: State, quantity: int, face: int) -> str:
    from p2pdice.counting import exactly

    unknown = sum(state.dice) - len(board.hand)
    true = percent(chance(board, quantity, face))
    exact = percent(exactly(quantity, face, board.hand, unknown, state.counting))
    known = f"judging by your own dice, with {dice_count(unknown)} hidden from you"
    if not board.hand:
        known = f"with {dice_count(unknown)} hidden"
    return f"{faces(quantity, face).capitalize()}: {true} likely, {exact} exactly, {known}."


def players(board: Board) -> Iterator[str]:
    """Yield a line for each player, with their fingerprint."""
    if not board.players:
        yield "Nobody is here yet."
    state = board.state if board.seating.names else None
    for seat, (player, name) in enumerate(zip(board.players, display_names(board.players), strict=True)):
        marks = ["you"] if player.is_me else []
        if state is not None:
            marks.append("out" if seat not in state.live else dice_count(state.dice[seat]))
            if seat == state.turn:
                marks.append("choosing" if seat != board.me else "on turn")
        if player.fingerprint in board.away:
            marks.append("not answering")
        yield f"    {name}: {', '.join((*marks, player.fingerprint))}"


def whose_turn(board: Board) -> str:
    """Return a clause on what the match waits for, such as ``Ada is choosing``; empty if it waits for nobody."""
    if board.absent:
        return f"waiting for {board.seating.named(board.absent)}"
    if board.state is None:
        return NOT_BEGUN.removesuffix(".")
    if board.state.awaits is Expect.STAKES:
        return _stakes(board, board.state)
    return choosing(board.state, board.seating)


def _stakes(board: Board, state: State) -> str:
    if not board.staked:
        return "everybody stakes in secret"
    others = [seat for seat in state.live if seat != board.me]
    return f"you {board.staked}; waiting for {board.seating.names[others[0]] if len(others) == 1 else 'the others'}"


def conceding(board: Board) -> str:
    """Return a clause on the consequences of conceding, and on the move that must come first, if any."""
    state = board.state
    if state is None:
        return "you are out for good"
    others = [board.seating.names[seat] for seat in state.live if seat != board.me]
    means = f"you are out for good; {listing(others)} play on" if len(others) > 1 else "you lose this match"
    is_later = state.expects.kind is Expect.MOVE and state.turn != board.me
    return means + (f"; it takes effect after {board.seating.whose(state.turn)} move" if is_later else "")


def status(board: Board, clock: Clock | None = None, *, is_waiting: bool = False) -> str:
    """Return a line with the round, the standing bid, the dice and whose turn it is.

    :param is_waiting: whether the reader is waiting for a seat in the next match.
    :returns: an empty text if no match is running.
    """
    state = board.state
    if state is None or not board.match:
        return ""
    parts = [f"round {board.round}"]
    if state.bid is not None:
        parts.append(f"{board.seating.who(state.bid.seat)} bid {faces(state.bid.quantity, state.bid.face)}")
    elif state.phase == "bidding":
        parts.append("no bid")
    if board.hand:
        parts.append(f"your {'die' if len(board.hand) == 1 else 'dice'} {hand(board.hand)}")
    parts.append(f"{sum(state.dice)} dice in all")
    if state.awaits is Expect.STAKES:
        parts = ["stakes"]
    if board.absent:
        parts.append(f"waiting for {board.seating.named(board.absent)}")
    elif waiting := choosing(state, board.seating):
        parts.append("your turn" if state.turn == board.me else waiting)
    elif state.awaits is Expect.STAKES and not board.turn:
        parts.append(_stakes(board, state))
    if clock is not None:
        parts.append(f"{time_left(ceil(clock.seconds))} left")
    if is_waiting:
        parts.append("you wait for a seat")
    return f"[{'; '.join(parts)}]"


def score(won: Mapping[str, Sequence[str]], players: Sequence[PlayerInfo]) -> str:
    """Return the score of an evening: ``Ada 2, Ben 1``; empty until its second match is over.

    :param won: the winners' fingerprints, by match. Winners who are not in ``players`` are omitted.
    """
    if len(won) < 2:
        return ""
    wins = Counter(chain(*won.values()))
    ranked = sorted(zip(players, display_names(players), strict=True), key=lambda each: -wins[each[0].fingerprint])
    return listing([f"{name} {wins[player.fingerprint]}" for player, name in ranked])


# Dialogs


def leaving_box(board: Board, clock: Clock | None, *, is_conceding: bool, goes_on: bool) -> Dialog:
    """Return the dialog that opens before a player leaves a match.

    :param goes_on: whether the others can go on without this player.
    """
    turn = NOBODY if board.state is None else board.state.turn
    now = f"Round {board.round}; it is {board.seating.whose(turn)} turn" if turn != NOBODY else ""
    left = f", with {time_left(ceil(clock.seconds))} left" if now and clock is not None else ""
    late = "If you are away for long, they may go on without you." if goes_on else "The match waits for you."
    choices = (
        Choice("s", "Stay"),
        Choice("l", "Come back later", "your dice are kept; return with p2pdice resume", "quit now"),
        Choice("c", "Concede", conceding(board), "concede yes"),
    )
    lines = [*([f"{now}{left}."] if now else []), late]
    return Dialog("Leave the table?", lines, choices, picked=2 if is_conceding else 0)


def closing_box(guests: Sequence[str]) -> Dialog:
    """Return the dialog that opens before a host leaves a table whose match has not begun.

    :param guests: the names of the people who sit there, safe to print.
    """
    sit = f"{listing(guests)} {'sits' if len(guests) == 1 else 'sit'} here. " if guests else ""
    lines = [f"{sit}If you leave, the table is closed."]
    return Dialog("Leave the table?", lines, (Choice("s", "Stay"), Choice("l", "Leave", line="quit now")))


def absence_box(
    board: Board, clock: Clock | None, lost: PlayerInfo, seconds: int, *, can_wait: bool, can_claim: bool
) -> Dialog:
    """Return the dialog about a player who does not answer.

    :param seconds: how long they have not answered.
    :param can_wait: whether the reader's program can wait longer.
    :param can_claim: whether the reader can leave the match as claimed. Only a match of two players allows this.
    """
    name = board.seating.named([lost])
    lines = [f"{name} left {since(seconds)} ago, and can still come back."] if lost.fingerprint in board.gone else []
    if clock is not None and clock.goes_on:
        left = time_left(ceil(clock.seconds))
        needs, can = " (more than half of you must)", "More than half of you can"
        if len(board.seating.players) == 3:
            other = board.seating.named([each for each in board.seating.players if not each.is_me and each != lost])
            needs, can = f" (needs {other} too)", f"{other} and you can"
        lines += [
            f"No word from {name}'s laptop for {counted(seconds, 'second')}.",
            f"{can} go on without {name} in {left}.",
        ]
        wait = [Choice("w", "Wait two more minutes", line="wait")] if can_wait else []
        choices = [
            *wait,
            Choice("g", f"Go on without {name} in {left}{needs}"),
            Choice("q", "Leave, and come back to this match later", line="quit now"),
        ]
        return Dialog(f"{name} isn't answering", lines, choices, tone="warn")
    lines.append(f"There are too few of you to go on without {name}, so the match waits.")
    claimed = (
        f"Only your own history notes it: claimed, not confirmed. Nobody wins, no coins move, and you and {name} can"
        " both still resume."
    )
    claim = [Choice("c", "Leave it as claimed", claimed, "claim")] if can_claim else []
    choices = [Choice("w", f"Wait for {name}"), Choice("l", "Leave; resume another day", line="quit now"), *claim]
    title = f"{name} is away" if lost.fingerprint in board.away else f"Still waiting for {name}"
    return Dialog(title, lines, choices, tone="warn")


def newcomer_box(name: str, player: PlayerInfo, came_by: str, *, namesake: bool) -> Dialog:
    """Return a dialog about a newcomer: for a host, one who asks for a seat; for a guest, one who already has a seat.

    :param name: safe to print.
    :param came_by: how they found the table: ``code``, ``line`` or ``network``; empty for a guest's dialog.
    :param namesake: whether the reader trusts another key under this name.
    """
    ways = {"code": "came with the code", "line": "came with the long line", "network": "found the table by itself"}
    lines = [f"{player.fingerprint}{', ' * bool(came_by)}{ways.get(came_by, '')}"]
    if namesake:
        lines.append(f"Not the {name} you trust: compare keys before you play.")
    key = player.fingerprint
    if came_by:
        choices = [
            Choice("a", "Let them sit", line=f"seat {key}"),
            Choice("r", "Refuse", line=f"refuse {key}"),
            Choice("w", "Let them watch", line=f"watch {key}"),
        ]
        return Dialog(f"{name} wants to sit down", lines, choices, tone="warn" if namesake else "text")
    choices = [Choice("p", "Play with them", line=f"seat {key}"), Choice("l", "Leave the table", line="quit")]
    return Dialog(f"{name} sits here", lines, choices, picked=1, tone="warn")


def since(seconds: int) -> str:
    """Return a duration in words: ``42 seconds``, ``six minutes``."""
    return counted(seconds, "second") if seconds < 120 else counted(seconds // 60, "minute")
