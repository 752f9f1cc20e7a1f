#!/bin/sh
# fetch.sh DIR [FLAG...]: what package-lock.json names, into DIR/node_modules; no script of a package runs.
# fetch.sh --uplot DIR: make of that DIR/uplot/uplot.js and .css, as the pages have them.
set -eu
here=$(dirname "$0")
if [ "$1" = --uplot ]; then
    from=$2/node_modules/uplot to=$2/uplot
    mkdir -p "$to"
    { printf '/*!\n' && cat "$from/LICENSE" && printf '*/\n' && cat "$from/dist/uPlot.iife.min.js" && printf '\nexport default uPlot;\n'; } >"$to/uplot.js"
    cp "$from/dist/uPlot.min.css" "$to/uplot.css"
    exit
fi
dir=$1
shift
mkdir -p "$dir"
cp "$here/package.json" "$here/package-lock.json" "$dir"
npm ci --prefix "$dir" --ignore-scripts --no-audit --no-fund "$@" >"$dir/npm.log" 2>&1 && exit
tail -n 5 "$dir/npm.log" >&2
echo "web: cannot fetch what the pages use: this needs the network, once (all that was said: $dir/npm.log)." >&2
exit 1
