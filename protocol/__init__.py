"""The agreement: how laptops that do not trust each other play one game.

Each name below is loaded when it is first used, so a program pays only for the names that it uses. Five more modules
are public:

- :mod:`protocol.events`: the events of a node
- :mod:`protocol.limits`: the bounds on its peers
- :mod:`protocol.version`: the sentence about a match of another version
- :mod:`protocol.storage.archive`: the matches of a home, without a node
- :mod:`protocol.storage.backup`: backups of a home
"""

from typing import TYPE_CHECKING

from p2pdice.facade import homes, load

if TYPE_CHECKING:
    from protocol.consensus.position import Stage
    from protocol.consensus.verifier import Judgement, Verdict, examine, verify
    from protocol.crypto.fingerprint_words import fingerprint_words, parse_words
    from protocol.crypto.keys import (
        IDENTITY_FILE,
        Identity,
        KeyFileError,
        WrongPassphraseError,
        fingerprint,
        is_protected,
        parse_fingerprint,
        read_private,
        replace_key_file,
        rewrite_key_file,
    )
    from protocol.crypto.short_code import looks_like_a_code
    from protocol.errors import (
        BEGIN,
        LOOK_ON,
        ErrorCode,
        LocalError,
        NodeError,
        Parts,
        PeerError,
        ProtocolError,
        RefuseCode,
    )
    from protocol.match.lobby import TableSettings
    from protocol.match.match import Match
    from protocol.match.progress import Clock, Progress
    from protocol.match.replay import ClosedStep, Replay
    from protocol.match.timeouts import Party
    from protocol.net.addresses import Address, format_address, parse_address
    from protocol.net.advertisement import LOBBY, PLAYING, Advertisement
    from protocol.net.loop import loop_factory
    from protocol.net.mdns import Discovery, DiscoveryUnavailable
    from protocol.net.sightings import Sighting
    from protocol.net.survey import Heard, Interface, addresses_in, check_port, interfaces, listen_around, reach
    from protocol.node.locator import called
    from protocol.node.node import Node
    from protocol.storage.home import (
        SETTINGS_FILE,
        Home,
        close_to_others,
        default_home,
        home_of,
        open_without_waiting,
        private_opener,
        write_whole,
    )
    from protocol.storage.people import Doubt, Person
    from protocol.storage.store import HomeInUseError, Store, StoredMatch, StoreError, hold
    from protocol.version import PROTOCOL_VERSION
    from protocol.wire.genesis import Genesis, MalformedGenesisError, Patience, parse_genesis, version_of
    from protocol.wire.nicknames import (
        BOT_MARKS,
        NicknameError,
        alike,
        check_nickname,
        is_marked_as_bot,
        is_unseen,
        outline,
    )
    from protocol.wire.rulesets import ruleset_hash, ruleset_label

_HOME = homes(
    {
        "crypto.fingerprint_words": "fingerprint_words parse_words",
        "crypto.keys": "IDENTITY_FILE Identity KeyFileError WrongPassphraseError fingerprint is_protected"
        " parse_fingerprint read_private replace_key_file rewrite_key_file",
        "crypto.short_code": "looks_like_a_code",
        "errors": "BEGIN LOOK_ON ErrorCode LocalError NodeError Parts PeerError ProtocolError RefuseCode",
        "match.lobby": "TableSettings",
        "match.match": "Match",
        "consensus.position": "Stage",
        "match.progress": "Clock Progress",
        "match.replay": "ClosedStep Replay",
        "match.timeouts": "Party",
        "consensus.verifier": "Judgement Verdict examine verify",
        "net.addresses": "Address format_address parse_address",
        "net.advertisement": "LOBBY PLAYING Advertisement",
        "net.loop": "loop_factory",
        "net.mdns": "Discovery DiscoveryUnavailable",
        "net.sightings": "Sighting",
        "net.survey": "Heard Interface addresses_in check_port interfaces listen_around reach",
        "node.locator": "called",
        "node.node": "Node",
        "storage.home": "SETTINGS_FILE Home close_to_others default_home home_of open_without_waiting private_opener"
        " write_whole",
        "storage.people": "Doubt Person",
        "storage.store": "HomeInUseError Store StoreError StoredMatch hold",
        "version": "PROTOCOL_VERSION",
        "wire.genesis": "Genesis MalformedGenesisError Patience parse_genesis version_of",
        "wire.nicknames": "BOT_MARKS NicknameError alike check_nickname is_marked_as_bot is_unseen outline",
        "wire.rulesets": "ruleset_hash ruleset_label",
    }
)

__all__ = [
    "BEGIN",
    "BOT_MARKS",
    "IDENTITY_FILE",
    "LOBBY",
    "LOOK_ON",
    "PLAYING",
    "PROTOCOL_VERSION",
    "SETTINGS_FILE",
    "Address",
    "Advertisement",
    "Clock",
    "ClosedStep",
    "Discovery",
    "DiscoveryUnavailable",
    "Doubt",
    "ErrorCode",
    "Genesis",
    "Heard",
    "Home",
    "HomeInUseError",
    "Identity",
    "Interface",
    "Judgement",
    "KeyFileError",
    "LocalError",
    "MalformedGenesisError",
    "Match",
    "NicknameError",
    "Node",
    "NodeError",
    "Parts",
    "Party",
    "Patience",
    "PeerError",
    "Person",
    "Progress",
    "ProtocolError",
    "RefuseCode",
    "Replay",
    "Sighting",
    "Stage",
    "Store",
    "StoreError",
    "StoredMatch",
    "TableSettings",
    "Verdict",
    "WrongPassphraseError",
    "addresses_in",
    "alike",
    "called",
    "check_nickname",
    "check_port",
    "close_to_others",
    "default_home",
    "examine",
    "fingerprint",
    "fingerprint_words",
    "format_address",
    "hold",
    "home_of",
    "interfaces",
    "is_marked_as_bot",
    "is_protected",
    "is_unseen",
    "listen_around",
    "looks_like_a_code",
    "loop_factory",
    "open_without_waiting",
    "outline",
    "parse_address",
    "parse_fingerprint",
    "parse_genesis",
    "parse_words",
    "private_opener",
    "reach",
    "read_private",
    "replace_key_file",
    "rewrite_key_file",
    "ruleset_hash",
    "ruleset_label",
    "verify",
    "version_of",
    "write_whole",
]


def __getattr__(name: str) -> object:
    return load(__name__, _HOME, name)
