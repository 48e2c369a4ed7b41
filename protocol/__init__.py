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

from p2pdice.facade import load, names

if TYPE_CHECKING:
    from protocol.consensus.position import Stage as Stage
    from protocol.consensus.verifier import Judgement as Judgement
    from protocol.consensus.verifier import Verdict as Verdict
    from protocol.consensus.verifier import examine as examine
    from protocol.consensus.verifier import verify as verify
    from protocol.crypto.fingerprint_words import fingerprint_words as fingerprint_words
    from protocol.crypto.fingerprint_words import parse_typed_fingerprint as parse_typed_fingerprint
    from protocol.crypto.keys import FINGERPRINT_CHARACTERS as FINGERPRINT_CHARACTERS
    from protocol.crypto.keys import IDENTITY_FILE as IDENTITY_FILE
    from protocol.crypto.keys import Identity as Identity
    from protocol.crypto.keys import KeyFileError as KeyFileError
    from protocol.crypto.keys import WrongPassphraseError as WrongPassphraseError
    from protocol.crypto.keys import fingerprint as fingerprint
    from protocol.crypto.keys import is_protected as is_protected
    from protocol.crypto.keys import parse_fingerprint as parse_fingerprint
    from protocol.crypto.keys import read_key as read_key
    from protocol.crypto.keys import read_private as read_private
    from protocol.crypto.keys import replace_key_file as replace_key_file
    from protocol.crypto.short_code import looks_like_a_code as looks_like_a_code
    from protocol.errors import BEGIN as BEGIN
    from protocol.errors import LOOK_ON as LOOK_ON
    from protocol.errors import ErrorCode as ErrorCode
    from protocol.errors import LocalError as LocalError
    from protocol.errors import NamesakeError as NamesakeError
    from protocol.errors import NodeError as NodeError
    from protocol.errors import Parts as Parts
    from protocol.errors import PeerError as PeerError
    from protocol.errors import ProtocolError as ProtocolError
    from protocol.errors import RefuseCode as RefuseCode
    from protocol.files import check_own as check_own
    from protocol.files import is_full as is_full
    from protocol.files import own_opener as own_opener
    from protocol.files import probe_openness as probe_openness
    from protocol.files import read_outside as read_outside
    from protocol.files import read_own as read_own
    from protocol.files import write_own as write_own
    from protocol.files import write_whole as write_whole
    from protocol.match.lobby import TableSettings as TableSettings
    from protocol.match.match import Match as Match
    from protocol.match.progress import Clock as Clock
    from protocol.match.progress import Progress as Progress
    from protocol.match.replay import ClosedStep as ClosedStep
    from protocol.match.replay import Replay as Replay
    from protocol.match.timeouts import Party as Party
    from protocol.net.addresses import Address as Address
    from protocol.net.addresses import format_address as format_address
    from protocol.net.addresses import parse_address as parse_address
    from protocol.net.advertisement import LOBBY as LOBBY
    from protocol.net.advertisement import PLAYING as PLAYING
    from protocol.net.advertisement import Advertisement as Advertisement
    from protocol.net.interfaces import Interface as Interface
    from protocol.net.interfaces import interfaces as interfaces
    from protocol.net.loop import loop_factory as loop_factory
    from protocol.net.mdns import Discovery as Discovery
    from protocol.net.mdns import DiscoveryUnavailable as DiscoveryUnavailable
    from protocol.net.sightings import Sighting as Sighting
    from protocol.net.survey import Heard as Heard
    from protocol.net.survey import addresses_in as addresses_in
    from protocol.net.survey import check_port as check_port
    from protocol.net.survey import listen_around as listen_around
    from protocol.net.survey import reach_host as reach_host
    from protocol.node.locator import tables_called as tables_called
    from protocol.node.node import Node as Node
    from protocol.node.purse import PurseKeeper as PurseKeeper
    from protocol.storage.home import Home as Home
    from protocol.storage.home import NoHomeError as NoHomeError
    from protocol.storage.home import close_to_others as close_to_others
    from protocol.storage.home import default_home as default_home
    from protocol.storage.home import default_settings as default_settings
    from protocol.storage.home import home_of as home_of
    from protocol.storage.people import Mismatch as Mismatch
    from protocol.storage.people import Person as Person
    from protocol.storage.purses import OwnPurse as OwnPurse
    from protocol.storage.store import DamagedPurseError as DamagedPurseError
    from protocol.storage.store import DamagedStoreError as DamagedStoreError
    from protocol.storage.store import HomeInUseError as HomeInUseError
    from protocol.storage.store import Store as Store
    from protocol.storage.store import StoredMatch as StoredMatch
    from protocol.storage.store import StoreError as StoreError
    from protocol.storage.store import hold_file as hold_file
    from protocol.storage.voiding import Voiding as Voiding
    from protocol.storage.voiding import void_lines as void_lines
    from protocol.version import PROTOCOL_VERSION as PROTOCOL_VERSION
    from protocol.wire.frames import Customs as Customs
    from protocol.wire.genesis import Genesis as Genesis
    from protocol.wire.genesis import MalformedGenesisError as MalformedGenesisError
    from protocol.wire.genesis import Patience as Patience
    from protocol.wire.genesis import parse_genesis as parse_genesis
    from protocol.wire.genesis import unchecked_genesis as unchecked_genesis
    from protocol.wire.genesis import version_of as version_of
    from protocol.wire.lookalikes import outline as outline
    from protocol.wire.lookalikes import which_are_alike as which_are_alike
    from protocol.wire.nicknames import BOT_MARKS as BOT_MARKS
    from protocol.wire.nicknames import NicknameError as NicknameError
    from protocol.wire.nicknames import check_nickname as check_nickname
    from protocol.wire.nicknames import is_marked_as_bot as is_marked_as_bot
    from protocol.wire.nicknames import is_shown as is_shown
    from protocol.wire.nicknames import table_name_flaw as table_name_flaw
    from protocol.wire.rulesets import is_rules_name as is_rules_name
    from protocol.wire.rulesets import ruleset_hash as ruleset_hash
    from protocol.wire.rulesets import ruleset_label as ruleset_label


def __getattr__(name: str) -> object:
    return load(__name__, name)


def __dir__() -> list[str]:
    return names(__name__)
