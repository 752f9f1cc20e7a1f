#!/bin/sh
# `make install` as a packager and as a user of the library meet it: the list of files, the face of the
# shared library, programs built through pkg-config on a private redis-server, the installed load test,
# the systemd unit, and that uninstall leaves nothing. Needs BUILD_DIR; runs at the root.
set -u
bin=${BUILD_DIR:-build/release}
. .ci/tap.sh
unset MAKEFLAGS MFLAGS DESTDIR PREFIX LIBDIR
work=$(mktemp -d)
redis_pid=
trap '[ -z "$redis_pid" ] || kill "$redis_pid"; rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
stage=$work/stage    # DESTDIR, for /usr/local
prefix=$work/private # PREFIX, used where it is
libdir=lib/an-arch   # LIBDIR there, as distributions have it
version=$("$bin/seckilld" --version | cut -d' ' -f2)

run_make() {
    make -s O="$bin" "$@"
}

expected_files() {
    for header in lockkit/include/lockkit/*.h*; do
        echo "include/lockkit/${header##*/}"
    done
    for script in loadtest/wrk/*.lua; do
        echo "share/seckill/wrk/${script##*/}"
    done
    cat <<EOF
bin/lockctl
bin/seckill-audit
bin/seckill-loadtest
bin/seckill-payd
bin/seckill-proxy
bin/seckill-report
bin/seckillctl
lib/liblockkit-postgres.so
lib/liblockkit-postgres.so.0
lib/liblockkit-zookeeper.so
lib/liblockkit-zookeeper.so.0
lib/liblockkit.a
lib/liblockkit.so
lib/liblockkit.so.0
lib/liblockkit.so.$version
lib/pkgconfig/lockkit-postgres.pc
lib/pkgconfig/lockkit-zookeeper.pc
lib/pkgconfig/lockkit.pc
lib/systemd/system/seckilld.service
sbin/seckilld
share/bash-completion/completions/lockctl
share/bash-completion/completions/seckillctl
share/bash-completion/completions/seckilld
share/doc/seckill/app/GUIDE.md
share/doc/seckill/docker/GUIDE.md
share/doc/seckill/examples/alerts.yml
share/doc/seckill/examples/haproxy.cfg
share/doc/seckill/examples/prometheus.yml
share/doc/seckill/examples/seckilld.default
share/doc/seckill/loadtest/GUIDE.md
share/doc/seckill/lockkit/GUIDE.md
share/man/man1/lockctl.1
share/man/man1/seckillctl.1
share/man/man3/lockkit.3
share/man/man8/seckilld.8
share/seckill/certificates
share/seckill/postgres_server
share/seckill/redis_set
share/seckill/zookeeper_server
EOF
}

files_of() { # DIR
    (cd "$1" && find . ! -type d | cut -c3- | sort)
}

check_stage() {
    need "make install DESTDIR" run_make install DESTDIR="$stage"
    expected_files | sort >"$work/expected"
    files_of "$stage/usr/local" >"$work/files"
    check "the files are these" same "$work/expected" "$work/files"
    check "nothing is beside PREFIX" [ "$(files_of "$stage" | grep -cv '^usr/local/')" = 0 ]
    check "no link is broken" [ -z "$(find "$stage" -xtype l)" ]
    check "no placeholder and no DESTDIR is left" \
        [ -z "$(grep -rlE "@[A-Z]+@|$stage" "$stage/usr/local/lib/pkgconfig" "$stage/usr/local/lib/systemd")" ]
    check "make uninstall DESTDIR" run_make uninstall DESTDIR="$stage"
    check "uninstall leaves no file" [ -z "$(files_of "$stage")" ]
    check "uninstall leaves no folder of ours" [ -z "$(find "$stage" -name lockkit -o -name seckill)" ]
}

check_library_face() {
    so=$prefix/$libdir/liblockkit.so.$version
    nm -D --defined-only --without-symbol-versions "$so" | awk '$2 != "A" && $3 !~ /^lki_/ { print $3 }' | sort >"$work/functions"
    check "liblockkit.so shows functions" [ "$(wc -l <"$work/functions")" -gt 20 ]
    check "liblockkit.so shows lk_* alone, but to its backends" [ "$(grep -cv '^lk_' "$work/functions")" = 0 ]
    check "each has a version" [ "$(nm -D --defined-only "$so" | grep -c ' lk_.*@@LOCKKIT_[0-9.]*$')" = \
        "$(wc -l <"$work/functions")" ]
    nm -g --defined-only "$prefix/$libdir/liblockkit.a" | awk 'NF == 3 { print $3 }' | sort >"$work/static"
    check "liblockkit.a shows the same" same "$work/functions" "$work/static"
    check "its SONAME is liblockkit.so.0" \
        [ "$(objdump -p "$so" | awk '$1 == "SONAME" { print $2 }')" = liblockkit.so.0 ]
    pkg-config --print-requires-private lockkit | sed 's/^lib//' | sort >"$work/told"
    objdump -p "$so" | sed -n 's/^ *NEEDED *lib\([a-z]*\)\.so.*/\1/p' | grep -vx c | sort >"$work/needed"
    check "lockkit.pc requires what it needs" same "$work/needed" "$work/told"
    check "lockkit.pc says the version" [ "$(pkg-config --modversion lockkit)" = "$version" ]
    check "lockkit.h says the version" grep -qF "#define LK_VERSION \"$version\"" \
        "$prefix/include/lockkit/lockkit.h"
}

check_headers() {
    for header in "$prefix"/include/lockkit/*.h*; do
        name=lockkit/${header##*/}
        echo "#include <$name>" >"$work/alone.c"
        cp "$work/alone.c" "$work/alone.cpp"
        [ "${name%.hpp}" != "$name" ] ||
            check "$name compiles alone as C11" gcc -std=c11 -pedantic -Wall -Wextra -Werror \
                -I"$prefix/include" -fsyntax-only "$work/alone.c"
        check "$name compiles alone as C++17" g++ -std=c++17 -pedantic -Wall -Wextra -Werror \
            -Wshadow -Wconversion -Wold-style-cast -I"$prefix/include" -fsyntax-only "$work/alone.cpp"
    done
}

# shellcheck disable=SC2046  # pkg-config's words are meant to be split
build_c_shared() {
    gcc -std=c11 -pedantic -Werror -o "$work/shared" "$work/user.c" \
        $(pkg-config --cflags --libs lockkit)
}
# shellcheck disable=SC2046
build_c_static() {
    gcc -std=c11 -static -o "$work/static" "$work/user.c" \
        $(pkg-config --static --cflags --libs lockkit)
}
# shellcheck disable=SC2046
build_cpp() {
    g++ -std=c++17 -pedantic -Werror -o "$work/cpp" "$work/every.cpp" \
        $(pkg-config --cflags --libs lockkit)
}

write_users() {
    cat >"$work/user.c" <<'EOF'
#include <stdio.h>

#include <lockkit/lockkit.h>

int main(int argc, char **argv)
{
    struct lk_client_options options = {.url = argv[argc - 1]};
    struct lk_error err = {0};
    lk_client *client = lk_client_open(&options, &err);
    lk_lock *lock = client ? lk_mutex_new(client, "install", &err) : NULL;
    int good = lock && lk_lock_acquire(lock, NULL, &err) == LK_OK && lk_held(lock) &&
               lk_lock_release(lock, &err) == LK_OK && !lk_held(lock);

    if (!good) fprintf(stderr, "%s: %s\n", lk_status_name(err.code), err.text);
    lk_lock_free(lock);
    lk_client_close(client);
    return !good;
}
EOF
    { # every function of the library is declared, with C's linkage
        echo '#include <lockkit/lockkit.h>'
        echo 'using function = void (*)();'
        echo 'static const function all[] = {'
        sed 's/.*/    (function)&,/' "$work/functions"
        echo '};'
        echo 'int main() { lk_bytes word = LK_BYTES("GET"); return !all[0] || word.len != 3; }'
    } >"$work/every.cpp"
}

start_redis() {
    redis-server --port 0 --unixsocket "$work/redis.sock" --save '' --dir "$work" \
        >"$work/redis.log" 2>&1 &
    redis_pid=$!
    for _ in $(seq 200); do
        [ -S "$work/redis.sock" ] && break
        sleep 0.05
    done
    need "redis-server starts" [ -S "$work/redis.sock" ]
}

check_users() {
    write_users
    start_redis
    need "a C program links with the shared library" build_c_shared
    check "it takes and releases a mutex" \
        env LD_LIBRARY_PATH="$prefix/$libdir" "$work/shared" "unix://$work/redis.sock"
    need "a C program links statically" build_c_static
    check "it takes and releases a mutex, too" "$work/static" "unix://$work/redis.sock"
    check "a C++ program links with every function" build_cpp
    check "it runs" env LD_LIBRARY_PATH="$prefix/$libdir" "$work/cpp"
}

check_programs() {
    check "the installed load test finds seckilld and its scripts, and its audit passes" \
        "$prefix/bin/seckill-loadtest" --quiet --instances 1 --connections 20 --buyers 100 \
        --stock 10 --out "$work/out"
    check "seckill-audit is there" "$prefix/bin/seckill-audit" --version
    check "seckill-proxy is there" "$prefix/bin/seckill-proxy" --version
    check "seckill-payd is there" "$prefix/bin/seckill-payd" --version
    check "seckill-report is there" "$prefix/bin/seckill-report" --version
    check "seckillctl is there" "$prefix/bin/seckillctl" --help
    check "lockctl holds a lock while a command runs" env LOCKCTL_REDIS="unix://$work/redis.sock" \
        "$prefix/bin/lockctl" run --lock install -- sh -c '[ "$LOCKKIT_LOCK" = install ]'
    check "lockctl says the version" [ "$("$prefix/bin/lockctl" --version)" = "lockctl $version" ]
}

check_unit() {
    unit=$prefix/lib/systemd/system/seckilld.service
    check "the unit starts the installed seckilld" grep -qx "ExecStart=$prefix/sbin/seckilld" "$unit"
    if has_program systemd-analyze; then
        check "the unit is valid" systemd-analyze verify --man=no "$unit"
        check "the unit exposes little" systemd-analyze security --offline=true --threshold=20 "$unit"
    else
        skip "the unit is valid" "no systemd-analyze here"
        skip "the unit exposes little" "no systemd-analyze here"
    fi
}

check_stage
need "make install PREFIX" run_make install DESTDIR= PREFIX="$prefix" LIBDIR="$libdir"
export PKG_CONFIG_PATH="$prefix/$libdir/pkgconfig"
check_library_face
check_headers
check_users
check_programs
check_unit
checks_end
