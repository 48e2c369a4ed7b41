"""The game: pure rules, no I/O, no clock, no randomness.

Import names from its modules: :mod:`p2pdice.engine` applies the rules, :mod:`p2pdice.rulesets` has the presets,
:mod:`p2pdice.moves` and :mod:`p2pdice.events` what goes in and comes out, :mod:`p2pdice.views`
what a player sees, and :mod:`p2pdice.players` the house players.
"""
