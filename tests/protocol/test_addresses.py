"""The addresses that this machine advertises to peers, and the ones it dials for an advertised address."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from ipaddress import ip_address

import ifaddr
import pytest

from protocol.net.interfaces import hosts_to_dial, hosts_to_listen_at, hosts_to_tell, is_cut_off

EVERYWHERE = ("0.0.0.0", "::")
LOOPBACK = ("127.0.0.1", "::1")
OWN, WIFI = "fe80::7", "fe80::8"


def install(monkeypatch: pytest.MonkeyPatch, interfaces: Mapping[str, tuple[str, ...]]) -> None:
    """Pretend that this machine has these interfaces with their addresses."""
    adapters = [
        ifaddr.Adapter(name, name, [address(host, number, name) for host in hosts], number)
        for number, (name, hosts) in enumerate(interfaces.items(), 1)
    ]
    monkeypatch.setattr(ifaddr, "get_adapters", lambda: adapters)


def machine(monkeypatch: pytest.MonkeyPatch, *interfaces: tuple[str, ...]) -> None:
    """Pretend that this machine has interfaces ``if1``, ``if2``… with these addresses, and loopback."""
    install(monkeypatch, {f"if{number}": hosts for number, hosts in enumerate((*interfaces, LOOPBACK), 1)})


def address(host: str, zone: int, name: str) -> ifaddr.IP:
    own = ip_address(host)
    return ifaddr.IP(host if own.version == 4 else (host, 0, zone if own.is_link_local else 0), 24, name)


@pytest.mark.parametrize(
    ("interfaces", "told"),
    [
        ((("192.0.2.7", OWN),), ("192.0.2.7",)),
        ((("192.0.2.7", "fd00::7", OWN),), ("192.0.2.7", "fd00::7")),
        (((OWN, "2001:db8::7"), (WIFI, "fd00::7")), ("2001:db8::7", "fd00::7")),
        (((OWN,), (WIFI,)), (OWN, WIFI)),
        ((), ()),
    ],
    ids=["IPv4", "both", "IPv6", "link-local only", "none"],
)
def test_the_most_useful_address_is_advertised_first_and_loopback_last(
    monkeypatch: pytest.MonkeyPatch, interfaces: tuple[tuple[str, ...], ...], told: tuple[str, ...]
) -> None:
    machine(monkeypatch, *interfaces)
    assert hosts_to_tell(EVERYWHERE) == (*told, *LOOPBACK)


def test_the_default_route_is_advertised_first_and_containers_and_vpns_last(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names = {"docker0": "172.17.0.1", "tun0": "10.8.0.2", "eth0": "192.0.2.7", "wlan0": "198.51.100.7"}
    install(monkeypatch, {name: (host,) for name, host in names.items()})
    ways_out = [ip_address(names["tun0"]), ip_address(names["wlan0"])]
    monkeypatch.setattr("protocol.net.interfaces._ways_out", lambda: frozenset(ways_out))
    assert hosts_to_tell(EVERYWHERE) == tuple(names[each] for each in ("wlan0", "eth0", "tun0", "docker0"))


def test_zones_of_addresses_are_not_advertised(monkeypatch: pytest.MonkeyPatch) -> None:
    machine(monkeypatch, (OWN,), (WIFI,))
    assert hosts_to_listen_at("if2") == (f"{WIFI}%2",)
    assert hosts_to_tell([f"{WIFI}%2"]) == (WIFI,)
    assert hosts_to_dial("fe80::1") == ("fe80::1%1", "fe80::1%2")
    assert hosts_to_dial("fe80::1%2") == ("fe80::1%2",)


def test_a_machine_without_addresses_advertises_only_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ifaddr, "get_adapters", list)
    assert hosts_to_tell(EVERYWHERE) == ("127.0.0.1",)
    assert hosts_to_dial("fe80::1") == ("fe80::1",)


@pytest.mark.parametrize(
    ("system", "names", "meant", "is_so"),
    [
        ("linux", {"lo": LOOPBACK}, None, True),
        ("darwin", {"lo0": (*LOOPBACK, "fe80::1")}, None, True),
        ("darwin", {"lo0": LOOPBACK, "utun0": (OWN,), "awdl0": (WIFI,), "llw0": (WIFI,)}, None, True),
        ("darwin", {"lo0": LOOPBACK, "en0": (OWN,)}, None, False),
        ("linux", {"lo": LOOPBACK, "docker0": ("172.17.0.1",)}, None, True),
        ("linux", {"lo": LOOPBACK, "docker0": ("172.17.0.1",)}, "docker0", False),
        ("linux", {"lo": LOOPBACK, "eth9": ("192.0.2.7",)}, "eth8", True),
        ("linux", {"lo": LOOPBACK, "eth9": ("192.0.2.7",)}, "127.0.0.1", False),
        ("linux", {"lo": LOOPBACK, "eth9": (OWN,)}, None, False),
        ("win32", {"Loopback": LOOPBACK, "Ethernet": ("169.254.7.7", OWN)}, None, True),
        ("win32", {"Loopback": LOOPBACK, "Ethernet": ("192.0.2.7", OWN)}, None, False),
    ],
)
def test_a_machine_is_cut_off_when_no_interface_leads_to_a_lan(
    monkeypatch: pytest.MonkeyPatch, system: str, names: dict[str, tuple[str, ...]], meant: str | None, *, is_so: bool
) -> None:
    install(monkeypatch, names)
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr("protocol.net.interfaces._is_connected", lambda _: True)
    assert is_cut_off(meant) is is_so


def test_dialling_works_while_the_interfaces_cannot_be_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    def busy() -> list[ifaddr.Adapter]:
        raise OSError("the system is busy")

    monkeypatch.setattr(ifaddr, "get_adapters", busy)
    assert not is_cut_off()
    assert hosts_to_dial("fe80::1") == ("fe80::1",)
