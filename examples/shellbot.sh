#!/bin/sh
# A bot in shell: it calls what claims more than a third of all dice, else takes the first move that is offered.
# Needs sh and any awk. (One awk for each turn: some of them read ahead, and would never see the end of a message.)

while IFS= read -r message; do
    case $message in
    *'"type":"hello"'*)
        echo '{"type":"hello","version":1,"name":"shellbot"}'
        ;;
    *'"type":"turn"'*)
        printf '%s\n' "$message" | awk '{
            match($0, /"id":[0-9]+/)
            id = substr($0, RSTART + 5, RLENGTH - 5)
            bid = match($0, /"bid":{"quantity":[0-9]+/) ? substr($0, RSTART + 18, RLENGTH - 18) : 0
            match($0, /"dice":\[[0-9,]+/)
            cups = split(substr($0, RSTART + 8, RLENGTH - 8), cup, ",")
            for (seat = 1; seat <= cups; seat++) dice += cup[seat]
            sub(/.*"legal":\[/, "")         # the last one: the view has a list of its own
            sub(/].*/, "")
            gsub(/"/, "")
            moves = split($0, legal, ",")
            move = legal[1]
            for (i = 1; i <= moves; i++) if (legal[i] == "liar" && 3 * bid > dice) move = "liar"
            printf "{\"type\":\"move\",\"id\":%d,\"do\":\"%s\"}\n", id, move
        }'
        ;;
    esac
done
