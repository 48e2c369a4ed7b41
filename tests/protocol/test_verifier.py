"""Verdicts: fair, misconduct, incomplete, altered or unproven. No player is blamed for a message they did not sign."""

import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from p2pdice.rulesets import PRESETS
from protocol.consensus.history import History
from protocol.consensus.position import FORMED
from protocol.consensus.transcript import TRANSCRIPT_TAG, open_transcript, write_transcript
from protocol.consensus.verifier import Judgement, Verdict, verify
from protocol.crypto.keys import MatchKey, fingerprint
from protocol.limits import TRANSCRIPT
from protocol.wire.canonical import Value, decode, encode
from protocol.wire.genesis import Patience
from protocol.wire.messages import Kind, Message, Signed, sign
from tests.protocol.histories import add
from tests.protocol.mutations import FairMatch, judge_bytes, play
from tests.simulation.world import World, played
from tests.tiers import slowly, thoroughly

CLASSIC = PRESETS["classic"].with_options({"dice": "1"})


@pytest.fixture(scope="module")
def world() -> World:
    world = World(CLASSIC, 3, seed=11)
    world.run()
    return world


@pytest.fixture(scope="module")
def fair(world: World) -> bytes:
    return world.machines[0].transcript


@pytest.fixture(scope="module")
def stranger() -> bytes:
    """The transcript of another match."""
    return played(CLASSIC, 3, seed=99)


@pytest.fixture(scope="module")
def short() -> FairMatch:
    return play(CLASSIC.with_options({"dice": "1"}), 2, seed=3)


def parts(transcript: bytes) -> tuple[bytes, list[Signed]]:
    opened = open_transcript(transcript)
    return opened.genesis, list(opened.messages)


def assemble(genesis: bytes, messages: list[Signed]) -> bytes:
    return encode((TRANSCRIPT_TAG, genesis)) + b"".join(encode(signed.wire) for signed in messages)


def test_a_finished_match_is_fair_and_its_winner_is_named(world: World, fair: bytes) -> None:
    verdict = verify(fair)
    state = world.machines[0].match.history.position.state
    assert state is not None
    assert verdict.verdict == "fair"
    assert verdict.culprit is None
    assert verdict.winners == tuple(verdict.players[seat] for seat in state.winners)
    assert verdict.signatures == len(parts(fair)[1])
    assert assemble(*parts(fair)) == fair


WHOLE = 100
"""One in this many changed files is also verified in full."""


def test_every_flipped_byte_is_altered_and_blames_no_player(short: FairMatch) -> None:
    for place in range(len(short.data)):
        flipped = bytearray(short.data)
        flipped[place] ^= (0x01, 0x80, 0x20, 0xFF)[place % 4]
        verdict = judge_bytes(short, place, bytes(flipped))
        assert (verdict.verdict, verdict.culprit) == ("altered", None), (place, verdict)
        if place % WHOLE == 0:
            assert verdict_in_short(verify(bytes(flipped))) == verdict_in_short(verdict)


def test_a_transcript_cut_off_anywhere_is_incomplete_or_altered(short: FairMatch) -> None:
    genesis, messages = parts(short.data)
    ends = {len(assemble(genesis, messages[:count])) for count in range(len(messages))}
    for length in range(len(short.data)):
        verdict = judge_bytes(short, length, short.data[:length])
        assert verdict.verdict == ("incomplete" if length in ends else "altered")
        assert verdict.culprit is None
        if length in ends or length % WHOLE == 0:
            assert verdict_in_short(verify(short.data[:length])) == verdict_in_short(verdict)


def verdict_in_short(verdict: Verdict) -> tuple[Judgement, str | None, int | None]:
    return verdict.verdict, verdict.culprit, verdict.step


@pytest.mark.parametrize("data", [b"", b"\x00", b"garbage", b"\x91" * 70_000, encode((TRANSCRIPT_TAG, b""))])
def test_a_file_that_is_not_a_transcript_is_altered(data: bytes) -> None:
    assert verify(data).verdict == "altered"


@given(st.binary(max_size=400))
def test_random_bytes_are_altered(data: bytes) -> None:
    assert verify(data).verdict == "altered"


def test_a_file_larger_than_any_match_is_not_read() -> None:
    assert verify(bytes(TRANSCRIPT + 1)).verdict == "altered"


def backwards(check: Callable[[Signed], bool], messages: Sequence[Signed]) -> list[bool]:
    """Check the last signature first, because threads may check them in any order."""
    return [check(signed) for signed in reversed(messages)][::-1]


@settings(max_examples=60)
@given(data=st.data())
def test_dropping_repeating_swapping_or_inserting_messages_is_altered(
    fair: bytes, stranger: bytes, data: st.DataObject
) -> None:
    genesis, messages = parts(fair)
    one = data.draw(st.integers(0, len(messages) - 1))
    other = data.draw(st.integers(0, len(messages) - 1).filter(lambda place: place != one))
    change = data.draw(st.sampled_from(["drop", "double", "swap", "insert"]))
    changed = list(messages)
    if change == "drop":
        # A file that lacks only messages of the last step is incomplete, not altered.
        del changed[min(one, len(messages) - 4)]
    elif change == "double":
        changed.insert(other, messages[one])
    elif change == "swap":
        changed[one], changed[other] = changed[other], changed[one]
    else:
        foreign = parts(stranger)[1]
        changed.insert(one, foreign[data.draw(st.integers(0, len(foreign) - 1))])
    verdict = verify(assemble(genesis, changed))
    assert (verdict.verdict, verdict.culprit) == ("altered", None)
    assert verify(assemble(genesis, changed), backwards) == verdict


def test_another_roster_or_another_signature_is_altered(world: World, fair: bytes, stranger: bytes) -> None:
    genesis, messages = parts(fair)
    foreign, _ = parts(stranger)
    assert verify(assemble(foreign, messages)).verdict == "altered"
    exchanged = list(messages)
    exchanged[0] = messages[0]._replace(signature=messages[1].signature)
    assert verify(assemble(genesis, exchanged)).verdict == "altered"
    fields = decode(genesis)
    assert isinstance(fields, tuple)
    roster: Value = tuple(reversed(fields[4])) if isinstance(fields[4], tuple) else ()
    assert verify(encode((TRANSCRIPT_TAG, encode((*fields[:4], roster))))).verdict == "altered"


def resigned(world: World, message: Message, **changes: Any) -> Signed:
    return sign(message._replace(**changes), MatchKey(world.seeds[message.author]))


def flipped(body: Value) -> Value:
    if isinstance(body, bytes):
        return bytes((body[0] ^ 1,)) + body[1:]
    assert isinstance(body, tuple)
    return (flipped(body[0]), *body[1:])


WRONGS: dict[str, Callable[[World, Message], Signed]] = {
    "an illegal move": lambda world, message: resigned(world, message, body="liar"),
    "a malformed move": lambda world, message: resigned(world, message, body="\x1b[2J hello"),
    "a move in another spelling": lambda world, message: resigned(world, message, body=f" {message.body!s}"),
    "a power without motes": lambda world, message: resigned(world, message, body="play grey@1"),
    "a concession as a move": lambda world, message: resigned(world, message, body="concede"),
    "an early reveal": lambda world, message: resigned(world, message, kind=Kind.REVEAL, body=bytes(32)),
    "an early opening": lambda world, message: resigned(world, message, kind=Kind.OPEN, body=(*(bytes(32),) * 3, b"")),
    "a wrong reveal": lambda world, message: resigned(world, message, body=flipped(message.body)),
    "a wrong opening": lambda world, message: resigned(world, message, body=flipped(message.body)),
    "too few commitments": lambda world, message: resigned(world, message, body=(bytes(32),) * 2),
}
WHERE = {
    "an early reveal": Kind.COMMIT,
    "an early opening": Kind.MOVE,
    "a wrong reveal": Kind.REVEAL,
    "a wrong opening": Kind.OPEN,
    "too few commitments": Kind.COMMIT,
}


@pytest.mark.parametrize("wrong", WRONGS)
def test_a_validly_signed_offence_names_its_author(world: World, fair: bytes, wrong: str) -> None:
    genesis, messages = parts(fair)
    kind = WHERE.get(wrong, Kind.MOVE)
    place = next(place for place, signed in enumerate(messages) if signed.message.kind is kind)
    bad = WRONGS[wrong](world, messages[place].message)
    verdict = verify(assemble(genesis, [*messages[:place], bad]))
    assert verdict.verdict == "misconduct", verdict
    assert verdict.culprit == world.genesis.roster[bad.message.author].join.nickname
    assert verdict.step == bad.message.step
    assert not verdict.winners


def test_a_message_out_of_turn_names_its_author(world: World, fair: bytes) -> None:
    genesis, messages = parts(fair)
    place = next(place for place, signed in enumerate(messages) if signed.message.kind is Kind.MOVE)
    turn = messages[place].message
    intruder = (turn.author + 1) % 3
    bad = sign(turn._replace(author=intruder), MatchKey(world.seeds[intruder]))
    verdict = verify(assemble(genesis, [*messages[:place], bad]))
    assert (verdict.verdict, verdict.culprit) == ("misconduct", world.genesis.roster[intruder].join.nickname)


def test_two_messages_in_one_slot_name_their_author(world: World, fair: bytes) -> None:
    genesis, messages = parts(fair)
    for kind in (Kind.COMMIT, Kind.MOVE, Kind.OPEN):
        place = next(place for place, signed in enumerate(messages) if signed.message.kind is kind)
        second = resigned(world, messages[place].message, kind=Kind.RESIGN, body=())
        verdict = verify(assemble(genesis, [*messages[: place + 1], second]))
        assert (verdict.verdict, verdict.culprit) == (
            "misconduct",
            world.genesis.roster[second.message.author].join.nickname,
        )


def test_a_copied_commitment_cannot_be_opened(world: World, fair: bytes) -> None:
    """Mallory copies Alice's commitment and later her share. This fails, because the commitment covers Alice's seat."""
    genesis, messages = parts(fair)
    commits = [place for place, signed in enumerate(messages) if signed.message.kind is Kind.COMMIT][:3]
    copied = resigned(world, messages[commits[1]].message, body=messages[commits[0]].message.body)
    # The later messages do not fit this history, so only the copy itself is judged here, and it is accepted …
    verdict = verify(assemble(genesis, [*messages[: commits[1]], copied]))
    assert verdict.verdict == "incomplete"
    # … but cannot be opened: under Mallory's seat, Alice's share has another commitment.
    from protocol.crypto.hashing import Context, share_commitment

    reveal = next(
        signed.message
        for signed in messages
        if signed.message.kind is Kind.REVEAL and signed.message.author == messages[commits[0]].message.author
    )
    context = Context(reveal.match, messages[commits[0]].message.step, messages[commits[0]].message.tip)
    assert isinstance(reveal.body, bytes)
    assert share_commitment(context, reveal.author, reveal.body) == commitment(messages[commits[0]])
    assert share_commitment(context, copied.message.author, reveal.body) != commitment(copied)


def commitment(signed: Signed) -> Value:
    assert isinstance(signed.message.body, tuple)
    return signed.message.body[-1]


def test_a_lock_on_another_state_blames_no_player(world: World, fair: bytes) -> None:
    genesis, messages = parts(fair)
    lock = resigned(world, messages[0].message, body=bytes(32))
    verdict = verify(assemble(genesis, [lock, *messages[1:]]))
    assert (verdict.verdict, verdict.culprit) == ("altered", None)


@pytest.mark.parametrize("seed", [*range(3), *thoroughly(range(3, 9)), *slowly(range(9, 25))])
def test_random_byte_changes_in_longer_matches_are_altered(seed: int) -> None:
    rng = random.Random(seed)
    data = bytearray(played(CLASSIC, rng.randrange(2, 6), seed))
    for _ in range(40):
        place = rng.randrange(len(data))
        before = data[place]
        data[place] ^= rng.randrange(1, 256)
        assert verify(bytes(data)).verdict == Judgement.ALTERED
        data[place] = before
    assert verify(bytes(data)).verdict == Judgement.FAIR


def test_a_transcript_without_its_proof_is_unproven() -> None:
    """The proof follows the end of the match, so it can be cut off. It also exists as a separate file."""
    cheated = World(CLASSIC, 3, seed=7, patience=Patience(5, 5))
    cheat = cheated.first_turn()
    cheated.call_nothing(cheat)
    cheated.run()
    honest = cheated.machines[(cheat + 1) % 3]
    name = cheated.genesis.roster[cheat].join.nickname
    whole = verify(honest.transcript)
    assert (whole.verdict, whole.culprit) == ("misconduct", name)
    cut = verify(write_transcript(honest.match.history))
    assert (cut.verdict, cut.culprit) == ("unproven", None)
    assert f"{name} was silent" in cut.reason
    (proof,) = honest.proofs
    assert verify(proof).culprit == name


def test_a_match_played_by_one_holder_of_all_keys_is_judged_fair() -> None:
    """A transcript shows which keys signed, not who held them."""
    verdicts = [verify(played(CLASSIC, 2, seed)) for seed in range(8)]
    assert {verdict.verdict for verdict in verdicts} == {"fair"}
    assert {verdict.winners for verdict in verdicts} == {("player 0",), ("player 1",)}


def test_messages_after_a_proof_are_refused_unless_they_are_proofs_too(
    world: World, fair: bytes, stranger: bytes
) -> None:
    """This holds in the middle of a match and after its end."""
    genesis, messages = parts(fair)
    moves = [place for place, signed in enumerate(messages) if signed.message.kind is Kind.MOVE]
    author = messages[moves[0]].message.author
    commit = next(signed for signed in messages if signed.message.kind is Kind.COMMIT)
    others = [resigned(world, each.message, kind=Kind.RESIGN, body=()) for each in (messages[moves[0]], commit)]
    junk = parts(stranger)[1][0]
    for place in (moves[0] + 1, len(messages)):
        history = messages[:place]
        proven = verify(assemble(genesis, [*history, *others]))
        assert (proven.verdict, proven.step) == ("misconduct", others[0].message.step)
        assert proven.culprit_fingerprint == fingerprint(world.genesis.roster[author].join.identity)
        assert len(proven.reason.split("; ")) == len({each.message.author for each in others})
        for evidence in ([*others, junk], [others[0], messages[0]], [others[0], others[0]], [junk, others[0]]):
            verdict = verify(assemble(genesis, [*history, *evidence]))
            assert (verdict.verdict, verdict.culprit) == ("altered", None), evidence
        for data in (b"\0", b"\x92\xc4", bytes(100)):
            assert verify(assemble(genesis, [*history, others[0]]) + data).verdict == "altered"


@pytest.mark.parametrize("is_first", [True, False])
def test_an_unproven_message_beside_a_proof_is_altered(world: World, fair: bytes, is_first: bool) -> None:
    """The unproven message belongs to another history, so it proves nothing by itself."""
    genesis, messages = parts(fair)
    move = next(signed for signed in messages if signed.message.kind is Kind.MOVE)
    proof = resigned(world, move.message, kind=Kind.RESIGN, body=())
    unproven = resigned(world, move.message, tip=bytes(32))
    evidence = [unproven, proof] if is_first else [proof, unproven]
    assert verify(assemble(genesis, [*messages, *evidence])).verdict == "altered"


def test_a_result_before_the_end_blames_no_player(world: World, fair: bytes) -> None:
    genesis, messages = parts(fair)
    for kind in (Kind.LOCK, Kind.COMMIT, Kind.MOVE, Kind.OPEN):
        place = next(place for place, signed in enumerate(messages) if signed.message.kind is kind)
        receipt = resigned(world, messages[place].message, kind=Kind.RESULT, body=bytes(32))
        for file in ([*messages[:place], receipt], [*messages[: place + 1], receipt], [*messages, receipt]):
            verdict = verify(assemble(genesis, file))
            assert (verdict.verdict, verdict.culprit) == ("altered", None), kind


def test_a_lock_is_closed_by_all_its_messages_or_by_votes_but_not_by_a_mixture(world: World, fair: bytes) -> None:
    genesis, messages = parts(fair)
    history = History(genesis)
    place = next(
        at for at, signed in enumerate(messages) if signed.message.kind is Kind.LOCK and signed.message.step > 2
    )
    for signed in messages[:place]:
        add(history, signed)
    position = history.position
    root = messages[place].message._replace(step=position.root_step, tip=position.root_tip)
    value = (position.step, position.tip, position.signed_hash)
    votes = [
        resigned(world, root._replace(author=author), kind=Kind.CLOSE, body=(0, value))
        for author in position.base[: position.majority]
    ]
    rest = messages[place + len(position.owed) :]
    assert verify(assemble(genesis, [*messages[:place], *votes, *rest])).verdict == "fair"
    assert verify(assemble(genesis, [*messages[:place], votes[0]])).verdict == "incomplete"
    assert verify(assemble(genesis, [*messages[: place + 1], votes[0]])).verdict == "altered"
    assert verify(assemble(genesis, [*messages[: place + 1], *votes, *rest])).verdict == "altered"


def test_a_match_has_a_winner_only_once_its_last_lock_is_closed(fair: bytes) -> None:
    genesis, messages = parts(fair)
    assert messages[-1].message.kind is Kind.LOCK
    for file in (messages[:-1], [each for each in messages if each.message.step < messages[-1].message.step]):
        verdict = verify(assemble(genesis, file))
        assert (verdict.verdict, verdict.winners) == ("incomplete", ())
    assert verify(fair).winners


def test_two_contradictory_votes_on_an_open_step_are_a_proof(world: World, fair: bytes) -> None:
    genesis, messages = parts(fair)
    place = next(place for place, signed in enumerate(messages) if signed.message.kind is Kind.MOVE)
    move = messages[place].message
    history = History(genesis)
    for signed in messages[:place]:
        add(history, signed)
    root = move._replace(step=history.position.root_step, tip=history.position.root_tip)
    value = (move.step, move.tip, (b"",))
    voter = next(author for author in history.position.base if author not in history.position.owed)
    bodies = ((0, each, -1) for each in (value, (move.step, bytes(32), (b"",))))
    votes = [resigned(world, root._replace(author=voter), kind=Kind.ABSENT, body=body) for body in bodies]
    assert verify(assemble(genesis, [*messages[:place], votes[0]])).verdict == "incomplete"
    verdict = verify(assemble(genesis, [*messages[:place], *votes]))
    assert (verdict.verdict, verdict.step) == ("misconduct", votes[0].message.step)
    assert f"voted twice in one round: voted in round 0 that step {move.step} holds nothing" in verdict.reason
    assert verify(assemble(genesis, [*messages[:place], votes[0], votes[0]])).verdict == "altered"


@pytest.mark.parametrize("is_in_order", [True, False])
def test_two_contradictory_votes_are_a_proof_even_if_not_adjacent(world: World, fair: bytes, is_in_order: bool) -> None:
    genesis, messages = parts(fair)
    places = (place for place, signed in enumerate(messages) if signed.message.step > FORMED)
    place = next(place for place in places if messages[place].message.kind is Kind.COMMIT)
    history = History(genesis)
    for signed in messages[:place]:
        add(history, signed)
    position = history.position
    root = messages[place].message._replace(step=position.root_step, tip=position.root_tip)
    one, other = ((position.step, position.tip, (filled, b"", b"")) for filled in (b"", messages[place].id))
    absents = [resigned(world, root._replace(author=author), kind=Kind.ABSENT, body=(2, one, -1)) for author in (0, 1)]
    kind, body = (Kind.CLOSE, (0, other)) if is_in_order else (Kind.ABSENT, (2, other, -1))
    against = resigned(world, root._replace(author=0), kind=kind, body=body)
    assert verify(assemble(genesis, [*messages[:place], *absents])).verdict == "incomplete"
    verdict = verify(assemble(genesis, [*messages[:place], *absents, against]))
    assert (verdict.verdict, verdict.culprit) == ("misconduct", history.genesis.roster[0].join.nickname)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ("an illegal move", "illegal move"),
        ("a wrong reveal", "revealed another share than the one committed to: committed to {}…, opened "),
        ("a wrong opening", "opened another hand key than the one committed to: committed to {}…, opened "),
    ],
)
def test_the_reason_names_the_commitment_and_the_opening(world: World, fair: bytes, wrong: str, told: str) -> None:
    genesis, messages = parts(fair)
    kind = WHERE.get(wrong, Kind.MOVE)
    place = next(place for place, signed in enumerate(messages) if signed.message.kind is kind)
    bad = WRONGS[wrong](world, messages[place].message)
    verdict = verify(assemble(genesis, [*messages[:place], bad]))
    before = [each.message for each in messages[:place] if each.message.author == bad.message.author]
    (*_, last) = [each.body for each in before if each.kind is Kind.COMMIT]
    assert isinstance(last, tuple)
    commitment = last[-1] if wrong == "a wrong reveal" and last else last[0]
    assert isinstance(commitment, bytes)
    assert told.format(commitment.hex()[:8]) in verdict.reason


def test_the_verdict_does_not_name_an_absent_player_as_a_witness() -> None:
    """An absent player's own vote may be in the certificate, but the reason names only the other voters."""
    world = World(CLASSIC, 4, seed=3, patience=Patience(5, 5))
    while not any(machine.turn for machine in world.machines):
        assert world.step()
    silent = next(me for me, machine in enumerate(world.machines) if machine.turn)
    world.crash((silent - 2) % 4)  # so a majority needs the silent player's vote
    world.machines[silent].turn = None  # the node is up and votes, but its owner never moves
    while not world.machines[silent - 1].match.history.position.left:
        assert world.step()
        world.machines[silent].turn = None
    world.restart((silent - 2) % 4)
    world.run()
    transcript = world.machines[silent - 1].transcript
    votes = [signed.message.author for signed in parts(transcript)[1] if signed.message.kind is Kind.CLOSE]
    verdict = verify(transcript)
    absent = world.genesis.roster[silent].join.nickname
    others = [entry.join.nickname for author, entry in enumerate(world.genesis.roster) if author in votes]
    assert silent in votes
    assert verdict.verdict == "unproven"
    assert f"{absent} was silent in step" in verdict.reason
    assert verdict.reason.endswith(f"say {', '.join(name for name in others if name != absent)}")


BODIES: dict[Kind, list[Value]] = {
    Kind.COMMIT: [(), (bytes(31),), (bytes(32),) * 3],
    Kind.LOCK: [bytes(33), ""],
    Kind.REVEAL: [bytes(31)],
    Kind.MOVE: ["", "1" * 201, b"1x1"],
    Kind.OPEN: [(bytes(32),) * 3, (bytes(32), bytes(32), b"", b""), (*(bytes(32),) * 3, bytes(64))],
    Kind.RESIGN: [(0,)],
    Kind.STAKE: [(2**63, 0, bytes(32)), (-1, 0, bytes(32)), (0, 0, bytes(31))],
    Kind.CLOSE: [
        (0, (1, bytes(32), ())),
        (0, (1, bytes(32), (bytes(32),) * 11)),
        (2**32, (1, bytes(32), (b"",))),
        (0, (1, bytes(32), (b"x",))),
        (0, (1, bytes(32), b"")),
        (0, (1, b"", (b"",))),
        (0, (-1, bytes(32), (b"",))),
        (0, (b"",)),
    ],
    Kind.ABSENT: [(0, (1, bytes(32), (b"",)), 0), (1, (1, bytes(32), (b"",)), -2), (0, (), -1)],
}


@pytest.mark.parametrize("kind", BODIES)
def test_a_malformed_body_is_altered_even_if_signed(world: World, fair: bytes, kind: Kind) -> None:
    genesis, messages = parts(fair)
    for body in BODIES[kind]:
        bad = resigned(world, messages[0].message, kind=kind, body=body)
        for place in (0, 5, len(messages)):
            verdict = verify(assemble(genesis, [*messages[:place], bad]))
            assert (verdict.verdict, verdict.culprit) == ("altered", None), body
