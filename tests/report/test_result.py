"""For each verdict, the page shows the right sentence and colour, and ticks the right checks."""

from __future__ import annotations

import re
from base64 import b64encode
from functools import cache
from pathlib import Path

import pytest

from cli.commands.verify import CODES
from cli.exits import ExitCode
from p2pdice.rulesets import PRESETS
from protocol.consensus.verifier import Judgement, verify
from tests.cli.conftest import Run, here
from tests.cli.test_replay import play
from tests.report.browsers import Browser
from tests.report.corpus import VECTORS
from tests.report.test_browsers import TRANSCRIPT, browser, judged
from tests.report.test_page import made

__all__ = ["browser", "here"]

SAID = {
    "fair": ("Fair: verified in this browser.", "true"),
    "misconduct": ("Misconduct is proven: verified in this browser.", "false"),
    "incomplete": ("Incomplete, and nothing wrong so far: verified in this browser.", ""),
    "altered": ("The transcript in this page is unreadable or was altered. This blames nobody.", "false"),
    "unproven": ("Fair, but with claims that nothing can prove: verified in this browser.", "true"),
    "other version": ("The transcript is of another version of the protocol, and was not judged.", "false"),
}
"""By verdict: the sentence that the page's own program shows, and its CSS class, which sets its colour."""
WRITTEN = {
    "fair": ("FAIR. Every signature", "good"),
    "misconduct": ("MISCONDUCT by ", "bad"),
    "incomplete": ("INCOMPLETE. Nothing wrong so far", ""),
    "unproven": ("FAIR, but with claims that cannot be proven. ", ""),
}
"""By verdict: the beginning of the sentence that ``p2pdice report`` writes into the page, and its CSS class."""


@cache
def files() -> dict[str, bytes]:
    """Return a transcript for each verdict that a report can show."""
    vectors = {path.stem: path.read_bytes() for path in VECTORS}
    fair = play(PRESETS["classic"].with_options({"dice": "2"})).machines[0].transcript
    found = {
        "fair": fair,
        "misconduct": vectors["illegal-move"],
        "unproven": vectors["votes"],
        "incomplete": fair[: len(fair) // 2],
    }
    while verify(found["incomplete"]).verdict is not Judgement.INCOMPLETE:  # it ends within a message
        found["incomplete"] = found["incomplete"][:-1]
    assert all(verify(data).verdict == name for name, data in found.items())
    return found


@pytest.mark.parametrize("verdict", WRITTEN)
def test_a_report_says_the_verdict_and_ends_with_its_code(here: Run, tmp_path: Path, verdict: str) -> None:
    (tmp_path / "m.p2pdice").write_bytes(files()[verdict])
    done = here("report", str(tmp_path / "m.p2pdice"), "-o", str(tmp_path / "m.html"))
    code = ExitCode.DONE if verdict == "unproven" else CODES[Judgement(verdict)]
    assert done.returncode == code
    assert (code is ExitCode.DONE) == (verdict in ("fair", "unproven"))
    text = (tmp_path / "m.html").read_text(encoding="utf-8")
    box = re.search(r'<div id="claim" data-verdict="[a-z ]*" class="verdict ([a-z]*)">\n<strong>(.*)</strong>', text)
    assert box is not None
    begins, kind = WRITTEN[verdict]
    assert box[1] == kind
    assert box[2].startswith(begins)
    judged = verify(files()[verdict])
    if judged.culprit is not None:
        assert f"by {judged.culprit} ({judged.culprit_fingerprint})" in box[2]
    rows = re.findall(r'<td><bdi>(.*)</bdi></td><td class="place">.*</td><td class="mono fingerprint">(.*)</td>', text)
    assert sorted(rows) == sorted(zip(judged.players, judged.fingerprints, strict=True))


def carrying(text: str, data: bytes) -> str:
    """Return a page with its transcript replaced."""
    start = text.index(TRANSCRIPT) + len(TRANSCRIPT)
    return text[:start] + b64encode(data).decode() + text[text.index("<", start) :]


def result(browser: Browser) -> tuple[str, str]:
    """Return the sentence that the page's program shows, and its CSS class."""
    text, kind = browser.value(
        "const head = document.querySelector('#result strong'); tell([head.textContent, head.className])"
    )
    return text, kind


def checks(browser: Browser) -> list[tuple[str, str]]:
    """Return the text and the CSS class of each check in the list."""
    found = browser.value(
        "tell([...document.querySelectorAll('#checks li')].map((li) => [li.textContent, li.className]))"
    )
    return [(text, kind) for text, kind in found]


@pytest.mark.thorough
@pytest.mark.timeout(600)
@pytest.mark.parametrize("verdict", SAID)
def test_the_page_says_each_verdict(browser: Browser, verdict: str, tmp_path: Path) -> None:
    fair = files()["fair"]
    others = {"other version": fair.replace(b"p2pdice/3/", b"p2pdice/2/"), "altered": fair[:-1] + bytes([fair[-1] ^ 1])}
    text = made(files()[verdict]) if verdict in WRITTEN else carrying(made(fair), others[verdict])
    shown = judged(browser, text, tmp_path)
    assert result(browser) == SAID[verdict]
    assert shown == verdict or (verdict, shown) == ("other version", "other page")
    listed = checks(browser)
    assert [text for text, kind in listed if kind != "done"] == [
        text for text, kind in listed if verdict == "altered" and text.startswith("Failed, after ")
    ]
    assert sum(kind == "failed" for _, kind in listed) == (verdict == "altered")


@pytest.mark.thorough
@pytest.mark.timeout(600)
def test_a_check_that_fails_at_once_is_not_ticked(browser: Browser, tmp_path: Path) -> None:
    """The signature of the first join record is wrong, so that no signature was valid before it."""
    fair = files()["fair"]
    place = fair.index(b"\xc4\x40") + 10
    judged(browser, carrying(made(fair), fair[:place] + bytes([fair[place] ^ 1]) + fair[place + 1 :]), tmp_path)
    assert result(browser) == SAID["altered"]
    assert ("Failed, after no valid signatures, those of keys and witnesses included", "failed") in checks(browser)
