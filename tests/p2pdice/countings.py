"""Made-up ways to count."""

from p2pdice.counting import Counting


class Against(Counting):
    """Each one takes a die away from every other face."""

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
