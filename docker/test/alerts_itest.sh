#!/bin/sh
# Prometheus' own tool judges the alert rules: each comes when it is due and is quiet otherwise; each has an
# entry in the runbook, and asks for metrics that seckilld has.
set -u
cd "$(dirname "$0")/../.." || exit 1
. .ci/tap.sh
promtool=build/tools/promtool
rules=docker/prometheus/alerts.yml

names() { sed -n 's/^ *- alert: //p' "$rules"; }
has_entries() {
    for name in $(names); do
        grep -q "^### $name" docker/GUIDE.md || { echo "$name has no entry in docker/GUIDE.md"; return 1; }
    done
}
has_metrics() {
    # shellcheck disable=SC2013  # words
    for metric in $(grep -o 'seckill_[a-z_]*' "$rules" | sed 's/_bucket$//' | sort -u); do
        grep -q "\"$metric\"" app/metrics/*.[ch] || { echo "$metric is no metric of seckilld"; return 1; }
    done
}
refuses_broken() {
    sed 's/> 0.5$/> /' "$rules" >"$work/alerts.yml"
    ! "$promtool" check rules "$work/alerts.yml"
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ ! -x "$promtool" ]; then
    echo "Bail out! $promtool is missing: make promtool"
    exit 1
fi
check "Prometheus reads its settings and rules" "$promtool" check config docker/prometheus/prometheus.yml
check "each alert comes when it is due, and none in quiet weather" "$promtool" test rules docker/prometheus/alerts_test.yml
check "each alert has an entry in the runbook" has_entries
check "each metric that is asked for exists" has_metrics
check "promtool refuses a broken rule" refuses_broken
checks_end
