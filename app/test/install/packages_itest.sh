#!/bin/sh
# What is shipped: `make dist` gives the same bytes wherever it runs, all that is committed and what the pages need
# from npm, and builds them without git and network; and `make abi` sees a function go, and a type change.
# Needs BUILD_DIR; runs at the root.
set -u
bin=${BUILD_DIR:-build/release}
. .ci/tap.sh
unset MAKEFLAGS MFLAGS MAKELEVEL DESTDIR PREFIX LIBDIR BUILD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
version=$("$bin/seckilld" --version | cut -d' ' -f2)
so=$bin/liblockkit.so.$version
tarball=build/dist/seckill-$version.tar.gz

dist_in() ( # DIR UMASK: a clone there, with what npm fetched here
    git clone -q . "$work/$1" && cd "$work/$1" || exit 1
    umask "$2"
    sleep 1.1 # the time of the second one is another
    mkdir -p build/web/uplot
    touch build/web/npm.done && cp "$OLDPWD"/build/web/uplot/* build/web/uplot || exit 1
    make -s -o build/web/npm.done dist
)

builds_alone() (
    mkdir "$work/none"
    for program in git npm curl; do
        printf '#!/bin/sh\necho "%s was asked for $*" >&2\nexit 1\n' "$program" >"$work/none/$program"
    done
    chmod +x "$work/none"/*
    cd "$work/unpacked/seckill-$version" || exit 1
    PATH=$work/none:$PATH make -s build/release/gen/pages_table.o
)

check_dist() {
    check "make dist" dist_in one 022
    check "make dist elsewhere, with another umask" dist_in another/place 077
    check "two tarballs are the same bytes" cmp "$work/one/$tarball" "$work/another/place/$tarball"
    mkdir "$work/unpacked"
    need "it unpacks" tar -xf "$work/one/$tarball" -C "$work/unpacked"
    (cd "$work/unpacked/seckill-$version" && find . ! -type d | cut -c3- | LC_ALL=C sort) >"$work/files"
    { git ls-tree -r --name-only HEAD && printf 'build/web/%s\n' npm.done uplot/uplot.css uplot/uplot.js; } |
        LC_ALL=C sort >"$work/expected"
    check "it has what is committed, and the pages' library" same "$work/expected" "$work/files"
    check "the pages are built of it without git and network" builds_alone
}

# make would go on with what is there; this npm brings half of it, and says that all went well.
fetches_half() (
    uplot=$work/half/node_modules/uplot
    mkdir "$work/half"
    printf '#!/bin/sh\n%s\n' "mkdir -p $uplot/dist && touch $uplot/LICENSE $uplot/dist/uPlot.min.css" >"$work/half/npm"
    chmod +x "$work/half/npm"
    ! PATH=$work/half:$PATH web/fetch.sh "$work/half" && [ ! -e "$work/half/uplot" ]
)

# The library again, or without a function.
relink() { # NAME [WITHOUT]
    printf '{ global: lk_*; local: %s *; };\n' "${2:+$2;}" >"$work/map"
    gcc -shared -o "$work/$1.so" -Wl,-soname,liblockkit.so.0 -Wl,--version-script="$work/map" \
        -Wl,--whole-archive "$bin/liblockkit.a" -Wl,--no-whole-archive
}

fails() { ! "$@"; }

# The same with a field before all others of an options struct.
change_type() {
    sed 's/^struct lk_fair_options {/&\n    int64_t new_ms;/' lockkit/include/lockkit/locks.h >"$work/locks.h" &&
        mkdir -p "$work/changed/lockkit" && cp lockkit/include/lockkit/*.h "$work/changed/lockkit" &&
        mv "$work/locks.h" "$work/changed/lockkit" &&
        gcc -std=gnu17 -D_GNU_SOURCE -g -O1 -fPIC -I"$work/changed" -Ilockkit/src -c -o "$work/fair.o" lockkit/src/locks/fair.c &&
        cp "$bin/liblockkit.a" "$work/changed.a" && ar r "$work/changed.a" "$work/fair.o" &&
        gcc -shared -o "$work/changed.so" -Wl,-soname,liblockkit.so.0 -Wl,--version-script=lockkit/install/lockkit.map \
            -Wl,--whole-archive "$work/changed.a" -Wl,--no-whole-archive
}

check_abi() {
    need "the library, linked again" relink same
    need "... without a function" relink less lk_latch_cancel
    need "... with another type" change_type
    check "its functions are those of the symbols file" .ci/abi "$so"
    check "a function that the symbols file has and the library not is found" fails .ci/abi "$work/less.so"
    if has_program abidiff; then
        check "abidiff finds nothing in the same library" .ci/abi "$so" "$work/same.so"
        check "it allows a new function" .ci/abi "$so" "$work/less.so"
        check "it finds a function that went" fails .ci/abi "$work/less.so" "$so"
        check "it finds a type that changed" fails .ci/abi "$work/changed.so" "$so"
    else
        skip "abidiff tells of changes" "no abidiff here: make check installs it"
    fi
}

if git rev-parse --git-dir >/dev/null 2>&1; then
    check_dist
else
    skip "make dist" "no git repository here: this is what it made"
fi
check "of a fetch that fails half way nothing is there" fetches_half
check_abi
checks_end
