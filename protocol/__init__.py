"""The agreement: how laptops that do not trust each other play one game.

Each name below is loaded when it is first used, so a program pays only for the names that it uses. Two more modules are
public: :mod:`protocol.events` has what a node tells, :mod:`protocol.limits` has what a peer can make it do.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from protocol.consensus.position import Stage
    from protocol.consensus.verifier import Judgement, Verdict, examine, verify
    from protocol.crypto.keys import IDENTITY_FILE, Identity, KeyFileError, fingerprint, parse_fingerprint
    from protocol.errors import ErrorCode, LocalError, NodeError, PeerError, ProtocolError, RefuseCode
    from protocol.match.lobby import TableSettings
    from protocol.match.match import Match
    from protocol.match.progress import Clock, Progress
    from protocol.match.replay import Replay
    from protocol.match.timeouts import Party
    from protocol.net.addresses import Address, format_address, parse_address
    from protocol.net.advertisement import LOBBY, PLAYING, Advertisement
    from protocol.net.loop import loop_factory
    from protocol.net.mdns import Discovery, DiscoveryUnavailable
    from protocol.net.sightings import Sighting
    from protocol.node.locator import called
    from protocol.node.node import Node
    from protocol.storage.home import Home, default_home
    from protocol.storage.store import Store, StoredMatch, StoreError
    from protocol.version import PROTOCOL_VERSION
    from protocol.wire.genesis import MalformedGenesisError, Patience, parse_genesis, version_of
    from protocol.wire.nicknames import NicknameError, alike, check_nickname, is_unseen, outline
    from protocol.wire.rulesets import ruleset_hash, ruleset_label

_HOME = {
    name: module
    for module, names in {
        "crypto.keys": "IDENTITY_FILE Identity KeyFileError fingerprint parse_fingerprint",
        "errors": "ErrorCode LocalError NodeError PeerError ProtocolError RefuseCode",
        "match.lobby": "TableSettings",
        "match.match": "Match",
        "consensus.position": "Stage",
        "match.progress": "Clock Progress",
        "match.replay": "Replay",
        "match.timeouts": "Party",
        "consensus.verifier": "Judgement Verdict examine verify",
        "net.addresses": "Address format_address parse_address",
        "net.advertisement": "LOBBY PLAYING Advertisement",
        "net.loop": "loop_factory",
        "net.mdns": "Discovery DiscoveryUnavailable",
        "net.sightings": "Sighting",
        "node.locator": "called",
        "node.node": "Node",
        "storage.home": "Home default_home",
        "storage.store": "Store StoreError StoredMatch",
        "version": "PROTOCOL_VERSION",
        "wire.genesis": "MalformedGenesisError Patience parse_genesis version_of",
        "wire.nicknames": "NicknameError alike check_nickname is_unseen outline",
        "wire.rulesets": "ruleset_hash ruleset_label",
    }.items()
    for name in names.split()
}

__all__ = [
    "IDENTITY_FILE",
    "LOBBY",
    "PLAYING",
    "PROTOCOL_VERSION",
    "Address",
    "Advertisement",
    "Clock",
    "Discovery",
    "DiscoveryUnavailable",
    "ErrorCode",
    "Home",
    "Identity",
    "Judgement",
    "KeyFileError",
    "LocalError",
    "MalformedGenesisError",
    "Match",
    "NicknameError",
    "Node",
    "NodeError",
    "Party",
    "Patience",
    "PeerError",
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
    "alike",
    "called",
    "check_nickname",
    "default_home",
    "examine",
    "fingerprint",
    "format_address",
    "is_unseen",
    "loop_factory",
    "outline",
    "parse_address",
    "parse_fingerprint",
    "parse_genesis",
    "ruleset_hash",
    "ruleset_label",
    "verify",
    "version_of",
]


def __getattr__(name: str) -> object:
    if name in _HOME:
        value: object = getattr(import_module(f"protocol.{_HOME[name]}"), name)
        globals()[name] = value  # so that the next use does not come here
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
