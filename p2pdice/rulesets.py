"""The rules as data: named options, checks across options, and the presets.

No code in this package asks for the name of a preset: every rule tests an option. :data:`OPTIONS` lists all options;
the wire form, the parsing of ``--set`` and the error messages derive from it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Final, NamedTuple

from p2pdice.counting import COUNTINGS
from p2pdice.errors import RulesetError

MAX_CUP: Final = 99
"""The most dice in one cup. A player with a full cup gains no more."""
MAX_START: Final = 10
"""The most dice per player at the start."""

OptionValue = str | int | bool | None


class Option(NamedTuple):
    """One option: its name on the wire, its attribute in :class:`Ruleset`, and the values that it accepts."""

    name: str
    attribute: str
    choices: tuple[str, ...]
    """The accepted texts. A numeric option has at most one, which stands for None."""
    low: int = 0
    high: int = 0
    """Bounds of a numeric option; both are 0 for other options."""

    def read(self, value: object) -> OptionValue:
        """Return the attribute's value for a wire value.

        :raises RulesetError: if the option does not accept it; the message lists the accepted values.
        """
        if isinstance(value, str) and value in self.choices:
            if self.high:
                return None
            return {"yes": True, "no": False}.get(value, value)
        if self.high and type(value) is int and self.low <= value <= self.high:
            return value
        raise RulesetError(f"{self.name}={_shown(value)} is not possible: {self.name} is {self._accepted()}")

    def read_text(self, text: str) -> OptionValue:
        """Like :meth:`read`, but for a text in which numbers are decimal digits."""
        digits = self.high and text.isascii() and text.isdigit() and len(text) <= len(str(self.high))
        return self.read(int(text) if digits else text)

    def write(self, value: OptionValue) -> str | int:
        """Return the wire value for an attribute's value: an integer for a number, otherwise text."""
        if value is None:
            return "none"
        if isinstance(value, bool):
            return "yes" if value else "no"
        return value

    def _accepted(self) -> str:
        number = f"a number from {self.low} to {self.high}" if self.high else ""
        return " or ".join(filter(None, [", ".join(self.choices), number]))


_NO_YES: Final = ("no", "yes")

OPTIONS: Final[Mapping[str, Option]] = MappingProxyType(
    {
        option.name: option
        for option in (
            Option("dice", "dice", (), 1, MAX_START),
            Option("dice-cap", "dice_cap", ("none",), 1, MAX_CUP),
            Option("exact", "exact", ("none", "gain", "others-lose")),
            Option("goal", "goal", ("last-standing", "first-out")),
            Option("motes", "motes", _NO_YES),
            Option("next-leader", "next_leader", ("loser", "caller", "affected")),
            Option("ones-bid", "ones_bid", ("free", "opening-only", "not-opening")),
            Option("palifico", "palifico", _NO_YES),
            Option("raise", "raise_", ("standard", "strict", "reset-quantity", "either", "half-ones", "double-ones")),
            Option("siding", "siding", _NO_YES),
            Option("stakes", "stakes", _NO_YES),
            Option("verdict", "verdict", ("loser-loses-die", "right-side-discards")),
            Option("wild", "wild", tuple(COUNTINGS)),
        )
    }
)
"""Every option, sorted by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruleset:
    """A valid combination of options. The defaults make up the preset ``classic``.

    >>> PRESETS["classic"].with_options({"raise": "either", "dice": "3"}).name is None
    True

    :raises RulesetError: if a value or the combination is not allowed.
    """

    raise_: str = "strict"
    """Which bids raise another: see :mod:`p2pdice.bidding`."""
    wild: str = "ones"
    """Whether ones are wild: always (``ones``), ``never``, or ``unless-opened`` (unless a bid on ones opens the round).

    For a given round, see :attr:`p2pdice.state.State.counting`.
    """
    ones_bid: str = "free"
    """When ones may be bid: always (``free``), in rounds opened on ones (``opening-only``), or not as the first bid."""
    exact: str = "none"
    """Whether a correct *exact* call gains the caller a die (``gain``) or costs others one; ``none`` bars the call."""
    verdict: str = "loser-loses-die"
    """Which players lose a die after a challenge: the loser, or all players on the right side."""
    siding: bool = False
    """Whether the players outside a challenge take sides before the cups are opened."""
    goal: str = "last-standing"
    """The winner: the last player with dice (``last-standing``), or the first without (``first-out``)."""
    next_leader: str = "loser"
    """The next leader: the ``loser`` of the call, its ``caller``, or the player ``affected``.

    The affected player is the only one whose number of dice changed; if there is no such player, the caller leads.
    """
    dice: int = 5
    """Dice per player at the start."""
    dice_cap: int | None = None
    """The number of dice at which a cup gains no more by *exact*; None stands for :data:`MAX_CUP`."""
    palifico: bool = False
    """Whether the round after a player first drops to one die is special.

    In such a round ones are not wild (:attr:`p2pdice.state.State.counting`), and only a player with one die may change
    the face (:func:`p2pdice.bidding.faces`).
    """
    motes: bool = False
    """Whether dice have powers."""
    stakes: bool = False
    """Whether players bet on themselves."""

    def __post_init__(self) -> None:
        for option in OPTIONS.values():
            option.read(option.write(getattr(self, option.attribute)))
        for refused, message in _REFUSED:
            if refused(self):
                raise RulesetError(message)

    def options(self) -> tuple[tuple[str, str | int], ...]:
        """Return the wire form: (name, value) for every option, sorted by name; values are integers or text."""
        return _written(self)

    @classmethod
    def from_options(cls, options: Iterable[tuple[str, str | int]]) -> Ruleset:
        """Return the ruleset with this wire form; the order of ``options`` does not matter.

        :raises RulesetError: if an option is unknown, missing or repeated, or a value or combination is not allowed.
        """
        values: dict[str, OptionValue] = {}
        for name, value in options:
            option = _option(name)
            if option.attribute in values:
                raise RulesetError(f"the option {name} is given twice")
            values[option.attribute] = option.read(value)
        missing = [option.name for option in OPTIONS.values() if option.attribute not in values]
        if missing:
            raise RulesetError(f"no value for {', '.join(missing)}: a ruleset names every option")
        return cls(**values)  # type: ignore[arg-type]  # each value was read by its own option

    def with_options(self, changes: Mapping[str, str]) -> Ruleset:
        """Return this ruleset with some options changed, given as texts: ``{"raise": "either", "dice": "3"}``.

        :raises RulesetError: if an option is unknown, or a value or the new combination is not allowed.
        """
        values = {name: option.write(getattr(self, option.attribute)) for name, option in OPTIONS.items()}
        for name, text in changes.items():
            option = _option(name)
            values[name] = option.write(option.read_text(text))
        return Ruleset.from_options(values.items())

    @property
    def name(self) -> str | None:
        """The name of the equal preset, or None for a house ruleset."""
        return next((name for name, preset in PRESETS.items() if preset == self), None)


@lru_cache(maxsize=64)  # every hashed state includes the wire form
def _written(ruleset: Ruleset) -> tuple[tuple[str, str | int], ...]:
    return tuple((name, option.write(getattr(ruleset, option.attribute))) for name, option in OPTIONS.items())


def _option(name: str) -> Option:
    if name not in OPTIONS:
        raise RulesetError(f"there is no option {_shown(name)}: the options are {', '.join(OPTIONS)}")
    return OPTIONS[name]


def _shown(value: object) -> str:
    text = value if isinstance(value, str) and value and value.isascii() and value.isprintable() else repr(value)
    return text if len(text) <= 40 else text[:40] + "…"


_MOTES_NEED: Final = {
    "dice": 5,
    "exact": "none",
    "goal": "last-standing",
    "palifico": False,
    "siding": False,
    "verdict": "loser-loses-die",
}

_REFUSED: Final[tuple[tuple[Callable[[Ruleset], bool], str], ...]] = (
    (
        lambda rules: rules.motes and any(getattr(rules, name) != value for name, value in _MOTES_NEED.items()),
        "motes=yes needs dice=5, exact=none, goal=last-standing, palifico=no, siding=no and verdict=loser-loses-die:"
        " a player has one die of each of five motes, and plays the dice that they lose",
    ),
    (
        lambda rules: rules.verdict == "right-side-discards" and rules.exact != "none",
        "verdict=right-side-discards needs exact=none: a call of exact has no two sides",
    ),
    (
        lambda rules: rules.siding and rules.verdict != "right-side-discards",
        "siding=yes needs verdict=right-side-discards: otherwise taking sides would change nothing",
    ),
    (
        lambda rules: rules.dice_cap is not None and rules.exact != "gain",
        "dice-cap needs exact=gain: otherwise no cup ever gets fuller",
    ),
    (
        lambda rules: rules.dice_cap is not None and rules.dice_cap < rules.dice,
        "dice-cap must not be below dice: cups would start fuller than allowed",
    ),
)

PRESETS: Final[Mapping[str, Ruleset]] = MappingProxyType(
    {
        "classic": Ruleset(),
        "motes": Ruleset(motes=True, stakes=True),
        "spot-on": Ruleset(
            raise_="standard",
            wild="unless-opened",
            ones_bid="opening-only",
            exact="others-lose",
            next_leader="caller",
        ),
        "plain": Ruleset(raise_="either", wild="never"),
        "wildcard": Ruleset(raise_="half-ones", exact="gain", next_leader="affected"),
        "joker": Ruleset(raise_="double-ones", verdict="right-side-discards", siding=True, goal="first-out"),
        "perudo": Ruleset(
            raise_="half-ones",
            ones_bid="not-opening",
            exact="gain",
            dice_cap=5,
            next_leader="affected",
            palifico=True,
        ),
    }
)
"""The named rulesets."""
