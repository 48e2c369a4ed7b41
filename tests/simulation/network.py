"""The LAN of a world.

A link behaves like a TCP connection: frames arrive late but in order, and if the link breaks, the last ones are lost.
Each end notices the break at its own time; until both have, the link is half-open. Then the nodes are linked again, as
by :mod:`protocol.net.mesh`.
"""

from __future__ import annotations

import random
from collections import Counter, deque
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from protocol import limits
from protocol.net.link import ENDED
from tests.simulation.scheduler import Scheduler, Trace

if TYPE_CHECKING:
    from tests.simulation.machine import Process

BACKOFF: Final = (0.1, 3.0)
"""Shortest and longest time between two attempts to dial, in seconds."""
DUPLICATED: Final = 6
"""How many messages of a broken link may be delivered again over the next one."""
MESSAGE: Final = b"\x07"
"""The second byte of a frame that carries a signed message: its type. The first byte begins the array."""


class Channel:
    """One direction of a link."""

    __slots__ = ("arrival", "frames", "receiver", "refilled", "sender", "sent", "size", "tokens", "waits")

    def __init__(self, sender: int, receiver: int) -> None:
        self.sender = sender
        self.receiver = receiver
        self.frames: deque[tuple[float, bytes | None]] = deque()
        """(arrival, frame) of everything in flight. None stands for the end of the link."""
        self.arrival = 0.0
        """The arrival of the last frame. Later frames do not arrive earlier."""
        self.size = 0
        """Bytes in flight."""
        self.waits = False
        """Whether an event is scheduled that delivers the next frame."""
        self.tokens = float(limits.BURST)
        """The token bucket of the receiver's rate limit, last refilled at ``refilled``."""
        self.refilled = 0.0
        self.sent: deque[bytes] = deque(maxlen=DUPLICATED)


class Link:
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

    :param stream: the source of random latencies and times. Nothing else may draw from it.
    """

    def __init__(self, scheduler: Scheduler, stream: random.Random, trace: Trace) -> None:
        self.scheduler = scheduler
        self.random = stream
        self.trace = trace
        self.processes: dict[int, Process] = {}
        self.latency: dict[frozenset[int], float] = {}
        """Mean latency in seconds, of pairs of nodes for which it is not :attr:`usual_latency`."""
        self.usual_latency = 0.005
        self.duplicates = False
        """Whether the last messages of a broken link may be delivered again over the next one."""
        self.delivered = 0
        """Frames delivered so far."""
        self._links: dict[tuple[int, int], Link] = {}
        """(node, author of the peer) → the link that is up as far as this node knows."""
        self._pairs: set[frozenset[int]] = set()
        """Pairs of nodes that want a link."""
        self._blocked: Counter[tuple[int, int]] = Counter()
        """(sender, receiver) → how many faults let no frame pass."""
        self._forbidden: Counter[tuple[int, int]] = Counter()
        """(node, node) → how many faults prevent a new link."""
        self._stalled: Counter[int] = Counter()
        """Node → how many faults keep it from reading."""
        self._dialling: set[frozenset[int]] = set()
        """Pairs for which an attempt to dial is scheduled."""
        self._lost: dict[frozenset[int], dict[tuple[int, int], tuple[bytes, ...]]] = {}
        """Pair → (sender, receiver) → the messages to deliver again over the next link."""

    # Making links

    def want(self, one: int, other: int) -> None:
        """Keep two nodes linked from now on, whenever faults permit it."""
        self._pairs.add(frozenset((one, other)))
        self._dial_soon(one, other, 0.0)

    def want_no_more(self, one: int, other: int) -> None:
        """Break the link between two nodes, and do not make another."""
        self._pairs.discard(frozenset((one, other)))
        self.reset(one, other, 0.0)

    def link(self, one: int, other: int) -> Link | None:
        """Return the link that is up as far as both nodes know."""
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
        reachable = not any(self._blocked[way] or self._forbidden[way] for way in ways)
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
            if all(process.is_running for process in processes):  # a process that is down dials when it starts
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
        """Dial all links of a node that has started."""
        for pair in sorted(self._pairs, key=sorted):
            if node in pair:
                one, other = sorted(pair)
                self._dial_soon(one, other, self.random.uniform(0.01, 0.2))

    # Frames

    def send(self, sender: int, author: int, frame: bytes) -> None:
        """Send a frame over a node's link to a player. Without a link it is lost."""
        link = self._links.get((sender, author))
        if link is None:
            return
        receiver = link.peer(sender)
        channel = link.channels[sender, receiver]
        if link.is_broken:
            return
        if frame[1:2] == MESSAGE:  # requests and answers are not repeated
            channel.sent.append(frame)
        self._put(link, channel, frame)
        if channel.size > limits.OUTGOING_QUEUE:
            self.trace.note(self.scheduler.now, "queue full", sender, receiver)
            self.reset(sender, receiver, 0.0)

    def _put(self, link: Link, channel: Channel, frame: bytes | None, delay: float | None = None) -> None:
        if delay is None:
            # Rounded to milliseconds: frames of several links can then arrive in the same pass of the event loop.
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
            self._plan(link, channel, now + 0.1)  # a frame above the rate is not lost, only delayed
            return
        _, frame = channel.frames.popleft()
        if len(frame or b"") <= limits.FRAME_BEFORE_WELCOME:  # longer frames do not count against this rate
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
            self._blocked[channel.sender, channel.receiver]
            or self._stalled[channel.receiver]
            or self.processes[channel.receiver].is_asleep
        )

    def go_on(self) -> None:
        """Deliver frames that were delayed by a fault."""
        for link in dict.fromkeys(self._links.values()):
            for channel in link.channels.values():
                self._plan(link, channel)

    # Faults

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
        """Return the authors to whom a node has a link, as far as the node knows."""
        return [author for holder, author in self._links if holder == node]

    def excuse(self, node: int, author: int) -> None:
        """Do not count the last frame that a node received against the rate limit of its sender."""
        if (link := self._links.get((node, author))) is not None:
            link.channels[link.peer(node), node].tokens += 1

    def disconnect(self, node: int, author: int, reason: str = ENDED) -> None:
        """Let a node end its link to a player."""
        link = self._links.get((node, author))
        if link is not None:
            peer = link.peer(node)
            self.reset(node, peer, 1.0)
            self._end_at(link, node, reason)

    def process_died(self, node: int, loses_power: bool) -> None:
        """End the links of a process that died.

        The operating system still sends the frames in flight and closes the links. After a power cut it does neither,
        and peers notice that only after some time.
        """
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
        """Deliver no more frames from the first to the second node of each pair."""
        for pair in pairs:
            self._blocked[pair] += 1
            self._watch(*pair)

    def unblock(self, pairs: Iterable[tuple[int, int]]) -> None:
        """Undo :meth:`block`. Delayed frames arrive."""
        self._blocked.subtract(pairs)
        self.go_on()

    def forbid(self, pairs: Iterable[tuple[int, int]]) -> None:
        """Make no new links between these nodes."""
        self._forbidden.update(pairs)

    def allow(self, pairs: Iterable[tuple[int, int]]) -> None:
        """Undo :meth:`forbid`."""
        self._forbidden.subtract(pairs)

    def slow_down(self, one: int, other: int, latency: float | None) -> None:
        """Change the mean latency between two nodes, in seconds; None for the usual one."""
        if latency is None:
            self.latency.pop(frozenset((one, other)), None)
        else:
            self.latency[frozenset((one, other))] = latency
        link = self._held(one, other)
        if link is not None:
            link.latency = self.usual_latency if latency is None else latency

    def stall(self, node: int) -> None:
        """Stop a node from reading. Frames to it queue up at their senders."""
        self._stalled[node] += 1

    def go_on_reading(self, node: int) -> None:
        """Undo :meth:`stall`."""
        self._stalled[node] -= 1
        self.go_on()

    def fell_asleep(self, node: int) -> None:
        """A machine sleeps and sends nothing. After a while its peers find the links dead."""
        for other in sorted(self.processes):
            if other != node:
                self._watch(node, other)

    def _watch(self, sender: int, receiver: int) -> None:
        """Let the receiver find the link dead if it receives nothing for :data:`protocol.limits.SILENCE` seconds."""
        link = self.link(sender, receiver)
        if link is None:
            return

        def is_dead() -> bool:
            return bool(self._blocked[sender, receiver]) or self.processes[sender].is_asleep

        def look() -> None:
            if is_dead() and self._links.get((receiver, self.processes[sender].author)) is link:
                self.reset(sender, receiver, 0.0)
                self._end_at(link, receiver)

        self.scheduler.after(limits.SILENCE, look)
