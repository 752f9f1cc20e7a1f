#!/bin/sh
# fetch.sh DIR [FLAG...]: what package-lock.json names, into DIR/node_modules, no script of a package runs;
# and of that DIR/uplot/uplot.js and .css, as the pages have them: whole, or not there.
set -eu
here=$(dirname "$0")
dir=$1
shift
rm -rf "$dir/uplot" "$dir/uplot.part"
mkdir -p "$dir/uplot.part"
cp "$here/package.json" "$here/package-lock.json" "$dir"
npm ci --prefix "$dir" --ignore-scripts --no-audit --no-fund "$@" >"$dir/npm.log" 2>&1 || {
    tail -n 5 "$dir/npm.log" >&2
    echo "web: cannot fetch what the pages use: this needs the network, once (all that was said: $dir/npm.log)." >&2
    exit 1
}
from=$dir/node_modules/uplot
{
    echo '/*!'
    cat "$from/LICENSE"
    echo '*/'
    cat "$from/dist/uPlot.iife.min.js"
    printf '\nexport default uPlot;\n'
} >"$dir/uplot.part/uplot.js"
cp "$from/dist/uPlot.min.css" "$dir/uplot.part/uplot.css"
mv "$dir/uplot.part" "$dir/uplot"
