# Assembles kith/reader.h: prints src/reader/reader.h with each #include of a kith header replaced by that header.
# usage: awk -v root=SOURCE_TREE -f assemble.awk SOURCE_TREE/src/kinds.def
#
# The include "lookups.h" stands for the headers filters/<kind>_lookup.h of all kinds, in the order of kinds.def, and
# for three macros: KITHI_KINDS(X) is X(kind) for each kind, KITHI_KINDS_WITH(X, a, b) is X(kind, a, b) for each kind,
# and KITHI_INLINE_KINDS_WITH(X, a, b) is X(kind, a, b) for the kinds whose kithi_<kind>_has() is KITHI_INLINE.
#
# Each header is inserted where it is included first. An include inside an #if does not count as the first, because the
# condition may be false: the header is inserted there, and again at the next include. Headers are inserted with their
# include guards, so each is compiled only once.

function fail(text) {
    print "assemble.awk: " text > "/dev/stderr"
    failed = 1
    exit 1
}

# Prints a line, but never two empty lines in a row.
function put(line) {
    if (line == "" && empty) return
    empty = line == ""
    print line
}

function lookups(   i, all, all_with, inline_with) {
    for (i = 1; i <= kinds; i++) insert("src/filters/" kind[i] "_lookup.h", 0)
    for (i = 1; i <= kinds; i++) {
        all = all " X(" kind[i] ")"
        all_with = all_with " X(" kind[i] ", a, b)"
        if (("kithi_" kind[i] "_has") in inline) inline_with = inline_with " X(" kind[i] ", a, b)"
    }
    put("")
    put("#define KITHI_KINDS(X)" all)
    put("#define KITHI_KINDS_WITH(X, a, b)" all_with)
    put("#define KITHI_INLINE_KINDS_WITH(X, a, b)" inline_with)
    put("")
}

# Returns the path of an included file of kith, or "" for a system header.
function included(line,   name) {
    if (line !~ /^[ ]*#[ ]*include[ ]*["<]/) return ""
    name = line
    sub(/^[^"<]*["<]/, "", name)
    sub(/[">].*/, "", name)
    if (line ~ /</) return name ~ /^kith\// ? "include/" name : ""
    return "src/" name
}

# Prints a file. `conditional` is 1 if the include is inside a condition.
function insert(path, conditional,   line, name, depth, result) {
    if (path in inserted) return
    if (!conditional) inserted[path] = 1
    depth = 0
    while ((result = (getline line < (root "/" path))) > 0) {
        if (line ~ /^[ ]*#[ ]*if/) depth++
        if (line ~ /^[ ]*#[ ]*endif/) depth--
        if (line ~ /^KITHI_INLINE bool kithi_[a-z_]*_has\(/) {
            name = line
            sub(/^KITHI_INLINE bool /, "", name)
            sub(/\(.*/, "", name)
            inline[name] = 1
        }
        name = included(line)
        if (name == "src/lookups.h") lookups()
        else if (name != "") insert(name, conditional || depth > 1) # depth 1 is the include guard
        else put(line)
    }
    if (result < 0) fail("cannot read " path)
    close(root "/" path)
}

/^KIND\(/ {
    sub(/^KIND\(/, "")
    sub(/\).*/, "")
    kind[++kinds] = $0
}

END {
    if (failed) exit 1
    if (kinds == 0) fail("there are no kinds in " FILENAME)
    insert("src/reader/reader.h", 0)
}
