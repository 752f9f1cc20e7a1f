#!/bin/sh
# Print the name of the image that ours are built on: Debian's own when it is here or can be pulled, else
# one made from Debian's archive by debootstrap (as root, half a minute).
#   docker/base-image.sh          debian:bookworm-slim, or seckill/base:bookworm
#   docker/base-image.sh --make   make seckill/base:bookworm, whatever there is
# MIRROR=URL names another archive; PLATFORM=linux/arm64, or linux/amd64, a base of that [the engine's]: as it
# configures itself, this machine must be able to run it (.ci/emulate).
set -eu
pulled=debian:bookworm-slim made=seckill/base:bookworm arch='' cpu=''
case ${PLATFORM:-} in
linux/amd64) arch=amd64 cpu=x86_64 pulled=amd64/$pulled ;;
linux/arm64) arch=arm64 cpu=aarch64 pulled=arm64v8/$pulled ;;
esac
made=$made${arch:+-$arch}
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
    trap 'rm -rf "$root" "$root.image"' EXIT
    trap 'exit 130' INT TERM
    say "making $made from $mirror (half a minute)"
    if ! debootstrap ${arch:+--arch=$arch} --variant=minbase bookworm "$root" "$mirror" >"$root.log" 2>&1; then
        say "debootstrap failed:"
        tail -5 "$root.log" >&2
        rm -f "$root.log"
        exit 1
    fi
    rm -f "$root.log"
    printf 'deb %s bookworm main\ndeb %s bookworm-updates main\ndeb %s bookworm-security main\n' \
        "$mirror" "$mirror" "$security" >"$root/etc/apt/sources.list"
    slim "$root"
    # Not docker import: that of 20.10 takes no architecture.
    mkdir "$root.image"
    tar -C "$root" -cf "$root.image/base.tar" .
    printf 'FROM scratch\nADD base.tar /\nCMD ["bash"]\n' >"$root.image/Dockerfile"
    docker build -q ${PLATFORM:+--platform "$PLATFORM"} -t "$made" "$root.image" >/dev/null
}

[ -z "$cpu" ] || "$(dirname "$0")/../.ci/emulate" "$cpu" >&2 || say "perhaps nothing here runs programs for $cpu"
if [ "${1-}" = --make ]; then
    make_image
elif has_image "$pulled" || { say "pulling $pulled" && docker pull -q "$pulled" >/dev/null 2>&1; }; then
    echo "$pulled"
    exit
elif ! has_image "$made"; then
    make_image
fi
echo "$made"
