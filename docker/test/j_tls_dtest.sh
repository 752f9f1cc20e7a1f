#!/bin/sh
# TLS at the proxy, as docker/GUIDE.md tells: HTTPS serves, HTTP is sent on.
. "$(dirname "$0")/lib.sh"

make_certificate() {
    openssl req -x509 -newkey rsa:2048 -nodes -keyout "$WORK/key.pem" -out "$WORK/cert.pem" -days 2 \
        -subj /CN=shop.test -addext subjectAltName=DNS:shop.test || return 1
    cat "$WORK/cert.pem" "$WORK/key.pem" >"$SECKILL_SECRETS/tls.pem"
    [ "$(command id -u)" -ne 0 ] || chown 10001 "$SECKILL_SECRETS/tls.pem"
}

# PATH CURL-FLAG…: by the name in the certificate, which is checked.
https() {
    path=$1
    shift
    curl -s -m 5 --cacert "$WORK/cert.pem" --connect-to "shop.test:443:$(address haproxy edge):8443" "$@" "https://shop.test$path"
}
serves() { https /livez -f; }
is_http2() { [ "$(https /livez -o /dev/null -w '%{http_version}')" = 2 ]; }
has_hsts() { https / -D - -o /dev/null | grep -qi '^strict-transport-security: max-age=31536000'; }
sends_on() {
    said=$(curl -s -m 5 -o /dev/null -w '%{http_code} %{redirect_url}' -H 'Host: shop.test:80' "http://$(address haproxy edge):8080/?sale=cup")
    [ "$said" = "308 https://shop.test/?sale=cup" ] || { echo "$said" && return 1; }
}

export SECKILL_TLS_PORT=0
need "secrets" docker/secrets.sh "$SECKILL_SECRETS"
need "a certificate" make_certificate
export EXTRA=docker/tls.yaml
need "up with TLS" deploy up single
need "HTTPS serves, by the name in the certificate" within 10 serves
check "HTTP/2 is spoken" is_http2
check "browsers are told to stay with HTTPS" has_hsts
check "HTTP is sent on, path and all" sends_on
unset EXTRA
check "down again" deploy down --volumes
checks_end
