"""Errors of the engine. All are ``ValueError``, and the text names a remedy."""


class RulesError(ValueError):
    """An input breaks the rules of the game. The state is unchanged."""


class MalformedMove(RulesError):
    """The text is not a move of any ruleset."""


class IllegalMove(RulesError):
    """A move that the rules do not allow in this state."""


class UnexpectedInput(RulesError):
    """The state waits for something else, or the input has the wrong shape."""


class RulesetError(RulesError):
    """These options do not make a ruleset."""
