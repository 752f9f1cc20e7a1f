# bash completion for seckilld and seckillctl. Flags, commands and guards are read from --help, and the
# word behind a flag there (FILE, DIR, LEVEL...) tells what may follow it: no flag is listed here.

_seckill_guards()
{
    local help=$1

    [[ $help == *Guards:* ]] || help=$(seckilld --help 2>/dev/null)
    sed -n '/^Guards:/,$s/^  \([a-z][a-z-]*\) .*/\1/p' <<<"$help"
}

# The flags of the help: those that begin a line or stand in the usage of a command, not those in prose.
_seckill_flags()
{
    grep -E '^([a-z]| +[[(]*--)' | grep -oE -- '--[a-z][a-z0-9-]*' | sort -u
}

# First words of the help's lines that follow the word $1 (or nothing) at their start.
_seckill_commands()
{
    sed -n "s/^${1:+$1 }\([a-z]\{1,\}\)\( .*\)\{0,1\}$/\1/p"
}

_seckill()
{
    local cur=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} word words kind help
    local -a command=()

    [[ $before == = ]] && before=${COMP_WORDS[COMP_CWORD - 2]} # --flag=val|
    [[ $cur == = ]] && cur=                                    # --flag=|
    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
        [[ $word =~ ^[a-z]+$ && ${#command[@]} -lt 2 ]] || break
        command+=("$word")
    done
    help=$("$1" "${command[@]}" --help 2>/dev/null)
    [[ $before == --* && $help =~ "$before "([A-Z]+) ]] && kind=${BASH_REMATCH[1]}
    case $before:$kind in
    --guard:NAME) words=$(_seckill_guards "$help") ;;
    --*:LEVEL) words="error warn info debug" ;;
    --*:FORMAT) words="text json" ;;
    --*:LANG) words="en zh" ;;
    --*:FILE) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$cur"); return ;;
    --*:DIR) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- "$cur"); return ;;
    --*:?*) return ;; # a number, a name, an address: nothing to offer
    *)
        case $COMP_CWORD:${1##*/}:$cur in
        *:seckilld:* | *:-*) words=$(_seckill_flags <<<"$help") ;;
        1:*) words=$(_seckill_commands <<<"$help" | sort -u) ;;
        2:*) words=$(_seckill_commands "${command[0]}" <<<"$help") ;;
        3:*) [[ ${command[*]} == "lab run" ]] &&
            words="all $("$1" lab list 2>/dev/null | awk '{ print $2 }')"
            [[ ${command[*]} =~ ^lab\ (play|explore)$ ]] && words="all $(_seckill_guards "$("${1%ctl}d" --help 2>/dev/null)")" ;;
        esac ;;
    esac
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}

complete -F _seckill seckilld seckillctl
