#!/bin/sh
# Turn the files of the pages into one C table for app/serve/pages.c: address, type, entity tag, bytes.
#   embed.sh FILE... >TABLE.c
# FOLDER/index.html is the page /FOLDER, but buyer/index.html is /, errata/index.html /lab/errata; FOLDER/NAME is /assets/FOLDER/NAME.
# The bytes come in by .incbin, so they are the file's, whatever they are.
set -eu

address_of() {
    folder=$(basename "$(dirname "$1")")
    case $folder/$(basename "$1") in
    buyer/index.html) echo / ;;
    errata/index.html) echo /lab/errata ;;
    */index.html) echo "/$folder" ;;
    *) echo "/assets/$folder/$(basename "$1")" ;;
    esac
}

type_of() {
    case $1 in
    *.html) echo 'text/html; charset=utf-8' ;;
    *.css) echo 'text/css; charset=utf-8' ;;
    *.js) echo 'text/javascript; charset=utf-8' ;;
    *.svg) echo image/svg+xml ;;
    *)
        echo "embed.sh: what is the type of $1?" >&2
        return 1
        ;;
    esac
}

echo '/* Made by web/embed.sh. */'
echo '#include "serve/pages.h"'
n=0
for file in "$@"; do
    printf '\n__asm__(".pushsection .rodata\\nweb_%d: .incbin \\"%s\\"\\n.popsection");\n' "$n" "$file"
    printf 'extern const char web_%d[] __attribute__((visibility("hidden")));\n' "$n"
    n=$((n + 1))
done
printf '\nconst struct page pages[] = {\n'
n=0
for file in "$@"; do
    type=$(type_of "$file")
    tag=$(sha256sum <"$file" | cut -c1-32)
    printf '    {"%s", "%s", "\\"%s\\"", web_%d, %d},\n' \
        "$(address_of "$file")" "$type" "$tag" "$n" "$(wc -c <"$file")"
    n=$((n + 1))
done
printf '    {0},\n};\n'
