#!/bin/sh
# The textbook's program in languages that are compiled: the search finds its bug, as in the others. What is not installed
# is skipped. Of `make interop`. Needs BUILD_DIR; runs at the root.
set -u
bin=${BUILD_DIR:-build/release}
. .ci/tap.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
any=app/lab/exercises/any

breaks() { # COMMAND
    "$bin/seckillctl" lab explore --program "$1" --exercise lock --seconds 100 --json >"$work/found"
    grep -F '"promise":"stuck","schedule":"Aa"' "$work/found" || {
        cat "$work/found"
        return 1
    }
}

if has_program go; then
    check "Go compiles" env CGO_ENABLED=0 go build -o "$work/mine" $any/template.go
    check "Go: a lock stays when its holder dies" breaks "$work/mine"
else
    skip "Go: a lock stays when its holder dies" "no go"
fi
if has_program javac; then
    check "Java compiles" javac -d "$work" -Xlint:all -Werror $any/Template.java
    check "Java: a lock stays when its holder dies" breaks "java -cp $work Template"
else
    skip "Java: a lock stays when its holder dies" "no javac"
fi
checks_end
