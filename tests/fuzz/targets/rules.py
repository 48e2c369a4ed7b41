"""House rules from a TOML file and from ``--set``: they give a ruleset, or a printable usage error."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import typer

from cli.rulesets import chosen_ruleset
from p2pdice.rulesets import PRESETS, Ruleset
from tests.fuzz.mutation import mutate_bytes
from tests.fuzz.target import Target


def check(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "house.toml"
        path.write_bytes(data)
        _chosen(lambda: chosen_ruleset(str(path), None))
    text = data.decode("utf-8", "surrogateescape")
    _chosen(lambda: chosen_ruleset("classic", text.splitlines()))
    if not text.endswith(".toml"):
        _chosen(lambda: chosen_ruleset(text, None))


def _chosen(choose: Callable[[], Ruleset]) -> None:
    try:
        ruleset = choose()
    except typer.BadParameter as error:
        assert error.format_message().isprintable()
    else:
        assert Ruleset.from_options(ruleset.options()) == ruleset


def examples() -> tuple[bytes, ...]:
    return (
        b"base = 'perudo'\ndice = 3\npalifico = false\n",
        b"raise = 'either'\ndice-cap = 7\nexact = \"gain\"\n",
        b"dice=3\nraise=either\n",
        b"dice = 0x1F\nwhen = 1979-05-27T07:32:00Z\n[table]\nlist = [[1.5, inf], {a = 1}]\n",
        b"dice = " + b"[" * 5_000,
        b"dice = " + b"9" * 5_000,
        b"dice = 0x" + b"f" * 5_000,
        b'"\\u001b[31m" = "\\u009b"\n[[base]]\n',
        *(name.encode() for name in PRESETS),
    )


TARGETS = (Target("rules", check, examples, mutate_bytes),)
