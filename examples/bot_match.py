"""Let programs play against each other in memory, many times, and count who wins.

    python examples/bot_match.py --games 50 --rules perudo 'python3 examples/odds15.py' 'sh examples/shellbot.sh'

The word ``house`` stands for a house bot. Seats rotate from game to game, and the dice come from the seed.
"""

import argparse
import asyncio
from collections import Counter
from random import Random

from cli.bots.bot import Bot, PlayerBot, ProgramBot
from cli.bots.local_match import rehearse
from cli.bots.programs import split_command
from p2pdice import PRESETS
from p2pdice.players import OddsPlayer


async def play(commands: list[str], rules: str, rng: Random, faults: Counter[int]) -> int:
    """Play one game with the bots in this order, and return the seat of a winner."""
    bots: list[Bot] = []
    try:
        for command in commands:
            if command == "house":
                bots.append(PlayerBot("house", OddsPlayer(rng)))
            else:
                program = ProgramBot(split_command(command))
                bots.append(program)
                await program.open()
        over = await rehearse(PRESETS[rules], bots, rng)
        faults.update({seat: bot.faults.total() for seat, bot in enumerate(bots) if isinstance(bot, ProgramBot)})
        return over.winners[0]
    finally:
        await asyncio.gather(*(bot.close() for bot in bots))


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bots", nargs="+", metavar="BOT", help="a command, or house")
    parser.add_argument("--games", type=int, default=20)
    parser.add_argument("--rules", choices=list(PRESETS), default="classic")
    parser.add_argument("--seed", default="1")
    given = parser.parse_args()
    if not 2 <= len(given.bots) <= 10:
        parser.error("a game has 2 to 10 players")
    rng = Random(given.seed)
    wins: Counter[int] = Counter()
    faults: Counter[int] = Counter()
    for game in range(given.games):
        turn = game % len(given.bots)
        order = [(turn + seat) % len(given.bots) for seat in range(len(given.bots))]
        seat_faults: Counter[int] = Counter()
        winner = await play([given.bots[index] for index in order], given.rules, rng, seat_faults)
        wins[order[winner]] += 1
        faults.update({order[seat]: count for seat, count in seat_faults.items()})
    for index, command in sorted(enumerate(given.bots), key=lambda pair: -wins[pair[0]]):
        print(f"{wins[index]:5} of {given.games} games, {faults[index]} faults: {command}")


if __name__ == "__main__":
    asyncio.run(main())
