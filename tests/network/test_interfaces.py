"""Multicast on machines with interfaces that have no multicast, or with more interfaces than one socket can join."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from cli.exits import ExitCode
from tests.cli.test_doctor import examined_at_once, findings
from tests.network.namespaces import Lan, lan
from tests.programs import MODULE, Program

BRIDGES = 60
"""Three times the number of interfaces on which Linux lets one socket receive multicast."""
GROUP = "FB0000E0"
"""224.0.0.251 as written in /proc/net/igmp."""


def test_a_laptop_with_sixty_extra_interfaces_finds_another_laptop(tmp_path: Path) -> None:
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


def test_interfaces_without_multicast_are_named(tmp_path: Path) -> None:
    """en1 and en2 have only IPv4, and the kernel allows no IPv4 memberships. Loopback and eth0 use IPv6."""
    with lan(1) as wire:
        wire.add_bridges(1, 2)
        wire.set_kernel(
            1, ipv4__igmp_max_memberships=0, ipv6__conf__en1__disable_ipv6=1, ipv6__conf__en2__disable_ipv6=1
        )
        with Program(*MODULE, "host", "Friday", "--ui", "line", home=tmp_path / "a", prefix=wire.on(1)) as host:
            host.wait_for(lambda: [line for line in host.output if "on en1, en2, which do not" in line], "so")
        with Program(*MODULE, "doctor", "--json", "--wait", "0.5", home=tmp_path / "b", prefix=wire.on(1)) as doctor:
            assert doctor.end() == 0
            found = findings(doctor.shown())["interfaces"]
    assert (found["state"], found["says"]) == ("warning", "en1 and en2 do not support multicast")
    assert "the line that the host sees works" in found["remedy"]


@pytest.mark.parametrize(
    ("cut", "mend"),
    [
        (Lan.pull_cable, Lan.plug_in),
        pytest.param(Lan.pull_out, lambda wire, one: wire.put_in(one, 1), marks=pytest.mark.thorough),
    ],
)
def test_an_owner_is_told_when_the_network_goes_and_returns(
    tmp_path: Path, cut: Callable[[Lan, int], None], mend: Callable[[Lan, int], None]
) -> None:
    with lan(2) as wire:
        options = ("--ui", "line", "--port", "7001", "--name")
        with ExitStack() as at_table:

            def sit(name: str, laptop: int, *words: str, until: str) -> Program:
                program = Program(*MODULE, *words, *options, name, home=tmp_path / name, prefix=wire.on(laptop))
                at_table.enter_context(program).wait_for(lambda: hears(program, until), until)
                return program

            ada = sit("Ada", 1, "host", "Friday", until="Tell your friends.")
            ben = sit("Ben", 2, "join", "10.77.0.1:7001", until="You are at")
            cut(wire, 1)
            ada.wait_for(lambda: hears(ada, "This machine is in no network any more"), "the own network")
            with Program(*MODULE, "join", "10.77.0.2:7002", home=tmp_path / "Cleo", prefix=wire.on(1)) as cleo:
                assert cleo.end() == ExitCode.UNREACHABLE
            assert any("this machine is in no network" in line for line in cleo.errors)
            mend(wire, 1)
            ada.wait_for(lambda: hears(ada, "This machine is in a network again"), "the network")
            assert not hears(ben, "no network")


def hears(program: Program, text: str) -> bool:
    return any(text in line for line in program.output)
