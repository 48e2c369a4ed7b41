"""All numbers that bound the work and the memory that peers cost this node, each with its reason.

Each heading names the modules that enforce its limits.

Lengths are in bytes unless a name says characters. Times are in seconds of a monotonic clock. A RATE is a number a
second in the long run; a BURST is a number at once (see :mod:`protocol.rate_limit`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

KIB: Final = 1024

# How many links a stranger may hold, and a player. Enforced by net/listener.py.
# A stranger is a peer outside the roster: one that has no seat at the table and, after a match, has not just played it.

LINKS_PER_ADDRESS: Final = 3
"""Links that strangers at one address may hold, so that one machine cannot take every place. Local links are exempt,
but count towards :data:`LINKS_OUTSIDE_ROSTER`. IPv6 addresses count whole, as all machines of a LAN may share their
first 64 bits. A machine with many of them meets :data:`LINKS_OUTSIDE_ROSTER`, and loses its links first."""
LINKS_OUTSIDE_ROSTER: Final = 16
"""Links that all strangers together may hold: an idle TLS link costs some 30 KiB."""
LINKS_PER_MEMBER: Final = 3
"""Links that one player may hold, who may return before the old link is found dead. One more displaces the oldest."""
REPLACEMENT: Final = 2.0
"""Seconds between two replacements of one identity's link: a copied key must not make a storm. Enforced by
net/mesh.py."""

# The handshake, before the peer is known. Enforced by net/listener.py and net/channel.py.

HANDSHAKE: Final = 5.0
"""Seconds from the TCP connection to WELCOME. A LAN takes milliseconds; a laptop that wakes up, perhaps a second."""
HANDSHAKES: Final = 16
"""TLS handshakes under way at once. One more ends the oldest of the address that has most of them."""
HANDSHAKE_RATE: Final = 5.0
"""Handshakes a second that one address of another machine may begin. A player who returns after a cut dials less
often."""
HANDSHAKE_BURST: Final = 20
"""Handshakes that one address may begin at once: all players of one machine may come together."""
HANDSHAKE_COST: Final = 0.005
"""Seconds of computing that count as one handshake; an honest one takes one to two milliseconds. A hostile one may take
more, and then counts as several."""
HANDSHAKE_HELLO: Final = 2 * KIB
"""The first TLS record from the peer, without certificates: some 300 bytes, with a post-quantum key share 1,500."""
HANDSHAKE_FROM_DIALLER: Final = KIB
"""The rest of the handshake from the side that dials: 500 bytes, with a certificate of 275 and its proof. OpenSSL would
take 100 KiB of certificates. A kilobyte costs from half a millisecond to 0.3 s, depending on what its author put in."""
HANDSHAKE_FROM_LISTENER: Final = KIB + 256
"""The same from the side that answers: 900 bytes, as it also asks for a certificate."""
HANDSHAKE_PIECES: Final = 32
"""Pieces in which a handshake may arrive. Each costs a pass of the event loop; two or three are the rule."""
FRAME_BEFORE_WELCOME: Final = 4 * KIB
"""The longest frame before WELCOME: a HELLO takes a hundred bytes. Enforced by net/link.py."""
ACCEPT_RATE: Final = 40.0
"""Handshakes a second that all other machines together may begin, as one machine can have any number of IPv6 addresses.
They take some 5 % of a core. Further connections wait in the system's queue."""
ACCEPT_BURST: Final = 100
"""Such handshakes at once."""
ACCEPT_PAUSE: Final = 0.05
"""Seconds without accepting after accepting failed: the system is out of descriptors or memory."""
REFUSAL_PAUSE: Final = 0.005
"""Seconds without accepting after a connection from an address that is over its rate."""
ADDRESSES_WATCHED: Final = 256
"""Addresses, or places, with an allowance of their own: where handshakes, packets, exchanges of short codes and
spectators come from, and what this node dials. An unused allowance is forgotten; further addresses share one."""
BACKLOG: Final = 64
"""Connections that wait in the system's queue. Further ones must knock again."""
KEYS_REMEMBERED: Final = 4096
"""Keys in the cache of :func:`~protocol.crypto.keys.is_strict_public_key`."""

# Bytes and messages. Enforced by net/link.py and net/channel.py.

FRAME: Final = 64 * KIB
"""The longest frame. The largest message is a page of history for catch-up, and pages are cut to fit."""
RATE: Final = 50.0
"""Messages a second from one peer over all its links: many times what people produce. Above it TCP slows the peer.
Strangers who come from one place count as one peer."""
BURST: Final = 200
"""Messages from one peer at once: a joint step of ten players with relays, or a reconnect, comes as one burst."""
PASS_ON_RATE: Final = 25.0
"""Votes a second of one author that a node passes on: to players who are not linked with the author, and to spectators.
Enforced by match/catch_up.py. What is beyond it, a node that can use it asks for: see :data:`PAGE`. Other messages are
one in a step, and have no such limit."""
PASS_ON_BURST: Final = 100
"""Such votes at once."""
PASSED_ON_RATE: Final = 2 * PASS_ON_RATE
"""Messages a second of one author that another player may relay without charge: twice what a node relays, as messages
bunch up on their way. Further ones count as the relaying player's own. Enforced by node/session.py."""
PASSED_ON_BURST: Final = 2 * PASS_ON_BURST
"""Such messages at once."""
FIRST_FRAMES: Final = 4
"""Frames of each link that never wait, though they count: a greeting and a request for a seat, or a short code's whole
exchange. So a stranger above the rate holds up nobody who comes from the same place."""
PEERS_PACED: Final = 256
"""Players, and places of strangers, with an allowance of their own; further ones share one."""
CATCH_UP_RATE: Final = 512 * KIB
"""Bytes a second of one peer's frames above :data:`FRAME_BEFORE_WELCOME`. Only answers to NEED are so long. They are
not counted as messages, as each carries hundreds of them."""
CATCH_UP_BURST: Final = 4 * KIB * KIB
"""Bytes of such frames at once: the history of a long match of ten players comes in one go."""
FRAMES_AT_ONCE: Final = 16
"""Frames of one link in one pass of the event loop. Then it is the turn of the other links, and of sending."""
THROTTLE: Final = 0.2
"""Seconds without reading when a peer is above its rate: then a few messages come through at once."""
STARTED_FRAME: Final = 10.0
"""Seconds in which a frame must be complete once it has begun: nobody keeps a buffer open by dripping bytes."""
OUTGOING_QUEUE: Final = 1024 * KIB
"""Bytes queued for one peer. A peer that reads nothing is cut off here and catches up later."""
KEEPALIVE: Final = 5.0
"""Seconds without sending after which a node sends an empty frame, so that silence means trouble."""
SILENCE: Final = 15.0
"""Seconds of silence after which a link is cut, three lost keepalives. TCP would notice in minutes."""
SHUTDOWN: Final = 2.0
"""Seconds that a closed link may take to send its queue before it is cut."""
TLS_PIECE: Final = 16 * KIB
"""Bytes that OpenSSL is given at once after the handshake: as many as one record can carry."""
TLS_WASTE: Final = 32 * KIB
"""Bytes from the peer that carry nothing: a record that is still on its way, and messages of TLS itself, such as new
keys. Nodes do not send those, and each takes some ten microseconds."""
LOOSE_RECORDS: Final = 8
"""TLS records beyond two for each frame and one for every 16 KiB of it; a frame on its way takes five. Each further one
counts as a message: it costs as much, though it may carry a single byte."""

# Dialling. Enforced by net/dialer.py and net/mesh.py.

ADDRESSES_PER_PEER: Final = 16
"""Addresses dialled side by side for one peer: anyone on the LAN can advertise thousands."""
ADDRESSES_REMEMBERED: Final = 4
"""Addresses remembered of a player: at home, at work, by cable and by radio. Enforced by storage/store.py."""
DIALS: Final = 48
"""Connections under way at once; further ones wait. A match of ten players with four addresses each needs thirty-six; a
system may allow a program no more than 256 descriptors."""
DIAL_RATE: Final = 20.0
"""Connections a second that a node begins: others tell it whom to dial, and where."""
DIAL_BURST: Final = 100
"""Such connections at once: nine players with up to eleven addresses each."""
DIAL_RATE_PER_ADDRESS: Final = 4.0
"""Connections a second to one address of another machine: nine players of one machine that are all away, each dialled
every three seconds. A player who names a third machine as their own must not make others besiege it."""
DIAL_BURST_PER_ADDRESS: Final = 32
"""Such connections at once: each of the nine is dialled a few times in the first second."""
BACKOFF: Final = (0.1, 0.2, 0.4, 0.8, 1.5, 3.0)
"""Seconds between two attempts to reach a wanted peer; the last one repeats."""

# Messages and histories. Enforced by wire/ and consensus/.

MESSAGE: Final = KIB
"""Signed bytes of a message: a move of the most characters, of four bytes each, has some nine hundred."""
GENESIS: Final = FRAME
"""A genesis travels in a frame. One of ten players with eight addresses each has some ten thousand bytes."""
PLAYERS: Final = 10
"""Seats at a table, as the rules have it."""
JOIN_ADDRESSES: Final = 8
"""Addresses in a join record: a laptop with a dock, Wi-Fi and a virtual network has five or six."""
STEPS: Final = 2**32
"""Steps of a match: as many as four bytes can count, and more than anybody plays."""
DEPTH: Final = 6
"""Arrays in arrays: a genesis, the deepest value, has four."""
ARRAY: Final = 1024
"""Items of an array: a page, the longest, has some three hundred messages. The decoder makes room for all items that
the header of an array announces: without this limit a few bytes would claim megabytes, at each level of nesting."""
FUTURE_PER_AUTHOR: Final = 16
"""Messages kept of one author for steps after the open one, as an author can be some turns ahead of what another link
has delivered. Messages that do not fit are asked for again."""
CHECKED: Final = 512
"""Messages in the cache of right signatures."""
TRANSCRIPT: Final = 64 * KIB * KIB
"""Bytes of a transcript: two thousand rounds of long bidding of ten players, where fifty are many. Judging one takes
little more memory than its size; replaying it, up to about fifteen times as much."""
EVIDENCE: Final = 64
"""Messages after the end of a transcript that are looked at: two for each player would do."""
STATES_APART: Final = 32
"""One in this many states of a match folded from a file is kept; the others are worked out from it."""

# Going on without somebody. Enforced by consensus/branches.py, consensus/ballot.py and match/waiting.py.

RELAY: Final = 0.5
"""Seconds between a majority of ABSENTs and the CLOSE that rests on it, and the patience with a convicted player. In
this time the votes reach all who are connected, so an equivocating voter is found out before anything is decided."""
IDS_PER_SLOT: Final = 2
"""Different messages kept of one author for one slot, or for one round and kind of votes: two prove equivocation."""
BRANCHES_PER_SLOT: Final = 12
"""Different messages kept of one author for one slot, if somebody has signed behind them: each of nine others may have
been told something else."""
BRANCHINGS: Final = 256
"""Ways to close one step that are looked at: two for each of eight players who have all signed two messages."""
VOTE_ROUNDS: Final = 3
"""Latest rounds with a polka whose votes are kept. A voter names the one that leads; a second one may lead again when
somebody is convicted."""
VOTE_ROUNDS_LATER: Final = 2
"""Latest rounds above the current one whose votes are kept of each author and kind: those who have gone on are in the
last round that a majority has closed, or in the next."""

# Catching up. Enforced by match/catch_up.py and match/match.py.

PAGE: Final = 48 * KIB
"""Bytes of messages in one answer to NEED; with its envelope it stays below :data:`FRAME`."""
NEED_RATE: Final = 8.0
"""Answers a second to one peer: useless answers must fill neither memory nor network."""
NEED_BURST: Final = 8
"""Answers to one peer at once."""
ASKERS: Final = 64
"""Peers whose requests are counted; see :data:`ADDRESSES_WATCHED` for further ones."""
WASTE_RATE: Final = 50.0
"""Messages a second in one peer's answers that bring the history no further: checking each takes a few tenths of a
millisecond. Above it that peer is asked for no more pages."""
WASTE_BURST: Final = 1500
"""Useless messages at once: all the votes since a LOCK that a node comes back to find."""
WASTE_KNOWN: Final = 0.1
"""How much of a useless message a known one counts: nobody checks its signature."""

# Patience. Enforced by match/waiting.py and net/interfaces.py. The genesis holds the patience of a match;
# PATIENCE_HUMAN and PATIENCE_AUTOMATIC are the defaults, which docs/playing.md and tests/protocol/test_limits.py name.

PATIENCE_HUMAN: Final = 120
"""Seconds for a choice that a person makes."""
PATIENCE_AUTOMATIC: Final = 15
"""Seconds for a message that a program sends by itself: as long as it takes to find a link dead."""
PATIENCE_BOUNDS: Final = (5, 3600)
"""Seconds that a host may propose: below, a slow link is called silence; above, nobody waits. Enforced by
wire/genesis.py."""
OVERSLEPT: Final = 2.0
"""A timer that fires this many seconds late slept with its machine: nobody can be blamed for the time in between."""
GRACE: Final = 3.0
"""Seconds that a program may take for an answer without being charged: a busy laptop, a Wi-Fi that drops out for a
moment."""
BANK: Final = 4
"""Further time for each player's program in all steps of a match together, in patiences for a program."""
REPRIEVES: Final = 3
"""How often in one step the return of a player's link lets patience with that player begin again."""

# Spoken words. Enforced by match/words.py and node/audience.py.

WORD: Final = KIB
"""Signed bytes of a word: the most characters, of four bytes each, have some nine hundred."""
WORD_RATE: Final = 1.0
"""Words a second that one player may say: faster than anybody reads."""
WORD_BURST: Final = 5
"""Words that one player may say at once."""
WORD_BURST_HEARD: Final = 8
"""Words of one author that are heard at once: words said within the limits may arrive closer together."""
FLOOR_RATE: Final = 4.0
"""Words a second at one table or in one match, of all authors: somebody who comes back with a new key is a new
author."""
FLOOR_BURST: Final = 20
"""Such words at once: everybody cheers at the end."""
FLOORS: Final = 16
"""Tables and matches whose words are counted: a node hears of three at a time at most."""
SPEAKERS: Final = 64
"""Authors whose last word is remembered: many more than sit together in an evening."""

# Spectators. Enforced by node/host.py, node/audience.py and node/watching.py.

SPECTATORS_OF_A_LOBBY: Final = 8
"""Half of :data:`LINKS_OUTSIDE_ROSTER`: a player who wants a seat finds a free link."""
SPECTATOR_PAGES: Final = 64
"""Answers to NEED for a spectator at once: 3 MiB, more than any usual match. Spectators from one place share them."""
SPECTATOR_PAGE_RATE: Final = 2.0
"""Further answers a second: they cost a player bandwidth."""
SPECTATOR_LINKS: Final = 3
"""Players that a spectator follows side by side. Each relays everything, so that any one of them would do."""

# Lengths of texts, in characters. Enforced by wire/, match/words.py and net/discovery.py.

TEXT_CHARACTERS: Final = 200
"""Names, reasons and versions in frames."""
MOVE_CHARACTERS: Final = 200
"""The longest move is a few dozen characters; the engine judges every text up to this length."""
WORD_CHARACTERS: Final = 200
"""What a player says at once: two or three lines of a terminal."""
NICKNAME_CHARACTERS: Final = 20
"""Two names and the words between them fit on a line."""
COMBINING_MARKS: Final = 2
"""Marks on one character: more would stand on top of each other and cover the lines around."""
TABLE_NAME_CHARACTERS: Final = 40
"""At most 160 bytes, where an entry of a TXT record has 255."""
RULES_CHARACTERS: Final = 40
"""The name of a ruleset or the start of its hash, as a table advertises it."""
RULES_NAME_CHARACTERS: Final = 31
"""The name of house rules. In an advertisement a space and eight digits of their hash follow."""
TOKEN_CHARACTERS: Final = 32
"""The secret of a private table's join line. The programs that make one use sixteen."""
RULES_NAMES_REMEMBERED: Final = 256
"""Names of house rules that hosts of other tables have given; those learned first are forgotten first. Enforced by
storage/store.py."""

# Lobbies, and forming a match. Enforced by node/host.py, node/guest.py, node/playing.py and match/lobby.py.

JOIN_RATE: Final = 2.0
"""Seats a second that a host gives. Each may end a proposed match and begin another, in which all players at the table
sign. A guest who asks too soon waits, with the latest request only, and keeps nobody out."""
JOIN_BURST: Final = 20
"""Seats given at once: everybody sits down, and some of them twice."""
SEATS_ASKED: Final = 3
"""Newcomers about whom a host's person is asked at the same time, one from each address."""
SEAT_ASKED: Final = 120.0
"""Seconds that a host's person has to answer. Then the newcomer is refused."""
QUESTION_RATE: Final = 1 / 60
"""Questions a second about newcomers from one place: identities are free."""
QUESTION_BURST: Final = 3
"""Such questions at once."""
KNOWN_BY_NAME: Final = 256
"""Names that are kept of people who were shown at a table: a host can show any number."""
LOBBY_RATE: Final = 6.0
"""Changes of a table and proposals a second that a guest or a spectator takes from a host. An honest host sends three
for each seat that it gives. Above the rate the table is left: each frame costs signatures or is told to the owner."""
LOBBY_BURST: Final = 100
"""Such frames at once: those of an honest host for :data:`JOIN_BURST` seats, and after a silence of the link."""

AWAY_TOLD: Final = 1.0
"""Seconds after which a spectator is told which players are out of reach."""
WATCHERS_TOLD: Final = 1.0
"""Seconds after which a change of those who watch is told: a link may only have been replaced."""

UNSIGNED: Final = 15.0
"""Seconds for which a host waits for one guest's signatures, in all proposals together: see :data:`SILENCE`."""
LINK_LOST: Final = 2.0
"""Seconds that host and guest wait for each other if their link is lost while a match forms."""
FAILURES: Final = 3
"""Failed guests after whom the host seats nobody new: else newcomers could keep a match from forming."""
ASK_OTHERS: Final = 2.0
"""Seconds from the COMMIT that binds a guest until it dials the other players: most hosts have answered by then."""
BOUND: Final = 30.0
"""Seconds for which a bound guest waits for its match: longer than an honest host waits for other guests."""
PROPOSALS: Final = 32
"""Proposals in which a guest signs COMMIT with one join record, and given-up ones that are kept: a host could make them
without end. An honest one makes three, and two for each guest."""

# Short codes. Enforced by node/door.py and node/inquiry.py.

CODE_TRIES: Final = 3
"""Wrong tries that close a short code, and players that a guest's program tries for one typed code. Each is one guess
among four million, and people mistype a word now and then."""
CODE_RATE: Final = 8.0
"""Exchanges a second that a host takes part in: together they take a tenth of a core. Further ones wait, two seconds at
most, as only so many links may wait."""
CODE_BURST: Final = 10
"""Exchanges at once: everybody at the table types the code."""
CODE_RATE_PER_PLACE: Final = 0.1
"""Failed exchanges of one place that are forgotten per second: those with a wrong proof, or none. A place with more of
them has its turn after all others."""
CODE_BURST_PER_PLACE: Final = 5
"""Failed exchanges that cost a place nothing yet: people mistype a code, and lose a connection."""
CODE_BREAKS: Final = 5
"""Exchanges broken off for one code after which the host is told, once."""
CODE_SEARCH: Final = 20.0
"""Seconds for which a guest tries all hosts that claim the number."""

# Discovery by multicast DNS. Enforced by net/mdns.py, net/discovery.py and node/locator.py.

DATAGRAM: Final = 1472
"""Bytes of a multicast packet that is read, as many as fit into one Ethernet frame. One table takes some 500."""
DATAGRAM_RATE: Final = 500.0
"""Multicast packets a second that are looked at, of all services of the network. One takes some 30 microseconds,
whatever its content. The system throws further ones away."""
DATAGRAM_BURST: Final = 1000
"""Such packets at once."""
DATAGRAM_REST: Final = 0.1
"""Seconds without reading after too many packets."""
HEARD_RATE: Final = 100.0
"""Packets a second that name the service and are therefore parsed. A full one takes a tenth of a millisecond."""
HEARD_BURST: Final = 600
"""Such packets at once: all tables of a full network answer one question."""
HEARD_RATE_PER_ADDRESS: Final = 50.0
"""Packets a second of one address that are parsed: a noisy sender must not drown out all others."""
HEARD_BURST_PER_ADDRESS: Final = 400
"""Such packets at once: many nodes may run on one machine."""
TABLES: Final = 256
"""Advertised tables kept: anyone on the LAN can invent more, and nobody reads a longer list."""
TABLES_ASKED_FOR: Final = 8
"""Tables whose details are asked for at once, each second. Further ones wait."""
TABLE_ANSWER: Final = 3.0
"""Seconds for which the name of a table is remembered without the details that make it one."""
TABLE_LIFE: Final = 4500
"""Seconds for which an advertised table is believed at most: as long as honest ones say (RFC 6762, §10)."""
LOOK: Final = 0.1
"""Seconds between two updates of the list of tables, however many there are."""
ADDRESSES_PER_NAME: Final = 4 * ADDRESSES_PER_PEER
"""Addresses advertised for the tables of one name; each of them is asked. One or two honest tables have fewer. With
more, none is asked, as nobody knows which are forged: a forger must not make others dial without end."""
FORMER_TABLES: Final = 256
"""Former advertisements kept, for names that change hands while a node looks for them. Honest tables change a few times
an hour. Above this no name is trusted."""
FORMER_LIFE: Final = 60.0
"""Seconds for which a former advertisement is kept: a person may take a while to choose from the list."""
ANSWER_INTERVAL: Final = 0.15
"""Seconds between two answers by multicast. RFC 6762 (§6) wants one second, for which a forger would have the field."""
KNOWN_ANSWERS: Final = 20
"""Tables that a question names as known, so that they do not answer: as many as fit into its packet."""

# Purses. Enforced by wire/purses.py, wire/frames.py and node/table_ledgers.py.

RECORDS: Final = 1024
"""Records in a purse, as many as an array holds. What is older is folded into one state."""
LEDGER: Final = 44 * KIB
"""Bytes of a purse: a record has some 26, the longest 56."""
SHOWN_LEDGER: Final = 60 * KIB
"""Bytes of a frame with a purse and its evidence, which takes some nine thousand for ten players."""
SOULS: Final = 15
"""Kinds of Twin Souls."""
LEDGER_RATE: Final = 2.0
"""Purses a second of one peer that are looked at: each has up to forty signatures, which take a hundredth of a
second."""
LEDGER_BURST: Final = 20
"""Such purses at once: everybody sits down, and is handed a purse back."""
LEDGERS_WAITING: Final = 32
"""Purses of one peer that wait for their turn; what comes above that is lost."""
TABLE_LEDGER_RATE: Final = 8.0
"""Purses a second that a host looks at, of all guests: a twelfth of a core."""
TABLE_LEDGER_BURST: Final = 90
"""At once: nine guests sit down, and each hands back some."""
REFUSED_RATE: Final = 0.1
"""Times a second, at most, that the host is told of a refused purse without a seat: a stranger can show any number."""
REFUSED_BURST: Final = 5
"""So often at once: for friends."""

# Disk. Enforced by crypto/keys.py and cli/home.py.

KEY_FILE_BYTES: Final = 64 * KIB
"""Bytes read of a key file, which has a few hundred."""
BACKUP: Final = KIB * KIB * KIB
"""Bytes of a backup: some thousands of matches."""
BACKUP_VALUE: Final = KIB * KIB
"""Bytes of one value in it: nothing that is stored is as long."""
BACKUP_OPERATIONS: Final = 20_000
"""Operations of SQLite to read the definitions of a backup's tables; it takes some hundred."""
LOG_BYTES: Final = 1_000_000
"""Bytes after which the log is put aside, once: a peer that causes warnings fills no disk."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits of the links of one node. Only tests and simulations use others than the defaults."""

    frame_before_welcome: int = FRAME_BEFORE_WELCOME
    frame: int = FRAME
    handshake: float = HANDSHAKE
    started_frame: float = STARTED_FRAME
    shutdown: float = SHUTDOWN
    keepalive: float = KEEPALIVE
    silence: float = SILENCE
    links_outside_roster: int = LINKS_OUTSIDE_ROSTER
    links_per_address: int = LINKS_PER_ADDRESS
    links_per_member: int = LINKS_PER_MEMBER
    handshakes: int = HANDSHAKES
    handshake_rate: float = HANDSHAKE_RATE
    handshake_burst: int = HANDSHAKE_BURST
    accept_rate: float = ACCEPT_RATE
    accept_burst: int = ACCEPT_BURST
    paces_own_machine: bool = False
    """Whether handshakes from this machine are counted too."""
    rate: float = RATE
    burst: int = BURST
    catch_up_rate: int = CATCH_UP_RATE
    catch_up_burst: int = CATCH_UP_BURST
    own_machine_rate: float | None = None
    """Messages a second from processes of this machine; None for no limit, as bots play faster than people."""
    outgoing_queue: int = OUTGOING_QUEUE
