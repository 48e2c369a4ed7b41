"""What survives a crash and a power cut: a journal of transactions in memory, or the real store, and how either fails.

A process that dies loses what it had not written. A power cut also takes what was written and not synchronized.
"""

from __future__ import annotations

import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from enum import Enum
from pathlib import Path
from typing import Final, NamedTuple

from protocol.consensus.kinds import parse_signed
from protocol.storage.database import StoreError
from protocol.storage.store import Store
from protocol.wire.messages import VOTES, Signed

_FULL: Final = 2
"""The ``synchronous`` of SQLite from which on a commit is synchronized before it is confirmed."""
Point = Callable[[str], None]
"""Called at every place at which a process can die; it may raise."""


class Trouble(Enum):
    """How the next write fails."""

    NONE = "none"
    REFUSED = "refused"
    """Nothing is written."""
    UNCONFIRMED = "unconfirmed"
    """The data is written, but the system reports an error."""


class Stored(NamedTuple):
    """The contents of a disk that a starting node finds."""

    messages: tuple[Signed, ...]
    choices: dict[int, str]
    is_over: bool
    is_said_to_lack: bool = False
    """Whether the note beside the store counts more messages than the store contains."""


def sizes_of(messages: Iterable[Signed]) -> dict[bytes, int]:
    """Return the sizes of messages in bytes, by id."""
    return {signed.id: len(signed.data) + len(signed.signature) for signed in messages}


def votes_among(messages: Iterable[Signed]) -> dict[bytes, int]:
    """Return the sizes of all votes among messages, by id."""
    return sizes_of(signed for signed in messages if signed.message.kind in VOTES)


class Disk(ABC):
    """One node's disk. Every write is a transaction, which survives a crash completely or not at all."""

    def __init__(self) -> None:
        self.point: Point = lambda name: None
        self.trouble = Trouble.NONE
        self.is_full = False
        self.own: set[bytes] = set()
        """The ids of all messages safely stored on this disk since the process started or a backup was restored."""
        self.sizes: dict[bytes, int] = {}
        """The sizes in bytes of the messages on this disk, by id."""
        self.votes: dict[bytes, int] = {}
        """The sizes of the votes among these messages, by id."""

    def write(self, messages: Iterable[Signed]) -> None:
        """Store messages in one transaction. :raises StoreError: if they are not known to be stored."""
        batch = tuple(messages)
        self._guarded("store", lambda: self._write(batch))
        self.own |= {signed.id for signed in batch}
        self.sizes |= sizes_of(batch)
        self.votes |= votes_among(batch)

    def replace(self, messages: Iterable[Signed]) -> None:
        """Store messages in place of all others. :raises StoreError: if they are not known to be stored."""
        batch = tuple(messages)
        self._guarded("store", lambda: self._replace(batch))
        self.own |= {signed.id for signed in batch}
        self.sizes = sizes_of(batch)
        self.votes = votes_among(batch)

    def add_choice(self, step: int, text: str) -> None:
        """Store a choice of the owner. :raises StoreError: if it is not known to be stored."""
        self._guarded("choice", lambda: self._add_choice(step, text))

    def mark_formed(self) -> None:
        """The match exists. :raises StoreError: if that is not known to be stored."""
        self._guarded("formed", self._mark_formed)

    def mark_over(self) -> None:
        """The match has ended. :raises StoreError: if that is not known to be stored."""
        self._guarded("over", self._mark_over)

    def _guarded(self, name: str, commit: Callable[[], None]) -> None:
        with self.guarding(name):
            self.point(f"before commit of {name}")
            commit()

    @contextmanager
    def guarding(self, name: str) -> Iterator[None]:
        """Let a write meet the trouble that is due. :raises StoreError: if it is not known to be stored."""
        self.point(f"before {name}")
        trouble, self.trouble = self.trouble, Trouble.NONE
        if self.is_full or trouble is Trouble.REFUSED:
            raise StoreError("disk full")
        yield
        if trouble is Trouble.UNCONFIRMED:
            raise StoreError("input/output error")
        self.point(f"after {name}")

    @abstractmethod
    def _write(self, messages: tuple[Signed, ...]) -> None: ...

    @abstractmethod
    def _replace(self, messages: tuple[Signed, ...]) -> None: ...

    @abstractmethod
    def _add_choice(self, step: int, text: str) -> None: ...

    @abstractmethod
    def _mark_formed(self) -> None: ...

    @abstractmethod
    def _mark_over(self) -> None: ...

    @abstractmethod
    def load(self) -> Stored:
        """Open the disk after a start."""

    @abstractmethod
    def lose(self, share: float) -> None:
        """Restore a backup without the last transaction and the newest share (0 to 1) of all others."""

    def close(self) -> None:  # noqa: B027 - nothing to do in memory
        """Release the disk."""

    def lose_power(self) -> None:  # noqa: B027 - a journal in memory has only what was synchronized
        """Lose all unsynchronized writes, after the disk was released."""


class MemoryDisk(Disk):
    """A journal of transactions, each synchronized before it is confirmed."""

    def __init__(self) -> None:
        super().__init__()
        self._journal: list[tuple[str, object]] = []

    def _write(self, messages: tuple[Signed, ...]) -> None:
        self._journal.append(("messages", tuple(signed.wire for signed in messages)))

    def _replace(self, messages: tuple[Signed, ...]) -> None:
        self._journal.append(("instead", tuple(signed.wire for signed in messages)))

    def _add_choice(self, step: int, text: str) -> None:
        self._journal.append(("choice", (step, text)))

    def _mark_formed(self) -> None:
        self._journal.append(("formed", None))

    def _mark_over(self) -> None:
        self._journal.append(("over", None))

    def load(self) -> Stored:
        messages: list[Signed] = []
        choices: dict[int, str] = {}
        is_over = False
        for kind, content in self._journal:
            if kind in ("messages", "instead"):
                assert isinstance(content, tuple)
                if kind == "instead":
                    messages.clear()
                messages += [parse_signed(*wire) for wire in content]
            elif kind == "choice":
                assert isinstance(content, tuple)
                choices[content[0]] = content[1]
            is_over = is_over or kind == "over"
        self.own = {signed.id for signed in messages}
        self.sizes = sizes_of(messages)
        self.votes = votes_among(messages)
        return Stored(tuple(messages), choices, is_over)

    def lose(self, share: float) -> None:
        del self._journal[max(0, len(self._journal) - 1 - int(share * len(self._journal))) :]
        self.load()  # what is gone is on this disk no more, also before its owner starts again

    def copy(self) -> MemoryDisk:
        """Return a copy, such as that in a copied home."""
        other = MemoryDisk()
        other._journal = list(self._journal)
        return other


class SqliteDisk(Disk):
    """The real store in a real file."""

    def __init__(self, path: Path, match: bytes, genesis: bytes, match_key: bytes, seed: bytes) -> None:
        super().__init__()
        self._path = path
        self._match = match
        self._synchronized: bytes | None = None
        """The database at its last synchronization, if anything was written since."""
        self._store: Store | None = Store(path)
        self._store.add_seed(match_key, seed)
        self._store.add_match(match, genesis, match_key, 0, 7000)

    @property
    def _open(self) -> Store:
        if self._store is None:
            self._store = Store(self._path)
        return self._store

    @contextmanager
    def guarding(self, name: str) -> Iterator[None]:
        connection = self._open.database.connection
        if self._synchronized is None and connection.execute("PRAGMA synchronous").fetchone()[0] < _FULL:
            with closing(sqlite3.connect(":memory:")) as copy:
                connection.backup(copy)
                self._synchronized = copy.serialize()
        with super().guarding(name):
            yield

    def _write(self, messages: tuple[Signed, ...]) -> None:
        self._open.write(self._match, messages)

    def _replace(self, messages: tuple[Signed, ...]) -> None:
        self._open.replace(self._match, messages)

    def _add_choice(self, step: int, text: str) -> None:
        self._open.add_choice(self._match, step, text)

    def _mark_formed(self) -> None:
        self._open.mark_formed(self._match)

    def _mark_over(self) -> None:
        self._open.mark_over(self._match)

    def load(self) -> Stored:
        self.close()  # the process that had it open is dead
        store = self._open
        (known,) = store.matches()
        messages = store.messages(self._match)
        self.own = {signed.id for signed in messages}
        self.sizes = sizes_of(messages)
        self.votes = votes_among(messages)
        return Stored(messages, store.choices(self._match), known.over, store.loss is not None)

    def lose(self, share: float) -> None:
        raise NotImplementedError("backups are taken of the journal in memory")

    def close(self) -> None:
        if self._store is not None:
            self._store.close()
            self._store = None

    def lose_power(self) -> None:
        # The note may reach the disk before the commits that it counts, because nothing orders the two.
        if self._synchronized is not None:
            self._path.write_bytes(self._synchronized)
            self._path.with_name(f"{self._path.name}-wal").unlink(missing_ok=True)
            self._synchronized = None
