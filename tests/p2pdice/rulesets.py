"""Random rulesets."""

from hypothesis import strategies as st

from p2pdice.rulesets import OPTIONS, Option, Ruleset


def _values(option: Option) -> st.SearchStrategy[str | int]:
    return st.integers(option.low, option.high) if option.high else st.sampled_from(option.choices)


@st.composite
def rulesets(draw: st.DrawFn) -> Ruleset:
    """Draw any valid ruleset. Options that exclude each other are adjusted, so that no example is filtered out."""
    drawn: dict[str, str | int] = {name: draw(_values(option)) for name, option in OPTIONS.items()}
    if drawn["motes"] == "yes":
        needed: dict[str, str | int] = {
            "dice": 5,
            "exact": "none",
            "goal": "last-standing",
            "palifico": "no",
            "verdict": "loser-loses-die",
        }
        drawn.update(needed)
    if drawn["verdict"] == "right-side-discards":
        drawn["exact"] = "none"
    else:
        drawn["siding"] = "no"
    if drawn["exact"] != "gain" or draw(st.booleans()):
        drawn["dice-cap"] = "none"
    else:
        drawn["dice-cap"] = max(int(drawn["dice"]), int(drawn["dice-cap"]))
    return Ruleset.from_options(drawn.items())
