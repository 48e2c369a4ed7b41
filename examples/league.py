"""A league night: p2pdice hosts it, this script judges each match and adds it to the table of all nights, season.json.

python3 league.py --seats 4 --bots 1 --matches 20
"""

import json
import signal
import subprocess
import sys
from pathlib import Path

SEASON = Path("season.json")
TOLD = {"TableOpened", "LobbyChanged", "MatchStarted", "Suspended", "Standings", "BotFault", "Misbehaved", "NightOver"}

season = json.loads(SEASON.read_text()) if SEASON.exists() else {}
night = subprocess.Popen(
    ["p2pdice", "league", "League", "--json", "--out", "transcripts", *sys.argv[1:]],
    stdin=subprocess.DEVNULL,
    stdout=subprocess.PIPE,
    text=True,
)
signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for p2pdice, which ends the night after the match
for line in night.stdout or ():
    event = json.loads(line)
    if event["type"] in TOLD:
        print(event["sentence"], flush=True)
    if event["type"] == "MatchOver":
        verdict = subprocess.run(["p2pdice", "verify", event["transcript"]], stdout=subprocess.DEVNULL)
        if verdict.returncode not in (0, 13):  # 13: fair, but somebody was out for silence, which nobody can prove
            print("This match does not count.", flush=True)
            continue
        for place, seats in enumerate(event["places"]):
            for player in (event["players"][seat] for seat in seats):
                entry = season.setdefault(player["fingerprint"], {"matches": 0, "wins": 0})
                entry["name"] = player["name"]
                entry["matches"] += 1
                entry["wins"] += place == 0
        whole = SEASON.with_suffix(".new")  # so that no crash leaves half a table
        whole.write_text(json.dumps(season, indent=2))
        whole.replace(SEASON)
sys.exit(night.wait())
