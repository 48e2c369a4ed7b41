"""What can be wrong with something that the engine is given. All are ``ValueError``; the text names a remedy."""


class RulesError(ValueError):
    """Something is against the rules of the game; the state it was tried on is unchanged."""


class MalformedMove(RulesError):
    """The text is no move of any ruleset."""


class IllegalMove(RulesError):
    """A move that the rules do not allow in this state."""


class UnexpectedInput(RulesError):
    """The state waits for something else, or for something of another shape."""


class RulesetError(RulesError):
    """Options that do not make a ruleset."""
