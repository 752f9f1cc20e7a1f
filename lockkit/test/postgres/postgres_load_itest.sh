#!/bin/bash
# Who knows nothing of PostgreSQL loads liblockkit-postgres.so when a URL is one of it: lockctl, and a program with the
# shared liblockkit. What one holds the other sees. Without that library it is said what is missing.
set -u
cd "$(dirname "$0")/../../.." || exit 1
. .ci/tap.sh
build=$PWD/${BUILD_DIR:-build/release}
work=$(mktemp -d) port=$((20000 + RANDOM % 8000))
chmod 755 "$work" # the server may be nobody
lockkit/tools/postgres_server "$work/pg" $port fsync=off >"$work/log" 2>&1 &
server=$!
trap 'kill -INT $server; wait $server; rm -rf "$work"' EXIT
export on=postgres://postgres@127.0.0.1:$port/postgres
with() { LD_LIBRARY_PATH=$build "$@"; }
lockctl() { with "$build/lockctl" "$@"; }
says() { # PATTERN COMMAND...: in what it prints
    pattern=$1
    shift
    "$@" >"$work/said" 2>&1
    grep -qE -- "$pattern" "$work/said" || { cat "$work/said" && false; }
}

cat >"$work/program.c" <<'END'
#include <lockkit/lockkit.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    struct lk_error err = {0};
    lk_client *client = lk_client_open(LK_OPTIONS(client, .url = argv[argc - 1]), &err);
    lk_lock *lock = client ? lk_fenced_new(client, "shared", &err) : NULL;
    lk_status status = lock ? lk_lock_try(lock, &err) : err.code;
    printf("%s: %s\n", lk_status_name(status), err.text);
    lk_lock_close(lock, NULL);
    lk_client_close(client);
    return status == LK_OK ? 0 : 1;
}
END
ln -sf "$(ls "$build"/liblockkit.so.*.*.*)" "$work/liblockkit.so.0"
gcc -Ilockkit/include -o "$work/program" "$work/program.c" "$work/liblockkit.so.0" -pthread
export work
for _ in $(seq 300); do lockctl run --on "$on" --lock first -- true 2>"$work/why" && break; sleep 0.1; done

need "lockctl holds a lock in PostgreSQL" lockctl run --on "$on" --lock fenced:shared -- sh -c 'test "$LOCKKIT_FENCE" -gt 0'
hold() { lockctl run --on "$on" --lock fenced:shared -- "$@"; }
check "a program with the shared library sees it taken" says '^busy:' hold env LD_LIBRARY_PATH="$work:$build" "$work/program" "$on"
check "... and has it afterwards" says '^ok:' env LD_LIBRARY_PATH="$work:$build" "$work/program" "$on"
check "inspect and list tell of it" says 'shared' hold env LD_LIBRARY_PATH="$build" sh -c "'$build/lockctl' inspect --on '$on' shared && '$build/lockctl' list --on '$on' --match 's*'"
check "one that is broken is told lost" says 'the lock was lost' hold env LD_LIBRARY_PATH="$build" sh -c "'$build/lockctl' break --yes --on '$on' shared && sleep 20"
check "an advisory lock excludes a program without lockkit" says '^f$' lockctl run --on "$on" --lock advisory:sale-1 -- psql -Atc "SELECT pg_try_advisory_lock(-4186301075354283077)" "$on"
places() { lockctl run --on "$on" --lock permits:places --permits 2 --wait 0 -- "$@"; }
check "two have permits" places env LD_LIBRARY_PATH="$build" "$build/lockctl" run --on "$on" --lock permits:places -- true
third="'$build/lockctl' run --on '$on' --lock permits:places --wait 0 -- true"
check "... a third has none" says 'fewer than 1 permits' places env LD_LIBRARY_PATH="$build" "$build/lockctl" run --on "$on" --lock permits:places -- sh -c "$third"
check "... inspect tells how many are left" says '1 available, 1 out' places env LD_LIBRARY_PATH="$build" "$build/lockctl" inspect --on "$on" places
lead="'$build/lockctl' lead boss --on '$on' --lease 500 --"
check "one leads at a time" says '^[1-9][0-9]* alone$' env LD_LIBRARY_PATH="$build" sh -c "$lead sh -c 'echo \$LOCKKIT_FENCE \$(timeout 1 $lead echo two || echo alone)'"
check "a kind that it has not is refused" says 'PostgreSQL has no fair' lockctl run --on "$on" --lock fair:shared -- true
check "without the library it is named" says 'liblockkit-postgres.so.0' env LD_LIBRARY_PATH= "$build/lockctl" run --on "$on" --lock shared -- true
checks_end
