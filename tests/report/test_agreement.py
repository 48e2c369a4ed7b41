"""The verifier in JavaScript and ``p2pdice verify`` say the same of every file: the verdict, and who is to blame."""

from __future__ import annotations

import json
import random
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

import pytest

from cli.report.page import page
from p2pdice import PRESETS
from protocol.consensus.verifier import Judgement, examine, verify
from protocol.match.replay import Replay
from tests.cli.test_replay import play
from tests.protocol.mutations import play as small
from tests.report.corpus import VECTORS, Sample, changes, fair, samples
from tests.report.test_page import HOSTILE
from tests.tiers import thoroughly

RUNNER = Path(__file__).with_name("verify.js")
MAKER = Path(__file__).with_name("make.js")
AT_ONCE = 500
"""Files that one process of Node judges."""
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
OPTIONS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--virtual-time-budget=120000", "--dump-dom"),
)


def node() -> str:
    found = shutil.which("node")
    if found is None:
        pytest.skip("Node is not here")
    version = subprocess.run([found, "--version"], capture_output=True, text=True, check=True).stdout
    if int(version.lstrip("v").partition(".")[0]) < 20:
        pytest.skip(f"Node {version.strip()} has no Ed25519; 20 or later is needed")
    return found


def check(chosen: Iterable[Sample], folder: Path) -> Counter[str]:
    """Let both judge the files, and hold them to the same verdict, culprit and counts; return the verdicts."""
    command = [node(), str(RUNNER)]
    seen: Counter[str] = Counter()
    rest = iter(chosen)
    while some := list(islice(rest, AT_ONCE)):
        paths = [folder / f"{number}.p2pdice" for number in range(len(some))]
        for path, sample in zip(paths, some, strict=True):
            path.write_bytes(sample.data)
        given = "".join(f"{path}\n" for path in paths)
        done = subprocess.run(command, input=given, capture_output=True, text=True, check=False, timeout=3600)
        assert done.returncode == 0, done.stderr
        for line, sample in zip(done.stdout.splitlines(), some, strict=True):
            there, here = json.loads(line), json.loads(json.dumps(verify(sample.data).to_json()))
            for field in ("verdict", "culprit", "culprit_identity", "match", "players", "fingerprints", "winners"):
                assert there[field] == here[field], (sample.label, field, there, here)
            if here["verdict"] != Judgement.ALTERED:  # how far a file was read before that showed is nobody's business
                for field in ("step", "steps", "signatures"):
                    assert there[field] == here[field], (sample.label, field, there, here)
            seen[here["verdict"]] += 1
    return seen


@pytest.mark.parametrize("name", ["classic", "motes"])
def test_both_verifiers_agree_on_a_fair_match(name: str, tmp_path: Path) -> None:
    data = play(PRESETS[name]).machines[0].transcript
    assert check([Sample(name, data)], tmp_path) == {"fair": 1}


def test_both_verifiers_agree_on_vectors_and_changed_files(tmp_path: Path) -> None:
    rng = random.Random(3)
    tiny = small(PRESETS["classic"].with_options({"dice": "1"}), 2, 3)
    unfinished = Sample("unfinished", tiny.data[: len(tiny.data) - len(tiny.rest(len(tiny.messages) // 2))])
    changed = rng.sample([*changes("classic", tiny, rng)], 60)
    seen = check([*islice(samples(1), len(VECTORS)), unfinished, *changed], tmp_path)
    assert seen.keys() >= {Judgement.MISCONDUCT, Judgement.ALTERED, Judgement.INCOMPLETE}


@pytest.mark.parametrize("count", [12, *thoroughly([60])])
def test_both_verifiers_agree_on_departures_votes_and_misconduct(count: int, tmp_path: Path) -> None:
    """The matches are made in JavaScript, too: a mistake about what is due shows here in Python."""
    done = subprocess.run(
        [node(), str(MAKER), str(tmp_path), str(count), "made"],
        capture_output=True,
        text=True,
        check=True,
        timeout=3600,
    )
    chosen = [Sample(Path(path).name, Path(path).read_bytes()) for path in done.stdout.splitlines()]
    assert len(chosen) == count
    assert check(chosen, tmp_path).keys() >= {Judgement.FAIR, Judgement.MISCONDUCT, Judgement.INCOMPLETE}


@pytest.mark.thorough
def test_both_verifiers_agree_on_fair_matches_of_all_rules_and_many_sizes(tmp_path: Path) -> None:
    chosen = [Sample(f"{name} {size}", fair(rules, size, 2)) for name, rules in PRESETS.items() for size in (2, 4)]
    chosen.append(Sample("classic 10", fair(PRESETS["classic"], 10, 2)))
    assert check(chosen, tmp_path) == {"fair": len(chosen)}


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_both_verifiers_agree_on_ten_thousand_files(tmp_path: Path) -> None:
    seen = check(islice(samples(1), 10_000), tmp_path)
    assert seen.total() == 10_000
    assert min(seen[each] for each in Judgement if each is not Judgement.OTHER_VERSION) > 50, seen


# In a real browser


def shown(text: str, folder: Path) -> str:
    """Return the page as it is in a browser after its scripts have run."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        pytest.skip("Chromium is not here")
    path = folder / "page.html"
    path.write_text(text, encoding="utf-8")
    profile = f"--user-data-dir={folder / 'profile'}"
    done = subprocess.run(
        [browser, *OPTIONS, profile, path.as_uri()], capture_output=True, text=True, check=True, timeout=300
    )
    return done.stdout


def verdict_in(dom: str) -> str:
    found = re.search(r'<html[^>]* data-verdict="([^"]*)"', dom)
    return found[1] if found else ""


def report(data: bytes) -> str:
    return page(Replay(examine(data), Path("x")), data, "Friday", "FAIR.")


@pytest.mark.thorough
@pytest.mark.parametrize("name", PRESETS)
def test_the_page_verifies_itself_in_a_browser(name: str, tmp_path: Path) -> None:
    data = play(PRESETS[name]).machines[0].transcript
    dom = shown(report(data), tmp_path)
    assert verdict_in(dom) == "fair"
    assert f"{verify(data).signatures} signatures in {verify(data).steps} steps" in dom


@pytest.mark.thorough
def test_a_page_whose_transcript_was_altered_by_one_byte_says_so(tmp_path: Path) -> None:
    text = report(play(PRESETS["classic"].with_options({"dice": "2"})).machines[0].transcript)
    start = text.index('type="text/plain">') + len('type="text/plain">')
    end = text.index("<", start)
    rng = random.Random(1)
    for _ in range(3):
        place = rng.randrange(start, end - 4)
        other = "A" if text[place] != "A" else "B"
        assert verdict_in(shown(text[:place] + other + text[place + 1 :], tmp_path)) in ("altered", "incomplete")


@pytest.mark.thorough
def test_nothing_that_a_player_wrote_runs_or_changes_the_page(tmp_path: Path) -> None:
    names = ("<script>x=1</script>", "<img src=x onerror=", *HOSTILE[2:])
    dom = shown(
        report(play(PRESETS["classic"].with_options({"dice": "2"}), names=names).machines[0].transcript), tmp_path
    )
    assert verdict_in(dom) == "fair"
    assert dom.count("<script") == 2
    assert "<img" not in dom
    assert all(name.replace("<", "&lt;").replace(">", "&gt;") in dom for name in names[:2])


@pytest.mark.thorough
def test_a_script_that_was_added_to_the_page_does_not_run(tmp_path: Path) -> None:
    """The policy names the page's own script by its hash: the test knows that without the policy this one would run."""
    text = report(play(PRESETS["classic"].with_options({"dice": "2"})).machines[0].transcript)
    added = text.replace("</body>", "<script>document.documentElement.dataset.added = 'yes'</script></body>")
    assert 'data-added="yes"' not in shown(added, tmp_path)
    without = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", added)
    assert 'data-added="yes"' in shown(without, tmp_path)
