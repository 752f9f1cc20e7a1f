#!/bin/sh
# Make what is missing of the deployment's secrets: docker/secrets.sh [DIR, docker/secrets by default [tls]]; tls: and
# a CA of our own with a certificate for all Redis servers, by the openssl program, good for ten years.
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
    [ -n "$2" ] || { echo "secrets: $1 could not be made" >&2 && exit 1; }
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
put postgres-seckill "$(random)"
put admin-token "$(random)"
put token-key "$(random)"
put token-key-2 "$(random)" # good as well: while keys change, the one before
put payment-key "$(random)" # shared with the payment provider
put payment-key-2 "$(random)"

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

[ "${2-}" = tls ] || exit 0
command -v openssl >/dev/null || { echo "secrets: certificates need the program openssl: apt install openssl" >&2 && exit 1; }
key() { openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:prime256v1; }
names=DNS:localhost,IP:127.0.0.1
for host in redis replica replica-2 sentinel-1 sentinel-2 sentinel-3 node-1 node-2 node-3 node-4 node-5 node-6; do
    names=$names,DNS:$host
done
put redis-ca.key "$(key)"
put redis-ca.crt "$(openssl req -x509 -key "$to/redis-ca.key" -subj "/CN=Redis of seckill" -days 3650)"
put redis-server.key "$(key)"
put redis-server.crt "$(openssl req -new -key "$to/redis-server.key" -subj /CN=redis -addext "subjectAltName=$names" |
    openssl x509 -req -CA "$to/redis-ca.crt" -CAkey "$to/redis-ca.key" -copy_extensions copy -days 3650 2>/dev/null)"
