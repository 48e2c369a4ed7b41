"""Every test vector in SPEC.md is recomputed here."""

import json
import re
from ast import literal_eval
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from spake2.parameters.ed25519 import ParamsEd25519

from p2pdice.engine import new_match
from p2pdice.rulesets import PRESETS
from protocol.consensus.ends import void_message
from protocol.consensus.kinds import parse_signed, state_hash
from protocol.consensus.steps import Account, result_hash
from protocol.crypto.hashing import (
    Context,
    beacon,
    derive_secret,
    hand,
    hand_commitment,
    seating,
    share_commitment,
    tagged_hash,
)
from protocol.crypto.keys import Identity, MatchKey, PublicKey, fingerprint
from protocol.crypto.short_code import CodeExchange, parse_short_code
from protocol.crypto.tls import authority_key
from protocol.errors import ErrorCode, RefuseCode
from protocol.match.words import parse_word, sign_word
from protocol.wire.canonical import decode, encode
from protocol.wire.frames import encode_frame
from protocol.wire.messages import Kind, Message, message_id, sign
from protocol.wire.names import UNSEEN
from protocol.wire.purses import SOUL_NAMES, Purse, Record, parse_purse

TEXT = (Path(__file__).parents[1] / "SPEC.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def vectors() -> dict[str, Any]:
    (block,) = re.findall(r"```json\n(.*?)```", TEXT, re.DOTALL)
    loaded = json.loads(block)
    assert isinstance(loaded, dict)
    return loaded


@pytest.fixture(scope="module")
def context(vectors: dict[str, Any]) -> Context:
    given = vectors["context"]
    return Context(bytes.fromhex(given["match"]), given["step"], bytes.fromhex(given["tip"]))


def test_canonical_encoding(vectors: dict[str, Any]) -> None:
    data = bytes.fromhex(vectors["canonical"]["encoding"])
    value = (1, b"\x00\xff", "é", (), -33, 70000)
    assert decode(data) == value
    assert encode(value) == data


def test_hash(vectors: dict[str, Any]) -> None:
    assert tagged_hash("example", b"a", 1).hex() == vectors["hash"]["hash"]


def test_commitments_beacon_seats_and_hand(vectors: dict[str, Any], context: Context) -> None:
    share, key = vectors["share-commitment"], vectors["hand-commitment"]
    hand_key = bytes.fromhex(key["hand key"])
    assert share_commitment(context, share["author"], bytes.fromhex(share["share"])).hex() == share["commitment"]
    assert hand_commitment(context, key["author"], hand_key).hex() == key["commitment"]
    shares = dict(enumerate(map(bytes.fromhex, vectors["beacon"]["shares of 0, 1, 2"])))
    joint = beacon(context, shares)
    assert joint.hex() == vectors["beacon"]["beacon"]
    seats = vectors["seats"]
    assert list(seating(joint, seats["players"])) == seats["roster indices by seat"]
    dice = vectors["hand"]
    assert list(hand(context, dice["author"], hand_key, joint, dice["dice"])) == dice["faces"]


def test_keys_and_secrets(vectors: dict[str, Any], context: Context) -> None:
    seed = bytes.fromhex(vectors["secret"]["seed"])
    assert derive_secret(seed, context, vectors["secret"]["purpose"]).hex() == vectors["secret"]["secret"]
    public = MatchKey(seed).public
    assert public.hex() == vectors["match key"]["public"]
    assert fingerprint(public) == vectors["fingerprint"]["fingerprint"]
    assert authority_key().private_bytes_raw().hex() == vectors["authority"]["private key"]


def test_message_and_step(vectors: dict[str, Any], context: Context) -> None:
    given = vectors["message"]
    data, signature = bytes.fromhex(given["data"]), bytes.fromhex(given["signature"])
    signed = parse_signed(data, signature)
    assert signed.message == (context.match, 7, context.tip, given["author"], Kind(given["kind"]), given["body"])
    assert signed.id.hex() == given["id"] == message_id(data).hex()
    assert PublicKey(bytes.fromhex(vectors["match key"]["public"])).verifies(signature, data)
    assert tagged_hash("step", context.tip, 7, b"", signed.id, b"").hex() == vectors["step"]["next tip"]


def test_words(vectors: dict[str, Any]) -> None:
    given = vectors["word"]
    seed = bytes.fromhex(vectors["secret"]["seed"])
    identity = Identity(Ed25519PrivateKey.from_private_bytes(tagged_hash("match-key", seed)))
    assert fingerprint(identity.public) == vectors["fingerprint"]["fingerprint"]
    word = sign_word(bytes.fromhex(given["table"]), identity, given["number"], given["text"])
    assert word.data.hex() == given["data"]
    assert word.signature.hex() == given["signature"]
    assert parse_word(word.data, word.signature) == word


def test_short_codes(vectors: dict[str, Any]) -> None:
    given = vectors["short code"]
    code = parse_short_code(given["code"])
    assert code is not None
    assert (ParamsEd25519.M.to_bytes().hex(), ParamsEd25519.N.to_bytes().hex()) == (given["M"], given["N"])
    parties = [bytes.fromhex(given[each]) for each in ("guest", "host", "table")]
    expanded = HKDF(SHA256(), 48, b"", b"SPAKE2 pw").derive(given["code"].encode())
    group = ParamsEd25519.group
    word = int.from_bytes(expanded) % group.order()
    assert str(word) == given["w"]
    sides = []
    for is_host, scalar in ((False, int(given["x"])), (True, int(given["y"]))):
        side = CodeExchange(code, *parties, is_host=is_host, randomness=partial(scalar.to_bytes, byteorder="big"))
        blinding = (ParamsEd25519.N if is_host else ParamsEd25519.M).scalarmult(word)
        assert side.element == group.Base.scalarmult(scalar).add(blinding).to_bytes()
        sides.append(side)
    guest, host = sides
    guest.take(host.element)
    host.take(guest.element)
    assert (guest.element.hex(), host.element.hex()) == (given["X"], given["Y"])
    shared = group.Base.scalarmult(int(given["x"]) * int(given["y"]) % group.order()).to_bytes()
    hashes = [sha256(each).digest() for each in (given["code"].encode(), *parties[:2])]
    key = sha256(b"".join((*hashes, guest.element, host.element, shared))).digest()
    assert key.hex() == given["key"]
    for side, number, who in ((guest, 0, "guest"), (host, 1, "host")):
        assert side.proof.hex() == given[f"proof of the {who}"]
        assert side.proof == tagged_hash("code-proof", key, number, *parties)
    assert guest.is_proven_by(host.proof)
    assert host.is_proven_by(guest.proof)


@pytest.mark.parametrize("name", ["absent", "close", "close of a lock", "close of a round"])
def test_votes(vectors: dict[str, Any], context: Context, name: str) -> None:
    given = vectors[name]
    value: tuple[int, bytes, bytes | tuple[bytes, ...]] | tuple[()] = ()
    if given["value"]:
        step, tip, said = given["value"]
        is_lock = isinstance(said, str)
        ids = tuple(b"" if each == "empty" else bytes.fromhex(each) for each in ([] if is_lock else said))
        value = (step, bytes.fromhex(tip), bytes.fromhex(said) if is_lock else ids)
    body = (given["round"], value, given["newest"]) if "newest" in given else (given["round"], value)
    message = Message(context.match, 7, context.tip, given["author"], Kind(given["kind"]), body)
    signed = sign(message, MatchKey(bytes.fromhex(vectors["secret"]["seed"])))
    assert signed.data.hex() == given["data"]
    assert signed.signature.hex() == given["signature"]
    assert signed.id.hex() == given["id"]
    assert parse_signed(signed.data, signed.signature).message == message


def test_state_hash(vectors: dict[str, Any]) -> None:
    assert state_hash(new_match(PRESETS["classic"], 3)).hex() == vectors["state"]["hash"]
    assert state_hash(None).hex() == vectors["state"]["hash of none"]


def test_canonical_states_have_the_hashes_that_part_one_prints() -> None:
    options = {name: PRESETS[name].options() for name in PRESETS}
    checked = 0
    preset = "classic"
    for line in TEXT.splitlines():
        if named := re.match(r"`(\w[\w-]*)`, ", line):
            preset = named[1]
        for state, digest in re.findall(r"`(\([^`]*\))` \| `([0-9a-f]{64})`", line):
            value = (options[preset], *literal_eval(state))
            assert sha256(encode(value)).hexdigest() == digest
            checked += 1
    assert checked >= 19


def test_every_kind_frame_type_and_hash_tag_of_the_code_is_in_the_tables() -> None:
    for kind in Kind:
        assert f"| {int(kind)} | {kind.name} |" in TEXT
    from protocol.wire import frames

    for name, number in frames._Type.__members__.items():
        assert f"| {int(number)} | {name} |" in TEXT
    code = "".join(
        path.read_text(encoding="utf-8") for path in Path(encode_frame.__code__.co_filename).parents[1].rglob("*.py")
    )
    tags = set(re.findall(r"(?:tagged_hash|hash_stream)\(\s*\"([a-z-]+)\"", code)) - {"example"}
    assert len(tags) > 10
    for tag in tags:
        assert f"| `{tag}` |" in TEXT, tag


def test_characters_forbidden_in_nicknames_are_listed() -> None:
    (listed,) = re.findall(r"```text\n(0–1F, .*?)\n```", TEXT, re.DOTALL)
    ranges = [tuple(int(code, 16) for code in each.split("–")) for each in re.split(r",\s+", listed)]
    assert tuple((each[0], each[-1]) for each in ranges) == UNSEEN


def test_the_table_lists_all_codes_of_refuse() -> None:
    table = TEXT.partition("| code | when |\n")[2].partition("\n\n")[0]
    codes = re.findall(r"^\| `([a-z-]+)` \|", table, re.MULTILINE)
    assert sorted(codes) == sorted(RefuseCode)
    for code in (*RefuseCode, *ErrorCode):
        assert code == code.name.lower().replace("_", "-")


def test_purses(vectors: dict[str, Any]) -> None:
    given = vectors["purse"]
    owner, match = bytes.fromhex(given["identity"]), bytes.fromhex(given["match"])
    account = Account(((100, 0), (50, 1)), (0,), (1,), "Dusk Moth")
    assert account.encoded().hex() == given["account"]
    assert result_hash(bytes.fromhex(given["state hash"]), account.encoded()).hex() == given["result"]
    assert void_message(match, 0).body == bytes.fromhex(given["void"])
    purse = Purse.new(owner)
    assert purse.end.id.hex() == given["id"]
    record = Record(match[:16], 100, 0, 60, 1, SOUL_NAMES.index("Dusk Moth"))
    assert encode(tuple(record)).hex() == given["record"]
    purse = purse.with_record(record)
    assert encode(purse.wire).hex() == given["ledger"]
    assert encode(tuple(purse.head)).hex() == given["head"]
    assert parse_purse(owner, decode(bytes.fromhex(given["ledger"]))).end.souls == ((record.soul, 1),)
