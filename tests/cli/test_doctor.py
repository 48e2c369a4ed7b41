"""``p2pdice doctor`` names what prevents a machine from playing."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import shlex
import shutil
import socket
import subprocess
import sys
import time
from contextlib import closing
from datetime import datetime
from ipaddress import ip_address
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pytest

from cli.commands import doctor
from cli.commands.doctor import Finding, Severity
from cli.exits import ExitCode
from protocol.crypto.keys import Identity
from protocol.net.interfaces import Interface
from protocol.net.survey import Heard, reach_host
from protocol.storage.home import Home
from protocol.storage.store import Store
from tests.cli.conftest import Run
from tests.network.namespaces import Lan, lan
from tests.programs import MODULE, Program
from tests.protocol.test_backup import fill

# zeroconf does not close a socket that it cannot bind, such as an IPv6 address in its first second.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

CHECKS = ("program", "home", "disk", "key", "store", "clock", "terminal", "network", "port", "multicast", "others")
QUICK = ("doctor", "--wait", "0.5", "--json")


def findings(text: str) -> dict[str, dict[str, str]]:
    return {each["check"]: each for each in json.loads(text)["findings"]}


def examined(command: Run, *options: str, **variables: str) -> tuple[int, dict[str, dict[str, str]]]:
    done = command(*QUICK, *options, **variables)
    assert done.stderr == ""
    return done.returncode, findings(done.stdout)


def test_a_machine_on_a_lan_can_play_and_no_home_is_created(here: Run, tmp_path: Path) -> None:
    code, found = examined(here)
    assert code == ExitCode.DONE
    assert [name for name in CHECKS if name not in found] == []
    assert {each["state"] for each in found.values()} <= {Severity.OK, Severity.WARNING}
    assert found["multicast"]["state"] == Severity.OK
    assert not (tmp_path / "home").exists()


def test_each_finding_is_one_line_with_its_remedy(here: Run) -> None:
    done = here("doctor", "--wait", "0.5")
    lines = done.stdout.splitlines()
    assert lines[-1] == "You can play from here."
    assert all(line.split(maxsplit=1)[0] in {"ok", "note"} for line in lines[:-1])
    assert done.stderr == "Listening to the network for 0.5 seconds…\n"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no mode bits")
def test_a_key_that_others_can_read_makes_play_impossible(here: Run, tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    Identity.load_or_create(home.path)
    assert examined(here)[0] == ExitCode.DONE
    home.identity.chmod(0o644)
    code, found = examined(here)
    assert code == ExitCode.UNREACHABLE
    assert found["key"]["state"] == Severity.PROBLEM
    assert "chmod 600" in found["key"]["says"]


def test_a_key_with_a_passphrase_is_ok(here: Run, tmp_path: Path) -> None:
    Identity.load_or_create(tmp_path / "home", "secret")
    assert examined(here)[1]["key"]["state"] == Severity.OK


def test_stored_matches_are_counted(here: Run, tmp_path: Path) -> None:
    with closing(Store(Home(tmp_path / "home").store)) as store:
        fill(store)
    _, found = examined(here)
    assert found["store"]["says"] == "it can be read; two matches, one unfinished"


def test_an_empty_store_stays_empty(here: Run, tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    home.path.mkdir(mode=0o700)
    home.store.touch(0o600)
    _, found = examined(here)
    assert found["store"]["state"] == Severity.OK
    assert [path.name for path in home.path.iterdir()] == [home.store.name]
    assert home.store.stat().st_size == 0


def test_a_damaged_store_makes_play_impossible(here: Run, tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    home.path.mkdir(mode=0o700)
    home.store.write_bytes(b"no database at all" * 100)
    code, found = examined(here)
    assert (code, found["store"]["state"]) == (ExitCode.UNREACHABLE, Severity.PROBLEM)


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="Windows and root can write to every folder")
def test_a_folder_that_cannot_be_written_makes_play_impossible(here: Run, tmp_path: Path) -> None:
    (tmp_path / "home").mkdir(mode=0o500)
    code, found = examined(here)
    assert (code, found["home"]["state"]) == (ExitCode.UNREACHABLE, Severity.PROBLEM)


def test_a_home_that_is_not_a_folder_makes_play_impossible(here: Run, tmp_path: Path) -> None:
    (tmp_path / "home").write_text("a file")
    code, found = examined(here)
    assert (code, found["home"]["state"]) == (ExitCode.UNREACHABLE, Severity.PROBLEM)


def test_a_full_disk_makes_play_impossible(here: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: shutil._ntuple_diskusage(100, 99, 1))
    code, found = examined(here)
    assert (code, found["disk"]["state"]) == (ExitCode.UNREACHABLE, Severity.PROBLEM)


def test_a_write_error_on_a_full_disk_is_not_reported_as_a_matter_of_permissions(
    here: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(file: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    code, found = examined(here)
    assert (code, found["disk"]["state"]) == (ExitCode.UNREACHABLE, Severity.PROBLEM)
    assert "home" not in found
    assert found["disk"]["remedy"].startswith("Make room")


@pytest.mark.parametrize(
    ("now", "last_match", "state"),
    [
        ("2019-01-01", "2026-11-24", Severity.WARNING),
        ("2026-11-22", "2026-11-24", Severity.WARNING),
        ("2026-11-25", "2026-11-24", Severity.OK),
        ("2077-01-01", "2026-11-24", Severity.WARNING),
        ("2024-12-30", None, Severity.WARNING),
        ("2025-01-02", None, Severity.OK),
    ],
)
def test_a_clock_before_the_last_match_or_the_release_or_far_ahead_is_reported(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, now: str, last_match: str | None, state: Severity
) -> None:
    if last_match:
        (tmp_path / "store").write_text("")
        os.utime(tmp_path / "store", (moment(last_match),) * 2)
    monkeypatch.setattr(time, "time", lambda: moment(now))
    assert {each.check: each.state for each in doctor.machine(tmp_path)}["clock"] == state


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not allow such dates")
def test_a_file_date_beyond_the_calendar_is_only_a_warning(tmp_path: Path) -> None:
    (tmp_path / "store").write_text("")
    os.utime(tmp_path / "store", (2**56,) * 2)
    assert {each.check: each.state for each in doctor.machine(tmp_path)}["clock"] == Severity.WARNING


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no mode bits")
@pytest.mark.parametrize(
    ("mode", "state"),
    [(0o700, Severity.OK), (0o750, Severity.WARNING), (0o701, Severity.WARNING), (0o720, Severity.WARNING)],
)
def test_a_home_open_to_other_accounts_is_reported(tmp_path: Path, mode: int, state: Severity) -> None:
    home = tmp_path / "home"
    home.mkdir()
    home.chmod(mode)
    assert {each.check: each.state for each in doctor.machine(home)}["home"] == state


@pytest.mark.parametrize(("seconds", "state"), [(0.2, Severity.OK), (0.3, Severity.WARNING)])
def test_a_slow_disk_is_reported(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, seconds: float, state: Severity
) -> None:
    times = count(100.0, seconds)
    monkeypatch.setattr(time, "perf_counter", lambda: next(times))
    assert {each.check: each.state for each in doctor.machine(tmp_path)}["disk"] == state


@pytest.mark.parametrize(
    ("size", "state"), [((40, 12), Severity.OK), ((39, 24), Severity.WARNING), ((80, 11), Severity.WARNING)]
)
def test_a_small_terminal_is_reported(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, size: tuple[int, int], state: Severity
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(shutil, "get_terminal_size", lambda: os.terminal_size(size))
    assert {each.check: each.state for each in doctor.machine(tmp_path)}["terminal"] == state


NEARBY = Interface("here0", 2, (ip_address("192.168.1.2"),), is_connected=True)
HEARD = Heard(True, (), (), ())


def on_network(
    monkeypatch: pytest.MonkeyPatch, own: tuple[Interface, ...] = (NEARBY,), heard: Heard = HEARD
) -> list[Finding]:
    """Return the findings, except the one about the port, for these interfaces and this result of listening."""

    async def listened(*_: object) -> Heard:
        return heard

    async def found() -> list[Finding]:
        return [each async for each in doctor.network(None, 0, 0, ())]

    monkeypatch.setattr("cli.commands.doctor.interfaces", lambda _: list(own))
    monkeypatch.setattr("cli.commands.doctor.listen_around", listened)
    return [each for each in asyncio.run(found()) if each.check != "port"]


def with_tools(
    monkeypatch: pytest.MonkeyPatch, platform: str, says: dict[str, str], ufw: Path = Path("/nowhere")
) -> None:
    """Simulate a system with these tools and their output."""
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(doctor, "UFW", ufw)
    monkeypatch.setattr(shutil, "which", lambda tool: tool if tool in says else None)
    monkeypatch.setattr(subprocess, "run", lambda command, **_: SimpleNamespace(returncode=0, stdout=says[command[0]]))


@pytest.mark.parametrize(
    ("name", "address", "check"),
    [
        ("tun0", "10.8.0.2", "vpn"),
        ("wg1", "10.8.0.2", "vpn"),
        ("here1", "100.64.0.1", "vpn"),
        ("here1", "100.127.255.254", "vpn"),
        ("here1", "100.128.0.1", None),
        ("here1", "169.254.3.4", "address"),
        ("here1", "fe80::1", "address"),
        ("here1", "192.168.1.3", None),
    ],
)
def test_a_vpn_and_a_missing_router_are_reported(
    monkeypatch: pytest.MonkeyPatch, name: str, address: str, check: str | None
) -> None:
    there = Interface(name, 3, (ip_address(address),), is_connected=True)
    found = on_network(monkeypatch, (there,))[:-2]
    assert [(each.check, each.state) for each in found] == [
        ("network", Severity.OK),
        *([(check, Severity.WARNING)] if check else []),
    ]
    beside = on_network(monkeypatch, (NEARBY, there))[:-2]
    assert [each.check for each in beside] == ["network", *(["vpn"] if check == "vpn" else [])]


@pytest.mark.parametrize(
    ("hosts", "met", "one_way", "state", "says"),
    [
        ((), (), (), Severity.WARNING, "no other machine was heard"),
        (("192.0.2.1",), (), (), Severity.OK, "multicast comes from 192.0.2.1"),
        (
            ("192.0.2.1",),
            (),
            ("192.0.2.1",),
            Severity.WARNING,
            "192.0.2.1 is heard here, but does not hear this machine",
        ),
        (("192.0.2.1",), ("192.0.2.1",), (), Severity.OK, "192.0.2.1 and this machine hear each other"),
    ],
)
def test_the_direction_of_multicast_is_reported(
    monkeypatch: pytest.MonkeyPatch,
    hosts: tuple[str, ...],
    met: tuple[str, ...],
    one_way: tuple[str, ...],
    state: Severity,
    says: str,
) -> None:
    found = on_network(monkeypatch, heard=Heard(True, hosts, met, one_way))[-1]
    assert (found.state, found.says) == (state, says)


@pytest.mark.parametrize(("itself", "state"), [(True, Severity.OK), (False, Severity.WARNING)])
def test_a_machine_that_does_not_hear_itself_is_reported(
    monkeypatch: pytest.MonkeyPatch, itself: bool, state: Severity
) -> None:
    _, first, _ = on_network(monkeypatch, heard=HEARD._replace(itself=itself))
    assert (first.check, first.state) == ("multicast", state)


def test_an_interface_without_multicast_does_not_hide_a_firewall(monkeypatch: pytest.MonkeyPatch) -> None:
    _, left_out, stopped, _ = on_network(monkeypatch, heard=Heard(False, (), (), (), ("docker0",)))
    assert left_out.says == "docker0 does not support multicast"
    assert str(stopped.remedy).startswith("A firewall blocks UDP port 5353")


@pytest.mark.parametrize(("text", "says"), [("ENABLED=yes\n", "ufw may be on"), ("ENABLED=no\n", "neither ufw nor")])
def test_the_state_of_ufw_is_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "ufw.conf").write_text(text)
    with_tools(monkeypatch, "linux", {}, tmp_path / "ufw.conf")
    assert str(doctor.firewall("7000").says).startswith(says)


def test_the_line_of_a_finding_ends_with_the_remedy() -> None:
    assert (
        Finding("disk", Severity.PROBLEM, "nothing is free", "Make room").line()
        == "FIX   disk: nothing is free. Make room."
    )
    assert Finding("disk", Severity.WARNING, "it is slow", "Wait").line() == "note  disk: it is slow. Wait."
    assert Finding("disk", Severity.OK, "all is well").line() == "ok    disk: all is well."


def moment(day: str) -> float:
    return datetime.fromisoformat(day).timestamp()


def test_a_privileged_port_is_not_reported_as_in_use(here: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(*_: object, **__: object) -> socket.socket:
        raise PermissionError(errno.EACCES, "Permission denied (while attempting to bind on address ('', 80))")

    monkeypatch.setattr(socket, "create_server", forbidden)
    code, found = examined(here, "--port", "80")
    assert (code, found["port"]["state"]) == (ExitCode.UNREACHABLE, Severity.PROBLEM)
    assert found["port"]["says"] == "cannot listen at port 80: Permission denied"
    assert "1023" in found["port"]["remedy"]


def test_a_port_in_use_makes_play_there_impossible(here: Run) -> None:
    with socket.create_server(("", 0)) as taken:
        code, found = examined(here, "--port", str(taken.getsockname()[1]))
    assert (code, found["port"]["state"]) == (ExitCode.UNREACHABLE, Severity.PROBLEM)


def test_an_unknown_interface_is_named(here: Run) -> None:
    code, found = examined(here, "--interface", "nothing0")
    assert (code, found["network"]["state"]) == (ExitCode.UNREACHABLE, Severity.PROBLEM)
    assert "nothing0" in found["network"]["says"]


def test_an_open_table_is_reached_and_a_closed_one_is_not(here: Run) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        code, found = examined(here, f"{address}/T4Z5-WFHY-2XDW-PX45-WP3P")
        assert (code, found["peer"]["state"]) == (ExitCode.DONE, Severity.OK)
    done = here(*QUICK, address)
    assert done.returncode == ExitCode.UNREACHABLE
    assert "no program listens there" in findings(done.stdout)["peer"]["says"]
    assert json.loads(done.stdout)["playable"], "one closed table does not prevent playing at others"
    assert "but not at that table" in here("doctor", "--wait", "0.5", address).stdout


@pytest.mark.parametrize("name", ["é..x", "é" * 64])
def test_an_impossible_host_name_is_reported_as_no_such_host(name: str) -> None:
    assert asyncio.run(reach_host((name, 9))).problem == "there is no such host"


def test_a_malformed_address_is_a_usage_error(here: Run) -> None:
    done = here("doctor", "Friday night")
    assert done.returncode == ExitCode.USAGE
    assert "'Friday night' is not an address." in done.stderr


def test_findings_escape_text_from_others() -> None:
    assert "\x1b" not in Finding("others", Severity.OK, "\x1b[2J came", "\x1b[2J").line()


@pytest.mark.parametrize(
    ("platform", "says", "named"),
    [
        ("linux", {"firewall-cmd": "running\n"}, "firewalld"),
        ("darwin", {doctor.MAC_TOOL: "Firewall is enabled. (State = 1)"}, "macOS"),
        ("win32", {"netsh": "State ON"}, "Windows Defender"),
        ("linux", {}, "no others were checked"),
        ("sunos5", {}, "not checked"),
    ],
)
def test_each_systems_firewall_is_named_with_a_remedy(
    monkeypatch: pytest.MonkeyPatch, platform: str, says: dict[str, str], named: str
) -> None:
    with_tools(monkeypatch, platform, says)
    found = doctor.firewall("40312")
    assert named in found.says
    assert bool(found.remedy) == bool(says)


@pytest.mark.parametrize(("platform", "tool"), [("darwin", doctor.MAC_TOOL), ("win32", "netsh")])
def test_the_command_for_a_firewall_can_be_copied(monkeypatch: pytest.MonkeyPatch, platform: str, tool: str) -> None:
    """The command ends the remedy, and a path with spaces is quoted."""
    with_tools(monkeypatch, platform, {tool: "enabled"})
    monkeypatch.setattr(sys, "executable", "/Applications/My Games/python")
    found = doctor.firewall("PORT")
    command = shlex.split(str(found.remedy)[str(found.remedy).index(tool) :])
    assert any(word in ("/Applications/My Games/python", "program=/Applications/My Games/python") for word in command)
    assert command[-1] in ("/Applications/My Games/python", "enable=yes")


# On a LAN


def examined_at_once(wire: Lan, folder: Path, wait: str) -> list[dict[str, dict[str, str]]]:
    """Run the doctor on two machines at the same time."""
    options = (*MODULE, "doctor", "--json", "--wait", wait)
    with (
        Program(*options, home=folder / "ada", prefix=wire.on(1)) as ada,
        Program(*options, home=folder / "ben", prefix=wire.on(2)) as ben,
    ):
        return [findings(each.shown()) for each in (ada, ben) if each.end() == ExitCode.DONE and each.errors == []]


def test_two_machines_hear_each_other(tmp_path: Path) -> None:
    with lan(2) as wire:
        ada, ben = examined_at_once(wire, tmp_path, "60")
    assert ada["others"]["says"] == "10.77.0.2 and this machine hear each other"
    assert ben["others"]["says"] == "10.77.0.1 and this machine hear each other"


def test_two_programs_on_the_same_machine_count_as_one(tmp_path: Path) -> None:
    options = (*MODULE, "doctor", "--json", "--wait", "3")
    with lan(1) as wire:
        prefix = wire.on(1)
        with Program(*options, home=tmp_path / "a", prefix=prefix) as one:
            with Program(*options, home=tmp_path / "b", prefix=prefix) as other:
                assert other.end() == ExitCode.DONE
                assert findings(other.shown())["others"]["says"] == "no other machine was heard"
            assert one.end() == ExitCode.DONE


def test_an_unplugged_cable_is_reported(tmp_path: Path) -> None:
    with lan(1) as wire:
        wire.pull_cable(1)
        while (
            "state UP"
            in subprocess.run(
                [*wire.on(1), "ip", "link", "show", "eth0"], capture_output=True, text=True, check=True
            ).stdout
        ):
            time.sleep(0.05)  # Linux takes up to a second to notice
        with Program(*MODULE, *QUICK, home=tmp_path, prefix=wire.on(1)) as doctor:
            assert doctor.end() == ExitCode.UNREACHABLE
            found = findings(doctor.shown())
    assert "nothing is connected" in found["network"]["says"]
    assert "plug the cable in" in found["network"]["remedy"]
    assert "others" not in found


def test_a_network_that_isolates_its_guests_is_suspected(tmp_path: Path) -> None:
    with lan(2) as wire:
        wire.keep_apart(1, 2)
        for found in examined_at_once(wire, tmp_path, "2"):
            assert found["others"]["state"] == Severity.WARNING
            assert "guests apart" in found["others"]["remedy"]


def test_without_a_network_play_is_impossible(tmp_path: Path) -> None:
    with lan(1) as wire:
        wire.pull_out(1)
        with Program(*MODULE, *QUICK, home=tmp_path, prefix=wire.on(1)) as doctor:
            assert doctor.end() == ExitCode.UNREACHABLE
            found = findings(doctor.shown())
            assert found["network"]["says"] == "this machine is in no network"
            assert "others" not in found, "without a network there is nothing to listen to"
            assert doctor.errors == []
