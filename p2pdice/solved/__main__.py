"""Train the policies, or check the policy for classic between two players: ``python -m p2pdice.solved --help``.

    python -m p2pdice.solved train FOLDER
    python -m p2pdice.solved check

``train`` writes the tables and nets beside this module. It stores finished parts in FOLDER, so if training is
interrupted, the same command continues it. ``check`` computes the most that any opponent can win against the policy,
prints it for each round and for a match, and exits with status 1 if it is too much. Training and checking the net
require numba (pip install '.[train]'); checking the tables does not.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Final

from p2pdice.moves import Bid, Hand
from p2pdice.solved import net, policy
from p2pdice.solved.exploitability import Likelihoods, Strategy, bounds, match_bounds
from p2pdice.solved.rounds import beginning

WORST_TABLE: Final = 0.0025
"""The largest acceptable exploitability of a table: the share of rounds that it gives away to a best response."""
WORST_ROUND: Final = 0.03
"""The largest acceptable exploitability of the net in one round."""
WORST_MATCH: Final = 0.53
"""The largest acceptable share of matches that a best response wins."""
ROUNDS: Final = [f"{opener}-{responder}" for opener, responder in product(range(1, net.MOST_DICE + 1), repeat=2)]
PARTS: Final = ("rounds", "perudo", "two", "more")
"""The parts of the training: the solved rounds with their net, and the three nets trained by self-play."""


def strategy(opener: int, responder: int) -> Strategy:
    """Return the policy for a round, from a table or from the net."""
    if max(opener, responder) <= policy.MOST_DICE_IN_TABLE:
        table = policy.table(opener, responder)
        return lambda bids, hands: [table.weights(bids, hand) for hand in hands]
    from p2pdice.solved.training import Batches  # requires numba, so not imported for tables

    batches = Batches(net.net())

    def likelihoods(bids: tuple[Bid, ...], hands: Sequence[Hand]) -> Sequence[Likelihoods]:
        return batches.likelihoods(hands, (responder, opener)[len(bids) % 2], bids)

    return likelihoods


def check(rounds: Sequence[str]) -> bool:
    """Print the exact bounds of these rounds, and of a match if these are all. Return whether all are good enough."""
    print("| opens with | against | opener wins % | exploitability % |")
    print("| ---: | ---: | --- | ---: |")
    found = {}
    is_good = True
    for name in rounds:
        opener, responder = map(int, name.split("-"))
        low, high = found[opener, responder] = bounds(beginning(opener, responder), strategy(opener, responder))
        lost = (high - low) / 2
        is_good &= lost <= (WORST_TABLE if max(opener, responder) <= policy.MOST_DICE_IN_TABLE else WORST_ROUND)
        print(f"| {opener} | {responder} | {100 * low:.2f}–{100 * high:.2f} | {100 * lost:.3f} |", flush=True)
    if len(found) == len(ROUNDS):
        opens, follows = match_bounds(found, net.MOST_DICE)
        average = (opens + follows) / 2
        is_good &= average <= WORST_MATCH
        print(
            f"\nNo opponent wins more than {average:.2%} of matches: {opens:.2%} of those in which they open the first"
            f" round, and {follows:.2%} of the others."
        )
    return is_good


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    defaults = argparse.ArgumentDefaultsHelpFormatter
    trains = commands.add_parser("train", help="make the tables and the nets", formatter_class=defaults)
    trains.add_argument("folder", type=Path, help="where finished parts are stored")
    trains.add_argument("--seed", type=int, default=1)
    trains.add_argument("--table-iterations", type=int, default=500, help="CFR+ iterations for each table")
    trains.add_argument("--iterations", type=int, default=120, help="CFR+ iterations for each other round")
    trains.add_argument("--steps", type=int, default=100_000, help="training steps of the net")
    trains.add_argument("--selfplay-iterations", type=int, default=20_000, help="iterations of each self-play")
    trains.add_argument(
        "--parts", nargs="+", default=PARTS, choices=PARTS, metavar="PART", help=f"{', '.join(PARTS)}; default: all"
    )
    checks = commands.add_parser("check", help="compute the most that an opponent can win")
    checks.add_argument("--rounds", nargs="+", default=ROUNDS, choices=ROUNDS, metavar="OPENER-RESPONDER")
    options = parser.parse_args(arguments)
    if options.command == "check":
        if not check(options.rounds):
            raise SystemExit("The policy gives away too much.")
        return
    from p2pdice.solved.training import Plan, train

    iterations = (options.table_iterations, options.iterations, options.steps, options.selfplay_iterations)
    plan = Plan(options.seed, *iterations)
    try:
        train(plan, options.folder, Path(__file__).parent, lambda line: print(line, flush=True), options.parts)
    except ValueError as error:
        raise SystemExit(str(error)) from error


if __name__ == "__main__":
    main()
