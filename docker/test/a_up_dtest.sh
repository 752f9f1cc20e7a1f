#!/bin/sh
# A stranger's first minutes: up, sell, audit.
. "$(dirname "$0")/lib.sh"

need "up" deploy up single
check "all three instances are ready" all_ready
check "HAProxy sees all three" haproxy_says seckilld-3 UP
check "a load through HAProxy passes the audit" deploy demo --stock 500 --buyers 5000 --connections 200 --quiet
checks_end
