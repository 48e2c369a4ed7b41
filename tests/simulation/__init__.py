"""Simulates matches of real nodes in one process, with a virtual clock, a seeded scheduler, and faults.

Start with :mod:`tests.simulation.simulation`. A seed gives a ``Plan`` (scenario), the plan gives a ``Simulation``
(simulation). It consists of processes (machine) with disks (disk) on a network (network). While it runs, faults strike
(faults, cores), at most one player cheats (misbehaviour), and ``Checks`` verifies the invariants (invariants).
"""
