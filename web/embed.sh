#!/bin/sh
# Turn the files of the pages into C: the bytes come in by .incbin, so they are the file's, whatever they are.
#   embed.sh pages_table DIR FILE... >TABLE.c   for app/serve/pages.c: address, type, entity tag, bytes
#   embed.sh report_page DIR FILE... >PAGE.c    for loadtest/page/page.c: one page that needs no other file
# FOLDER/NAME is /assets/FOLDER/NAME; the pages themselves are made in DIR, all after one pattern.
set -eu

# address | folder | title | style sheets besides shared/base.css
pages='/|buyer|Flash sale 秒杀|buyer/buyer.css
/class|class|Class 课堂|class/class.css
/classroom|classroom|Classroom 教室|class/class.css
/dashboard|dashboard|Operations 运营台|uplot/uplot.css dashboard/dashboard.css
/lab|lab|Lock lab 锁实验室|lab/lab.css lab/run.css
/lab/errata|errata|What the articles say, played 文章怎么说|errata/errata.css
/ways|ways|Ways to a lock 通往锁的路|ways/ways.css'

# What each imports at once, as FOLDER/NAME.
imports() { # FOLDER/NAME...
    for module in "$@"; do
        sed -n "s|.* from '\./\(.*\)';|${module%/*}/\1|p; s|.* from '\.\./\(.*\)';|\1|p" "web/$module"
    done
}

# All that a page's main.js needs: named in its head, so that none waits for another to be read.
modules_of() { # FOLDER
    all=$1/main.js more=
    until [ "$all" = "$more" ]; do
        more=$all
        # shellcheck disable=SC2086  # words
        all=$({ echo "$more" && imports $more; } | sort -u)
    done
    echo "$all" | grep -vx "$1/main.js"
}

# shellcheck disable=SC2086  # words
make_page() { # FOLDER TITLE STYLES
    cat <<END
<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>$2</title>
    <link rel="icon" href="/assets/shared/icon.svg" type="image/svg+xml" />
    <script src="/assets/shared/boot.js"></script>
$(printf '    <link rel="stylesheet" href="/assets/%s" />\n' shared/base.css $3)
$(modules_of "$1" | sed 's|.*|    <link rel="modulepreload" href="/assets/&" />|')
    <script type="module" src="/assets/$1/main.js"></script>
  </head>
  <body>
    <header class="top"></header>
    <main id="main" tabindex="-1">
      <noscript>
        <p class="panel">This page needs JavaScript. <span lang="zh-CN">此页面需要启用 JavaScript。</span></p>
      </noscript>
    </main>
  </body>
</html>
END
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

n=0
embed() { # ADDRESS FILE
    type=$(type_of "$2")
    printf '\n__asm__(".pushsection .rodata\\nweb_%d: .incbin \\"%s\\"\\n.popsection");\n' "$n" "$2"
    printf 'extern const char web_%d[] __attribute__((visibility("hidden")));\n' "$n"
    printf '    {"%s", "%s", "\\"%s\\"", web_%d, %d},\n' \
        "$1" "$type" "$(sha256sum <"$2" | cut -c1-32)" "$n" "$(wc -c <"$2")" >>"$dir/rows"
    n=$((n + 1))
}

# A module as a part of one script, behind those that it imports.
parts_of() { # FOLDER/NAME
    for module in $(imports "$1"); do parts_of "$module"; done
    echo "$1"
}

make_report() {
    cat <<END
<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'" />
    <title>seckill: what was measured</title>
    <style>
END
    cat "$uplot/uplot.css" web/shared/base.css web/report/report.css
    printf '    </style>\n  </head>\n  <body>\n    <main id="main">\n      <noscript>This page draws with JavaScript.</noscript>\n'
    printf '    </main>\n    <script type="application/json" id="results">RESULTS</script>\n    <script type="module">\n'
    sed 's/^export default .*//' "$uplot/uplot.js"
    for module in $(parts_of report/main.js | awk '!seen[$0]++'); do sed '/^import .*;$/d; s/^export //' "web/$module"; done
    printf '    </script>\n  </body>\n</html>\n'
}

table=$1
dir=$2
shift 2
mkdir -p "$dir"
if [ "$table" = report_page ]; then
    for file in "$@"; do case $file in */uplot.js) uplot=${file%/*} ;; esac done
    make_report >"$dir/report.html"
    echo '/* Made by web/embed.sh. */'
    echo 'extern const char page_template[];'
    printf '__asm__(".pushsection .rodata\\n.global page_template\\npage_template: .incbin \\"%s\\"\\n.byte 0\\n.popsection");\n' "$dir/report.html"
    exit
fi
printf '\nconst struct page pages[] = {\n' >"$dir/rows"
echo '/* Made by web/embed.sh. */'
echo '#include "serve/pages.h"'
while IFS='|' read -r address folder title styles; do
    make_page "$folder" "$title" "$styles" >"$dir/$folder.html"
    embed "$address" "$dir/$folder.html"
done <<END
$pages
END
for file in "$@"; do
    case $file in web/report/*) continue ;; esac
    embed "/assets/$(basename "$(dirname "$file")")/$(basename "$file")" "$file"
done
cat "$dir/rows"
printf '    {0},\n};\n'
