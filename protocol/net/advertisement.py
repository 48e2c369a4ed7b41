"""The advertisement of a table by multicast DNS: entries of a TXT record (RFC 6763, §6), which anybody can forge."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from protocol.limits import PLAYERS, RULES_CHARACTERS
from protocol.wire.nicknames import flaw, is_table_name

SERVICE_TYPE: Final = "_p2pdice._tcp.local."

LOBBY: Final = "lobby"
PLAYING: Final = "playing"
PRIVATE: Final = "private"
"""An open table that is not told: only its number is, for those who have its short code."""


@dataclass(frozen=True, slots=True)
class Advertisement:
    """A table's description of itself. Anybody can forge it: escape its texts for a terminal."""

    id: str
    """The table's or the running match's id, 8 to 64 hexadecimal digits."""
    name: str
    """1 to 40 characters."""
    rules: str
    """Name of the ruleset or the start of its hash, 1 to 40 characters."""
    seats_taken: int
    seats: int
    status: str
    """:data:`LOBBY`, :data:`PLAYING` or :data:`PRIVATE`."""
    version: int
    """Version of the protocol. A table of another version is listed, though it cannot be joined."""
    number: int = 0
    """The number of its short code, 1 to 999; 0 if it has none."""

    def to_txt(self) -> dict[str, str]:
        """Return the TXT entries; :meth:`from_txt` reads them.

        :raises ValueError: if a field is not one that :meth:`from_txt` would accept.
        """
        txt = {
            "v": str(self.version),
            "id": self.id,
            "n": self.name,
            "rules": self.rules,
            "seats": f"{self.seats_taken}/{self.seats}",
            "st": self.status,
        }
        if self.number:
            txt["no"] = str(self.number)
        if Advertisement.from_txt({key.encode(): value.encode() for key, value in txt.items()}) != self:
            raise ValueError(f"not a table that can be advertised: {self!r}")
        return txt

    @classmethod
    def from_txt(cls, txt: Mapping[bytes, bytes | None]) -> Advertisement | None:
        """Read TXT entries, or return None unless every entry is there and has the one form that is written.

        The number may be missing. Entries with other keys are passed over.

        >>> Advertisement.from_txt({b"v": b"1", b"id": b"00c0ffee", b"n": b"Friday", b"rules": b"classic",
        ...                         b"seats": b"2/4", b"st": b"lobby"}).name
        'Friday'
        """
        try:
            version, table_id, name, rules, seats, status, of_code = (
                (txt.get(key) or b"").decode() for key in (b"v", b"id", b"n", b"rules", b"seats", b"st", b"no")
            )
        except UnicodeDecodeError:
            return None
        places = _SEATS.fullmatch(seats)
        if not (
            _VERSION.fullmatch(version)
            and _ID.fullmatch(table_id)
            and is_table_name(name)
            and 0 < len(rules) <= RULES_CHARACTERS
            and not flaw(rules)
            and places
            and status in (LOBBY, PLAYING, PRIVATE)
            and (_NUMBER.fullmatch(of_code) or b"no" not in txt)
        ):
            return None
        taken, of = int(places[1]), int(places[2])
        if not (taken <= of and 2 <= of <= PLAYERS):
            return None
        return cls(table_id, name, rules, taken, of, status, int(version), int(of_code or 0))

    @classmethod
    def from_record(cls, data: bytes) -> Advertisement | None:
        """Read the data of a TXT record: entries of a length and as many bytes, ``key`` or ``key=value``.

        Of entries with one key the first counts (RFC 6763, §6.4).

        >>> Advertisement.from_record(b"\\x03v=1\\x05n=Eve") is None
        True
        """
        entries: dict[bytes, bytes | None] = {}
        while data:
            entry, data = data[1 : 1 + data[0]], data[1 + data[0] :]
            key, separator, value = entry.partition(b"=")
            entries.setdefault(key, value if separator else None)
        return cls.from_txt(entries)


_VERSION: Final = re.compile("[1-9][0-9]{0,3}")
_NUMBER: Final = re.compile("[1-9][0-9]{0,2}")
_ID: Final = re.compile("[0-9a-f]{8,64}")
_SEATS: Final = re.compile("(0|[1-9][0-9]?)/([1-9][0-9]?)")
