"""Names of matches are safe to type, short, and no two matches have one."""

from __future__ import annotations

import re
import shlex

from hypothesis import given
from hypothesis import strategies as st

from protocol.storage.match_names import LONGEST_SLUG, free_name, is_name, short_id, slug

HOSTILE = ["../../etc/passwd", "$(reboot)", "; rm -rf ~", "--yes", "-o", "\x1b[2J\u202e", "con", "ﬀ½", "e\u0301" * 50]


@given(st.text() | st.sampled_from(HOSTILE))
def test_every_match_name_is_safe_in_a_shell(text: str) -> None:
    name = slug(text)
    assert re.fullmatch("[a-z0-9]+(-[a-z0-9]+)*|", name)
    assert len(name) <= LONGEST_SLUG
    whole = f"2026-11-22-{name or 'classic'}"
    assert shlex.quote(whole) == whole
    assert is_name(whole)


@given(st.text(alphabet="abcdef0123456789-", max_size=60))
def test_no_table_name_is_the_transcript_name_of_another_match(text: str) -> None:
    assert not re.search("-[0-9a-f]{8,}$", slug(text))


@given(st.lists(st.sampled_from(["friday", "friday-2", "friday-99999", "saturday"]), max_size=12))
def test_no_two_matches_get_one_name_and_none_gets_a_long_one(tables: list[str]) -> None:
    taken: list[str] = []
    for table in tables:
        taken.append(free_name(f"2026-11-22-{table}", taken))
    assert len(set(taken)) == len(taken)
    assert max(map(len, taken), default=0) <= len("2026-11-22-friday-99999-12")


def test_a_second_match_at_a_table_is_called_the_second() -> None:
    assert free_name("friday", ["friday"]) == "friday-2"
    assert free_name("friday", ["friday", "friday-2"]) == "friday-3"


def test_the_name_of_a_match_is_not_given_again_while_a_later_one_is_there() -> None:
    assert free_name("friday", ["friday-2"]) == "friday-3"


@given(st.binary(min_size=4, max_size=4), st.sets(st.binary(min_size=32, max_size=32), min_size=1, max_size=5))
def test_the_digits_that_are_shown_name_one_match_only(start: bytes, ids: set[bytes]) -> None:
    matches = {start + each[4:] for each in ids} | ids
    for match in matches:
        shown = short_id(match, matches)
        assert len(shown) >= 8
        assert [each for each in matches if each.hex().startswith(shown)] == [match]
