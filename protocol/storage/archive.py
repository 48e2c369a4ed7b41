"""The archive: finding, exporting and forgetting the matches of a home while no node runs there.

Only one process at a time holds the store (:mod:`protocol.storage.store`). While a node plays, other processes can read
the store, but cannot forget matches.

The name of a transcript file consists of the day on which the match began, its rules, and the first digits of its id,
so no part of it is text written by a peer. The match of a file is determined from its content, not from its name.
"""

from __future__ import annotations

import errno
import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from difflib import get_close_matches
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from protocol.consensus.replica import Replica
from protocol.consensus.transcript import MalformedTranscriptError, open_transcript, write_transcript
from protocol.consensus.verifier import Judgement, Mapped, verify
from protocol.crypto.keys import IDENTITY_FILE, Identity, KeyFileError, MatchKey, WrongPassphraseError, fingerprint
from protocol.errors import BEGIN, SEE_MATCHES, Choices, ErrorCode, NodeError, Parts, PeerError
from protocol.files import NotOwnError, check_own, read_own
from protocol.limits import GENESIS, TRANSCRIPT
from protocol.storage.database import DamagedMatchError, HomeInUseError, StoreError
from protocol.storage.home import PROOFS_FOLDER, STORE_FILE, TRANSCRIPT_SUFFIX, Home
from protocol.storage.match_names import LAST, SHORT_ID, day, is_name, meant, rules_word, short_id, short_ids
from protocol.storage.store import Loss, Store, StoredMatch
from protocol.version import PROTOCOL_VERSION, written_by
from protocol.wire.genesis import (
    JoinRecord,
    MalformedGenesisError,
    match_id,
    parse_genesis,
    unchecked_genesis,
    version_of,
)
from protocol.wire.names import ruleset_hash

if TYPE_CHECKING:
    from p2pdice.rulesets import Ruleset


log = logging.getLogger(__name__)

_HEADER: Final = GENESIS + 64
"""The header of every transcript ends within this many bytes."""


class TranscriptFile(NamedTuple):
    """A transcript in a home."""

    match: bytes
    """The match id."""
    path: Path
    genesis: bytes
    """The unchecked bytes from the header."""


def open_store(home: Home) -> Store:
    """Open the store of a home for writing.

    :raises HomeInUseError: if another process uses the home.
    :raises StoreError: if the store is unusable.
    """
    return Store(home.store)


@contextmanager
def read_store(home: Home) -> Iterator[Store]:
    """Open the store of a home for reading, even while another process uses the home.

    :raises StoreError: if the store is unusable.
    """
    try:
        store = Store(home.store, is_reader=True)
    except HomeInUseError as error:  # an old program holds it
        raise StoreError(*error.parts, ", perhaps an older one; close that first") from None
    with closing(store):
        yield store


def rules_names(home: Home) -> dict[bytes, str]:
    """Return the local names of house rules by their hash; an empty dict if the store cannot be read."""
    if home.store.exists():
        with suppress(StoreError), read_store(home) as store:
            return store.rules_names()
    return {}


def unfinished(matches: Sequence[StoredMatch]) -> tuple[StoredMatch, ...]:
    """Return, newest first, the matches that the owner can resume without naming one.

    Matches that are over, void, claimed, given up or of another protocol version are left out. A proposal that binds
    the owner may have become a match without this node seeing it: the newest one is included, unless a match was stored
    after it.
    """
    newest = max((stored.number for stored in matches), default=0)
    left = [each.match for each in matches if each.over or each.void or each.claim or each.given_up or is_old(each)]
    open_ones = [each for each in matches if each.match not in left]
    found = [stored for stored in open_ones if stored.formed or stored.number == newest]
    return tuple(sorted(found, key=lambda stored: stored.number, reverse=True))


def given_up(matches: Sequence[StoredMatch]) -> tuple[StoredMatch, ...]:
    """Return the proposals that this node has signed but not seen formed, oldest first: others may have formed them."""
    proposed = [each for each in matches if not (each.formed or each.over or each.void or is_old(each))]
    return tuple(sorted(proposed, key=lambda stored: stored.number))


def is_old(stored: StoredMatch) -> bool:
    """Return whether a stored match was played with another version of the protocol."""
    return version_of(stored.genesis) != PROTOCOL_VERSION


def check_version(stored: StoredMatch) -> None:
    """Check that a match belongs to this version of the protocol.

    :raises NodeError: if it does not.
    """
    if is_old(stored):
        hint = "the program that played it can go on with it and show it"
        reason = f"{stored.name or short_id(stored.match, [])} was {written_by(version_of(stored.genesis))}"
        raise NodeError(ErrorCode.VERSION, reason, hint)


def find(matches: Sequence[StoredMatch], name: str, written_last: bytes = b"") -> StoredMatch:
    """Return the match that a person names.

    :param name: any text that :func:`protocol.storage.match_names.meant` understands.
    :param written_last: the id of the match written last, which ``last`` stands for if that match is formed. Otherwise,
        ``last`` stands for the first of ``matches``.
    :raises NodeError: if no match or more than one has that name, or the name is empty.
    """
    by_use = sorted(matches, key=lambda each: not (each.formed and each.match == written_last))
    found = meant(name, [(each.match, each.name) for each in by_use])
    if found is None:
        wanted = name.strip().lower()
        reason = "there is no match here" if wanted == LAST or not matches else f"no match here is called {name}"
        near = get_close_matches(wanted, [each.name for each in matches if each.name], 1)
        raise NodeError(
            ErrorCode.NO_MATCH, reason, f"did you mean {near[0]}?" if near else "", SEE_MATCHES if matches else BEGIN
        )
    return next(each for each in matches if each.match == found)


def to_resume(store: Store, name: str | None) -> StoredMatch:
    """Return the match to resume: the one that the person names, else the newest unfinished one.

    :raises NodeError: if there is no such match, or it cannot be resumed.
    """
    matches = store.matches()
    if name is not None and name.strip().lower() != LAST:
        found = find(matches, name)
        check_version(found)
        if found.void:
            reason = f"you have signed that {name_of(found, matches)} is void, so you cannot play on in it"
            raise NodeError(ErrorCode.FAILED, reason)
        if found.given_up and not found.formed:
            raise NodeError(ErrorCode.FAILED, "that match was proposed, and has not begun")
        return found
    open_ones = unfinished(matches)
    loss, finished = store.loss, (stored for stored in matches if stored.over)
    if loss is not None and not any(each.match == loss.match for each in (*open_ones[:1], *finished)):
        hint = "put the whole folder back if you have a copy of it; return to an older match by its id"
        raise NodeError(ErrorCode.NO_MATCH, describe(loss), hint, SEE_MATCHES)
    if not open_ones:
        for old in (stored for stored in matches if stored.formed and not stored.over):
            check_version(old)
        choices = SEE_MATCHES if matches else BEGIN
        raise NodeError(ErrorCode.NO_MATCH, "there is no unfinished match here", choices=choices)
    return open_ones[0]


def name_of(stored: StoredMatch, matches: Sequence[StoredMatch]) -> str:
    """Return the text to type for a stored match: its name if it has one, otherwise the beginning of its id."""
    return stored.name or short_id(stored.match, [each.match for each in matches])


def names_of(matches: Sequence[StoredMatch]) -> dict[bytes, str]:
    """Return the text to type for each stored match, by match id: see :func:`name_of`."""
    ids = short_ids(each.match for each in matches)
    return {each.match: each.name or ids[each.match] for each in matches}


def path_for(home: Home, store: Store, stored: StoredMatch) -> Path:
    """Return the present or future path of a stored match's transcript.

    :raises MalformedGenesisError: if the stored genesis is malformed.
    """
    word = own_rules_word(store, parse_genesis(stored.genesis).ruleset)
    return transcript_path(home, stored.match, stored.created, word)


def own_rules_word(store: Store, ruleset: Ruleset) -> str:
    """Return the word for a ruleset in a file name. For house rules, this is the owner's name for them, never another
    person's; a general word if the owner has given no name, or the store cannot be read."""
    with suppress(StoreError):
        return rules_word(ruleset, store.rules_names(own=True).get(ruleset_hash(ruleset), ""))
    return rules_word(ruleset)


def files_by_match(home: Home) -> dict[bytes, TranscriptFile]:
    """Return the transcripts in a home by match id, the last written first.

    Of several transcripts of one match, the longest is returned, so that a truncated copy does not hide a complete one.
    """
    found: dict[bytes, TranscriptFile] = {}
    for file in sorted(transcripts(home), key=lambda each: written(each.path), reverse=True):
        if file.match not in found or _size(file.path) > _size(found[file.match].path):
            found[file.match] = file
    return found


def _size(path: Path) -> int:
    """Return the size of a file in bytes; -1 if it no longer exists."""
    try:
        return path.stat().st_size
    except OSError:
        return -1


def only_on_disk(
    files: Mapping[bytes, TranscriptFile], kept: Sequence[StoredMatch]
) -> Iterator[tuple[str, TranscriptFile]]:
    """Yield the matches that have only a transcript, because they were watched or forgotten, each with its name.

    :param files: all transcripts of the home.
    :param kept: all matches in the store.
    """
    known = {each.match for each in kept}
    ids = short_ids([*files, *known])
    for match, file in files.items():
        if match not in known:
            # A file from elsewhere may have any name.
            yield (file.path.stem if is_name(file.path.stem) else ids[match]), file


def transcript_named(home: Home, text: str) -> Path:
    """Return the path of the transcript that a person names for ``verify`` or ``replay``. The file may be damaged.

    These are tried in order: a file that exists; the file name of a transcript or proof in this home, without its
    folder; any unique beginning of a match id; ``last``, which is the match that ended last, played or watched, or, if
    none has ended, the one played last, or else the newest one watched; and the listed name of a match (day and table).

    :raises FileNotFoundError: if the text can only be a file name, and there is no such file.
    :raises NodeError: if no transcript or more than one has that name, or the match has no transcript yet.
    :raises StoreError: if the store is needed but unusable.
    """
    if os.path.lexists(text):
        return Path(text)
    wanted = text.strip().lower()
    if not is_name(wanted.removesuffix(TRANSCRIPT_SUFFIX)):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), text)
    file_name = f"{wanted.removesuffix(TRANSCRIPT_SUFFIX)}{TRANSCRIPT_SUFFIX}"
    for folder in (home.matches, home.path / PROOFS_FOLDER):
        if check_own(folder / file_name):
            return folder / file_name
    if wanted.endswith(TRANSCRIPT_SUFFIX):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), text)
    kept = files_by_match(home)
    if wanted != LAST and (named := meant(text, [(match, "") for match in kept])) is not None:
        return kept[named].path
    matches: Sequence[StoredMatch] = ()
    written_last = b""
    if home.store.exists():
        with read_store(home) as store:
            matches, written_last = store.matches(), store.written_last
    if wanted == LAST:
        finished = sorted((each for each in matches if each.over), key=lambda each: (-each.ended, -each.number))
        when_over = _when_over(finished[0], kept) if finished else -inf
        watched = [file.path for _, file in only_on_disk(kept, matches)]
        for path in watched:
            if written(path)[0] > when_over and winners_in(path) is not None:
                return path
        if watched and not matches:
            return watched[0]
        if finished:
            matches, written_last = finished, b""
    if not matches:
        if wanted == LAST:
            raise NodeError(ErrorCode.NO_MATCH, ("no match is kept in ", home.path), choices=BEGIN)
        reason: Parts = (f"there is no file {text} here, and no match in ", home.path, " has that name")
        raise NodeError(ErrorCode.NO_MATCH, reason, choices=SEE_MATCHES)
    stored = find(matches, text, written_last)
    if stored.match not in kept:
        save = f"p2pdice matches save {name_of(stored, matches)}"
        name = "the last match" if wanted == LAST else text
        missing = (f"{name} has no transcript yet", "Write down the match so far")
        if stored.over:  # backups contain matches without their transcripts
            missing = (f"the transcript of {name} is not here", "Write it again")
        raise NodeError(ErrorCode.NO_MATCH, missing[0], choices=((save, missing[1]),))
    return kept[stored.match].path


def winners_in(path: Path, mapped: Mapped = map) -> tuple[str, ...] | None:
    """Verify a transcript in a home; return the fingerprints of the winners, or None if the match does not end in it.

    If the transcript is unreadable or damaged, or shows misconduct, it names no winners, and counts as one with an end:
    whoever opens it sees what is wrong.

    :param mapped: as for :func:`protocol.consensus.verifier.verify`.
    """
    try:
        verdict = verify(read_own(path, TRANSCRIPT + 1), mapped)
    except OSError:
        return ()
    if verdict.verdict is Judgement.INCOMPLETE:
        return None
    return verdict.winner_fingerprints if verdict.verdict in (Judgement.FAIR, Judgement.UNPROVEN) else ()


def _when_over(stored: StoredMatch, kept: Mapping[bytes, TranscriptFile]) -> float:
    """Return when a match ended, in seconds since 1970; if its transcript is missing, return when it began."""
    return written(kept[stored.match].path)[0] if stored.match in kept else stored.created


def roster_index(stored: StoredMatch) -> int:
    """Return the roster index of the home's owner in a stored match.

    :raises MalformedGenesisError: if the genesis is malformed.
    :raises StoreError: if genesis, seed and match id do not fit together.
    """
    return _seat(stored)[0]


def owner(stored: StoredMatch) -> bytes:
    """Return the identity key that plays a stored match from this home.

    :raises MalformedGenesisError: if the genesis is malformed.
    :raises StoreError: if genesis, seed and match id do not fit together.
    """
    return _seat(stored)[1].join.identity


def _seat(stored: StoredMatch) -> tuple[int, JoinRecord]:
    # Signatures are checked when the match is resumed or shown.
    roster = unchecked_genesis(stored.genesis).roster
    key = MatchKey(stored.seed).public
    seat = next(((author, record) for author, record in enumerate(roster) if record.join.match_key == key), None)
    if seat is None or match_id(stored.genesis) != stored.match:
        raise DamagedMatchError("its seed or its genesis is that of another match")
    return seat


def unlock(home: Home, store: Store) -> tuple[Identity, bool]:
    """Return the identity of a home, and whether it was created just now. It is not created if matches are stored.

    :raises KeyFileError: if the key is unusable, or is missing although matches are stored.
    :raises StoreError: if the store cannot be read.
    """
    if not os.path.lexists(home.identity):
        for stored in store.matches():
            with suppress(MalformedGenesisError, StoreError):
                owned = "" if is_old(stored) else f", the key of {fingerprint(owner(stored))}"
                raise KeyFileError(
                    home.identity,
                    f" is missing{owned}: the matches that are kept here were begun with it; "
                    "put it back from a backup, or begin as somebody new in another folder: --home DIR",
                )
    return Identity.load_or_create(home.path)


def own_fingerprint(home: Home, matches: Callable[[], Sequence[StoredMatch]]) -> str:
    """Return the owner's fingerprint without asking for a passphrase; empty if neither key nor matches reveal it.

    :param matches: returns all matches in the store. It is called only if the key cannot be read.
    """
    with suppress(KeyFileError, OSError):
        return Identity.load(home.identity).fingerprint
    for stored in matches()[:1]:
        with suppress(MalformedGenesisError, StoreError):
            return fingerprint(owner(stored))
    return ""


def other_owners(home: Home, matches: Iterable[StoredMatch]) -> dict[bytes, str]:
    """Return the matches begun with a key other than the home's present one: the fingerprint of that key, by match id.
    The result is empty if the home's key cannot be read without a passphrase."""
    found: dict[bytes, str] = {}
    with suppress(KeyFileError, OSError):
        own = Identity.load(home.identity).public
        for stored in matches:
            with suppress(MalformedGenesisError, StoreError):
                if (begun := owner(stored)) != own:
                    found[stored.match] = fingerprint(begun)
    return found


def check_owner(home: Home, stored: StoredMatch, identity: Identity) -> None:
    """Check that a match was begun with this identity, as its seat belongs to that key.

    :raises NodeError: if it was begun with another key.
    :raises MalformedGenesisError: if the genesis is malformed.
    :raises StoreError: if the stored match is damaged.
    """
    if (begun := owner(stored)) != identity.public:
        ways = _ways_back(home, begun)
        put_back = "" if ways else f"put the {IDENTITY_FILE} of that time back from a backup: "
        raise NodeError(
            ErrorCode.FAILED,
            f"match {stored.match.hex()[:8]} was begun as {fingerprint(begun)}, "
            f"but the key of this home is now that of {identity.fingerprint}",
            f"{put_back}only its owner can return",
            ways,
        )


def _ways_back(home: Home, key: bytes) -> Choices:
    """Return the commands that could bring back a replaced key. If a readable file contains the key, that is the only
    command. Otherwise there is one for each file that may contain it but needs a passphrase."""
    locked = []
    for path in sorted(home.path.glob(f"{IDENTITY_FILE}.old-*")):
        try:
            if Identity.load(path).public == key:
                return ((("p2pdice identity restore ", path), "Go back to that key"),)
        except WrongPassphraseError:
            locked.append(path)
        except (KeyFileError, OSError):
            continue
    return tuple(
        (("p2pdice identity restore ", path), f"Go back to the key in {path.name}, if it is that one")
        for path in locked
    )


def describe(loss: Loss) -> str:
    """Describe a loss as a sentence without its full stop."""
    match = f"match {loss.match.hex()[:8]}"
    lost = f"the end of {match}, as it was stored," if loss.is_here else f"{match}, the last one played here,"
    return f"{lost} is missing: {STORE_FILE} or its log was damaged, removed or put back from a backup"


def transcript(store: Store, stored: StoredMatch) -> bytes:
    """Return the transcript of a stored match. An unfinished one shows which players are awaited.

    :raises NodeError: if the match belongs to another version of the protocol.
    :raises StoreError: if the stored match is damaged.
    """
    told = replica(store, stored)
    return write_transcript(told.history, told.proven.values())


def replica(store: Store, stored: StoredMatch) -> Replica:
    """Return the replica of a stored match.

    :raises NodeError: if the match belongs to another version of the protocol.
    :raises StoreError: if the stored match is damaged.
    """
    check_version(stored)
    try:
        found = Replica(stored.genesis, roster_index(stored))
        found.take_stored(store.messages(stored.match))
    except (PeerError, StoreError) as error:
        raise DamagedMatchError(f"the stored match is damaged: {error}") from None
    return found


def _genesis_of(path: Path) -> bytes | None:
    """Return the unchecked genesis from the header of a transcript; None if the file is unreadable or no transcript."""
    try:
        opened = open_transcript(read_own(path, _HEADER))
    except NotOwnError as error:
        log.warning("%s is passed over: %s", path, error.strerror)
        return None
    except (OSError, MalformedTranscriptError):
        return None
    return None if opened.is_proof else opened.genesis


def transcripts(home: Home, digits: str = "") -> Iterator[TranscriptFile]:
    """Yield the transcripts of a home. Other files and unreadable ones are skipped.

    :param digits: consider only files whose names contain these digits.
    """
    folder, start = home.matches, f"*{digits}" if digits else ""
    for path in sorted(folder.glob(f"{start}*{TRANSCRIPT_SUFFIX}")) if folder.is_dir() else ():
        if (genesis := _genesis_of(path)) is not None:
            yield TranscriptFile(match_id(genesis), path, genesis)


def transcript_of(home: Home, match: bytes) -> Path | None:
    """Return the path of a match's transcript in a home; None if there is none."""
    found = [each.path for each in transcripts(home, match.hex()[:SHORT_ID]) if each.match == match]
    return max(found, key=written, default=None)


def written(path: Path) -> tuple[float, str]:
    """Return a sort key for files: the time of the last write, then the name."""
    return path.stat().st_mtime, path.name


def transcript_path(home: Home, match: bytes, begun: int, rules: str) -> Path:
    """Return the path of a match's transcript, whether or not the file exists. A path is never used for two matches.

    :param begun: when the match began, in seconds since 1970.
    :param rules: the word for its rules, from :func:`protocol.storage.match_names.rules_word`.
    """
    if (found := transcript_of(home, match)) is not None:
        return found
    digits, start = match.hex(), f"{day(begun)}-{rules}"
    for length in range(SHORT_ID, len(digits) + 1):
        path = home.matches / f"{start}-{digits[:length]}{TRANSCRIPT_SUFFIX}"
        if not os.path.lexists(path):
            break
    return path


def files_about(home: Home, match: bytes) -> tuple[Path, ...]:
    """Return the files of a match outside the store: its transcripts, and proofs of misconduct in it."""
    own = (each.path for each in transcripts(home, match.hex()[:SHORT_ID]) if each.match == match)
    return (*own, *home.proofs(match))
