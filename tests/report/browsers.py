"""Drives real headless browsers: Chromium by the DevTools protocol over pipes, Firefox by Marionette."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
from abc import ABC, abstractmethod
from base64 import b64decode
from contextlib import ExitStack, suppress
from fcntl import F_DUPFD, fcntl
from pathlib import Path
from typing import Any, Final, Self

PATIENCE: Final = 120.0
"""Seconds after which a browser counts as stuck."""
_HIGH: Final = 16
"""The pipes get file descriptors from this number on, because Chromium uses 3 and 4."""
_VERDICT: Final = """
    const done = () => document.documentElement.dataset.verdict && tell(performance.now());
    new MutationObserver(done).observe(document.documentElement, { attributes: true });
    done();
"""
"""JavaScript that waits for the verdict of a page, and then calls ``tell`` with the milliseconds since navigation."""


class Browser(ABC):
    """A browser with one page."""

    programs: tuple[str, ...]
    """The possible names of its executable."""

    def __init__(self, program: str) -> None:
        self._open = ExitStack()
        self._profile = self._open.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))
        try:
            self._process = self._start(program)
            self._open.callback(self._end)
            self._greet()
        except BaseException:
            self._open.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    @classmethod
    def program(cls) -> str | None:
        """Return the path of the browser's executable; None if it is not installed."""
        return next(filter(None, map(shutil.which, cls.programs)), None)

    def _end(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    @abstractmethod
    def _start(self, program: str) -> subprocess.Popen[bytes]: ...

    @abstractmethod
    def _greet(self) -> None: ...

    @abstractmethod
    def show(self, page: Path) -> None:
        """Open a page, and wait until it is loaded."""

    @abstractmethod
    def value(self, code: str) -> Any:
        """Run JavaScript in the page until it calls ``tell`` with a value, and return that value."""

    @abstractmethod
    def picture(self) -> bytes:
        """Return a screenshot as PNG."""

    def dom(self) -> str:
        """Return the page's current HTML."""
        return str(self.value("tell(document.documentElement.outerHTML)"))

    def judged(self, page: Path) -> tuple[str, float]:
        """Open a report and wait until it has verified itself. Return (verdict, seconds since navigation)."""
        self.show(page)
        milliseconds = float(self.value(_VERDICT))
        return str(self.value("tell(document.documentElement.dataset.verdict)")), milliseconds / 1000


class Chromium(Browser):
    """Driven by the DevTools protocol: JSON messages on two pipes, each followed by a zero byte."""

    programs = ("chromium", "chromium-browser", "google-chrome", "chrome")

    def _start(self, program: str) -> subprocess.Popen[bytes]:
        (its_in, self._say), (self._hear, its_out) = os.pipe(), os.pipe()
        hears, says = (fcntl(each, F_DUPFD, _HIGH) for each in (its_in, its_out))
        self._open.callback(os.close, self._say)
        self._open.callback(os.close, self._hear)
        self._number, self._rest, self._session = 0, b"", ""
        options = (
            *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars"),
            *(
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
                "--disable-extensions",
            ),
            *("--remote-debugging-pipe", f"--user-data-dir={self._profile}", "about:blank"),
        )
        process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{hears} 4>&{says}', "bash", program, *options],
            pass_fds=(hears, says),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for each in (its_in, its_out, hears, says):
            os.close(each)
        return process

    def _greet(self) -> None:
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.call("Page.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        session = {"sessionId": self._session} if self._session else {}
        message = json.dumps({"id": self._number, "method": method, "params": parameters, **session})
        os.write(self._say, message.encode() + b"\0")
        while (answer := self._next()).get("id") != self._number:
            pass
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        result: dict[str, Any] = answer["result"]
        return result

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            if not (more := os.read(self._hear, 2**20)):
                raise RuntimeError("Chromium has ended")
            self._rest += more
        message, _, self._rest = self._rest.partition(b"\0")
        found: dict[str, Any] = json.loads(message)
        return found

    def show(self, page: Path) -> None:
        self.call("Page.navigate", url=page.as_uri())
        while self._next().get("method") != "Page.loadEventFired":
            pass

    def value(self, code: str) -> Any:
        promise = f"new Promise((tell) => {{ {code} }})"
        found = self.call("Runtime.evaluate", expression=promise, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in found:
            raise RuntimeError(str(found["exceptionDetails"]))
        return found["result"].get("value")

    def picture(self) -> bytes:
        return b64decode(self.call("Page.captureScreenshot", captureBeyondViewport=False)["data"])


class Firefox(Browser):
    """Driven by Marionette: JSON messages on a local TCP port, each after its length."""

    programs = ("firefox-esr", "firefox")

    def _start(self, program: str) -> subprocess.Popen[bytes]:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self._port = free.getsockname()[1]
        (Path(self._profile) / "user.js").write_text(f'user_pref("marionette.port", {self._port});\n')
        return subprocess.Popen(
            [program, "--headless", "--marionette", "--no-remote", "--profile", self._profile],
            env={**os.environ, "HOME": self._profile},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def _greet(self) -> None:
        self._socket = self._open.enter_context(self._dialled())
        self._stream = self._open.enter_context(self._socket.makefile("rb"))
        self._number = 0
        self._heard()  # Firefox introduces itself
        self.call("WebDriver:NewSession")
        self.call("WebDriver:SetTimeouts", script=int(PATIENCE * 1000))

    def _dialled(self) -> socket.socket:
        end = time.monotonic() + PATIENCE
        while True:
            with suppress(ConnectionRefusedError):
                return socket.create_connection(("127.0.0.1", self._port), PATIENCE)
            if time.monotonic() > end or self._process.poll() is not None:
                raise RuntimeError("Firefox does not listen")
            time.sleep(0.1)

    def _heard(self) -> Any:
        length = b""
        while (byte := self._stream.read(1)) != b":":
            if not byte:
                raise RuntimeError("Firefox has ended")
            length += byte
        return json.loads(self._stream.read(int(length)))

    def call(self, command: str, **parameters: Any) -> Any:
        self._number += 1
        message = json.dumps([0, self._number, command, parameters]).encode()
        self._socket.sendall(b"%d:%s" % (len(message), message))
        _, _, error, result = self._heard()
        if error is not None:
            raise RuntimeError(f"{command}: {error}")
        return result

    def show(self, page: Path) -> None:
        self.call("WebDriver:Navigate", url=page.as_uri())

    def value(self, code: str) -> Any:
        script = f"const tell = arguments[0]; {code}"
        return self.call("WebDriver:ExecuteAsyncScript", script=script, args=[])["value"]

    def picture(self) -> bytes:
        return b64decode(self.call("WebDriver:TakeScreenshot", full=False)["value"])
