# Assembles kith/reader.h: prints src/reader/reader.h with the headers of kith in place of the lines that include them.
# usage: awk -v root=SOURCE_TREE -f assemble.awk SOURCE_TREE/src/kinds.def
#
# There is no file "lookups.h". An include of it stands for the headers kinds/<kind>/lookup.h of all kinds (for
# layers, layers/lookup.h), in the order of kinds.def, and for three macros:
#
#     KITHI_KINDS(X)                        X(kind) for each kind
#     KITHI_KINDS_WITH(X, a, b)             X(kind, a, b) for each kind
#     KITHI_INLINE_KINDS_WITH(X, a, b)      X(kind, a, b) for each kind whose kithi_<kind>_has() is KITHI_INLINE
#
# Each header is inserted where it is included first, and later includes of it are left out. An include inside an #if
# does not count as the first, because the condition may be false: the header is inserted there, and again at the next
# include. Headers are inserted with their include guards, so each is compiled only once.

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

function lookup_of(kind,   path, line, result) {
    path = "src/kinds/" kind "/lookup.h"
    result = (getline line < (root "/" path))
    close(root "/" path)
    return result > 0 ? path : "src/" kind "/lookup.h"
}

# Prints what "lookups.h" stands for.
function insert_lookups(   i, calls, calls_with, inline_calls_with) {
    for (i = 1; i <= kind_count; i++) insert(lookup_of(kind[i]), 0)
    for (i = 1; i <= kind_count; i++) {
        calls = calls " X(" kind[i] ")"
        calls_with = calls_with " X(" kind[i] ", a, b)"
        if (("kithi_" kind[i] "_has") in is_inline) inline_calls_with = inline_calls_with " X(" kind[i] ", a, b)"
    }
    put("")
    put("#define KITHI_KINDS(X)" calls)
    put("#define KITHI_KINDS_WITH(X, a, b)" calls_with)
    put("#define KITHI_INLINE_KINDS_WITH(X, a, b)" inline_calls_with)
    put("")
}

# If the line includes a header of kith, returns the path of that header; otherwise returns "".
function included(line,   name) {
    if (line !~ /^[ ]*#[ ]*include[ ]*["<]/) return ""
    name = line
    sub(/^[^"<]*["<]/, "", name)
    sub(/[">].*/, "", name)
    if (line ~ /</) return name ~ /^kith\// ? "include/" name : ""
    return "src/" name
}

# Prints a file, unless it was inserted before. `conditional` is true if its include is inside an #if.
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
            is_inline[name] = 1
        }
        name = included(line)
        if (name == "src/lookups.h") insert_lookups()
        else if (name != "") insert(name, conditional || depth > 1) # depth 1 is the include guard
        else put(line)
    }
    if (result < 0) fail("cannot read " path)
    close(root "/" path)
}

/^KIND\(/ {
    sub(/^KIND\(/, "")
    sub(/\).*/, "")
    kind[++kind_count] = $0
}

END {
    if (failed) exit 1
    if (kind_count == 0) fail("there are no kinds in " FILENAME)
    insert("src/reader/reader.h", 0)
}
