"""What anybody at a table may show of purses and ends of matches: read, or refused with the documented error."""

from __future__ import annotations

from functools import cache

from protocol.consensus.purse_links import read_shown, write_links
from protocol.consensus.purse_proofs import End, is_end, is_fork, read_end, read_fork, write_fork
from protocol.consensus.settlements import read_evidence
from protocol.wire.canonical import NotCanonicalError, decode
from protocol.wire.purses import EntryKind, MalformedPurseError, parse_purse
from tests.fuzz.target import Target
from tests.protocol.test_purses import Owner, evidence_of, forked, matches


def check(data: bytes) -> None:
    for read in (read_evidence, read_fork if is_fork(data) else read_end if is_end(data) else read_shown):
        try:
            read(data)
        except MalformedPurseError as error:
            assert str(error).isprintable()
    try:
        shown = read_shown(data)
    except MalformedPurseError:
        pass
    else:
        assert shown.links or shown.encoded() == data
        assert read_shown(shown.encoded()).purse == shown.purse
        assert 0 <= shown.purse.funds <= shown.purse.balance
    try:
        purse = parse_purse(decode(data))
    except (MalformedPurseError, NotCanonicalError):
        return
    assert purse.funds >= 0


@cache
def examples() -> tuple[bytes, ...]:
    owners = [Owner(name) for name in "ab"]
    newcomer = owners[0].own.proof()
    world = matches(owners, range(2))
    kept = owners[0].kept
    one, other = forked()
    evidence = evidence_of(world).encoded()
    return (
        newcomer,
        owners[0].own.proof(),
        write_links((0, kept[0].id), kept[1:3], owners[0].own.proof()),
        evidence,
        End(owners[0].purse.key, EntryKind.SETTLEMENT, read_evidence(evidence).match, evidence).encoded(),
        write_fork((one.entries[1], other.entries[1])),
    )


TARGETS = (Target("purse", check, examples),)
