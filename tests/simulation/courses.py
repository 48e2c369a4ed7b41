"""Courses of small worlds in which something once went wrong: who got what, in order, as
:meth:`tests.simulation.small_worlds.Explorer.take` reads it. Random walks found them."""

from __future__ import annotations

CLOSES_AT_ONCE = """
1 expire k
1 k: y by 2
1 ABSENT(k: 0, -) by 2
1 expire k
1 expire k
0 ABSENT(k: 0, -) by 1
0 expire k
0 close k
0 expire k
1 ABSENT(k: 1, y) by 2
1 close k
1 ABSENT(k: 0, -) by 0
0 ABSENT(k: 1, y) by 2
1 CLOSE(k: 0, -) by 0
0 CLOSE(k: 1, y) by 2
1 ABSENT(k: 1, - newest 0) by 2
1 ABSENT(k: 1, - newest 0) by 0
0 CLOSE(k: 0, -) by 2
0 k: y by 2
0 ABSENT(k: 0, -) by 2
1 evidence against 2 by 0
1 k: x by 2
1 CLOSE(k: 1, y) by 2
0 ABSENT(k: 1, - newest 0) by 2
0 ABSENT(k: 1, y) by 1
1 k|-: 0 by 0
1 k|y: l by 2
0 CLOSE(k: 1, y) by 1
1 k|y: 0 by 0
"""
"""How a liar, 2, brings the two others to two histories who close a step on votes that the other has not seen yet."""

NOBODY_TO_PULL_BACK = """
2 k: x by 0
2 expire k|x
2 ABSENT(k: 0, -) by 0
2 expire k|x
1 ABSENT(k|x: 0, -) by 2
1 expire k
1 k: y by 0
2 ABSENT(k: 0, -) by 1
1 expire k
1 ABSENT(k: 1, x) by 2
1 k: x by 0
1 expire k
2 ABSENT(k: 1, y) by 1
2 ABSENT(k: 1, -) by 0
2 ABSENT(k: 2, x) by 0
2 ABSENT(k: 1, y) by 0
2 evidence against 0 by 1
1 evidence against 0 by 2
2 ABSENT(k: 2, x) by 1
"""
"""0 lies. Player 2 is bound behind a step that was decided against its vote; 1 had nothing to vote for."""

SECOND_MAJORITY = """
0 k|0: y by 1
0 k|0|y: l by 1
0 expire k|0|y
2 k: 0 by 0
0 ABSENT(k|0: 0, -) by 1
2 k|0|y: l by 1
0 ABSENT(k|0|y: 0, 0,l,-) by 1
0 expire k|0|y
0 ABSENT(k|0: 1, -) by 1
2 ABSENT(k|0|y: 0, 0,l,-) by 1
2 ABSENT(k: 0, -) by 1
2 k|0|y: 0 by 0
2 ABSENT(k: 1, -) by 1
2 ABSENT(k: 0, 0) by 1
0 ABSENT(k: 0, 0) by 1
0 ABSENT(k: 0, -) by 1
0 ABSENT(k: 0, 0) by 2
0 evidence against 1 by 2
"""
"""1 lies. A decision and, behind it, a majority of the same round: 2 switched to the first one only."""
