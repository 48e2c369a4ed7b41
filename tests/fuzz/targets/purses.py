"""Proofs and forks of purses, as anybody at a table may show them: read, or refused with the documented error."""

from __future__ import annotations

from functools import cache

from protocol.consensus.purse_proofs import is_fork, read_fork, read_proof, write_fork
from protocol.consensus.settlements import read_evidence
from protocol.wire.canonical import NotCanonicalError, decode
from protocol.wire.purses import MalformedPurseError, parse_purse
from tests.fuzz.target import Target
from tests.protocol.test_purses import Owner, evidence_of, forked, matches


def check(data: bytes) -> None:
    for read in (read_evidence, read_fork if is_fork(data) else read_proof):
        try:
            read(data)
        except MalformedPurseError as error:
            assert str(error).isprintable()
    try:
        shown = read_proof(data)
    except MalformedPurseError:
        pass
    else:
        assert shown.encoded() == data
        assert read_proof(shown.encoded()).purse == shown.purse
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
    one, other = forked()
    return (
        newcomer,
        owners[0].own.proof(),
        evidence_of(world).encoded(),
        write_fork((one.entries[1], other.entries[1])),
    )


TARGETS = (Target("purse", check, examples),)
