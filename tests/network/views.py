"""Access to private parts of nodes, for tests."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

from protocol.match.match import Match
from protocol.node.activities import Doing
from protocol.node.guest import Guest
from protocol.node.host import Host
from protocol.node.node import Node
from protocol.node.playing import PlayerSession, Proposals
from protocol.node.purse import PurseKeeper
from protocol.node.table_ledgers import TableLedgers
from protocol.node.watching import FollowedMatch
from protocol.wire.frames import Aim, Frame, Refuse, TableAim, WatchAim, encode_frame


class HasNode(Protocol):
    """Any object with a node."""

    node: Node


def doing(player: HasNode) -> Doing:
    """Return the state of a node."""
    return player.node._active.doing


def hosting(player: HasNode) -> Host:
    """Return the host's side of the table that a node hosts."""
    host = player.node._active.hosting
    assert host is not None
    return host


def joining(player: HasNode) -> Guest:
    """Return the guest's side of the table that a node has joined."""
    return player.node._active.joining


def ledgers(player: HasNode) -> TableLedgers:
    """Return the purses at the table that a node hosts or has joined."""
    host = player.node._active.hosting
    found = host.ledgers if host is not None else joining(player)._ledgers
    assert found is not None
    return found


def proposals(player: HasNode) -> Proposals:
    """Return the matches that a node is signing or playing."""
    return player.node._active.proposals


def match_of(player: HasNode) -> Match:
    """Return the match that a node proposes, plays or watches."""
    assert player.node.match is not None
    return player.node.match


def playing(player: HasNode) -> PlayerSession:
    """Return the match that a node plays; without one, its latest proposal."""
    session = proposals(player).session
    assert session is not None
    return session


def watched(player: HasNode) -> FollowedMatch | None:
    """Return the match that a node watches; None before it has begun."""
    watching = player.node._active.watching
    assert watching is not None
    return watching.followed


def mislead_spectators(player: HasNode, aim: TableAim, times: int) -> None:
    """Welcome the next ``times`` spectators to ``aim`` instead of what they asked for; answer later ones correctly."""
    active = player.node._active
    welcome, show = active._welcome_spectator, active._show
    misled: list[bytes] = []

    def mislead(identity: bytes, asked: WatchAim) -> Aim | Refuse:
        if len(misled) == times:
            active._show = show  # type: ignore[method-assign]
            return welcome(identity, asked)
        misled.append(identity)
        return aim

    active._welcome_spectator = mislead  # type: ignore[method-assign, assignment]
    active._show = lambda identity, at: None  # type: ignore[method-assign]


def listen_no_more(player: HasNode) -> None:
    """Accept no new connections. Existing links stay up."""
    listener = player.node._mesh._listener
    assert listener is not None
    listener.close()


def purses(player: HasNode) -> PurseKeeper:
    """Return the keeper of a node's purses."""
    return player.node._runtime.purses


def send(player: HasNode, to: bytes, *frames: Frame) -> None:
    """Make a node send these frames now, in addition to its own."""
    for frame in frames:
        player.node._mesh.send(to, encode_frame(frame))
    player.node._mesh.flush()


def take_at_once(player: HasNode, sender: bytes, *frames: Frame) -> None:
    """Deliver frames to a node in one pass of its event loop."""
    for frame in frames:
        player.node._active.peer_frame(sender, frame)


def hear_after(player: HasNode, kind: type[Frame], meanwhile: Callable[[], Awaitable[None]]) -> None:
    """Delay the next frame of a kind that a node receives until ``meanwhile`` has finished."""
    active = player.node._active
    hear = active.peer_frame

    async def hear_late(identity: bytes, frame: Frame) -> None:
        await meanwhile()
        if player.node._mesh.is_linked(identity):
            hear(identity, frame)

    def take(identity: bytes, frame: Frame) -> None:
        if not isinstance(frame, kind):
            hear(identity, frame)
        else:
            active.peer_frame = hear  # type: ignore[method-assign]
            active.runtime.in_background(hear_late(identity, frame))

    active.peer_frame = take  # type: ignore[method-assign]


def hear_only(player: HasNode, takes: Callable[[bytes, Frame], object]) -> None:
    """Drop the frames that a node receives unless ``takes`` is true for the peer and the frame."""
    hear = player.node._active.peer_frame
    player.node._active.peer_frame = (  # type: ignore[method-assign]
        lambda identity, frame: hear(identity, frame) if takes(identity, frame) else None
    )


def send_only(player: HasNode, sends: Callable[[bytes, bytes], object]) -> None:
    """Drop the frames that a node sends unless ``sends`` is true for the peer and the bytes of the frame."""
    send = player.node._mesh.send
    player.node._mesh.send = (  # type: ignore[method-assign]
        lambda identity, frame: send(identity, frame) if sends(identity, frame) else None
    )


def crash(node: Node) -> None:
    """Stop a node as if its process were killed: it sends and stores nothing more. Its store stays open."""
    node._runtime.is_silent = node._is_closed = True
    for _ in node._runtime.outbox.steps():
        pass  # drop the remaining steps unexecuted
    node._mesh.stop_dialling_all()
    if node._mesh._listener is not None:
        node._mesh._listener.close()
    node._active.close()
