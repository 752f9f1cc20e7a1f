#!/bin/sh
# Print the name of the image that ours are built on: Debian's own when it is here or can be pulled, else
# one made from Debian's archive by debootstrap (as root, half a minute).
#   docker/base-image.sh          debian:bookworm-slim, or seckill/base:bookworm
#   docker/base-image.sh --make   make seckill/base:bookworm, whatever there is
# MIRROR=URL names another archive.
set -eu
pulled=debian:bookworm-slim made=seckill/base:bookworm
mirror=${MIRROR:-http://deb.debian.org/debian}
security=${MIRROR_SECURITY:-http://deb.debian.org/debian-security}

say() { echo "base-image: $*" >&2; }

has_image() { docker image inspect "$1" >/dev/null 2>&1; }

# What an image needs not have: it is Debian's slim one that leaves these out, too.
slim() {
    find "$1/usr/share/doc" -depth -type f ! -name copyright -delete
    rm -rf "$1"/usr/share/man/* "$1"/usr/share/info/* "$1"/usr/share/locale/* \
        "$1"/var/cache/apt/* "$1"/var/lib/apt/lists/* "$1"/var/log/*
}

make_image() {
    if [ "$(id -u)" -ne 0 ]; then
        say "$pulled cannot be pulled, and making a base needs root: sudo docker/base-image.sh --make"
        exit 1
    fi
    if ! command -v debootstrap >/dev/null; then "$(dirname "$0")/../.ci/deps" debootstrap >&2; fi
    root=$(mktemp -d)
    trap 'rm -rf "$root"' EXIT
    trap 'exit 130' INT TERM
    say "making $made from $mirror (half a minute)"
    if ! debootstrap --variant=minbase bookworm "$root" "$mirror" >"$root.log" 2>&1; then
        say "debootstrap failed:"
        tail -5 "$root.log" >&2
        rm -f "$root.log"
        exit 1
    fi
    rm -f "$root.log"
    printf 'deb %s bookworm main\ndeb %s bookworm-updates main\ndeb %s bookworm-security main\n' \
        "$mirror" "$mirror" "$security" >"$root/etc/apt/sources.list"
    slim "$root"
    tar -C "$root" -c . | docker import - "$made" >/dev/null
}

if [ "${1-}" = --make ]; then
    make_image
elif has_image "$pulled" || { say "pulling $pulled" && docker pull -q "$pulled" >/dev/null 2>&1; }; then
    echo "$pulled"
    exit
elif ! has_image "$made"; then
    make_image
fi
echo "$made"
