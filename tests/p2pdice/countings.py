"""Countings that no ruleset has."""

from p2pdice.counting import Counting


class Against(Counting):
    """A one counts -1 for every face except ones."""

    name = "against"
    rule = "Ones count against every other face: each takes a die away."
    brief = "ones against"
    note = "ones count against"

    def weight(self, die: int, face: int) -> int:
        return -1 if die == 1 != face else int(die == face)

    def what_counts(self, face: int) -> str:
        return super().what_counts(face) + " less ones" * (face != 1)


class Doubled(Counting):
    """Sixes count for two dice."""

    name = "doubled"
    rule = "Sixes count double."
    brief = "sixes double"
    note = "sixes count double"

    def weight(self, die: int, face: int) -> int:
        return (1 + (die == 6)) * (die == face)
