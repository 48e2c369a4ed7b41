"""Whole matches with every power, drawn after each event: players and bid are on the picture at each size, and what
dice with powers add too, in full from 60 columns on."""

from __future__ import annotations

from random import Random

import pytest

from cli.table.board import Board, Told
from cli.table.drawing import Sight, picture
from cli.table.fragments import plain, width
from cli.table.pace import beats
from cli.table.palette import ASCII, PICTURES
from p2pdice import (
    MOTES,
    PRESETS,
    Expect,
    Hand,
    Hands,
    Input,
    Play,
    Pledges,
    Roll,
    Rolled,
    Stakes,
    State,
    Wager,
    apply,
    legal_moves,
    new_match,
    view,
)
from p2pdice.events import PowerPlayed
from protocol.events import DiceRolled, MatchStarted, YourTurn
from tests.cli.table.boards import people, told

SIZES = ((80, 23), (60, 19), (120, 39), (40, 11))


class Match:
    """A match that is played at random by all, seen by seat 0."""

    def __init__(self, rules: str, seed: int) -> None:
        self.random = Random(seed)
        self.state: State = new_match(PRESETS[rules], 3)
        self.hands: tuple[Hand, ...] = ()
        self.board = Board()
        self.powers: set[str] = set()
        self.board.take(MatchStarted("ab" * 32, PRESETS[rules], people(["Ada", "Ben", "Cleo"]), 0, self.state))
        self.pictures = 0

    def play(self) -> None:
        """Play it to its end, and draw what each event leads to."""
        while self.state.awaits is not Expect.OVER:
            kind = self.state.awaits
            self.state, events = apply(self.state, self._input())
            if kind is Expect.ROLLED:
                self.hands = tuple(self._rolled(count) for count in self.state.dice)
            self.powers |= {event.die.mote for event in events if isinstance(event, PowerPlayed)}
            for event in told(events, self.state):
                for beat in beats(event):
                    self._show(beat)
            if kind is Expect.ROLLED and self.hands[0]:
                self._show(DiceRolled(self.hands[0]))
            if self.state.turn == 0:
                hand = self.hands[0] if self.board.hand else ()
                self._show(YourTurn(view(self.state, 0, hand), 1))

    def _rolled(self, count: int) -> Hand:
        return tuple(sorted(self.random.randint(1, 6) for _ in range(count)))

    def _input(self) -> Input:
        match self.state.awaits:
            case Expect.ROLLED:
                return Rolled()
            case Expect.HANDS:
                return Hands(self.hands)
            case Expect.ROLL:
                return Roll(self.random.randint(1, 6))
            case Expect.PLEDGES:
                return Pledges(("redeemed", "cursed", "redeemed"))
            case Expect.STAKES:
                return Stakes((Wager(50, 1000, 0, 0),) * 3)
            case _:
                moves = legal_moves(self.state)
                rare = [move for move in moves if str(move).startswith(("play", "liar"))]
                return Play(self.state.turn, self.random.choice(rare or moves))

    def _show(self, event: Told) -> None:
        self.board.take(event)
        columns, lines = SIZES[self.pictures % len(SIZES)]
        glyphs = ASCII if self.pictures % 5 == 0 else PICTURES
        self.pictures += 1
        drawn = picture(self.board, Sight(), columns, lines, glyphs)
        shown = "\n".join(plain(drawn))
        assert len(drawn) == lines
        assert all(width(line) <= columns for line in drawn)
        assert "Ada (you)" in shown
        assert "Cleo" in shown
        state = self.board.state
        assert state is not None
        if state.bid is not None and self.board.showdown is None:
            assert f"{state.bid.quantity}x{state.bid.face}" in shown
        mischief = state.motes
        if mischief is not None and mischief.prize:
            assert f"prize {mischief.prize}" in shown
        if mischief is not None and mischief.prize and columns >= 60:
            for effect in mischief.stack[-1:]:
                assert f"Stack, top first: {effect.die}" in shown
            assert all(f" {die}" in shown for die, _ in mischief.graveyard)


@pytest.mark.parametrize("rules", ["classic", "joker", "perudo"])
def test_a_whole_match_is_drawn(rules: str) -> None:
    match = Match(rules, seed=1)
    match.play()
    assert match.pictures > 50


def test_matches_with_every_power_are_drawn() -> None:
    played: set[str] = set()
    for seed in range(30):
        match = Match("motes", seed)
        match.play()
        played |= match.powers
        if played == set(MOTES):
            return
    raise AssertionError(f"only {sorted(played)} were played")
