#!/bin/sh
# A bot in shell: it calls a bid for more than a third of all dice, otherwise it makes the first legal move.
# Needs sh and any awk. (Each turn starts a new awk: some awks read ahead, and would wait for more input.)

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
            sub(/.*"legal":\[/, "")         # the last list: the view contains another one
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
