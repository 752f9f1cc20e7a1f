#!/bin/sh
# make exercise: a right guard passes everything; each wrong one is told its lesson, and no other; what is no
# guard at all is told so, soon. Needs BUILD_DIR; runs at the root.
set -u
# shellcheck disable=SC3045  # dash has it
ulimit -c 0 # some of these die on purpose
bin=${BUILD_DIR:-build/release}
. .ci/tap.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
here=app/lab/exercises

# by_make FILE: its card is in $work/card, the exit status of the judge in $status.
by_make() {
    make -s O="$bin" exercise FILE="$1" >"$work/card" 2>&1
    status=$?
}

# judge FILE: likewise by what make would do then; make itself thinks for longer than most are judged.
judge() {
    {
        $here/run --check "$1" && $here/run "$bin" "$1"
    } >"$work/card" 2>&1
    status=$?
}

# A guard whose sell() has this body.
guard() { # NAME BODY
    printf '#include "exercise.h"\n#include <stdlib.h>\nenum sold sell(struct shop *shop)\n{\n%s\n}\n' \
        "$2" >"$work/$1.c"
    judge "$work/$1.c"
}

says() {
    grep -qF -- "$1" "$work/card" || {
        echo "wanted: $1"
        cat "$work/card"
        return 1
    }
}

# The lessons on the card, each once, are these words.
teaches() {
    sed -n 's/^ *why: .* lab run \([a-z-]*\) .*/\1/p' "$work/card" | sort -u | tr '\n' ' ' >"$work/taught"
    [ "$(cat "$work/taught")" = "${1:+$1 }" ] || {
        echo "taught: $(cat "$work/taught")"
        cat "$work/card"
        return 1
    }
}

passes() {
    [ "$status" -eq 0 ] || {
        cat "$work/card"
        return 1
    }
}

fails() {
    [ "$status" -ne 0 ]
}

passed() {
    says "$1 of 7 passed"
}

make -sn O="$bin" exercise FILE=mine.c | sed -n 's/ \\$//; s/^CC=/export CC=/p' >"$work/how"
. "$work/how"
need "what make would give the judge" [ -n "${CC-}" -a -n "${LIBS-}" ]

by_make $here/solutions/right.c
check "right: passes" passes
check "right: every row is ok" passed 7

judge $here/solutions/wrong_no_expiry.c
check "no expiry: fails" fails
check "no expiry: the crash, and no other lesson" teaches setnx-crash
check "no expiry: tells where" says 'A died before "GET :stock'
check "no expiry: what needs a lease is not tried" says "(not tried: the lock has no lease"

judge $here/solutions/wrong_get_del.c
check "get, then del: fails" fails
check "get, then del: that lesson, and no other" teaches get-del
check "get, then del: tells where" says 'A was stopped before "DEL :lock"'
check "get, then del: all else is ok" passed 6
check "get, then del: the steps are there to read" grep -q '(exercise, process)' "$bin/exercise/release.txt"

judge $here/solutions/wrong_unchecked_write.c
check "unchecked write: fails" fails
check "unchecked write: that lesson, and no other" teaches stale-write
check "unchecked write: tells what is in the books" says "there are 2 orders, and 1 of 2 lamps are left"

judge $here/template.c
check "the template has the textbook bug" teaches setnx-crash

guard none 'shop_read(shop); shop_write(shop); return SOLD;'
check "no lock at all: the lost update" teaches lost-update

guard expire 'if (!says(REDIS(shop, "SETNX", shop_lock(shop), "x"), "1")) return BUSY;
    REDIS(shop, "PEXPIRE", shop_lock(shop), shop_lease_ms(shop));
    shop_read(shop); shop_write(shop); REDIS(shop, "DEL", shop_lock(shop)); return SOLD;'
check "setnx, expire, del: three lessons" teaches "overslept-delete setnx-expire stale-write"

guard written 'const char *left = REDIS(shop, "GET", "seckill:{lamp}:stock");
    shop_read(shop);
    return shop_write_if(shop, "redis.call(\"GET\", KEYS[1]) == ARGV[1]", "seckill:{lamp}:stock",
                         left ? left : "") ? SOLD : BUSY;'
check "a key written out: the load sells nothing, and no lesson is made up" teaches ''
check "a key written out: told so" says "is a key written out?"
check "no lock in Redis: nothing to come late for" passed 6

guard key 'if (!says(REDIS(shop, "SET", "mine", "x", "NX", "PX", "3000"), "OK")) return BUSY;
    shop_read(shop); shop_write(shop); REDIS(shop, "DEL", "mine"); return SOLD;'
check "a lock at a key of its own is found" says 'its lock is at "mine"'

guard lua 'shop_read(shop); return shop_write_if(shop, "1 ==", shop_lock(shop), "") ? SOLD : BUSY;'
check "a slip in Lua: Redis's own words" says "Redis said: ERR Error"

guard crash 'return *REDIS(shop, "GET", shop_lock(shop)) ? BUSY : SOLD;'
check "a crash: fails" fails
check "a crash: the signal" says "A: it died (SIGSEGV)"
check "a crash: the last command" says "the last command until then: GET seckill:{lamp}:lock"

guard late 'static int calls;
    shop_read(shop);
    if (++calls > 4) abort();
    return shop_write(shop) ? SOLD : BUSY;'
check "a crash under load alone: the signal" says "ended by itself: signal 6"

guard exits '(void)shop; exit(0);'
check "exit(): told so" says "A: its process has ended amid it"

guard endless 'volatile int i = 0; shop_read(shop); for (;;) i++;'
check "an endless loop: fails" fails
check "an endless loop: told so" says "A: it neither asks Redis nor ends"

guard waits 'while (!says(REDIS(shop, "SETNX", shop_lock(shop), "x"), "1")) {} return BUSY;'
check "waiting in a loop: told what to do instead" says "it asks Redis again and again"

guard syntax 'return SOLD'
check "a compile error: fails" fails
check "a compile error: the compiler's message, with file and line" says "$work/syntax.c:5:"
check "a compile error: the file" says "$work/syntax.c does not compile"

echo '#include "exercise.h"' >"$work/empty.c"
judge "$work/empty.c"
check "no sell(): told so" says "does it have a function sell()"

by_make ""
check "no FILE: fails" fails
check "no FILE: how it is meant" says "make exercise FILE=mine.c"
judge "$work/nothing.c"
check "a FILE that is not there" says "$work/nothing.c: there is no such file"
judge "$work"
check "a folder" says "$work: this is no file that can be read"
judge README.md
check "no C" says "README.md: a file in C is wanted"
checks_end
