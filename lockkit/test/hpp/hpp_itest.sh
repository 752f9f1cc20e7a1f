#!/bin/sh
# lockkit.hpp: g++ and clang++ take it without a warning, and what they make of hpp_checks.cpp does its work
# on a real server on a free port; under sanitizers, so that no handle is left. Needs BUILD_DIR; runs at the root.
set -u
bin=${BUILD_DIR:-build/release}
. .ci/tap.sh
work=$(mktemp -d)
redis=
trap '[ -z "$redis" ] || kill "$redis"; rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
ln -s "$(realpath "$bin"/liblockkit.so.*.*.*)" "$work/liblockkit.so.0"

start_redis() { # on a port that the kernel gave away a moment ago
    for _ in 1 2 3 4 5; do
        port=$(perl -MIO::Socket::INET -e 'print IO::Socket::INET->new(Listen => 1, LocalAddr => "127.0.0.1")->sockport')
        redis-server --port "$port" --bind 127.0.0.1 --save '' --dir "$work" >"$work/redis.log" 2>&1 &
        redis=$!
        for _ in $(seq 100); do
            [ "$(redis-cli -p "$port" info server 2>/dev/null | sed -n 's/^process_id:\([0-9]*\).*/\1/p')" = "$redis" ] && return
            kill -0 "$redis" 2>/dev/null || break
            sleep 0.05
        done
    done
    redis=
}

build() { # COMPILER
    "$1" -std=c++17 -Wall -Wextra -Wpedantic -Werror -Wshadow -Wold-style-cast -Wcast-qual \
        -Wconversion -Wsign-conversion -O1 -g1 -fsanitize=address,undefined \
        -fno-sanitize-recover=all -pthread -Ilockkit/include -o "$work/$1" lockkit/test/hpp/hpp_checks.cpp \
        "$work/liblockkit.so.0" "-Wl,-rpath,$work"
}

start_redis
need "redis-server starts" [ -n "$redis" ]
for compiler in g++ clang++; do
    if ! has_program "$compiler"; then
        skip "$compiler takes lockkit.hpp" "no $compiler here"
        continue
    fi
    check "$compiler takes lockkit.hpp without a warning" build "$compiler" || continue
    check "what $compiler made does its work" timeout 60 "$work/$compiler" "redis://127.0.0.1:$port"
    redis-cli -p "$port" flushall >/dev/null
done
checks_end
