"""The agreement: how laptops that do not trust each other play one game.

:class:`protocol.node.node.Node` is one player's program on the LAN, :mod:`protocol.events` defines what it emits,
:mod:`protocol.consensus.verifier` verifies a transcript, and :mod:`protocol.storage.archive` holds the matches of a
home. ``pyproject.toml`` lists the modules that ``cli`` may import.
"""
