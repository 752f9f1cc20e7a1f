#!/bin/sh
# The man pages and the completion say what the programs say: flags, defaults and commands are compared
# with --help, functions and statuses with the library. Needs BUILD_DIR; runs at the root.
set -u
bin=${BUILD_DIR:-build/release}
. .ci/tap.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

# All flags of a help: those that begin a line or stand in the usage of a command, not those in prose.
every_flag() {
    grep -E '^([a-z]| +[[(]*--)' | grep -oE -- '--[a-z][a-z0-9-]*' | sort -u
}

# The flags that have an entry in page $1 (twice when they have two), or are named anywhere in it.
page_entries() {
    sed -n 's/^\.It Fl -\([a-z0-9-]*\).*/--\1/p' "$1" | sort
}
page_mentions() {
    grep -oE 'Fl -[a-z][a-z0-9-]*' "$1" | sed 's/Fl -/--/' | sort -u
}

# What the completion offers behind the words given.
completed() {
    bash -c '. app/install/seckill.bash
        . lockkit/install/lockctl.bash
        COMP_WORDS=("$@")
        COMP_CWORD=$(($# - 1))
        case $1 in */lockctl) _lockctl "$1" ;; *) _seckill "$1" ;; esac
        printf "%s\n" "${COMPREPLY[@]}"' bash "$@" | sort -u
}

# FLAG DEFAULT of each line of a help whose default is a plain value.
defaults() {
    sed -nE 's/^  (--[a-z0-9-]+) .*\[([a-z0-9.:\/_-]+)\]( \([A-Z_]+\))?$/\1 \2/p'
}

# Each default in $1 stands in its flag's entry in page $2.
defaults_are_told() {
    awk 'NR == FNR { value[$1] = $2; next }
        /^\.It Fl/ { flag = "-" $3 }
        /^\.(El|Sh)/ { flag = "" }
        flag in value && index($0, value[flag]) { delete value[flag] }
        END { for (flag in value) { print flag ": default " value[flag] " is not told"; bad = 1 }; exit bad }' \
        "$1" "$2"
}

check_program() { # NAME PAGE
    "$bin/$1" --help >"$work/help"
    every_flag <"$work/help" >"$work/flags"
    page_entries "$2" >"$work/entries"
    page_mentions "$2" >"$work/mentions"
    completed "$bin/$1" -- >"$work/completed"
    defaults <"$work/help" >"$work/defaults"
    check "$1: --help has flags" [ -s "$work/flags" ]
    check "$2 describes every flag of --help and no other" same "$work/flags" "$work/entries"
    check "$2 names no flag that is not" same "$work/flags" "$work/mentions"
    check "$2 tells the defaults" defaults_are_told "$work/defaults" "$2"
    check "completion of $1 offers the flags of --help" same "$work/flags" "$work/completed"
}

check_commands() {
    "$bin/seckillctl" --help | grep -oE '^[a-z]+( [a-z]+)?' | sort >"$work/commands"
    sed -n 's/^\.It Cm //p' app/install/seckillctl.1 | grep -oE '^[a-z]+( [a-z]+)?' | sort -u >"$work/entries"
    cut -d' ' -f1 "$work/commands" | sort -u >"$work/groups"
    completed "$bin/seckillctl" '' >"$work/completed"
    check "seckillctl: --help has commands" [ -s "$work/commands" ]
    check "app/install/seckillctl.1 describes every command" same "$work/commands" "$work/entries"
    check "completion of seckillctl offers the commands" same "$work/groups" "$work/completed"
    sed -n 's/^sale //p' "$work/commands" >"$work/sale"
    completed "$bin/seckillctl" sale '' >"$work/completed"
    check "completion of seckillctl sale offers its commands" same "$work/sale" "$work/completed"
}

check_lockctl() {
    "$bin/lockctl" --help >"$work/help"
    grep -oE '^[a-z]+ ' "$work/help" | tr -d ' ' | sort >"$work/commands"
    sed -n 's/^\.It Cm \([a-z]*\) [AFO].*/\1/p' lockkit/install/lockctl.1 | sort >"$work/entries"
    completed "$bin/lockctl" '' >"$work/completed"
    check "lockctl: --help has commands" [ -s "$work/commands" ]
    check "lockkit/install/lockctl.1 describes every command" same "$work/commands" "$work/entries"
    check "completion of lockctl offers the commands" same "$work/commands" "$work/completed"
    sed -n '/^Kinds:/,/^$/s/^  \([a-z-]*\) .*/\1/p' "$work/help" | sort >"$work/kinds"
    sed -n '/^\.Ss Kinds/,/^\.El/s/^\.It Cm //p' lockkit/install/lockctl.1 | sort >"$work/entries"
    completed "$bin/lockctl" run --lock '' | tr -d : | sort >"$work/completed"
    check "lockctl: --help has kinds" [ -s "$work/kinds" ]
    check "lockkit/install/lockctl.1 describes every kind" same "$work/kinds" "$work/entries"
    check "completion of lockctl offers the kinds" same "$work/kinds" "$work/completed"
    printf 'ignore\nkill\nterm\n' >"$work/words"
    completed "$bin/lockctl" run --on-lost '' >"$work/completed"
    check "completion of lockctl knows --on-lost" same "$work/words" "$work/completed"
    for command in $(cat "$work/commands"); do
        "$bin/lockctl" "$command" --help | every_flag >"$work/flags"
        completed "$bin/lockctl" "$command" -- >"$work/completed"
        check "completion of lockctl $command offers its flags" same "$work/flags" "$work/completed"
    done
    exits=$("$bin/lockctl" --help | sed -n '/^Exit:/,$p' | grep -oE '(^|[ :])[0-9]+ ' | tr -d ' :')
    for code in $exits; do
        check "lockkit/install/lockctl.1 tells exit status $code" grep -qx "\.It $code" lockkit/install/lockctl.1
    done
}

check_values() {
    "$bin/seckilld" --help | sed -n '/^Guards:/,$s/^  \([a-z][a-z-]*\) .*/\1/p' | sort >"$work/guards"
    completed "$bin/seckilld" --guard '' >"$work/completed"
    check "completion knows the guards" same "$work/guards" "$work/completed"
    completed "$bin/seckilld" --guard = mute | head -n 1 >"$work/completed"
    echo mutex >"$work/mutex"
    check "completion knows --flag=value" same "$work/mutex" "$work/completed"
}

check_library() {
    nm -D --defined-only --without-symbol-versions "$bin"/liblockkit.so.*.*.* | awk '$2 != "A" && $3 !~ /^lki_/ { print $3 }' |
        sort >"$work/functions"
    sed -n 's/^\.F[no] \(lk_[a-z_]*\).*/\1/p' lockkit/install/lockkit.3 | sort -u >"$work/entries"
    check "lockkit/install/lockkit.3 names every function" same "$work/functions" "$work/entries"
    grep -oE 'X\(LK_[A-Z_]+' lockkit/include/lockkit/error.h | cut -c3- >"$work/statuses"
    sed -n 's/^\.It Dv //p' lockkit/install/lockkit.3 >"$work/entries"
    check "lockkit/install/lockkit.3 names every status" same "$work/statuses" "$work/entries"
}

says_nothing() {
    ! "$@" 2>&1 >/dev/null | grep .
}

check_markup() { # PAGE
    if has_program groff; then
        check "$1: groff has no complaint" says_nothing groff -mdoc -ww -Tutf8 "$1"
    else
        skip "$1: groff has no complaint" "no groff here"
    fi
    if has_program mandoc; then
        check "$1: mandoc has no complaint" mandoc -T lint -W warning "$1"
    else
        skip "$1: mandoc has no complaint" "no mandoc here"
    fi
}

check_program seckilld app/install/seckilld.8
check_program seckillctl app/install/seckillctl.1
check_program lockctl lockkit/install/lockctl.1
check_commands
check_lockctl
check_values
check_library
for page in app/install/seckilld.8 app/install/seckillctl.1 lockkit/install/lockkit.3 lockkit/install/lockctl.1; do
    check_markup "$page"
done
checks_end
