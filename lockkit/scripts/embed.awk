# Turn text files (Lua; SQL; the API's description; the guards) into one C table of { name, source, sha1 }.
#   awk -v table=NAME -f embed.awk DIGESTS FILE.lua...
# DIGESTS is what `sha1sum FILE.lua...` printed. A script's name is its file name without ".lua".
# The text is kept byte for byte (script_test.c recomputes each digest), so every file must end in
# a newline. In a replacement string "&&" doubles a backslash in mawk and gawk alike.

function name_of(path) { sub(/.*\//, "", path); sub(/\.(lua|sql)$/, "", path); return path }
function close_entry() { if (entry != "") printf "         ,\n     .sha1 = \"%s\"},\n", digest[entry] }

BEGIN {
    print "/* Made by embed.awk from the .lua files. */"
    print "#include \"lockkit/script.h\"\n"
    printf "extern const struct lk_script_source %s[];\n", table
    printf "const struct lk_script_source %s[] = {\n", table
}
FNR == NR { digest[name_of($2)] = $1; next }
FNR == 1 {
    close_entry()
    entry = name_of(FILENAME)
    printf "    {.name = \"%s\",\n     .source =\n", entry
}
{
    gsub(/\\/, "&&")
    gsub(/"/, "\\\"")
    printf "         \"%s\\n\"\n", $0
}
END { close_entry(); print "    {.name = 0},\n};" }
