"""Every number that bounds what a peer can make this node do, each beside its reason.

Lengths are in bytes unless a name says characters, times in seconds of a monotonic clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

KIB: Final = 1024

# Frames and links

FRAME_BEFORE_WELCOME: Final = 4 * KIB
"""A HELLO takes a hundred bytes; a stranger gets room for little more than that."""
FRAME: Final = 64 * KIB
"""The largest message is a page of history for catch-up, and pages are cut to fit."""
HANDSHAKE: Final = 5.0
"""From the TCP connection to WELCOME. On a LAN this takes milliseconds, with a laptop waking up perhaps a second."""
HANDSHAKE_HELLO: Final = 2 * KIB
"""The first record of TLS from the peer, without certificates: some 300 bytes, with a post-quantum key share 1,500."""
HANDSHAKE_FROM_DIALLER: Final = KIB
"""The rest of the handshake from whoever dials: with a certificate of 275 bytes and what proves it, 500. OpenSSL would
take 100 KiB of certificates, which cost anything from half a millisecond to 0.3 s a kilobyte, as their author likes."""
HANDSHAKE_FROM_LISTENER: Final = KIB + 256
"""The same from whoever answers, who also says what it takes: 900."""
HANDSHAKE_PIECES: Final = 32
"""Pieces in which a handshake may arrive: each costs a turn of the event loop, and two or three are the rule."""
HANDSHAKE_COST: Final = 0.005
"""Seconds of computing that count as one handshake: it takes one to two milliseconds here. One that takes more, as only
a hostile one can on a machine of this kind, counts for so many more."""
TLS_PIECE: Final = 16 * KIB
"""What OpenSSL is given at once after the handshake, and what one record can carry."""
TLS_WASTE: Final = 32 * KIB
"""Bytes from the peer that carry nothing: messages of TLS itself, such as new keys, which nodes do not send and which
take some ten microseconds each, and a record that is still on its way."""
LOOSE_RECORDS: Final = 8
"""Records that may have arrived beyond two for each frame and one for every 16 KiB of it; a frame that is on its way
takes five. Each further one counts as a message: it costs as much, though it may carry a single byte."""
STARTED_FRAME: Final = 10.0
"""A frame of which something has arrived must be complete by then: nobody keeps a buffer open by dripping bytes."""
SHUTDOWN: Final = 2.0
"""How long a closed link may take to send what was queued before it is cut."""
KEEPALIVE: Final = 5.0
"""A node that has sent nothing for so long sends an empty frame, so that silence means trouble."""
SILENCE: Final = 15.0
"""Three lost keepalives: the peer sleeps, its machine is gone or the cable is out. TCP would notice in minutes."""
LINKS_OUTSIDE_ROSTER: Final = 16
"""An idle TLS link costs some 30 KiB; a table and its onlookers need no more."""
LINKS_PER_ADDRESS: Final = 3
"""Outside the roster, so that one machine cannot take every place. Links from the own machine are exempt."""
LINKS_PER_MEMBER: Final = 3
"""A player may return before the old link is found dead; beyond this a player's newest link displaces their oldest."""
HANDSHAKES: Final = 16
"""TLS handshakes under way at once; the address with most of them loses its oldest first."""
HANDSHAKE_RATE: Final = 5.0
"""Handshakes a second that one address of another machine may begin: each takes one to two milliseconds of computing
here, and a stranger's are all in vain. Whoever comes back after a cut dials less often."""
HANDSHAKE_BURST: Final = 20
"""Handshakes that one address may begin at once: the players of one machine may all come at the same moment."""
ACCEPT_RATE: Final = 40.0
"""Handshakes a second that all other machines together may begin, as one of them can have any number of IPv6 addresses.
Above it connections wait with the system; it takes some 5 % of a core."""
ACCEPT_BURST: Final = 100
"""Handshakes that all other machines together may begin at once."""
REFUSAL_PAUSE: Final = 0.005
"""Nothing more is accepted for so long after a connection of an address that is over its rate."""
ADDRESSES_WATCHED: Final = 256
"""Addresses whose handshakes are counted; the one that has not come for longest is forgotten first."""
BACKLOG: Final = 64
"""Connections that the system keeps waiting to be accepted; further ones have to knock again."""
ACCEPT_PAUSE: Final = 0.05
"""Nothing is accepted for so long after accepting failed: the system is out of descriptors or memory."""
RATE: Final = 50.0
"""Messages a second from one peer: many times what people produce. Above it reading stops, and TCP slows the peer."""
BURST: Final = 200
"""A joint step of ten players with relays, or a reconnect, comes as one burst."""
CATCH_UP_RATE: Final = 512 * KIB
"""Bytes a second of one peer's frames that are longer than a stranger's may be. Only answers to NEED are: they count
here and not as messages, as each carries hundreds of them."""
CATCH_UP_BURST: Final = 4 * KIB * KIB
"""The history of a long match of ten players comes in one go."""
THROTTLE: Final = 0.2
"""Reading stops for so long when a peer is over its rate: long enough to let a few messages through at once."""
OUTGOING_QUEUE: Final = 1024 * KIB
"""A peer that reads nothing is cut off here and catches up later: a queue never grows without end."""
ADDRESSES_PER_PEER: Final = 16
"""Addresses dialled side by side for one peer; anyone on the LAN can advertise thousands."""
ADDRESSES_REMEMBERED: Final = 4
"""Addresses at which a player was reached, kept for the next time: at home, at work, by cable and by radio."""
BACKOFF: Final = (0.1, 0.2, 0.4, 0.8, 1.5, 3.0)
"""Between two attempts to reach a wanted peer; the last one repeats."""
KEYS_REMEMBERED: Final = 4096
"""Keys of which it is remembered whether they are admissible, which takes longer to find out than to remember."""
REPLACEMENT: Final = 2.0
"""An identity's newest link replaces the older one at most once in this time: a copied key must not make a storm."""

# Messages and steps

FUTURE_PER_AUTHOR: Final = 16
"""Messages kept for later steps than the open one. Links are in order each, but not among each other, so an author can
be some turns ahead of what another's link has delivered; what does not fit is asked for again."""
EVIDENCE: Final = 64
"""Messages behind the end of a transcript that are looked at: two for each player would do."""
RELAY: Final = 0.5
"""Seconds between a majority of ABSENTs and the CLOSE that rests on it: as long as the majority's votes take to all who
are connected, so that a voter who says something else to each of them is found out before anything is decided."""
WITHDRAWAL: Final = 2 * RELAY
"""Seconds from hearing of a RESIGN before the match is formed until the match is called off: for the RESIGN to reach
all who are connected, and for the answer of whoever had gone on before it came."""
IDS_PER_SLOT: Final = 2
"""Different votes kept of one voter for one round and kind: two prove that they contradict themselves. A third is kept
only if somebody else says the same."""
VOTE_ROUNDS: Final = 3
"""Rounds of which votes of each kind are kept of one author on one step, the latest, and rounds of which majorities
are. What is older counts only while it completes a majority, as when somebody shows one.

One would not do: who comes into a round that has a majority must know the majority of the round before, as their vote
names it. Two did no harm in 2,000 seeds of the simulator and in the small worlds. But these have three rounds, so that
with two votes are dropped in them, and they no longer found two of seven planted mistakes. With three nothing is
dropped there, and they show what they seem to show."""
VOTE_ROUNDS_AHEAD: Final = 1000
"""How far ahead the round of a single voter may lie to be followed: a liar must not take all to the last round."""
STEPS: Final = 2**32
"""Steps of a match: what four bytes hold, and longer than anybody plays."""
DEPTH: Final = 6
"""Arrays in arrays: a genesis, the deepest value, has four."""
ARRAY: Final = 1024
"""Items of an array: a page, the longest, has some three hundred messages. The header of an array makes room for all
its items before one of them is there, so without this a few bytes claim megabytes, once for each array in an array."""
MESSAGE: Final = KIB
"""Signed bytes: a move of the most characters, of four bytes each, has some nine hundred."""
GENESIS: Final = FRAME
"""It travels in a frame; one of ten players with eight addresses each has some ten thousand bytes."""
PLAYERS: Final = 10
"""Seats at a table, as the rules have it."""
JOIN_ADDRESSES: Final = 8
"""Addresses in a join record: a laptop with a dock, Wi-Fi and a virtual network has five or six."""
PAGE: Final = 48 * KIB
"""Messages of one answer to NEED; with its envelope it stays below :data:`FRAME`."""
TRANSCRIPT: Final = 64 * KIB * KIB
"""Two thousand rounds of long bidding of ten players, where fifty are many; a larger file is refused before it is
looked at. Judging one takes little more memory than its size; replaying it, up to about fifteen times as much."""
STATES_APART: Final = 32
"""Of the states of a match that is folded from a file one in so many is kept; the others are worked out from it."""
WORD: Final = KIB
"""Signed bytes of what somebody says: the most characters, of four bytes each, have some nine hundred."""
WORD_RATE: Final = 1.0
"""Words a second that one player may say in the long run: faster than anybody reads."""
WORD_BURST: Final = 5
"""Words that one player may say at once."""
WORD_BURST_HEARD: Final = 8
"""Words of one author that are heard at once: what was said within the limits may arrive closer together."""
FLOOR_RATE: Final = 4.0
"""Words a second that are heard of all at one table or in one match, in the long run: somebody who leaves and comes
back under new keys is a new author every time."""
FLOOR_BURST: Final = 20
"""Words of all that are heard at once: as when everybody cheers at the end."""
FLOORS: Final = 16
"""Tables and matches of which it is remembered how much was said there: a node hears of three at a time at most. Where
nothing was said for longest is forgotten first."""
SPEAKERS: Final = 64
"""Authors of whom it is remembered what they said last: many more than sit together in an evening. Who has said nothing
for longest is forgotten first."""
NEED_RATE: Final = 8.0
"""Answers a second to one peer: what is made for nothing must fill neither memory nor network."""
NEED_BURST: Final = 8
"""Answers to one peer at once."""
ASKERS: Final = 64
"""Peers whose requests are counted; who has not asked for longest is forgotten first."""
WASTE_RATE: Final = 50.0
"""Messages a second in one peer's answers that bring the history no further: each takes a few tenths of a millisecond,
as its signature must be checked. Above it that peer is asked for no more pages."""
WASTE_BURST: Final = 1500
"""Such messages at once: all the votes since a LOCK that a node comes back to find."""
WASTE_KNOWN: Final = 0.1
"""What one counts for that is known already: nobody checks its signature."""
CHECKED: Final = 512
"""Messages whose signatures are remembered as right: what comes again is not checked again."""

# Patience (defaults; the genesis holds the values of a match)

PATIENCE_HUMAN: Final = 120
"""For choices that a person makes."""
PATIENCE_AUTOMATIC: Final = 15
"""For messages that a program sends by itself: as long as it takes to find a link dead."""

OVERSLEPT: Final = 2.0
"""A timer that fires so much too late was asleep with its machine: nobody can be blamed for the time in between."""
GRACE: Final = 3.0
"""What a program may take for an answer without being charged: a busy laptop, a Wi-Fi that drops out for a moment."""
BANK: Final = 4
"""What each player's program may take beyond that in all steps of a match together, in patiences for a program."""
REPRIEVES: Final = 3
"""How often in one step the return of a player's link lets patience with them begin anew."""
PATIENCE_BOUNDS: Final = (5, 3600)
"""What a convenor may propose: below, a slow link is called silence; above, nobody waits."""

# Texts, in characters

TEXT_CHARACTERS: Final = 200
"""Names, reasons and versions in frames."""

MOVE_CHARACTERS: Final = 200
"""The longest move is a few dozen characters; the engine judges whatever is shorter than this."""
WORD_CHARACTERS: Final = 200
"""What somebody says at once: two or three lines of a terminal."""
NICKNAME_CHARACTERS: Final = 20
"""Two of them and a sentence between fit into a line."""
COMBINING_MARKS: Final = 2
"""Marks on one character: more stand on top of each other and cover the lines around."""
TABLE_NAME_CHARACTERS: Final = 40
"""At most 160 bytes, where an entry of a TXT record has 255."""
RULES_CHARACTERS: Final = 40
"""The name of a ruleset or the start of its hash, as a table advertises it."""

# Discovery

DATAGRAM: Final = 1472
"""Bytes of a multicast packet that is read: what fits into one Ethernet frame. One table takes some 500, and who tells
of many splits there, too."""
DATAGRAM_RATE: Final = 500.0
"""Multicast packets a second that are looked at, of all services of the network together. Further ones stay with the
system, which throws them away: looking at one takes some 30 microseconds, whatever it is."""
DATAGRAM_BURST: Final = 1000
"""Multicast packets that are looked at in one go."""
DATAGRAM_REST: Final = 0.1
"""Seconds for which nothing is looked at when that was too much."""
HEARD_RATE: Final = 100.0
"""Packets a second that name the service and are therefore parsed. A full one takes a tenth of a millisecond."""
HEARD_BURST: Final = 600
"""Packets that are parsed in one go: all tables of a full network answer one question."""
HEARD_RATE_PER_ADDRESS: Final = 50.0
"""Of these packets, those of one address: whoever repeats themselves all the time shall not speak for all others."""
HEARD_BURST_PER_ADDRESS: Final = 400
"""Many nodes may run on one machine."""
TABLES: Final = 256
"""Advertised tables kept: anyone on the LAN can invent more, and nobody reads a longer list."""
TABLES_ASKED_FOR: Final = 8
"""Tables whose details are asked for at once, once a second; further ones wait their turn."""
TABLE_ANSWER: Final = 3.0
"""How long what was named as a table is remembered without the details that make it one."""
TABLE_LIFE: Final = 4500
"""Seconds for which an advertised table is believed at most: as long as honest ones say (RFC 6762, §10)."""
LOOK: Final = 0.1
"""Between two looks at what was heard of tables, however much that is."""
ADDRESSES_PER_NAME: Final = 4 * ADDRESSES_PER_PEER
"""Addresses told for the tables of one name, at each of which somebody is asked who has it. One or two honest tables
have fewer. Whoever forges more must not make others dial without end: then nobody is asked, as nobody knows whom to
leave out."""
FORMER_TABLES: Final = 256
"""What was told of tables before something else was: for names that change hands while somebody looks for them. Honest
tables change a few times an hour; above this no name is trusted."""
FORMER_LIFE: Final = 60.0
"""How long that is kept: a person may look at a list of tables for a while before they choose."""
ANSWER_INTERVAL: Final = 0.15
"""Between two answers by multicast. RFC 6762 (§6) wants a second; but whoever asked just before would then leave the
field to a forger for as long."""
KNOWN_ANSWERS: Final = 20
"""Tables that a question names as known, so that they do not answer: as many as fit into its packet."""

# Disk

PROPOSALS: Final = 16
"""Proposals of one table that are kept though they were never formed: one for whoever comes or goes, and any of them
may have been formed where the others' word did not reach us. A host could send them without end."""
KEY_FILE_BYTES: Final = 64 * KIB
"""Read of a key file, which has a few hundred."""
LOG_BYTES: Final = 1_000_000
"""Then the log is put aside once: a peer who provokes warnings fills no disk."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits of the links of one node; anything but the defaults is for tests and simulations."""

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


# Spectators

SPECTATORS_OF_A_LOBBY: Final = 8
"""Half of :data:`LINKS_OUTSIDE_ROSTER`: who wants a seat finds a free link."""
SPECTATOR_PAGES: Final = 64
"""Answers to NEED that a spectator may ask for at once: 3 MiB, more than any match of reasonable length."""
SPECTATOR_PAGE_RATE: Final = 2.0
"""Further answers a second: whoever asks for more costs a player bandwidth, and has all that there is already."""
SPECTATOR_LINKS: Final = 3
"""Players that a spectator follows side by side; each relays everything, so that any one of them would do."""
