"""A LAN between the nodes: links that keep their order, and everything else that can go wrong with them.

A link is a TCP connection between two nodes: what one end sends arrives at the other in order, late, or, when the link
breaks, from some frame on not at all. Each end learns of the break at its own time; a half-open link is one where an
end has not learnt of it yet. Whoever has lost a link dials again, as :mod:`protocol.net.mesh` does.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from protocol import limits
from protocol.net.link import ENDED
from tests.simulation.scheduler import Scheduler, Trace

if TYPE_CHECKING:
    from tests.simulation.machine import Process

BACKOFF: Final = (0.1, 3.0)
"""Seconds between two attempts to dial."""
DUPLICATED: Final = 6
"""Messages of the broken link that may be sent once more over the next."""
MESSAGE: Final = b"\x07"
"""Type of the frames that carry one, after the byte that begins the array."""


class Channel:
    """One direction of a link."""

    __slots__ = ("arrival", "frames", "receiver", "refilled", "sender", "sent", "size", "tokens", "waits")

    def __init__(self, sender: int, receiver: int) -> None:
        self.sender = sender
        self.receiver = receiver
        self.frames: deque[tuple[float, bytes | None]] = deque()
        """(arrival, frame) under way; None is the end of the link."""
        self.arrival = 0.0
        """Of the newest frame: none overtakes another."""
        self.size = 0
        """Bytes under way."""
        self.waits = False
        """An event that will look at the next frame is planned."""
        self.tokens = float(limits.BURST)
        self.refilled = 0.0
        self.sent: deque[bytes] = deque(maxlen=DUPLICATED)


class Link:
    """A connection between two nodes."""

    def __init__(self, one: int, other: int, since: float, latency: float) -> None:
        self.channels = {(one, other): Channel(one, other), (other, one): Channel(other, one)}
        self.nodes = (one, other)
        self.since = since
        self.latency = latency
        self.is_broken = False

    def peer(self, node: int) -> int:
        """Return the node at the other end."""
        return self.nodes[0] if self.nodes[1] == node else self.nodes[1]


class Network:
    """All links of a world.

    :param stream: chance for latencies and moments; nothing else may draw from it.
    """

    def __init__(self, scheduler: Scheduler, stream: random.Random, trace: Trace) -> None:
        self.scheduler = scheduler
        self.random = stream
        self.trace = trace
        self.processes: dict[int, Process] = {}
        self.latency: dict[frozenset[int], float] = {}
        """Mean seconds, where it is not :attr:`usual_latency`."""
        self.usual_latency = 0.005
        self.duplicates = False
        """Whether the last frames of a broken link may come again over the next."""
        self.delivered = 0
        self._links: dict[tuple[int, int], Link] = {}
        """(node, author of the peer) → the link that this node holds to be up."""
        self._pairs: set[frozenset[int]] = set()
        self._blocked: dict[tuple[int, int], int] = {}
        self._forbidden: dict[tuple[int, int], int] = {}
        self._stalled: dict[int, int] = {}
        self._dialling: set[frozenset[int]] = set()
        self._lost: dict[frozenset[int], dict[tuple[int, int], tuple[bytes, ...]]] = {}

    # Who is to be linked

    def want(self, one: int, other: int) -> None:
        """Keep a link between two nodes from now on, as far as there is no trouble."""
        self._pairs.add(frozenset((one, other)))
        self._dial_soon(one, other, 0.0)

    def want_no_more(self, one: int, other: int) -> None:
        """Let two nodes be strangers."""
        self._pairs.discard(frozenset((one, other)))
        self.reset(one, other, 0.0)

    def link(self, one: int, other: int) -> Link | None:
        """Return the link that both nodes hold to be up."""
        link = self._held(one, other)
        return link if link is not None and link is self._held(other, one) else None

    def _held(self, node: int, peer: int) -> Link | None:
        link = self._links.get((node, self.processes[peer].author))
        return link if link is not None and peer in link.nodes else None

    def _dial_soon(self, one: int, other: int, seconds: float) -> None:
        pair = frozenset((one, other))
        if pair in self._pairs and pair not in self._dialling:
            self._dialling.add(pair)
            self.scheduler.after(seconds, lambda: self._dial(one, other))

    def _dial(self, one: int, other: int) -> None:
        pair = frozenset((one, other))
        self._dialling.discard(pair)
        if pair not in self._pairs or self.link(one, other):
            return
        processes = self.processes[one], self.processes[other]
        ways = ((one, other), (other, one))
        reachable = not any(self._blocked.get(way) or self._forbidden.get(way) for way in ways)
        ready = all(process.is_listening for process in processes)
        settled = all(
            held is None or self.scheduler.now - held.since >= limits.REPLACEMENT
            for held in (self._held(one, other), self._held(other, one))
        )
        taken = any(
            (held := self._links.get((mine.node, peer.author))) is not None and peer.node not in held.nodes
            for mine, peer in (processes, processes[::-1])
        )
        if not (reachable and ready and settled) or taken:
            if all(process.is_running for process in processes):  # else its start will dial
                self._dial_soon(one, other, self.random.uniform(*BACKOFF))
            return
        self._establish(one, other)

    def _establish(self, one: int, other: int) -> None:
        latency = self.latency.get(frozenset((one, other)), self.usual_latency)
        link = Link(one, other, self.scheduler.now, latency)
        self.trace.note(self.scheduler.now, "link", one, other)
        first, second = (one, other) if self.random.random() < 0.5 else (other, one)
        for node, peer in ((first, second), (second, first)):
            self._links[node, self.processes[peer].author] = link
        for node, peer in ((first, second), (second, first)):
            self.processes[node].link_up(self.processes[peer].author)
        lost = self._lost.pop(frozenset((one, other)), {})
        for (sender, receiver), frames in sorted(lost.items()):
            for frame in frames:
                self._put(link, link.channels[sender, receiver], frame)

    def dial_all(self, node: int) -> None:
        """A node has started: let all who want it find it."""
        for pair in sorted(self._pairs, key=sorted):
            if node in pair:
                one, other = sorted(pair)
                self._dial_soon(one, other, self.random.uniform(0.01, 0.2))

    # Frames

    def send(self, sender: int, author: int, frame: bytes) -> None:
        """Send a frame to who holds the other end of the link to ``author``; without one it is lost."""
        link = self._links.get((sender, author))
        if link is None:
            return
        receiver = link.peer(sender)
        channel = link.channels[sender, receiver]
        if link.is_broken:
            return
        if frame[1:2] == MESSAGE:  # what a peer asked for or was answered is not said again
            channel.sent.append(frame)
        self._put(link, channel, frame)
        if channel.size > limits.OUTGOING_QUEUE:
            self.trace.note(self.scheduler.now, "queue full", sender, receiver)
            self.reset(sender, receiver, 0.0)

    def _put(self, link: Link, channel: Channel, frame: bytes | None, delay: float | None = None) -> None:
        if delay is None:
            # Whole milliseconds: frames of several links then arrive in one turn of the receiver's loop, as they do.
            delay = round(self.random.expovariate(1 / link.latency), 3) if link.latency else 0.0
        channel.arrival = max(channel.arrival, self.scheduler.now + delay)
        channel.frames.append((channel.arrival, frame))
        channel.size += len(frame or b"")
        self._plan(link, channel)

    def _plan(self, link: Link, channel: Channel, not_before: float = 0.0) -> None:
        if channel.frames and not channel.waits:
            channel.waits = True
            self.scheduler.at(max(channel.frames[0][0], not_before), lambda: self._arrive(link, channel))

    def _arrive(self, link: Link, channel: Channel) -> None:
        channel.waits = False
        if not channel.frames or self._holds_up(channel):
            return
        now = self.scheduler.now
        channel.tokens = min(limits.BURST, channel.tokens + (now - channel.refilled) * limits.RATE)
        channel.refilled = now
        if channel.tokens < 1 and not self.processes[channel.sender].is_on_loopback:
            self._plan(link, channel, now + 0.1)  # over the rate nothing is lost: the peer waits
            return
        _, frame = channel.frames.popleft()
        if len(frame or b"") <= limits.FRAME_BEFORE_WELCOME:  # longer ones are answers, whose bytes are counted instead
            channel.tokens -= 1
        channel.size -= len(frame or b"")
        sender, receiver = self.processes[channel.sender], self.processes[channel.receiver]
        is_current = self._links.get((receiver.node, sender.author)) is link
        if frame is None:
            if is_current:
                self._end_at(link, receiver.node)
        elif is_current and receiver.is_running:
            self.delivered += 1
            self.trace.note(now, "frame", sender.node, receiver.node, frame)
            receiver.receive(sender.author, frame)
        self._plan(link, channel)

    def _holds_up(self, channel: Channel) -> bool:
        return bool(
            self._blocked.get((channel.sender, channel.receiver))
            or self._stalled.get(channel.receiver)
            or self.processes[channel.receiver].is_asleep
        )

    def _go_on(self) -> None:
        for link in dict.fromkeys(self._links.values()):
            for channel in link.channels.values():
                self._plan(link, channel)

    # Trouble

    def reset(self, one: int, other: int, kept: float = 1.0, notice: tuple[float, float] = (0.0, 0.0)) -> bool:
        """Break the link between two nodes; tell whether there was one.

        :param kept: the share of the frames under way that still arrives; of the next one only a part did.
        :param notice: after how many seconds each of the two learns of it.
        """
        link = self._held(one, other)
        if link is None:
            link = self._held(other, one)
        if link is None:
            return False
        self.trace.note(self.scheduler.now, "reset", one, other)
        if not link.is_broken:
            link.is_broken = True
            for (sender, receiver), channel in link.channels.items():
                for _ in range(len(channel.frames) - int(kept * len(channel.frames))):
                    channel.size -= len(channel.frames.pop()[1] or b"")
                if self.duplicates and channel.sent and self.random.random() < 0.5:
                    pair = frozenset((one, other))
                    self._lost.setdefault(pair, {})[sender, receiver] = tuple(channel.sent)
        for node, seconds in zip((one, other), notice, strict=True):
            peer = other if node == one else one
            channel = link.channels[peer, node]
            self._put(link, channel, None, seconds)
        return True

    def _end_at(self, link: Link, node: int, reason: str = ENDED) -> None:
        peer = link.peer(node)
        key = node, self.processes[peer].author
        if self._links.get(key) is link:
            del self._links[key]
            self.processes[node].link_down(self.processes[peer].author, reason)
        one, other = sorted((node, peer))
        self._dial_soon(one, other, self.random.uniform(*BACKOFF))

    def linked(self, node: int) -> list[int]:
        """Return the authors whose links are up in the eyes of a node."""
        return [author for holder, author in self._links if holder == node]

    def excuse(self, node: int, author: int) -> None:
        """Do not count the last frame that a node took against the rate of its sender."""
        if (link := self._links.get((node, author))) is not None:
            link.channels[link.peer(node), node].tokens += 1

    def disconnect(self, node: int, author: int, reason: str = ENDED) -> None:
        """A node ends its own link to a peer."""
        link = self._links.get((node, author))
        if link is not None:
            peer = link.peer(node)
            self.reset(node, peer, 1.0)
            self._end_at(link, node, reason)

    def process_died(self, node: int, loses_power: bool) -> None:
        """A process is gone: the system still sends what it has, and closes; without power nobody hears anything."""
        for (holder, _), link in sorted(self._links.items(), key=lambda item: item[0]):
            if node not in link.nodes:
                continue
            peer = link.peer(node)
            if holder == node:
                notice = self.random.uniform(1.0, limits.SILENCE) if loses_power else 0.0
                kept = 0.0 if loses_power else 1.0
                self.reset(peer, node, kept, (notice, 0.0))
        for key in [key for key in self._links if key[0] == node]:
            del self._links[key]

    def block(self, pairs: Iterable[tuple[int, int]]) -> None:
        """Let nothing pass from the first to the second node of each pair."""
        for pair in pairs:
            self._blocked[pair] = self._blocked.get(pair, 0) + 1
            self._watch(*pair)

    def unblock(self, pairs: Iterable[tuple[int, int]]) -> None:
        """Let what was held up pass."""
        for pair in pairs:
            self._blocked[pair] -= 1
        self._go_on()

    def forbid(self, pairs: Iterable[tuple[int, int]]) -> None:
        """Let no link be made between these nodes."""
        for pair in pairs:
            self._forbidden[pair] = self._forbidden.get(pair, 0) + 1

    def allow(self, pairs: Iterable[tuple[int, int]]) -> None:
        """Let links be made again."""
        for pair in pairs:
            self._forbidden[pair] -= 1

    def slow_down(self, one: int, other: int, latency: float | None) -> None:
        """Give the link between two nodes another mean latency, in seconds; None for the usual one."""
        if latency is None:
            self.latency.pop(frozenset((one, other)), None)
        else:
            self.latency[frozenset((one, other))] = latency
        link = self._held(one, other)
        if link is not None:
            link.latency = self.usual_latency if latency is None else latency

    def stall(self, node: int) -> None:
        """Let a node read nothing for a while; what others send it piles up on their side."""
        self._stalled[node] = self._stalled.get(node, 0) + 1

    def go_on_reading(self, node: int) -> None:
        """Let a stalled node read again."""
        self._stalled[node] -= 1
        self._go_on()

    def fell_asleep(self, node: int) -> None:
        """A machine sends nothing any more: its peers give its links up in time."""
        for other in sorted(self.processes):
            if other != node:
                self._watch(node, other)

    def woke_up(self) -> None:
        """A machine is back: what waited for it arrives."""
        self._go_on()

    def _watch(self, sender: int, receiver: int) -> None:
        """Let the receiver find the link dead if nothing gets through in time."""
        link = self.link(sender, receiver)
        if link is None:
            return

        def is_dead() -> bool:
            return bool(self._blocked.get((sender, receiver))) or self.processes[sender].is_asleep

        def look() -> None:
            if is_dead() and self._links.get((receiver, self.processes[sender].author)) is link:
                self.reset(sender, receiver, 0.0)
                self._end_at(link, receiver)

        self.scheduler.after(limits.SILENCE, look)
