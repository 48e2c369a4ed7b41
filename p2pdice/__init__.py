"""The game: pure rules, without I/O, clock or randomness.

Import names from the modules: :mod:`p2pdice.engine` applies the rules, :mod:`p2pdice.rulesets` defines the presets,
:mod:`p2pdice.moves` the inputs, :mod:`p2pdice.events` the outputs, :mod:`p2pdice.views` the view of one player, and
:mod:`p2pdice.players` the house players.
"""
