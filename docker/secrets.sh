#!/bin/sh
# Make what is missing of the deployment's secrets: docker/secrets.sh [DIR, docker/secrets by default].
# What is there is kept; to change a password delete its file and the two .acl files, and run this again.
# As root: the files belong to the containers' user, who alone may read them. Else the folder is closed to
# all but its owner, and its files are open to whom they are mounted (seckilld warns of it).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
to=${1:-$here/secrets}
umask 077
mkdir -p "$to"
chmod 0700 "$to"

random() { head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n'; }
put() { # FILE TEXT
    [ -s "$to/$1" ] && return
    printf '%s\n' "$2" >"$to/$1.part"
    if [ "$(id -u)" -eq 0 ]; then
        chown 10001:10001 "$to/$1.part"
        chmod 0400 "$to/$1.part"
    else
        chmod 0444 "$to/$1.part"
    fi
    mv "$to/$1.part" "$to/$1"
    echo "secrets: made $1"
}
digest() { printf %s "$1" | sha256sum | cut -d' ' -f1; }

for user in admin seckill auditor replica sentinel; do put "redis-$user" "$(random)"; done
put redis-loader "loader:$(random)"
put admin-token "$(random)"
put token-key "$(random)"
put token-key-2 "$(random)" # good as well: while keys change, the one before

# An ACL file knows passwords by their SHA-256.
for acl in users sentinel-users; do
    [ -s "$to/$acl.acl" ] && continue
    rules=$(cat "$here/redis/$acl.acl.in")
    for user in admin seckill auditor replica sentinel loader; do
        word=$(cat "$to/redis-$user")
        upper=$(printf %s "$user" | tr '[:lower:]' '[:upper:]')
        rules=$(printf '%s\n' "$rules" | sed "s/@${upper}_SHA256@/$(digest "${word#loader:}")/")
    done
    put "$acl.acl" "$rules"
done
