# bash completion for lockctl. Commands, kinds and flags are read from --help, and the word behind a flag
# there (MS, URL, WHAT...) tells what may follow it: none of them is listed here.

_lockctl_flags()
{
    grep -oE '^ +--[a-z][a-z-]*' | grep -oE -- '--[a-z-]+' | sort -u
}

# The kinds of a help, each with the colon that a name follows.
_lockctl_kinds()
{
    sed -n '/^Kinds:/,/^$/s/^  \([a-z-]\{1,\}\) .*/\1:/p'
}

# The first words of the usages.
_lockctl_commands()
{
    sed -n 's/^\([a-z]\{1,\}\) .*/\1/p'
}

# "a, b or c" in the help of the flag $1.
_lockctl_choices()
{
    sed -n "s/^ *$1 [A-Z]* .*: \([a-z]*\), \([a-z]*\) or \([a-z]*\).*/\1 \2 \3/p"
}

_lockctl()
{
    local cur=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} help words='' kind='' i
    local command=${COMP_WORDS[1]}

    # What stands behind "--" is a command of its own.
    for ((i = 2; i < COMP_CWORD; i++)); do
        [[ ${COMP_WORDS[i]} == -- && $command == @(run|lead) ]] || continue
        if declare -F _command_offset >/dev/null; then
            _command_offset $((i + 1))
        elif ((COMP_CWORD == i + 1)); then
            mapfile -t COMPREPLY < <(compgen -c -- "$cur")
        else
            mapfile -t COMPREPLY < <(compgen -f -- "$cur")
        fi
        return
    done
    [[ $before == = ]] && before=${COMP_WORDS[COMP_CWORD - 2]} # --flag=val|
    [[ $cur == = ]] && cur=                                    # --flag=|
    if [[ $COMP_CWORD -gt 1 && $command != -* ]]; then
        help=$("$1" "$command" --help 2>/dev/null)
    else
        help=$("$1" --help 2>/dev/null)
    fi
    [[ $before == --* && $help =~ "$before "([A-Z:]+) ]] && kind=${BASH_REMATCH[1]}
    case $kind in
    KIND:NAME) words=$(_lockctl_kinds <<<"$help") && compopt -o nospace 2>/dev/null ;;
    FILE)
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
        return ;;
    WHAT) words=$(_lockctl_choices "$before" <<<"$help") ;;
    '')
        case $COMP_CWORD:$cur in
        *:-*) words=$(_lockctl_flags <<<"$help") ;;
        1:*) words=$(_lockctl_commands <<<"$help") ;;
        esac ;;
    esac
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}

complete -F _lockctl lockctl
