"""``p2pdice verify``: verdicts as exit codes, as text and as JSON, for any file."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from threading import Barrier
from typing import Any, NamedTuple
from unittest.mock import patch

import pytest

from cli.commands import judging
from cli.commands.judging import read_transcript
from cli.commands.verify import CODES, LIMITS, WORST_FIRST, FileVerdict, describe, judge
from cli.exits import ExitCode
from p2pdice.rulesets import PRESETS
from protocol import limits
from protocol.consensus.transcript import PROOF_TAG, TRANSCRIPT_TAG, open_transcript
from protocol.consensus.verifier import Judgement, Verdict, examine, verify
from protocol.crypto.keys import SIGNATURE_BYTES, MatchKey, fingerprint, parse_fingerprint
from protocol.wire.canonical import encode
from protocol.wire.genesis import match_id
from protocol.wire.messages import Kind, Message, sign
from tests.cli.conftest import Run
from tests.programs import PATIENCE, ROOT, environment
from tests.protocol.marathon import marathon
from tests.simulation.world import World, join_record, played
from tests.tiers import thoroughly

KEYS = {
    "file", "verdict", "culprit", "culprit_fingerprint", "step", "round", "awaited", "reason", "match", "rules",
    "players", "fingerprints", "alike", "untrusted", "winners", "winner_fingerprints", "steps", "signatures", "date",
    "people", "purses",
}  # fmt: skip


HEADER = b"\x92" + encode(TRANSCRIPT_TAG)


def test_one_coin_and_one_ticket_are_singular() -> None:
    file = ROOT / "tests" / "vectors" / "purses.p2pdice"
    verdict = examine(file.read_bytes()).verdict
    one, other = verdict.purses
    won = replace(one, balance=5, change=1, ticket_change=1)
    lost = replace(other, balance=5, change=-1, ticket_change=-1)
    told = "\n".join(describe(FileVerdict(file, replace(verdict, purses=(won, lost)))))
    assert "; 5 before, 6 now (+1 coin, +1 run ticket" in told
    assert "; 5 before, 4 now (-1 coin, -1 run ticket" in told
    open_ones = tuple(replace(purse, balance=1, change=None) for purse in verdict.purses)
    told = "\n".join(describe(FileVerdict(file, replace(verdict, purses=open_ones))))
    assert told.count(": one coin to bet; not settled") == 2


@pytest.fixture
def files(demo: dict[str, Any], tmp_path: Path) -> dict[str, str]:
    """The paths of a fair transcript, of changed copies of it, and of files that are no transcripts."""
    fair = Path(demo["transcripts"][0]).read_bytes()
    contents = {
        "fair": fair,
        "cut": fair[:-10],  # ends within a signature
        "flipped": fair[:-40] + bytes([fair[-40] ^ 1]) + fair[-39:],
        "empty": b"",
        "garbage": b"\x1b[2J no transcript \xff",
    }
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    return {name: str(tmp_path / name) for name in (*contents, "missing")}


@pytest.mark.parametrize(
    ("names", "codes"),
    [
        (["fair"], {0}),
        (["cut"], {12}),
        (["flipped"], {12}),
        (["empty"], {12}),
        (["garbage"], {12}),
        (["missing"], {1}),
        (["fair", "garbage", "fair"], {12}),
        (["fair", "missing"], {1}),
        (["missing", "garbage"], {12}),
    ],
    ids=str,
)
def test_the_exit_code_is_the_worst_verdict(
    here: Run, files: dict[str, str], names: list[str], codes: set[int]
) -> None:
    done = here("verify", *(files[name] for name in names))
    assert done.returncode in codes
    told = [line for line in (done.stdout + done.stderr).splitlines() if not re.match("  |[0-9]+ files: ", line)]
    assert len(told) - told.count(LIMITS) - told.count("See the match again, or make a page of it:") == len(names)
    assert (done.stdout + done.stderr).replace("\n", "").isprintable()


def test_many_files_are_judged_in_parallel_and_reported_in_order(
    here: Run, files: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [files[name] for name in ("fair", "garbage", "missing", "cut", "fair", "flipped", "empty")]
    alone = here("verify", *names, "no-match-of-mine")
    monkeypatch.setattr(judging, "SHARE", 1000)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    with patch.object(ProcessPoolExecutor, "submit", autospec=True, side_effect=ProcessPoolExecutor.submit) as submit:
        together = here("verify", *names, "no-match-of-mine")
    assert submit.call_count == 5  # the same file is judged once, the missing one never
    assert (together.returncode, together.stdout, together.stderr) == (alone.returncode, alone.stdout, alone.stderr)
    assert together.stdout.count("FAIR.") == 2
    assert together.stdout.splitlines()[-1] == "8 files: 2 fair, 4 altered, 2 not judged."


def test_signatures_of_a_file_are_checked_in_parallel(monkeypatch: pytest.MonkeyPatch) -> None:
    """The barrier is only passed if two checks run at the same time."""
    monkeypatch.setattr(judging, "cores", lambda: 2)
    met = Barrier(2)

    def check(number: int) -> int:
        return met.wait(PATIENCE)

    def work(_: Path, mapped: Callable[..., Iterable[int]]) -> set[int]:
        return set(mapped(check, range(2 * judging.PIECE)))

    with judging.on_all_cores(work, []) as judged:
        assert judged(Path()) == {0, 1}


@pytest.mark.parametrize("cores", [1, 2, 3, 8])
def test_results_of_several_threads_keep_their_order(monkeypatch: pytest.MonkeyPatch, cores: int) -> None:
    monkeypatch.setattr(judging, "cores", lambda: cores)
    items = [*range(300)]

    def work(_: Path, mapped: Callable[..., Iterable[int]]) -> bool:
        return all([*mapped(abs, items[:size])] == items[:size] for size in (0, 1, 31, 32, 33, 64, 65, 256, 300))

    with judging.on_all_cores(work, []) as judged:
        assert judged(Path())


@pytest.mark.parametrize("cores", [1, 3])
def test_a_verdict_does_not_depend_on_the_number_of_cores(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, cores: int
) -> None:
    """The file is fair, or one message is missing, repeated, or has the signature of another message."""
    monkeypatch.setattr(judging, "cores", lambda: cores)
    monkeypatch.setattr(judging, "PIECE", 1)
    fair = played(PRESETS["classic"].with_options({"dice": "1"}), 2)
    opened = open_transcript(fair)
    start, messages = encode((TRANSCRIPT_TAG, opened.genesis)), [encode(each.wire) for each in opened.messages]
    changed = [fair]
    for place, message in enumerate(messages):
        before, after = messages[:place], messages[place + 1 :]
        unsigned = message[:-SIGNATURE_BYTES] + messages[place - 1][-SIGNATURE_BYTES:]
        changed += [b"".join((start, *before, *now, *after)) for now in ((), (message, message), (unsigned,))]
    path = tmp_path / "changed"
    with judging.on_all_cores(judge, [path]) as judged:
        for data in changed:
            path.write_bytes(data)
            assert judged(path)[0] == verify(data)


def test_a_fair_match_is_described(here: Run, files: dict[str, str], demo: dict[str, Any]) -> None:
    text = here("verify", files["fair"]).stdout
    assert f"{files['fair']}: FAIR." in text
    for line in text.splitlines()[4:8]:
        name, fingerprint, *won = line.split()
        assert name in demo["players"]
        assert parse_fingerprint(fingerprint) == fingerprint
        assert won == (["won"] if name in demo["winners"] else [])
    assert f"{demo['signatures']} signatures in {demo['steps']} steps" in text
    assert "dates are not signed" in text
    again = [f"    p2pdice {each} {files['fair']}" for each in ("replay", "report")]
    assert text.splitlines()[-4:] == [LIMITS, "See the match again, or make a page of it:", *again]


def test_the_replay_command_is_suggested_only_for_a_single_match(here: Run, files: dict[str, str]) -> None:
    proof = Path(files["fair"]).parent / "proof"
    proof.write_bytes(namesakes("Ada", "Ben").proof)
    for names in (["flipped"], ["garbage"], ["fair", "garbage"]):
        assert "p2pdice replay" not in here("verify", *(files[name] for name in names)).stdout
    assert "p2pdice replay" not in here("verify", str(proof)).stdout


def test_verify_prints_json(p2pdice: Run, files: dict[str, str], demo: dict[str, Any]) -> None:
    done = p2pdice("verify", "--json", files["fair"], files["missing"], files["garbage"])
    fair, garbage = map(json.loads, done.stdout.splitlines())
    assert set(fair) == set(garbage) == KEYS
    assert [fair[key] for key in ("file", "verdict", "culprit", "winners")] == [
        files["fair"],
        "fair",
        None,
        demo["winners"],
    ]
    assert [garbage[key] for key in ("file", "verdict", "culprit", "players")] == [
        files["garbage"],
        "altered",
        None,
        [],
    ]
    assert "missing" in done.stderr


def test_a_match_of_the_home_is_verified_by_its_name(here: Run, demo: dict[str, Any]) -> None:
    path = Path(demo["transcripts"][0])
    home, digits = str(path.parents[1]), path.stem[-8:]
    assert re.fullmatch(r"\d{4}-\d\d-\d\d-classic-[0-9a-f]{8}", path.stem)
    for name in ("last", digits[:5], path.stem):
        done = here("verify", name, "--home", home)
        assert (done.returncode, done.stdout.splitlines()[0]) == (0, f"{path.stem}: FAIR.")
    (told,) = map(json.loads, here("verify", "--json", "last", "--home", home).stdout.splitlines())
    assert (told["file"], told["match"][:8]) == (str(path), digits)


def test_a_missing_match_is_reported_and_other_files_are_judged(
    here: Run, files: dict[str, str], tmp_path: Path
) -> None:
    done = here("verify", "3f2a9c41", files["fair"])
    assert done.returncode == ExitCode.FAILURE
    assert f"There is no file 3f2a9c41 here, and no match in {tmp_path / 'home'} has that name." in done.stderr
    assert "p2pdice matches" in done.stderr
    assert "p2pdice host" not in done.stderr
    assert f"{files['fair']}: FAIR." in done.stdout
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize(("name", "is_told"), [("friday.html", True), ("friday.p2pdice", False)])
def test_a_report_page_is_said_to_be_no_proof(here: Run, tmp_path: Path, name: str, is_told: bool) -> None:
    (tmp_path / name).write_text("<!doctype html>")
    done = here("verify", str(tmp_path / name))
    assert done.returncode == ExitCode.ALTERED
    assert ("A page of p2pdice report is no proof" in " ".join(done.stdout.split())) == is_told


def test_verifying_a_folder_is_refused(here: Run, tmp_path: Path) -> None:
    done = here("verify", str(tmp_path))
    assert done.returncode == ExitCode.FAILURE
    assert "This is a folder" in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pipes or devices in folders")
def test_verify_reads_neither_pipes_nor_devices(p2pdice: Run, files: dict[str, str], tmp_path: Path) -> None:
    """If the pipe or the endless device were read, the test would time out."""
    os.mkfifo(tmp_path / "pipe")
    done = p2pdice("verify", str(tmp_path / "pipe"), "/dev/zero", files["fair"])
    assert done.returncode == ExitCode.FAILURE
    assert "This is a pipe" in done.stderr
    assert "This is a device" in done.stderr
    assert f"{files['fair']}: FAIR." in done.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pipes in folders")
def test_a_file_that_is_replaced_by_a_pipe_does_not_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    monkeypatch.setattr(Path, "stat", lambda _: os.stat(__file__))
    with pytest.raises(OSError, match="this is a pipe"):
        read_transcript(path)


def test_of_a_growing_file_only_the_largest_size_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judging, "TRANSCRIPT", 1000)
    path = tmp_path / "growing"
    path.write_bytes(bytes(5000))
    assert len(read_transcript(path)) == 1001


MANY = 64_000_000
BOMBS: dict[str, tuple[bytes, bytes]] = {
    "arrays in arrays": (b"", b"\x91"),
    "one wide array of arrays in arrays": (b"\xdd" + (MANY // 5).to_bytes(4, "big"), b"\x91" * 4 + b"\x90"),
    "one wide array": (b"\xdd" + MANY.to_bytes(4, "big"), b"\x01"),
    "a genesis that is one wide array": (HEADER + b"\xc6" + MANY.to_bytes(4, "big") + b"\xdd\3\0\0\0", b"\x01"),
    "a genesis that claims to be longer than the file": (HEADER + b"\xc6\xff\xff\xff\xff", b"\x91"),
}
"""The start of a file, and the bytes that fill the rest of it."""
MEASURED = """
import sys
from pathlib import Path
from cli import boundary
codes = set()
for path in sys.argv[1:]:
    sys.argv = ["p2pdice", "verify", path]
    codes.add(int(boundary.run()))
(peak,) = [line.split()[1] for line in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in line]
print(peak, *codes, file=sys.stderr)
"""


def memory_to_verify(*paths: Path, expected: ExitCode) -> int:
    """Return the peak memory, in bytes, of a process that judges these files one after the other."""
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, *map(str, paths)],
        env=environment(paths[0].parent),
        capture_output=True,
        text=True,
        timeout=10 * PATIENCE,
        check=True,
    )
    peak, *codes = map(int, done.stderr.split())
    assert codes == [expected]
    return peak * 1024


ENOUGH = 150_000_000
"""The most bytes of memory that the largest file may take."""


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc/self/status")
@pytest.mark.parametrize("names", [[*BOMBS][1:4:2], *thoroughly([[*BOMBS]])], ids=len)
def test_garbage_takes_little_more_memory_than_it_has_bytes(tmp_path: Path, names: list[str]) -> None:
    for name in names:
        start, again = BOMBS[name]
        (tmp_path / name).write_bytes(start + again * (limits.TRANSCRIPT // len(again) - 9))
    (tmp_path / "too many").write_bytes(b"\x91\x90" * (limits.TRANSCRIPT // 2 + 9))
    assert memory_to_verify(*tmp_path.iterdir(), expected=ExitCode.ALTERED) < ENOUGH


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc/self/status")
@pytest.mark.parametrize(
    "size",
    [
        *thoroughly([limits.TRANSCRIPT // 8]),
        pytest.param(limits.TRANSCRIPT, marks=[pytest.mark.slow, pytest.mark.timeout(3600)]),
    ],
)
def test_a_match_takes_little_more_memory_than_its_transcript_has_bytes(tmp_path: Path, size: int) -> None:
    """Each round has all possible bids. A repeated message at the end takes no more memory."""
    path = tmp_path / "marathon"
    with path.open("wb") as file:
        for piece in marathon(10):
            if file.tell() + 2 * len(piece) > size:
                break
            file.write(piece)
            last = piece
    enough = ENOUGH - limits.TRANSCRIPT + size
    assert memory_to_verify(path, expected=ExitCode.INCOMPLETE) < enough
    with path.open("ab") as file:
        file.write(last)
    assert memory_to_verify(path, expected=ExitCode.ALTERED) < enough


def test_every_judgement_has_a_code_and_a_rank() -> None:
    assert set(CODES) == {judgement.value for judgement in Judgement}
    assert sorted({*CODES.values(), ExitCode.FAILURE}) == sorted(WORST_FIRST)
    assert WORST_FIRST[0] is ExitCode.MISCONDUCT


@pytest.mark.parametrize("judgement", Judgement)
def test_every_verdict_is_described_with_escaped_names(judgement: Judgement) -> None:
    verdict = Verdict(
        judgement,
        "so it is\x1b[2J",
        "Eve\n",
        "AAAA",
        7,
        match="ab" * 32,
        rules="classic",
        players=("Eve\n", "\u202eBen"),
        fingerprints=("AAAA", "BBBB"),
        alike=("Eve\n",),
        steps=7,
        signatures=9,
    )
    lines = describe(FileVerdict(Path("a\nb"), verdict, "2026-01-02T03:04:05+00:00", ("BBBB",)))
    assert all(line.isprintable() for line in lines)
    assert lines[1] == "  So it is\\x1b[2J."


def test_a_fair_match_with_untrusted_players_has_its_own_exit_code(
    here: Run, files: dict[str, str], tmp_path: Path
) -> None:
    fingerprints = json.loads(here("verify", "--json", files["fair"]).stdout)["fingerprints"]
    loosely = ",".join(each.lower().replace("-", " ") for each in fingerprints[1:])
    done = here("verify", "--trust", loosely, files["fair"])
    assert done.returncode == ExitCode.UNPROVEN
    (marked,) = [line for line in done.stdout.splitlines() if "NOT TRUSTED" in line]
    assert fingerprints[0] in marked
    assert done.stdout.partition(": ")[2].startswith("FAIR, but --trust does not name one player.\n")
    data = here("verify", "--json", "--trust", fingerprints[1], "--trust", loosely, files["fair"])
    assert (data.returncode, json.loads(data.stdout)["untrusted"]) == (ExitCode.UNPROVEN, fingerprints[:1])
    all_of_them = here("verify", "--trust", ",".join(fingerprints), files["fair"])
    assert (all_of_them.returncode, "NOT TRUSTED" in all_of_them.stdout) == (0, False)
    assert here("verify", "--trust", fingerprints[0], files["flipped"]).returncode == ExitCode.ALTERED


@pytest.mark.parametrize("wrong", ["AAAA", "K7QF-2M3A-ZZZZ-ZZZZ-ZZZZ", "Ada", "", ","])
def test_a_malformed_fingerprint_is_a_usage_error(here: Run, wrong: str) -> None:
    done = here("verify", "--trust", wrong, "match.p2pdice")
    assert done.returncode == ExitCode.USAGE
    assert "fingerprint" in done.stderr


def test_the_date_is_the_time_of_the_file(here: Run, files: dict[str, str]) -> None:
    os.utime(files["fair"], (0, datetime(2026, 3, 4, 5, 6, 7).timestamp()))
    assert json.loads(here("verify", "--json", files["fair"]).stdout)["date"].startswith("2026-03-04T05:06:07")
    assert "File last modified 2026-03-04 05:06; this is not evidence" in here("verify", files["fair"]).stdout


def test_a_cheat_is_told_apart_from_an_honest_namesake(tmp_path: Path, here: Run) -> None:
    cheated = namesakes("Ada", "Аda")  # the second name begins with a Cyrillic letter
    path = tmp_path / "proof.p2pdice"
    path.write_bytes(cheated.proof)
    done = here("verify", str(path))
    assert done.returncode == ExitCode.MISCONDUCT
    assert f"MISCONDUCT by {cheated.name} ({cheated.fingerprint})" in done.stdout
    assert "Names that are easily confused: " in done.stdout
    told = "signed two messages for one slot: bid 1x1, and in the same place bid 1x2"
    assert f"{cheated.name} [{cheated.fingerprint}] {told}" in done.stdout
    data = json.loads(here("verify", "--json", str(path)).stdout)
    assert (data["culprit"], data["culprit_fingerprint"]) == (cheated.name, cheated.fingerprint)
    assert sorted(data["alike"]) == sorted(data["players"])


class Cheated(NamedTuple):
    name: str
    fingerprint: str
    proof: bytes


def namesakes(*names: str) -> Cheated:
    """Start a match between players with these names, and let the first one on turn sign two different bids."""
    with patch(
        "tests.simulation.world.join_record", lambda seed, number: join_record(seed, number, nickname=names[number])
    ):
        world = World(PRESETS["classic"], len(names), 1)
    while not any(machine.turn for machine in world.machines):
        assert world.step()
    cheat = next(me for me, machine in enumerate(world.machines) if machine.turn)
    place = world.machines[cheat].match.history.position
    key = MatchKey(world.seeds[cheat])
    first = Message(match_id(world.data), place.step, place.tip, cheat, Kind.MOVE, "1x1")
    twice = [sign(message, key) for message in (first, first._replace(body="1x2"))]
    join = world.genesis.roster[cheat].join
    proof = encode((PROOF_TAG, world.data)) + b"".join(encode(signed.wire) for signed in twice)
    return Cheated(join.nickname, fingerprint(join.identity), proof)


@pytest.mark.parametrize("options", [("--json",), ()])
def test_a_closed_pipe_causes_no_messages_about_fair_files(
    options: tuple[str, ...], files: dict[str, str], tmp_path: Path
) -> None:
    """Regression test: ``verify --json files | head -1`` printed "Broken pipe" for each further file."""
    process = subprocess.Popen(
        [sys.executable, "-m", "p2pdice", "verify", *options, *[files["fair"]] * 3],
        env=environment(tmp_path / "home"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    process.stdout.close()
    _, complaints = process.communicate(timeout=PATIENCE)
    assert (process.returncode, complaints) == (ExitCode.FAILURE, b"")
