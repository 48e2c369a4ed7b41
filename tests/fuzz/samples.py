"""Matches to mutate, and the keys of their players, so that changed data can be signed again."""

from __future__ import annotations

from functools import cache
from typing import Final

from p2pdice.rulesets import PRESETS, Ruleset
from protocol.consensus.history import History
from protocol.consensus.kinds import parse_signed
from protocol.consensus.reading import Reading
from protocol.consensus.rule import MisconductError, RejectedMessageError
from protocol.consensus.transcript import PROOF_TAG, TRANSCRIPT_TAG, MalformedTranscriptError, open_transcript
from protocol.crypto.keys import MatchKey
from protocol.wire.canonical import NotCanonicalError, Value, decode, encode
from protocol.wire.genesis import GENESIS_TAG, JOIN_TAG, MalformedGenesisError, match_id
from protocol.wire.messages import Signed
from tests.simulation.world import World, identity_of, match_seed

PLAYERS: Final = 2
SHORT: Final[tuple[Ruleset, ...]] = (
    PRESETS["classic"].with_options({"dice": "1"}),
    PRESETS["perudo"].with_options({"dice": "1"}),
    PRESETS["motes"],
)
"""Rulesets whose matches are short, or contain every kind of message."""
_SEED: Final = 7
_SEED_BYTES: Final = _SEED.to_bytes(8, "big")

IDENTITIES: Final = tuple(identity_of(_SEED_BYTES, number) for number in range(PLAYERS))
_MATCH_KEYS: Final = {
    key.public: key for key in (MatchKey(match_seed(_SEED_BYTES, number)) for number in range(PLAYERS))
}
_IDENTITY_KEYS: Final = {identity.public: identity for identity in IDENTITIES}


@cache
def world(ruleset: Ruleset) -> World:
    """Return the same finished match of two players every time."""
    played = World(ruleset, PLAYERS, _SEED)
    played.run()
    return played


@cache
def transcript(ruleset: Ruleset) -> bytes:
    """Return the transcript of :func:`world`."""
    return world(ruleset).machines[0].transcript


@cache
def messages_of(ruleset: Ruleset) -> tuple[Signed, ...]:
    """Return the messages of :func:`world`, marked as validly signed, in the order of the transcript."""
    return tuple(signed._replace(checked=True) for signed in open_transcript(transcript(ruleset)).messages)


def sign_join_record(record: Value) -> Value:
    """Return a join record signed again by its keys, as far as these are known."""
    match record:
        case (bytes() as data, identity_signature, match_signature):
            pass
        case _:
            return record
    try:
        fields = decode(data)
    except NotCanonicalError:
        return record
    match fields:
        case (tag, _, bytes() as identity, bytes() as match_key, *_) if tag == JOIN_TAG:
            if identity in _IDENTITY_KEYS:
                identity_signature = _IDENTITY_KEYS[identity].private_key.sign(data)
            if match_key in _MATCH_KEYS:
                match_signature = _MATCH_KEYS[match_key].sign(data)
    return data, identity_signature, match_signature


def sign_genesis(data: bytes) -> bytes:
    """Return a genesis with its join records signed again."""
    try:
        fields = decode(data)
    except NotCanonicalError:
        return data
    match fields:
        case (tag, table, options, patience, tuple() as roster) if tag == GENESIS_TAG:
            return encode((tag, table, options, patience, tuple(map(sign_join_record, roster))))
    return data


def sign_transcript(data: bytes) -> bytes:
    """Return a transcript in which everything is signed again, and each message has the tip of the history before it.

    So a verifier gets past the signatures, and judges the contents.
    """
    try:
        opened = open_transcript(data)
        genesis = sign_genesis(opened.genesis)
        history = History(genesis)
        reading = Reading(history)
    except (MalformedTranscriptError, MalformedGenesisError):
        return data
    match = match_id(genesis)
    parts = [encode((PROOF_TAG if opened.is_proof else TRANSCRIPT_TAG, genesis))]
    try:
        for given in opened.messages:
            tip = history.position.tip if given.message.step == history.position.step else given.message.tip
            signed = sign_message(given.message._replace(match=match, tip=tip).encoded(), history)
            parts.append(encode(signed.wire))
            if not opened.is_proof:
                reading.add(signed)
    except (MalformedTranscriptError, MisconductError, RejectedMessageError):
        pass
    return b"".join(parts)


def sign_message(data: bytes, history: History) -> Signed:
    """Return a message signed by its author, if the match has this author.

    :raises MalformedMessageError: if ``data`` is not a message.
    """
    author = parse_signed(data, bytes(64)).message.author
    key = _MATCH_KEYS.get(history.keys[author].raw) if author < history.roster_size else None
    return parse_signed(data, key.sign(data) if key else bytes(64))
