"""In real browsers a report verifies itself, detects alterations, and runs no code that a player wrote."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import islice
from pathlib import Path
from threading import Thread
from typing import Final

import pytest

from p2pdice.rulesets import PRESETS
from protocol.consensus.transcript import write_transcript
from protocol.consensus.verifier import Judgement, verify
from tests.cli.test_replay import play
from tests.report.browsers import Browser, Chromium, Firefox
from tests.report.corpus import VECTORS, mixed, samples
from tests.report.test_page import HOSTILE, made

pytestmark = [pytest.mark.thorough, pytest.mark.timeout(600)]
TRANSCRIPT: Final = '<script id="transcript" type="text/plain">'
ALTERED: Final = ("altered", "incomplete")
"""The possible verdicts on an altered transcript. A shortened one may be the valid beginning of a match."""
PLACES: Final = 20
NO_POLICY: Final = re.compile(r'<meta http-equiv="Content-Security-Policy"[^>]*>')


@pytest.fixture(scope="module", params=[Chromium, Firefox])
def browser(request: pytest.FixtureRequest) -> Iterator[Browser]:
    kind: type[Browser] = request.param
    program = kind.program()
    if program is None:
        pytest.skip(f"{kind.__name__} is not installed")
    with kind(program) as started:
        yield started


@pytest.fixture(scope="module")
def text() -> str:
    """Return the page of a short match."""
    return made(play(PRESETS["classic"].with_options({"dice": "2"})).machines[0].transcript)


def judged(browser: Browser, text: str, folder: Path) -> str:
    """Return a page's verdict on itself."""
    path = folder / "page.html"
    path.write_text(text, encoding="utf-8")
    return browser.judged(path)[0]


def carried(text: str) -> tuple[int, int]:
    """Return start and end of the transcript in a page."""
    start = text.index(TRANSCRIPT) + len(TRANSCRIPT)
    return start, text.index("<", start)


def head(browser: Browser) -> object:
    """Return the first sentence of the verdict at the top of the page, and its CSS class."""
    return browser.value(
        "const claim = document.getElementById('claim');"
        "tell([claim.querySelector('strong').textContent.split('.')[0], claim.className])"
    )


@pytest.mark.parametrize("name", PRESETS)
def test_the_page_verifies_itself(browser: Browser, name: str, tmp_path: Path) -> None:
    data = play(PRESETS[name]).machines[0].transcript
    assert judged(browser, made(data), tmp_path) == "fair"
    assert head(browser) == ["FAIR", "verdict good"]
    here = verify(data)
    dom = browser.dom()
    assert f"{here.signatures} signatures in {here.steps} steps" in dom
    assert all(
        f"Won: {winner}, {key}" in dom for winner, key in zip(here.winners, here.winner_fingerprints, strict=True)
    )


def test_pages_give_the_same_verdict_as_verify(browser: Browser, tmp_path: Path) -> None:
    """The files are vectors, matches that players left, and changed ones, if a report can be made of them."""
    seen = set()
    for sample in [*islice(samples(1), len(VECTORS)), *islice(mixed(5), 40)]:
        here = verify(sample.data)
        if here.verdict not in (Judgement.ALTERED, Judgement.OTHER_VERSION) and here.steps:
            assert judged(browser, made(sample.data), tmp_path) == here.verdict, sample.label
            seen.add(here.verdict)
    assert seen >= {Judgement.FAIR, Judgement.MISCONDUCT, Judgement.INCOMPLETE}


def test_a_page_detects_one_changed_byte_in_its_transcript(browser: Browser, text: str, tmp_path: Path) -> None:
    start, end = carried(text)
    rng = random.Random(1)
    for place in (start, start + 1, end - 2, end - 1, *(rng.randrange(start, end) for _ in range(PLACES))):
        other = rng.choice([each for each in "AQgwBz9+/= \n\u00e9*" if each != text[place]])
        verdict = judged(browser, text[:place] + other + text[place + 1 :], tmp_path)
        assert verdict in ALTERED, (place - start, text[place], other)
        assert "Fair" not in str(browser.value("tell(document.getElementById('result').textContent)"))
        assert head(browser) == ["Do not believe this page", "verdict bad"]


def test_a_page_detects_a_removed_or_inserted_byte(browser: Browser, text: str, tmp_path: Path) -> None:
    start, end = carried(text)
    for place in (start, (start + end) // 2, end - 1):
        assert judged(browser, text[:place] + text[place + 1 :], tmp_path) in ALTERED
        assert judged(browser, text[:place] + " " + text[place:], tmp_path) in ALTERED


@pytest.mark.parametrize(
    ("pattern", "other"),
    [
        (r'(class="place">)1(<)', r"\g<1>2\2"),
        (r'(class="mono fingerprint">).', r"\1_"),
        (r'<tr class="player">.*\n', ""),
        (r'(class="winner">)[^<]*', r"\1Somebody"),
    ],
)
def test_a_page_detects_players_that_differ_from_its_transcript(
    browser: Browser, text: str, tmp_path: Path, pattern: str, other: str
) -> None:
    changed = re.sub(pattern, other, text, count=1)
    assert changed != text
    assert judged(browser, changed, tmp_path) == "other page"
    assert head(browser) == ["Do not believe this page", "verdict bad"]
    assert "do not believe" in browser.dom()


def test_the_page_fits_a_phone(tmp_path: Path) -> None:
    """Nothing is wider than the screen, except tables, which scroll by themselves."""
    if (program := Chromium.program()) is None:
        pytest.skip("Chromium is not installed")
    names = ("Ada", "Maximilian Alexander", "WWWWWWWWWWWWWWWWWWWW", "Dan")
    page = tmp_path / "page.html"
    page.write_text(made(play(PRESETS["motes"], 4, names=names).machines[0].transcript), encoding="utf-8")
    with Chromium(program) as phone:
        phone.call("Emulation.setDeviceMetricsOverride", width=320, height=640, deviceScaleFactor=1, mobile=True)
        assert phone.judged(page)[0] == "fair"
        opened = "for (const each of document.querySelectorAll('details')) each.open = true;"
        assert phone.value(f"{opened} tell(document.documentElement.scrollWidth)") == 320
        assert phone.value("tell(getComputedStyle(document.querySelector('svg.small')).display)") == "block"


def test_nothing_that_a_player_wrote_runs_or_changes_the_page(browser: Browser, tmp_path: Path) -> None:
    names = ("<script>x=1</script>", "<img src=x onerror=", *HOSTILE[2:])
    data = play(PRESETS["classic"].with_options({"dice": "2"}), names=names).machines[0].transcript
    assert judged(browser, made(data), tmp_path) == "fair"
    dom = browser.dom()
    assert dom.count("<script") == 2
    assert "<img" not in dom
    assert all(name.replace("<", "&lt;").replace(">", "&gt;") in dom for name in names[:2])
    assert browser.value("tell(typeof x)") == "undefined"


def test_characters_of_a_name_that_would_distort_text_are_escaped(browser: Browser, tmp_path: Path) -> None:
    """The verifier's sentence contains the name of the missing player, who chose it."""
    bent = "B" + "\u0301" * 5 + "\\"
    world = play(PRESETS["classic"].with_options({"dice": "2"}), 2, names=(bent, "Ben"), leaves_after=40)
    data = write_transcript(world.machines[1].match.history, ())
    assert verify(data).awaited == (bent,)
    assert judged(browser, made(data), tmp_path) == "incomplete"
    said = str(browser.value("tell(document.getElementById('result').textContent)"))
    assert bent not in said
    assert "B\u0301\u0301\\u{301}\\u{301}\\u{301}\\u{5c}" in said


def test_a_script_that_was_added_to_the_page_does_not_run(browser: Browser, text: str, tmp_path: Path) -> None:
    """The page's policy allows only its own script, by hash. Without the policy the added script does run."""
    added = text.replace("</body>", "<script>document.documentElement.dataset.added = 'yes'</script></body>")
    judged(browser, added, tmp_path)
    assert 'data-added="yes"' not in browser.dom()
    without = NO_POLICY.sub("", added)
    judged(browser, without, tmp_path)
    assert 'data-added="yes"' in browser.dom()


class Counting(BaseHTTPRequestHandler):
    """Answers requests with a picture, and counts them."""

    asked = 0

    def do_GET(self) -> None:
        Counting.asked += 1
        self.send_response(200)
        self.send_header("Content-Type", "image/svg+xml")
        self.end_headers()
        self.wfile.write(b'<svg xmlns="http://www.w3.org/2000/svg" width="7" height="7"/>')

    def log_message(self, *_: object) -> None:
        pass


def test_the_page_can_fetch_nothing(browser: Browser, text: str, tmp_path: Path) -> None:
    """The page's policy prevents it. Without the policy the picture is fetched."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Counting) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        picture = f'<img src="http://127.0.0.1:{server.server_port}/dot.svg">'
        with_picture = text.replace("</body>", f"{picture}</body>")
        Counting.asked = 0
        judged(browser, with_picture, tmp_path)
        assert Counting.asked == 0
        judged(browser, NO_POLICY.sub("", with_picture), tmp_path)
        assert Counting.asked == 1
        server.shutdown()


def test_a_program_that_fails_says_that_nothing_was_verified(browser: Browser, text: str, tmp_path: Path) -> None:
    """The policy is removed, because it would not allow the changed script."""
    broken = NO_POLICY.sub("", text)
    broken = broken.replace("async function canVerify() {", "async function canVerify() { throw new Error('no');")
    assert judged(browser, broken, tmp_path) == "failed"
    assert "has verified nothing" in browser.dom()
