"""Being found: where a node listens, what it advertises, and what it does when the network has changed."""

from __future__ import annotations

import asyncio
import logging
from ipaddress import ip_address

from protocol.errors import ErrorCode, NodeError
from protocol.events import Notice, TableMoved
from protocol.net.addresses import JoinLine
from protocol.net.interfaces import hosts_to_listen_at, is_cut_off, watch_network
from protocol.net.listener import EVERYWHERE
from protocol.node.activities import Activities
from protocol.node.locator import open_table, running_match

log = logging.getLogger(__name__)


class Presence:
    """How others find one node.

    :param interface: name or address of the only interface to use.
    """

    def __init__(self, activities: Activities, interface: str | None) -> None:
        self._active = activities
        self._runtime = activities.runtime
        self._mesh = activities.mesh
        self._interface = interface
        self._told_line = ""
        """The join line that the owner knows."""
        self._minding: asyncio.Task[None] | None = None
        self._is_cut_off = False
        """This machine was in no network when it was last looked at."""

    @property
    def join_line(self) -> str:
        """The join line of the table that this node hosts; empty if it hosts none."""
        if self._active.hosting is None:
            return ""
        own = self._runtime.identity.fingerprint
        return str(JoinLine(self._mesh.addresses[:1], own, self._active.hosting.table.token))

    def tell_join_line(self) -> str:
        """Return the join line, which the owner is told now."""
        self._told_line = self.join_line
        return self._told_line

    @property
    def is_reachable(self) -> bool:
        """This node listens at an address that other machines may reach."""
        return not ip_address(self._mesh.addresses[0][0]).is_loopback

    async def listen(self, port: int) -> None:
        """Listen, unless this node does so already.

        :raises NodeError: if that is not possible.
        """
        if self._mesh.port:
            return
        self.watch_network()
        try:
            hosts = hosts_to_listen_at(self._interface) if self._interface else EVERYWHERE
            if not hosts:
                problem = f"this machine has no network interface {self._interface}"
                raise NodeError(ErrorCode.FAILED, problem, "omit --interface")
            await self._mesh.listen(port, hosts)
        except OSError as error:
            problem = f"cannot listen: {error.strerror or error}"
            raise NodeError(ErrorCode.FAILED, problem, "choose another --port or --interface") from None

    def watch_network(self) -> None:
        """Watch from now on whether this machine sleeps or its addresses change."""
        if self._minding is None:
            self._is_cut_off = is_cut_off(self._interface)
            work = watch_network(self._interface, self.surroundings_changed)
            self._minding = self._runtime.in_background(work)

    async def surroundings_changed(self) -> None:
        """Dial all peers again, and look for tables again."""
        log.warning("this machine slept or its interfaces have changed: all are dialled again")
        self._tell_whose_network_is_down()
        self._tell_where_the_table_is()
        self._mesh.dial_anew()
        if self._active.watching is not None:
            self._active.watching.dial_anew()
        await self._runtime.locator.interfaces_changed()

    def _tell_whose_network_is_down(self) -> None:
        """Tell the owner that it is their own network that is down, before the others are said to be out of reach."""
        before, self._is_cut_off = self._is_cut_off, is_cut_off(self._interface)
        place = f"The network interface {self._interface}" if self._interface else "This machine"
        if self._is_cut_off and not before:
            self._runtime.tell(Notice(f"{place} is in no network any more: connect it by Wi-Fi or cable."))
        elif before and not self._is_cut_off:
            self._runtime.tell(Notice(f"{place} is in a network again."))

    def _tell_where_the_table_is(self) -> None:
        """Tell the owner the new join line; without a network no join line would help anybody."""
        if self._active.hosting is None or self._active.hosting.has_begun:
            return
        before = self._told_line
        if self.join_line != before and self.is_reachable:
            self._runtime.tell(TableMoved(self._active.hosting.table.settings.name, self.tell_join_line()))

    def advertise(self) -> None:
        """Advertise the match that is played, or the open table.

        The number of a short code stays until the table opens again: those who type the code late are told why not.
        """
        playing, hosting = self._active.formed, self._active.hosting
        is_solo = playing is not None and playing.match.is_solo
        if hosting.table.settings.unlisted if hosting is not None else is_solo:
            return
        number = hosting.code_desk.number if hosting is not None else 0
        if playing is not None:
            advertisement = running_match(playing.match, playing.occasion.table_name, number)
        elif hosting is not None and (number or not hosting.table.settings.private):
            advertisement = open_table(hosting.table, number)
        else:
            return
        self._runtime.in_background(self._runtime.locator.advertise(advertisement, self._mesh.port))

    async def advertise_match(self) -> None:
        """Start discovery, and advertise."""
        await self._runtime.locator.start()
        self.advertise()

    def close(self) -> None:
        """Watch the network no more."""
        if self._minding is not None:
            self._minding.cancel()
