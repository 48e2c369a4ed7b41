"""Firewalls: which one is on, as far as an ordinary account can see, and the command that lets p2pdice through."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from cli.doctor.finding import Finding, State

_PATIENCE: Final = 3.0
"""Seconds until a tool of the system counts as silent."""
_UFW: Final = Path("/etc/ufw/ufw.conf")
_UNSEEN: Final = {
    "linux": "neither ufw nor firewalld is on; others are not looked for",
    "darwin": "that of macOS is off; others are not looked for",
    "win32": "that of Windows does not answer; others are not looked for",
}
_MAC_TOOL: Final = "/usr/libexec/ApplicationFirewall/socketfilterfw"


def firewall(port: str) -> Finding:
    """Return the finding on the firewall of this machine.

    :param port: the TCP port that has to be open, as a word for a command: ``PORT`` if any may be taken.
    """
    found = {"linux": _linux, "darwin": _mac, "win32": _windows}.get(sys.platform, _none)(port)
    return next(found, Finding("firewall", State.OK, _UNSEEN.get(sys.platform, "not looked for on this system")))


def _linux(port: str) -> Iterator[Finding]:
    try:
        is_on = "ENABLED=yes" in _UFW.read_text(encoding="utf-8", errors="replace")
    except OSError:
        is_on = False
    if is_on:
        yield _blocking("ufw", f"sudo ufw allow 5353/udp; sudo ufw allow {port}/tcp")
    if _said("firewall-cmd", "--state").strip() == "running":
        yield _blocking("firewalld", f"sudo firewall-cmd --add-service=mdns; sudo firewall-cmd --add-port={port}/tcp")


def _mac(port: str) -> Iterator[Finding]:
    if "enabled" in _said(_MAC_TOOL, "--getglobalstate"):
        program = shlex.quote(sys.executable)
        yield _blocking("the firewall of macOS", f"sudo {_MAC_TOOL} --add {program} --unblockapp {program}")


def _windows(port: str) -> Iterator[Finding]:
    # The output is in the language of the system, so it cannot be read: it shows only that there is such a firewall.
    if _said("netsh", "advfirewall", "show", "currentprofile", "state"):
        yield _blocking(
            "Windows Defender Firewall",
            "netsh advfirewall firewall add rule name=p2pdice dir=in action=allow "
            f'program="{sys.executable}" enable=yes',
            "make the network private, and run this in a terminal of the administrator",
        )


def _none(port: str) -> Iterator[Finding]:
    yield from ()


def _blocking(name: str, command: str, how: str = "let p2pdice in") -> Finding:
    """Return the finding. The command comes last, on its own, so that it can be copied."""
    return Finding("firewall", State.WARNING, f"{name} may be on", f"If others cannot reach you, {how}: {command}")


def _said(*command: str) -> str:
    """Return the output of a system tool; nothing if it is not there or fails."""
    if shutil.which(command[0]) is None:
        return ""
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=_PATIENCE, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout if done.returncode == 0 else ""
