#!/bin/sh
# Programs in any language, judged by the search: right and wrong ones of each exercise in Python and JavaScript, greetings that
# shift no choice; and what is no answer is told in words, and leaves nothing running.
# Needs BUILD_DIR; runs at the root.
set -u
# shellcheck disable=SC3045  # dash has it
ulimit -c 0 # one dies on purpose
bin=${BUILD_DIR:-build/release}
. .ci/tap.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
cp -r app/lab/exercises/any "$work/any"
any=$work/any
python="$(python3 -c 'import sys; print(sys.executable)') -S -E" # no shim in front of it; it begins some thousand times

explore() { # STATUS COMMAND FLAG...: what it prints is in $work/found
    wanted=$1 command=$2
    shift 2
    "$bin/seckillctl" lab explore --program "$command" --seconds 250 "$@" >"$work/found" 2>&1
    status=$?
    sed -n 's/.*"plays":\([0-9]*\).*"schedulesPerSecond":\([0-9]*\).*/# \1 plays, \2 schedules in a second/p' "$work/found"
    [ $status -eq "$wanted" ] || {
        echo "status $status"
        cat "$work/found"
        return 1
    }
}

says() {
    grep -qF -- "$1" "$work/found" || {
        echo "wanted: $1"
        cat "$work/found"
        return 1
    }
}

breaks() { # COMMAND TASK PROMISE SCHEDULE
    explore 1 "$1" --exercise "$2" --json && says "\"promise\":\"$3\",\"schedule\":\"$4\""
}

keeps() { # COMMAND TASK
    explore 0 "$1" --exercise "$2" --json && says '"verdict":"none","finished":true'
}

for language in "$python:py" node:js; do
    run=${language%:*} of=${language#*:}
    template="$run $any/template.$of" late="$run $any/solutions/wrong_late.$of" right="$run $any/solutions/buy.$of"
    check "$of: the textbook's lock stays when its holder dies" breaks "$template" lock stuck Aa
    check "$of: a lease makes that good" keeps "$right" lock
    check "$of: who asks and then deletes frees another's lock" breaks "$late" release foreign-release AAAAAtBA
    check "$of: one step does not" keeps "$right" release
    check "$of: who comes late sells once more" breaks "$late" fence oversold AAtBBAABB
    check "$of: unless the write asks, too" keeps "$right" fence
    while read -r task promise schedule; do
        check "$of: $task, wrong" breaks "$run $any/$task.$of" "$task" "$promise" "$schedule"
        check "$of: $task, right" keeps "$run $any/solutions/$task.$of" "$task"
    done <<END
renew two-holders AtBA
redlock oversold AABBBAABAB
pay false-answer ABAB
outbox untold Aa
END
done

# ---- words ---------------------------------------------------------------------------------------------
program() { # a program that has asked Redis once and goes on so
    printf '%s\n' "import os, signal, sys, time; sys.path.insert(0, '$any')" 'from resp import *' \
        'redis("GET", STOCK)' "$1" >"$work/mine.py"
}

left() {
    grep -ls "$work/min[e].py" /proc/[0-9]*/cmdline
}

troubles() { # WHAT-IT-DOES WORDS
    program "$1"
    explore 3 "$python $work/mine.py" --json && says "$2" && ! left
}

sold='print("{\"result\": \"sold\"}", flush=True)'
check "no line" troubles 'pass' 'A: it ended without a word'
check "two lines" troubles "$sold; $sold" 'A: it printed a second line: {'
check "no JSON" troubles 'print("sold")' 'A: this is no line like'
typed() {
    echo typed | troubles 'print(sys.stdin.read() or "nothing")' 'this is no line like {\"result\":\"sold\"}: nothing'
}
check "what is typed is not for it" typed
check "a result that nobody knows" troubles 'tell(lambda: "perhaps")' 'which is none of: sold, sold-out,'
check "a status of its own" troubles 'sys.exit("the shop is shut")' 'A: it ended with status 1: the shop is shut'
check "an end without end" troubles 'while True: pass' 'A: it neither asks Redis nor ends'
check "a signal" troubles 'os.kill(os.getpid(), signal.SIGSEGV)' 'A: it died (SIGSEGV)'
check "a process that it leaves" troubles "$sold; os.fork() or time.sleep(60)" 'it left a process of its own running'
check "a program that is none" explore 3 "$work/none" --json
check "it asks nothing" explore 3 'echo "{\"result\": \"sold\"}"' --json
check "it says busy whatever happens" troubles 'tell(lambda: "busy")' 'it does not say what it should'
check "it takes no lock" explore 3 "$python $any/solutions/outbox.py" --exercise release
check "it prolongs none" explore 3 "$python $any/solutions/buy.py" --exercise renew
check "of two units each may have one" explore 0 "$python $any/solutions/buy.py" --exercise lock --units 2
check "a task that is none" explore 2 true --exercise nothing

# ---- the same, each time -------------------------------------------------------------------------------
program "n = open('$work/n', 'a+'); print(file=n, flush=True); n.seek(0)
redis('GET', len(n.readlines())); redis('HSET', ORDERS, BUYER, ORDER)
tell(lambda: 'sold' if BUYER == 'A' or redis('HLEN', ORDERS) == 1 else 'sold-out')"
check "what is never the same is told so, with the first difference" explore 3 "$python $work/mine.py" --json

cat >"$work/mine.py" <<END
import sys; sys.path.insert(0, '$any')
from resp import *
for greeting in 'HELLO 3', 'AUTH x', 'CLIENT SETINFO LIB-NAME x', 'CLIENT SETNAME x', 'SELECT 0', 'PING', 'COMMAND COUNT', 'INFO':
    try: redis(*greeting.split())
    except OSError as error: print(greeting, error, file=sys.stderr)
redis('SCRIPT', 'LOAD', 'return 1')
tell(lambda: redis('SET', LOCK, TOKEN))
END
greets() {
    "$bin/seckillctl" lab play --program "$python $work/mine.py" --schedule '' --json >"$work/found" &&
        says '"choice":"A","actor":"A","kind":"step","did":"goes on","next":"SET seckill:{lamp}:lock A#1"'
}
check "what a connection says by itself is no choice" greets

program 'time.sleep(60)'
interrupted() {
    "$bin/seckillctl" lab explore --program "$python $work/mine.py" >"$work/found" 2>&1 &
    pid=$!
    for _ in $(seq 200); do left >/dev/null || sleep 0.05; done
    kill -INT $pid
    for _ in $(seq 60); do kill -0 $pid 2>/dev/null && sleep 0.05; done
    ! kill -0 $pid 2>/dev/null && ! left
}
check "Ctrl-C ends it at once, and all that it started" interrupted

card() { # WORDS COMMAND...
    words=$1
    shift
    "$@" >"$work/found" 2>&1
    says "$words" && says 'SETNX :lock taken -> 1' && says "--exercise lock --schedule 'Aa'"
}
check "the card has the verdict, the play and how to play it" card '  lock     FAILED  one at a time, and a crash leaves no lock' \
    make -s O="$bin" exercise CMD="$python $any/template.py" TASK=lock IN=en
check "and in Chinese" card '  lock     失败' \
    env CMD="$python $any/template.py" TASK=lock IN=zh app/lab/exercises/run "$bin" ''
refuses() {
    "$bin/seckillctl" lab explore --program "$python $any/template.py" --exercise fence --lang zh >"$work/found"
    says '           它的锁没有过期时间'
}
check "which has words for what cannot be tried yet" refuses
checks_end
