#!/bin/sh
# Every example of lockkit/GUIDE.md is compiled, has at most ten lines, and does its work on a real Redis.
# Needs BUILD_DIR; runs at the root.
set -u
bin=${BUILD_DIR:-build/release}
. .ci/tap.sh
work=$(mktemp -d)
trap '[ -z "${redis:-}" ] || kill "$redis"; rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

redis-server --port 0 --unixsocket "$work/redis.sock" --save '' --dir "$work" >"$work/redis.log" 2>&1 &
redis=$!
for _ in $(seq 100); do
    redis-cli -s "$work/redis.sock" ping >/dev/null 2>&1 && break
    sleep 0.1
done

ln -s "$(realpath "$bin"/liblockkit.so.*.*.*)" "$work/liblockkit.so.0"
library="$work/liblockkit.so.0 -Wl,-rpath,$work -pthread"

# The blocks, one file each, named by the heading before them.
awk -v dir="$work" '
    /^### / { name = substr($0, 5); gsub(/[^a-z]+/, "-", name) }
    /^```c$/ { file = dir "/" name ".block"; next }
    /^```cpp$/ { file = dir "/" name ".cpp.block"; next }
    /^```$/ { file = "" }
    file != "" { print > file }' lockkit/GUIDE.md

compile() { # NAME
    case $1 in *.cpp) compile_cpp "$1" ;; *) compile_c "$1" ;; esac
}
compile_cpp() { # NAME
    {
        printf '#include <iostream>\n#include <mutex>\n#include "lockkit/lockkit.hpp"\n'
        printf 'using namespace std::chrono_literals;\nint main(int, char **argv)\n{\n'
        sed 's|"redis://127.0.0.1"|argv[1]|' "$work/$1.block"
        printf '}\n'
    } >"$work/$1"
    g++ -std=c++17 -Wall -Wextra -Werror -Ilockkit/include -o "$work/${1%.cpp}.program" "$work/$1" $library
}
compile_c() { # NAME
    {
        printf '#include <poll.h>\n#include <stdio.h>\n#include "lockkit/lockkit.h"\n'
        printf 'int main(int argc, char **argv)\n{\n(void)argc;\nstruct lk_error err = {0};\n'
        printf 'lk_client *client = lk_client_open(&(struct lk_client_options){.url = argv[1]}, &err);\n'
        printf 'if (!client) return 2;\n{\n'
        cat "$work/$1.block"
        printf '}\nlk_client_close(client);\nif (err.text[0]) fprintf(stderr, "%%s\\n", err.text);\n'
        printf 'return err.code != LK_OK;\n}\n'
    } >"$work/$1.c"
    cc -std=gnu17 -Wall -Wextra -Werror -Ilockkit/include -o "$work/$1.program" "$work/$1.c" $library
}
runs_and_says_something() { # NAME
    timeout 20 "$work/${1%.cpp}.program" "unix://$work/redis.sock" >"$work/$1.out" && [ -s "$work/$1.out" ]
}
is_short() { [ "$(wc -l <"$work/$1.block")" -le 10 ]; }

check "there are examples" [ "$(ls "$work"/*.block | wc -l)" -ge 12 ]
for block in "$work"/*.block; do
    name=$(basename "$block" .block)
    check "$name has at most ten lines" is_short "$name"
    check "$name compiles" compile "$name"
    check "$name does its work" runs_and_says_something "$name"
done
# The example in the head of every header: compiled, with what stands around it.
examples() { # FILE: its example; a function in it stands before the others
    awk '/^ \* Example$/ { on = 1; next } /^ \*\/|^ \*$/ { on = 0 } on' "$1" | cut -c8-
}
compile_example() { # HEADER
    {
        printf '#include <stdio.h>\n#include "lockkit/lockkit.h"\n#include "lockkit/%s"\n' "${1##*/}"
        printf 'extern lk_client *client;\nextern lk_lock *lock;\nextern struct lk_error err;\n'
        examples "$1" | sed -n '/^void hook/,/^}/p'
        printf 'void example(void);\nvoid example(void)\n{\n{\n'
        examples "$1" | sed '/^void hook/,/^}/d'
        printf '}\n}\n'
    } >"$work/example.c"
    [ -n "$(examples "$1")" ] && cc -std=c11 -Wall -Wextra -Werror -Ilockkit/include -fsyntax-only "$work/example.c"
}
compile_example_hpp() { # HEADER
    printf '#include <mutex>\n#include "lockkit/lockkit.hpp"\nint main()\n{\n%s\n}\n' "$(examples "$1")" >"$work/example.cpp"
    [ -n "$(examples "$1")" ] && g++ -std=c++17 -Wall -Wextra -Werror -Ilockkit/include -fsyntax-only "$work/example.cpp"
}
for header in lockkit/include/lockkit/*.h; do
    check "the example of ${header##*/} compiles" compile_example "$header"
done
check "the example of lockkit.hpp compiles" compile_example_hpp lockkit/include/lockkit/lockkit.hpp
check "they leave no lock behind" [ "$(redis-cli -s "$work/redis.sock" --scan | grep -cE '^(job:1|report|counter|user:17|printer|catalogue|account:.|leader)$')" = 0 ]
checks_end
