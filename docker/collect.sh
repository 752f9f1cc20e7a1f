#!/bin/sh
# The files of an image that holds one program, the libraries it is linked to, their licenses, and one user.
#   collect.sh PROGRAM DIR      (inside the build; etc/packages lists the packages, for who looks for holes)
set -eu
program=$1 to=$2
mkdir -p "$to/usr/bin" "$to/etc" "$to/run/seckill" "$to/var/lib/seckill" "$to/tmp"
cp "$program" "$to/usr/bin/"
# As ldd does it; so it works for another architecture, too, where that can be run at all.
LD_TRACE_LOADED_OBJECTS=1 "$program" | awk '$2 == "=>" { print $3 } $1 ~ /^\// { print $1 }' | while read -r file; do
    cp --parents -L "$file" "$to"
    package=$(dpkg -S "*/${file##*/}" | head -n 1 | cut -d: -f1)
    cp --parents -L "/usr/share/doc/$package/copyright" "$to"
    dpkg-query -W -f '${Package} ${Version}\n' "$package" >>"$to/etc/packages"
done
sort -u -o "$to/etc/packages" "$to/etc/packages"
install -D -m 644 LICENSE "$to/usr/share/doc/seckill/copyright"
echo 'seckill:x:10001:10001::/run/seckill:/' >"$to/etc/passwd"
echo 'seckill:x:10001:' >"$to/etc/group"
chown 10001:10001 "$to/run/seckill" "$to/var/lib/seckill"
chmod 0700 "$to/run/seckill"
chmod 1777 "$to/tmp"
