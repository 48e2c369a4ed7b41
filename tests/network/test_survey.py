"""From the questions alone, a survey of the network tells which machines receive each other's packets."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from protocol.net.mdns import Datagram
from protocol.net.survey import _MET, _Survey


def carry(sender: _Survey, host: str, receiver: _Survey) -> None:
    for data in sender.question():
        receiver.hear(Datagram(data, host, 0))


def test_a_survey_learns_that_its_packets_do_not_arrive() -> None:
    """Until Ben's questions mention Ada, she knows that her packets do not reach him."""
    ada, ben = _Survey(), _Survey()
    for _ in range(3):
        carry(ben, "192.0.2.2", ada)
    assert ada.tokens == {ben.token: "192.0.2.2"}
    assert ada.hears_us == set()
    carry(ada, "192.0.2.1", ben)
    assert ben.hears_us == {ada.token}
    carry(ben, "192.0.2.2", ada)
    assert ada.hears_us == {ben.token}


def test_a_survey_recognizes_its_own_packets_by_their_token() -> None:
    ada, ben = _Survey(), _Survey()
    carry(ben, "::ffff:192.0.2.2", ada)
    assert (ada.itself, list(ada.hosts)) == (False, ["192.0.2.2"])
    carry(ada, "192.0.2.1", ada)
    assert ada.itself


def test_answers_to_a_flood_of_surveys_are_limited() -> None:
    ada = _Survey()
    for number in range(2 * _MET):
        carry(_Survey(), f"192.0.2.{number}", ada)
    assert len(ada.tokens) == _MET
    (question,) = ada.question()
    assert len(question) < 1500


@given(st.binary(max_size=200))
def test_a_survey_survives_any_packet(data: bytes) -> None:
    _Survey().hear(Datagram(b"survey" + data, "192.0.2.1", 0))
    _Survey().hear(Datagram(data + b"survey", "fe80::1%2", 2))
