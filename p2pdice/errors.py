"""Errors of the engine. Each is a ``ValueError`` whose message suggests a remedy."""


class RulesError(ValueError):
    """The input breaks the rules of the game. The state is unchanged."""


class MalformedMove(RulesError):
    """The text does not spell a move of any ruleset."""


class IllegalMove(RulesError):
    """The rules do not allow this move in this state."""


class UnexpectedInput(RulesError):
    """The state expects another input, or the input is malformed."""


class RulesetError(RulesError):
    """The options do not form a valid ruleset."""
