"""Machines with more interfaces than a socket can be a member of a group on, and with some that take no multicast."""

from __future__ import annotations

from pathlib import Path

from tests.cli.test_doctor import examined_at_once, findings
from tests.network.namespaces import lan
from tests.programs import MODULE, Program

BRIDGES = 60
"""Three times as many as Linux lets one socket hear multicast on."""
GROUP = "FB0000E0"
"""224.0.0.251 as /proc/net/igmp writes it."""


def test_two_laptops_hear_each_other_though_one_has_sixty_interfaces_more(tmp_path: Path) -> None:
    with lan(2) as wire:
        wire.add_bridges(1, BRIDGES)
        for laptop in (1, 2):
            wire.set_kernel(laptop, ipv6__conf__all__disable_ipv6=1)
        ada, ben = examined_at_once(wire, tmp_path, "60")
    assert (ada["multicast"]["state"], ada["multicast"]["says"]) == ("ok", "this machine hears its own packets")
    assert ada["others"]["says"] == "10.77.0.2 and this machine hear each other"
    assert ben["others"]["says"].endswith(" and this machine hear each other")


def test_multicast_is_heard_on_every_interface_of_a_machine(tmp_path: Path) -> None:
    with lan(1) as wire:
        wire.add_bridges(1, BRIDGES)
        with Program(*MODULE, "host", "Friday", "--ui", "line", home=tmp_path, prefix=wire.on(1)) as host:
            host.wait_for(lambda: [line for line in host.output if "p2pdice join" in line], "an open table")
            told = Program("-c", "print(open('/proc/net/igmp').read())", home=tmp_path, prefix=wire.on(1))
            with told:
                assert told.end() == 0
            assert sum(GROUP in line for line in told.output) == BRIDGES + len(("eth0", "lo"))


def test_interfaces_that_take_no_multicast_are_named(tmp_path: Path) -> None:
    """They have IPv4 only, and no socket may hear multicast there. By loopback and eth0 it comes with IPv6."""
    with lan(1) as wire:
        wire.add_bridges(1, 2)
        wire.set_kernel(
            1, ipv4__igmp_max_memberships=0, ipv6__conf__en1__disable_ipv6=1, ipv6__conf__en2__disable_ipv6=1
        )
        with Program(*MODULE, "host", "Friday", "--ui", "line", home=tmp_path / "a", prefix=wire.on(1)) as host:
            host.wait_for(lambda: [line for line in host.output if "en1, en2, which take no multicast" in line], "so")
        with Program(*MODULE, "doctor", "--json", "--wait", "0.5", home=tmp_path / "b", prefix=wire.on(1)) as doctor:
            assert doctor.end() == 0
            found = findings(doctor.shown())["multicast"]
    assert (found["state"], found["says"]) == ("warning", "en1 and en2 take no multicast")
    assert "the line that the host sees works" in found["remedy"]
