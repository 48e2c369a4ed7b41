"""Samples of every event, with given texts wherever a peer chooses the text."""

from __future__ import annotations

from pathlib import Path

from p2pdice import events
from p2pdice.counting import ONES_WILD
from p2pdice.engine import apply, new_match
from p2pdice.events import Event
from p2pdice.motes import NOTATION, Die
from p2pdice.moves import Bid, Liar, Play, Power, Rolled, Wager, parse_move
from p2pdice.powers import POWERS
from p2pdice.rulesets import PRESETS
from p2pdice.state import State
from p2pdice.views import view
from protocol import events as node
from protocol.errors import RefuseCode

FINGERPRINT = "QZYM-KVHF-TQFB-G7RM-MHXD"
MATCH = "0123456789abcdef" * 4


def bidding() -> State:
    """Return a state with three players, in which seat 1 must answer the bid 2x3 of seat 0."""
    state, _ = apply(new_match(PRESETS["perudo"], 3), Rolled())
    state, _ = apply(state, Play(0, Bid(2, 3)))
    return state


ONE = Die(next(iter(POWERS)), 1)


def played(example: str) -> Event:
    """Return the event of playing this die. If its power answers another power, the target is a die."""
    move = parse_move(example)
    assert isinstance(move, Power)
    return events.PowerPlayed(0, move.die, ONE if POWERS[move.die.mote].is_answer else move.target)


MOTES: tuple[Event, ...] = (
    events.Pledged(("redeemed", "cursed", "redeemed")),
    events.StakesOpened((Wager(100, 1000, 0, 0), Wager(1, 1000, 1, 2), Wager(0, 0, 0, 0))),
    events.PrizeDrawn(ONE.mote),
    events.PhaseBegun("sunset", 1),
    events.PhaseBegun("night", 1),
    events.PhaseBegun("sunrise", 1),
    *(played(notation.example) for notation in NOTATION.values()),
    events.Passed(0),
    events.AccusationVoid(1, 0),
    events.PowerFailed(1, ONE),
    *(event for power in POWERS.values() for event in power.events),
    events.DieLost(1, 3, ONE),
    events.DieGained(0, 1, ONE),
    events.TwinSoulJoined(1, ONE, "prize", "Name"),
    events.TicketsEarned("cursed", (1,)),
    events.TicketsEarned("redeemed", (0, 2)),
    events.TicketsEarned("redeemed", ()),
    events.StakesPaid((160, 0, 0), (60, -50, 0), (2, -1, 0)),
)
GAME: tuple[Event, ...] = (
    events.RoundStarted(3, 1, (5, 4, 0), palifico=True),
    events.BidMade(0, 2, 3),
    events.ChallengeCalled(1, "liar", 0, 2, 3),
    events.ChallengeCalled(1, "exact", 0, 2, 3),
    events.Sided(2, "accuser"),
    events.HandsShown(((1, 3, 3), None, ()), 2, 3, counting=ONES_WILD, count=3, unopened=4),
    events.Judged(1, "liar", 0, bid_true=True, call_right=False, right=(0,), wrong=(1, 2)),
    events.Judged(1, "exact", 0, bid_true=True, call_right=True, right=(1,), wrong=()),
    events.RoundVoid(3, (1,)),
    events.DieLost(1, 3),
    events.DieGained(1, 5),
    events.PlayerOut(1, "lost"),
    events.PlayerOut(1, "finished"),
    events.PlayerOut(1, "evicted"),
    events.PlayerOut(1, "conceded"),
    events.LeadPassed(1, 0),
    events.PalificoBegins(1),
    events.MatchOver(((1,), (0,), (2,)), (1,)),
    events.MatchOver(((0, 2), (1,)), (0, 2)),
    *MOTES,
)


def node_events(name: str = "Ben", reason: str = "it is so") -> tuple[node.NodeEvent, ...]:
    """Return every kind of event of a node, as seat 0 sees it. ``name`` and ``reason`` are texts from a peer."""
    me = node.PlayerInfo("Ada", FINGERPRINT, is_me=True)
    peer = node.PlayerInfo(name, FINGERPRINT)
    players = (me, peer, node.PlayerInfo("Cleo", FINGERPRINT))
    state = bidding()
    called, _ = apply(state, Play(1, Liar()))
    opening, _ = apply(new_match(PRESETS["perudo"], 3), Rolled())
    siding, _ = apply(
        apply(apply(new_match(PRESETS["joker"], 3, 1), Rolled())[0], Play(1, Bid(1, 2)))[0], Play(2, Liar())
    )
    return (
        node.TableOpened(
            name, f"192.0.2.1:7000/{FINGERPRINT}", ("192.0.2.1:7000",), True, seats=2, ruleset=PRESETS["classic"]
        ),
        node.TableOpened(name, f"192.0.2.1:7000/{FINGERPRINT}", (), False, reason, seats=2, ruleset=PRESETS["classic"]),
        node.TableOpened(
            name,
            f"127.0.0.1:7000/{FINGERPRINT}",
            ("127.0.0.1:7000",),
            True,
            is_reachable=False,
            seats=2,
            ruleset=PRESETS["classic"],
        ),
        node.TableOpened(
            name,
            f"192.0.2.1:7000/{FINGERPRINT}",
            (),
            True,
            code="417-tiger-olive",
            seats=2,
            ruleset=PRESETS["classic"],
        ),
        node.CodeMade("417-tiger-olive"),
        node.CodeTried(2),
        node.CodeTried(0),
        node.TableMoved(name, f"192.0.2.1:7000/{FINGERPRINT}"),
        node.TableJoined(name, peer, PRESETS["classic"], 3),
        node.TableWatched(name, peer, PRESETS["classic"], 3),
        node.TableJoined(name, peer, PRESETS["classic"].with_options({"dice": "2"}), 3),
        node.TableJoined(name, peer, PRESETS["classic"].with_options({"dice": "2"}), 3, rules_name=name),
        node.LobbyChanged((me,), 3),
        node.LobbyChanged((me, peer), 3, joined=(peer,)),
        node.LobbyChanged((me,), 3, left=(peer, peer)),
        node.SeatAsked(peer, False, "network"),
        node.SeatAsked(peer, True),
        node.SeatPending(),
        node.Watching((name, "a spectator")),
        node.Watching(()),
        node.TableClosed(RefuseCode.CLOSED, reason),
        node.AwaitingHost(peer, "asked", 20.0),
        node.AwaitingHost(peer, "silent", 20.0),
        node.AwaitingHost(peer, "full", 20.0),
        node.AwaitingHost(peer, "playing", 20.0),
        node.AwaitingHost(None, "there", 20.0),
        node.SeatWanted(peer),
        node.SeatWanted(peer, watched=True),
        node.Recognised(peer, True, 0),
        node.Recognised(peer, False, 1),
        node.Recognised(peer, False, 0),
        node.Unfamiliar(peer, (name, "Bo"), ()),
        node.Unfamiliar(peer, (), (peer,)),
        node.Unfamiliar(peer, (), (peer, me), (FINGERPRINT,)),
        node.AwaitingPlayers(MATCH, name, (me, peer), (peer,)),
        node.AwaitingPlayers(MATCH, "", (me, peer), ()),
        node.MatchFormed(MATCH),
        node.MatchStarted(MATCH, PRESETS["perudo"], players, 0, state),
        node.MatchStarted(MATCH, PRESETS["perudo"], players, 0, state, resumed=True, table=name),
        node.MatchStarted(MATCH, PRESETS["classic"].with_options({"dice": "2"}), players, None, called),
        node.MatchStarted(MATCH, PRESETS["classic"], players, None, state, resumed=True),
        node.DiceRolled((1, 3, 3)),
        node.CupsSeen(((1, 3, 3), None, ()), state),
        *(node.Happened(event, state) for event in GAME),
        node.Happened(events.PlayerOut(1, "evicted"), state, node.Eviction(41, True, (0, 2))),
        node.Happened(events.PlayerOut(1, "evicted"), state, node.Eviction(41, False, (2,))),
        node.Happened(events.PlayerOut(1, "evicted"), state, node.Eviction(41, False, (0, 2), reason)),
        node.Happened(events.PlayerOut(1, "evicted"), state, node.Eviction(2, False, ())),
        node.YourTurn(view(opening, 0, (1, 1, 2, 3, 6)), 1),
        node.YourTurn(view(state, 0, (1, 1, 2, 3, 6)), 2),
        node.YourTurn(view(siding, 0, (1, 1, 2, 3, 6)), 3),
        node.Claimed(MATCH, (me, peer), (peer,), 90, Path("claimed.p2pdice")),
        node.ConcedeAccepted(),
        node.ConcedeAccepted((peer,)),
        node.ConcedeAccepted((peer,), next_round=True),
        node.PeerLost(peer),
        node.PeerLost(peer, left_on_purpose=True),
        node.PeerBack(peer),
        node.Suspended((peer, me)),
        node.Continued(),
        node.Overdue((peer,), 15),
        node.Overdue((me, peer), 1),
        node.TakenBack(state),
        node.Misbehaved(peer, 7, reason),
        node.Misbehaved(peer, 7, reason, Path("proofs", "x.p2pdice")),
        node.MatchResult(MATCH, ((0,), (1,), (2,)), players, Path("matches", "x.p2pdice"), confirmed=True),
        node.MatchResult(MATCH, ((0,), (1,), (2,)), players, Path("matches", "x.p2pdice"), confirmed=False),
        node.Said(me, "well played"),
        node.Said(peer, reason),
        node.Stopped(reason),
        node.Diverged(7, "('hostile\x1b[31m',)"),
        node.Notice(reason),
    )
