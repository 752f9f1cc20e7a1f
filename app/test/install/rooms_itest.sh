#!/bin/bash
# What the READMEs of the houses name is there: every room, every file, every function; and no room is left out.
# The first page says the same in both languages.
cd "$(dirname "$0")/../../.." || exit 1
. .ci/tap.sh

# The words in backquotes of a README's tables and lists, a line each.
words_of() { grep -E '^(\||[0-9]+\.)' "$1/README.md" | grep -oE '`[^`]+`' | tr -d '`' | grep -E '[./]|:'; }

all_is_there() { # HOUSE
    status=0
    while read -r word; do
        case $word in *NAME* | *' '* | _* | /*) continue ;; esac
        file=${word%%:*}
        path=$(find "$1/$file" "$1/include/$file" "$1"/*/"$file" "$1"/*/*/"$file" -prune 2>/dev/null | head -1)
        [ -n "$path" ] || { echo "$1/README.md: there is no $file" && status=1 && continue; }
        [ "$word" = "$file" ] || grep -qE "(^|[ *])${word#*:}\(" "$path" ||
            { echo "$1/README.md: there is no ${word#*:} in $file" && status=1; }
    done < <(words_of "$1")
    return $status
}

none_is_left_out() { # HOUSE
    for room in "$1"/*/ $([ "$1" != lockkit ] || echo lockkit/src/*/); do
        room=${room#"$1"/}
        case $room in src/ | include/ | scripts/ | node_modules/ | secrets/) continue ;; esac
        grep -qF "| \`$room\`" "$1/README.md" || grep -qE "^\|.*\`$room\`.* \|" "$1/README.md" ||
            { echo "$1/README.md does not tell what $room is for" && return 1; }
    done
}

is_short() { [ "$(wc -l <"$1/README.md")" -le 80 ]; }

# What must not differ between languages, a line each: what is printed or typed, where links lead, figures.
facts_of() { # FILE
    sed -n '/^```/,/^```/{s/ *#.*//;p}' "$1"
    sed '/^```/,/^```/d' "$1" | grep -oE '`[^`]+`|\]\([^)]+\)' | grep -vE 'README(\.zh)?\.md\)$'
    sed '/^```/,/^```/d; s/`[^`]*`//g; s/]([^)]*)//g' "$1" | grep -oE '[0-9]+([.,][0-9]+)*'
}
says_the_same() { diff <(facts_of README.md | sort -u) <(facts_of README.zh.md | sort -u); }

check "README.zh.md: commands, figures and links are README.md's" says_the_same
for house in app common lockkit loadtest web docker; do
    check "$house/README.md: what it names is there" all_is_there "$house"
    check "$house/README.md: no room is left out" none_is_left_out "$house"
    check "$house/README.md: at most 80 lines" is_short "$house"
done
checks_end
