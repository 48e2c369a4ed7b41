"""All limits on the work and memory that peers can cost this node, each with its reason.

Each heading names the modules that enforce its limits.

Lengths are in bytes unless a name says characters. Times are in seconds of a monotonic clock. A RATE is a long-term
number per second, and a BURST is a number allowed at once (see :mod:`protocol.rate_limit`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

KIB: Final = 1024

# Links per stranger and per player. Enforced by net/listener.py.
# A stranger is a peer outside the roster: it has no seat at the table and, after a match, did not play in it.

LINKS_PER_ADDRESS: Final = 3
"""Links of strangers at one address, so that one machine cannot take every place. Local links are exempt here, but
count towards :data:`LINKS_OUTSIDE_ROSTER`. IPv6 addresses are not grouped by their first 64 bits, which all machines of
a LAN may share. A machine with many addresses is limited by :data:`LINKS_OUTSIDE_ROSTER` and displaced first."""
LINKS_OUTSIDE_ROSTER: Final = 16
"""Links of all strangers together. An idle TLS link takes about 30 KiB."""
LINKS_PER_MEMBER: Final = 3
"""Links of one player, who may return before the old link is known to be dead. A further link replaces the one with
the lowest :class:`~protocol.net.link.LinkUse`; among equals, the oldest."""
REPLACEMENT: Final = 2.0
"""Seconds between two replacements of one identity's link, so that two programs with copies of one key cannot displace
each other in a rapid loop. Enforced by net/mesh.py."""

# The handshake, while the peer is unknown. Enforced by net/listener.py and net/channel.py.

HANDSHAKE: Final = 5.0
"""Seconds from the TCP connection to WELCOME. It takes milliseconds on a LAN, or a second if a laptop is waking up."""
HANDSHAKES: Final = 16
"""Concurrent TLS handshakes. A further one ends the oldest from the place with the most handshakes."""
HANDSHAKE_RATE: Final = 5.0
"""Handshakes per second from one address of another machine. A player who returns after an interruption dials less
often."""
HANDSHAKE_BURST: Final = 20
"""Handshakes from one address at once: all players on one machine may connect together."""
HANDSHAKE_COST: Final = 0.005
"""Computing time in seconds that counts as one handshake. An honest handshake takes 1 to 2 ms; a hostile one may take
longer, and then counts as several."""
HANDSHAKE_HELLO: Final = 2 * KIB
"""The first TLS record from the peer, before certificates: about 300 bytes, or 1,500 with a post-quantum key."""
HANDSHAKE_FROM_DIALLER: Final = KIB
"""The rest of the handshake from the dialler: 500 bytes, with a certificate of 275 and its proof. OpenSSL would accept
100 KiB of certificates. Each kilobyte costs from half a millisecond to 0.3 s, depending on its content."""
HANDSHAKE_FROM_LISTENER: Final = KIB + 256
"""The rest of the handshake from the side that was dialled: 900 bytes, because it also requests a certificate."""
HANDSHAKE_PIECES: Final = 32
"""Pieces in which a handshake may arrive. Each costs a pass of the event loop; two or three are usual."""
FRAME_BEFORE_WELCOME: Final = 4 * KIB
"""The longest frame before WELCOME. A HELLO takes 100 bytes. Enforced by net/link.py."""
ACCEPT_RATE: Final = 40.0
"""Handshakes per second from all other machines together, because one machine can have any number of IPv6 addresses.
They take about 5 % of a core. Further connections wait in the system's queue."""
ACCEPT_BURST: Final = 100
"""Handshakes from all other machines at once."""
ACCEPT_PAUSE: Final = 0.05
"""Pause in seconds after accepting a connection failed, when the system has run out of descriptors or memory."""
REFUSAL_PAUSE: Final = 0.005
"""Pause in seconds after a connection from an address that exceeds its rate."""
ADDRESSES_WATCHED: Final = 256
"""Addresses or places with a separate allowance: sources of handshakes, packets, short-code exchanges and spectators,
and addresses dialled. Unused allowances are dropped. When all are in use, further addresses share one."""
BACKLOG: Final = 64
"""Connections waiting in the system's queue. Further ones have to try again."""
KEYS_REMEMBERED: Final = 4096
"""Entries in the cache of :func:`~protocol.crypto.keys.is_strict_public_key`."""

# Bytes and messages. Enforced by net/link.py and net/channel.py.

FRAME: Final = 64 * KIB
"""The longest frame. The largest message is a page of history for catch-up, which is cut to fit."""
RATE: Final = 50.0
"""Messages per second from one peer over all its links, far more than people produce. Beyond this rate TCP slows the
peer down. Strangers from one place count as one peer."""
BURST: Final = 200
"""Messages from one peer at once: a joint step of ten players with relays, or a reconnection, comes as one burst."""
PASS_ON_RATE: Final = 25.0
"""Votes per second by one author that a node relays to spectators, and to players without a link to the author.
Enforced by match/catch_up.py. A node that lacks further votes requests them: see :data:`PAGE`. Other messages need no
such limit, because there is one per step."""
PASS_ON_BURST: Final = 100
"""Votes by one author that a node relays at once."""
PASSED_ON_RATE: Final = 2 * PASS_ON_RATE
"""Messages per second by one author that another player may relay without charge: twice what a node relays, because
messages bunch up on their way. Further ones count as the relaying player's own. Enforced by node/session.py."""
PASSED_ON_BURST: Final = 2 * PASS_ON_BURST
"""Messages by one author that another player may relay at once without charge."""
FIRST_FRAMES: Final = 4
"""The first frames of each link, which count but are never delayed: a greeting and a request for a seat, or a complete
short-code exchange. So a stranger above the rate does not delay newcomers from the same place."""
PEERS_PACED: Final = 256
"""Players, and places of strangers, with a separate allowance. Further ones share one."""
CATCH_UP_RATE: Final = 512 * KIB
"""Bytes per second in one peer's frames that are longer than :data:`FRAME_BEFORE_WELCOME`. Only answers to NEED are so
long. They carry hundreds of messages each, so they are counted by bytes rather than as messages."""
CATCH_UP_BURST: Final = 4 * KIB * KIB
"""Bytes in such frames at once: the history of a long match of ten players arrives in one go."""
FRAMES_AT_ONCE: Final = 16
"""Frames of one link per pass of the event loop, before other links and outgoing data have their turn."""
THROTTLE: Final = 0.2
"""Pause in seconds before reading on from a peer above its rate. A few messages then pass at once."""
STARTED_FRAME: Final = 10.0
"""Seconds from the start of a frame to its end, so that nobody holds a buffer by trickling bytes."""
OUTGOING_QUEUE: Final = 1024 * KIB
"""Bytes queued for one peer. A peer that does not read loses its link here, and catches up later."""
KEEPALIVE: Final = 5.0
"""Seconds without sending before a node sends an empty frame, so that silence indicates trouble."""
SILENCE: Final = 15.0
"""Seconds of silence before a link is cut: three lost keepalives. TCP alone would notice after minutes."""
SHUTDOWN: Final = 2.0
"""Seconds that a closed link may take to send its queue before it is cut."""
TLS_PIECE: Final = 16 * KIB
"""Bytes passed to OpenSSL at once after the handshake, as many as one record can carry."""
TLS_WASTE: Final = 32 * KIB
"""Bytes from the peer without content: an unfinished record, and messages of TLS itself such as key updates. Nodes do
not send those, and each takes about 10 microseconds."""
LOOSE_RECORDS: Final = 8
"""TLS records that may arrive beyond two per frame and one per 16 KiB of it. An unfinished frame accounts for up to
five. Each further record counts as a message, because it costs as much even if it carries a single byte."""

# Dialling. Enforced by net/dialer.py and net/mesh.py.

ADDRESSES_PER_PEER: Final = 16
"""Addresses dialled in parallel for one peer. Anybody on the LAN can advertise thousands."""
ADDRESSES_REMEMBERED: Final = 4
"""Addresses stored per player: at home, at work, by cable and by Wi-Fi. Enforced by storage/store.py."""
DIALS: Final = 48
"""Concurrent attempts to connect; further ones wait. A match of ten players with four addresses each needs 36. A system
may allow a program only 256 descriptors."""
DIAL_RATE: Final = 20.0
"""Attempts to connect per second. Other nodes tell this one whom to dial, and where."""
DIAL_BURST: Final = 100
"""Attempts to connect at once: nine players with up to eleven addresses each."""
DIAL_RATE_PER_ADDRESS: Final = 4.0
"""Attempts per second to connect to one address of another machine: nine absent players of one machine, each dialled
every three seconds. A player who names a third party's address must not make other nodes besiege that machine."""
DIAL_BURST_PER_ADDRESS: Final = 32
"""Such attempts at once: each of the nine is dialled a few times in the first second."""
BACKOFF: Final = (0.1, 0.2, 0.4, 0.8, 1.5, 3.0)
"""Seconds between attempts to reach a wanted peer. The last value repeats."""

# Messages and histories. Enforced by wire/ and consensus/.

MESSAGE: Final = KIB
"""Signed bytes of a message. A move of the most characters, with four bytes each, has about 900."""
GENESIS: Final = FRAME
"""A genesis travels in a frame. With ten players and eight addresses each, it has about 10,000 bytes."""
PLAYERS: Final = 10
"""Seats at a table, as in the rules."""
JOIN_ADDRESSES: Final = 8
"""Addresses in a join record. A laptop with a dock, Wi-Fi and a virtual network has five or six."""
STEPS: Final = 2**32
"""Steps of a match: as many as four bytes can number, and more than anybody plays."""
DEPTH: Final = 6
"""Nesting depth of arrays. A genesis, the deepest value, has four levels."""
ARRAY: Final = 1024
"""Items in an array. A page, the longest array, has about 300 messages. The decoder allocates all items that an array's
header announces, so without this limit a few bytes could claim megabytes at each level of nesting."""
FUTURE_PER_AUTHOR: Final = 16
"""Messages kept per author for steps after the open one, since an author can be several turns ahead of what another
link has delivered. The last to arrive are kept; others are requested again."""
CHECKED: Final = 512
"""Entries in the cache of valid signatures."""
TRANSCRIPT: Final = 64 * KIB * KIB
"""Bytes in a transcript: 2,000 rounds of long bidding among ten players; few matches exceed 50 rounds. Verifying one
takes little more memory than its size; replaying it, up to about fifteen times as much."""
EVIDENCE: Final = 64
"""Messages examined after the end of a transcript. Two per player would be enough."""
STATES_APART: Final = 32
"""A match read from a file keeps one in this many states. The states between are recomputed when needed."""

# Continuing without a player. Enforced by consensus/branches.py, consensus/ballot.py and match/waiting.py.

RELAY: Final = 0.5
"""Seconds from a majority of ABSENTs to the CLOSE that builds on it, and the patience with a convicted player. In this
time the votes reach all connected players, so an equivocating voter is found out before anything is decided."""
IDS_PER_SLOT: Final = 2
"""Different messages kept per author and slot, or per author, voting round and kind of vote, whatever others do. Two
prove equivocation."""
SUPPORTED_PER_SLOT: Final = 12
"""Different messages kept per author and slot, or votes per author, voting round and kind, if other players support the
third and later ones: by a message signed after them, or by a vote that names them or has the same value. Each of nine
other players may have received a different one."""
BRANCHINGS: Final = 256
"""Ways to close one step that are considered: two for each of eight players who all signed two messages."""
ROUNDS_OF_A_LENGTH: Final = 8
"""How many consecutive voting rounds on one root are equally long; those after them take one automatic patience more.
So the first day of a standstill has some 300 rounds instead of 5,760."""
VOTE_ROUNDS_LATER: Final = 2
"""Future voting rounds for which votes are kept, per author and kind: the latest ones. A voter who is ahead is in the
last round that a majority has closed, or in the next."""

# Catching up. Enforced by match/catch_up.py and match/match.py.

PAGE: Final = 48 * KIB
"""Bytes of messages in one answer to NEED. With its envelope, the answer stays below :data:`FRAME`."""
NEED_RATE: Final = 8.0
"""Answers per second to one peer. Useless answers must fill neither memory nor network."""
NEED_BURST: Final = 8
"""Answers to one peer at once."""
ASKERS: Final = 64
"""Peers whose requests are counted separately. Further ones share a count, as with :data:`ADDRESSES_WATCHED`."""
WASTE_RATE: Final = 50.0
"""Messages per second in one peer's answers that do not advance the history. Checking each takes a few tenths of a
millisecond. A peer above this rate gets no more requests for pages."""
WASTE_BURST: Final = 1500
"""Useless messages at once: all the votes since a LOCK that a returning node finds."""
WASTE_KNOWN: Final = 0.1
"""The cost of a useless message that is already known, relative to a new one, whose signature must be checked."""

# Patience. Enforced by match/waiting.py and net/interfaces.py. The genesis holds the patience of a match;
# PATIENCE_HUMAN and PATIENCE_AUTOMATIC are the defaults, which docs/playing.md and tests/protocol/test_limits.py name.

PATIENCE_HUMAN: Final = 120
"""Seconds for a person's choice."""
PATIENCE_AUTOMATIC: Final = 15
"""Seconds for a message that a program sends by itself: the time that it takes to find a link dead."""
PATIENCE_BOUNDS: Final = (5, 3600)
"""The fewest and most seconds that a host may propose. Fewer would count a slow link as silence, and nobody would wait
longer. Enforced by wire/genesis.py."""
OVERSLEPT: Final = 2.0
"""A machine whose timer fires this many seconds late has slept. Nobody can be blamed for the time in between."""
GRACE: Final = 3.0
"""Seconds that a program may take per answer without using up its bank, because a laptop may be busy or briefly lose
its Wi-Fi."""
BANK: Final = 4
"""Extra time for each player's program in all steps of a match together, as a multiple of the automatic patience."""
REPRIEVES: Final = 3
"""How often in one step a player's return restarts the patience with that player."""

# Chat. Enforced by match/words.py and node/audience.py.

WORD: Final = KIB
"""Signed bytes of a chat message. With the most characters, of four bytes each, it has about 900."""
WORD_RATE: Final = 1.0
"""Chat messages per second from one player, faster than anybody reads."""
WORD_BURST: Final = 5
"""Chat messages from one player at once."""
WORD_BURST_HEARD: Final = 8
"""Chat messages from one author accepted at once. Messages sent within the limits may arrive closer together."""
FLOOR_RATE: Final = 4.0
"""Chat messages per second from all authors at one table or in one match. An author who returns with a new key counts
as a new one."""
FLOOR_BURST: Final = 20
"""Chat messages from all authors at once: everybody cheers at the end."""
FLOORS: Final = 16
"""Tables and matches whose chat is counted. A node receives from at most three at a time."""
SPEAKERS: Final = 64
"""Authors whose last chat message is remembered, far more than sit together in an evening."""

# Spectators. Enforced by node/host.py, node/audience.py and node/watching.py.

SPECTATORS_OF_A_LOBBY: Final = 8
"""Half of :data:`LINKS_OUTSIDE_ROSTER`, so that a player who wants a seat finds a free link."""
SPECTATOR_DELAY: Final = 0.02
"""Seconds for which frames to spectators are gathered before they are sent together: too short to notice."""
SPECTATOR_PAGES: Final = 64
"""Answers to NEED for spectators from one place at once: 3 MiB, more than any usual match."""
SPECTATOR_PAGE_RATE: Final = 2.0
"""Further such answers per second, which use a player's bandwidth."""
SPECTATOR_LINKS: Final = 3
"""Players that a spectator follows in parallel. Each relays everything, so any one of them would be enough."""

# Lengths of texts, in characters. Enforced by wire/, match/words.py and net/discovery.py.

TEXT_CHARACTERS: Final = 200
"""Length of names, reasons and versions in frames."""
MOVE_CHARACTERS: Final = 200
"""The longest move has a few dozen characters. The engine judges every text up to this length."""
WORD_CHARACTERS: Final = 200
"""Length of a chat message: two or three lines in a terminal."""
NICKNAME_CHARACTERS: Final = 20
"""Length of a nickname, so that two of them and the text between fit on a line."""
COMBINING_MARKS: Final = 2
"""Combining marks per character. More would be stacked and cover neighbouring lines."""
TABLE_NAME_CHARACTERS: Final = 40
"""At most 160 bytes, within the 255 bytes of an entry in a TXT record."""
RULES_CHARACTERS: Final = 40
"""The name of a ruleset, or the start of its hash, as advertised by a table."""
RULES_NAME_CHARACTERS: Final = 31
"""The name of house rules. In an advertisement, a space and eight digits of their hash follow it."""
TOKEN_CHARACTERS: Final = 32
"""The secret in a private table's join line. Programs generate sixteen characters."""
RULES_NAMES_REMEMBERED: Final = 256
"""Names of house rules learned from hosts of other tables, the oldest forgotten first. Enforced by storage/store.py."""

# Lobbies, and forming a match. Enforced by node/host.py, node/guest.py, node/playing.py and match/lobby.py.

JOIN_RATE: Final = 2.0
"""Seats per second that a host gives. Each may end a proposed match and start another, which all players at the table
sign. A guest who asks too soon waits with the latest request only, and delays nobody else."""
JOIN_BURST: Final = 20
"""Seats given at once: everybody sits down, and some do so twice."""
SEATS_ASKED: Final = 3
"""Newcomers about whom a host's owner is asked at the same time, at most one from each address."""
SEAT_ASKED: Final = 120.0
"""Seconds that the owner has to answer before the newcomer is refused."""
QUESTION_RATE: Final = 1 / 60
"""Questions per second about newcomers from one place, because identities cost nothing."""
QUESTION_BURST: Final = 3
"""Questions about newcomers from one place at once."""
KNOWN_BY_NAME: Final = 256
"""Names kept of people who were shown at a table. A host can show any number."""
LOBBY_RATE: Final = 6.0
"""Table changes and proposals per second that a guest or spectator accepts from a host. An honest host sends three for
each seat that it gives. Above the rate the node leaves the table, because each frame costs signatures or the owner's
attention."""
LOBBY_BURST: Final = 100
"""Such frames at once: an honest host's for :data:`JOIN_BURST` seats, also after the link was silent."""

AWAY_TOLD: Final = 1.0
"""Seconds before a spectator is told which players are unreachable."""
WATCHERS_TOLD: Final = 1.0
"""Seconds before a change among spectators is reported, since a link may only have been replaced."""

UNSIGNED: Final = 15.0
"""Seconds that a host waits for one guest's signatures in all proposals together: the same as :data:`SILENCE`."""
LINK_LOST: Final = 2.0
"""Seconds that host and guest wait for each other after losing their link while a match forms."""
FAILURES: Final = 3
"""Failed guests after which the host seats no newcomers, who could otherwise keep a match from forming."""
ASK_OTHERS: Final = 2.0
"""Seconds after a guest is bound by its COMMIT before it dials the other players. Most hosts have answered by then."""
BOUND: Final = 30.0
"""Seconds that a bound guest waits for its match, longer than an honest host waits for other guests."""
PROPOSALS: Final = 32
"""Proposals in which a guest signs COMMIT with one join record; also the abandoned proposals that it keeps. A host
could make any number; an honest host makes three, plus two for each guest."""

# Short codes. Enforced by node/door.py and node/inquiry.py.

CODE_TRIES: Final = 3
"""Wrong tries before a short code is closed, and players that a guest's program tries for one typed code. Each is one
guess among four million, and people occasionally mistype a word."""
CODE_RATE: Final = 8.0
"""Exchanges per second that a host takes part in; together they take a tenth of a core. Further ones wait for at most
two seconds, because the number of waiting links is limited."""
CODE_BURST: Final = 10
"""Exchanges at once: everybody at the table types the code."""
CODE_RATE_PER_PLACE: Final = 0.1
"""Failed exchanges that one place is forgiven per second. An exchange fails if its proof is wrong or never arrives. A
place that has used up its burst is served after all other places."""
CODE_BURST_PER_PLACE: Final = 5
"""Failed exchanges of one place without consequences: people mistype codes and lose connections."""
CODE_BREAKS: Final = 5
"""Broken-off exchanges for one code after which the host is notified, once."""
CODE_SEARCH: Final = 20.0
"""Seconds that a guest spends trying all hosts that claim the number."""

# Discovery by multicast DNS. Enforced by net/mdns.py, net/discovery.py and node/locator.py.

DATAGRAM: Final = 1472
"""Bytes of a multicast packet that is read, as many as fit into one Ethernet frame. One table takes about 500."""
DATAGRAM_RATE: Final = 500.0
"""Multicast packets per second that are examined, of all services on the network. Each takes about 30 microseconds,
whatever its content. The system discards further ones."""
DATAGRAM_BURST: Final = 1000
"""Multicast packets examined at once."""
DATAGRAM_REST: Final = 0.1
"""Pause in seconds before reading on after too many packets."""
HEARD_RATE: Final = 100.0
"""Packets per second that name the service and are therefore parsed. A full one takes a tenth of a millisecond."""
HEARD_BURST: Final = 600
"""Packets parsed at once: all tables on a full network answer one question."""
HEARD_RATE_PER_ADDRESS: Final = 50.0
"""Packets per second parsed from one address, so that a noisy sender cannot drown out the rest."""
HEARD_BURST_PER_ADDRESS: Final = 400
"""Packets parsed from one address at once: many nodes may run on one machine."""
TABLES: Final = 256
"""Advertised tables kept. Anybody on the LAN can invent more, and nobody reads a longer list."""
TABLES_ASKED_FOR: Final = 8
"""Tables whose details are requested at once, every second. Further ones wait."""
TABLE_ANSWER: Final = 3.0
"""Seconds that a table's name is kept without the details that make it a table."""
TABLE_LIFE: Final = 4500
"""Seconds that an advertised table is kept at most, which is the lifetime that honest ones give (RFC 6762, §10)."""
LOOK: Final = 0.1
"""Seconds between two updates of the list of tables, however many there are."""
LOOK_BURST: Final = 3
"""Such updates at once, so that a guest who looks for a table sees it without delay."""
ADDRESSES_PER_NAME: Final = 4 * ADDRESSES_PER_PEER
"""The most addresses that a node asks if several tables advertise one name. One or two honest tables have fewer. If
there are more, it asks none: it cannot know which are forged, and a forger must not make it dial indefinitely."""
FORMER_TABLES: Final = 256
"""Former advertisements kept, for names that change hands while a node looks for them. Honest tables change a few times
per hour. When this number is exceeded, no name is trusted."""
FORMER_LIFE: Final = 60.0
"""Seconds that a former advertisement is kept, since a person may take a while to choose from the list."""
ANSWER_INTERVAL: Final = 0.15
"""Seconds between two answers by multicast. RFC 6762 (§6) wants one second, which would give a forger a head start."""
KNOWN_ANSWERS: Final = 20
"""Tables that a question lists as known, so that they do not answer: as many as fit into its packet."""

# Purses. Enforced by wire/purses.py, wire/frames.py and node/table_ledgers.py.

RECORDS: Final = 1024
"""Records in a purse, as many as an array can have. Older ones are folded into one state."""
LEDGER: Final = 44 * KIB
"""Bytes of a purse. A record has about 26, and at most 56."""
SHOWN_LEDGER: Final = 60 * KIB
"""Bytes of a frame with a purse and its evidence. For ten players, the evidence takes about 9,000."""
SOULS: Final = 15
"""Kinds of Twin Souls."""
LEDGER_RATE: Final = 2.0
"""Purses per second from one peer that are examined. Each has up to 40 signatures, which take a hundredth of a
second."""
LEDGER_BURST: Final = 20
"""Purses from one peer at once: everybody sits down, and is handed back a purse."""
LEDGERS_WAITING: Final = 32
"""Purses of one peer that wait for their turn. Further ones are dropped."""
TABLE_LEDGER_RATE: Final = 8.0
"""Purses per second from all guests that a host examines: a twelfth of a core."""
TABLE_LEDGER_BURST: Final = 90
"""Purses from all guests at once: nine guests sit down, and each hands back several."""
REFUSED_RATE: Final = 0.1
"""Reports per second to the host about refused purses of peers without a seat, who can show any number."""
REFUSED_BURST: Final = 5
"""Such reports at once, enough for friends."""

# Disk. Enforced by crypto/keys.py and cli/home.py.

KEY_FILE_BYTES: Final = 64 * KIB
"""Bytes read from a key file, which has a few hundred."""
BACKUP: Final = KIB * KIB * KIB
"""Bytes of a backup: thousands of matches."""
BACKUP_VALUE: Final = KIB * KIB
"""Bytes of one value in a backup. No stored value is as long."""
BACKUP_OPERATIONS: Final = 20_000
"""SQLite operations to read the table definitions of a backup, which takes a few hundred."""
LOG_BYTES: Final = 1_000_000
"""Bytes of the log before it is rotated, keeping one old file, so that a peer causing warnings cannot fill the disk."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits on the links of one node. Only tests and simulations change the defaults."""

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
    """Whether handshakes from this machine are counted, too."""
    rate: float = RATE
    burst: int = BURST
    catch_up_rate: int = CATCH_UP_RATE
    catch_up_burst: int = CATCH_UP_BURST
    own_machine_rate: float | None = None
    """Messages per second from other processes on this machine. None means no limit, since bots outpace people."""
    outgoing_queue: int = OUTGOING_QUEUE
