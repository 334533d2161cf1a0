# Dependencies run one way:
# core <- format <- plan <- kind.h <- filters, tables <- registry <- fronts <- build, store <- apps.
# usage: awk -f includes.awk FILE…   over every C file of the project, paths relative to its root.
# Prints each #include that goes against the order; exits 1 when there is one.
#
# A place is a folder of src, or a file directly in it; "front" is any file in src that is named nowhere below.

# The kind that a file of filters/ or tables/ belongs to: cuckoo.c and cuckoo_find.c are one.
function kind(path) {
    sub(/.*\//, "", path)
    sub(/[_.].*/, "", path)
    return path
}

function place(path,   parts, n) {
    if (path !~ /^src\//) {
        n = split(path, parts, "/")
        if (parts[1] == "apps" && n > 2) return "apps/" parts[2]
        return parts[1]
    }
    if (path ~ /^src\/(kind|table_kind|registry|handle)\.h$/ || path == "src/plan/planner.h") return "kind.h"
    if (path == "src/plan/planner.c") return "front" # it goes through the register
    n = split(path, parts, "/")
    if (n > 3) return parts[2] "/" parts[3]
    if (n > 2) return parts[2]
    if (path == "src/kinds.def" || path == "src/tables.def") return "kinds.def"
    if (path ~ /^src\/registry\.[ch]$/) return "registry"
    return "front"
}

# The project's file that an include names, or "" for a header of the system.
function target(from, name, quoted,   folder) {
    folder = from
    sub(/[^\/]*$/, "", folder)
    if (quoted && (folder name) in known) return folder name
    if (("src/" name) in known) return "src/" name
    if (("include/" name) in known) return "include/" name
    return ""
}

function broken(text) {
    printf "%s:%d: %s\n", FILENAME, FNR, text
    bad = 1
}

BEGIN {
    allowed["include"] = "include"
    allowed["core"] = "include core"
    allowed["format"] = "include core format"
    allowed["plan"] = "include core format plan"
    allowed["simd"] = "include core simd"
    allowed["kind.h"] = "include core format plan kinds.def kind.h"
    allowed["filters/common"] = "include core format plan kind.h filters/common"
    allowed["tables/common"] = "include core format plan kind.h tables/common"
    allowed["filters"] = "include core format plan simd kind.h filters/common"
    allowed["tables"] = "include core format plan simd kind.h tables/common"
    allowed["registry"] = "include core format plan kind.h kinds.def registry"
    allowed["front"] = "include core format plan kind.h kinds.def registry front"
    allowed["build"] = "include core format plan kind.h registry front build"
    allowed["store"] = allowed["build"] " store"
    for (i = 1; i < ARGC; i++) {
        sub(/^\.\//, "", ARGV[i])
        known[ARGV[i]] = 1
    }
    known["src/kinds.def"] = 1
    known["src/tables.def"] = 1
}

/^[ \t]*#[ \t]*include[ \t]*[<"]/ {
    line = $0
    sub(/^[ \t]*#[ \t]*include[ \t]*/, "", line)
    quoted = substr(line, 1, 1) == "\""
    name = substr(line, 2)
    sub(/[>"].*/, "", name)
    if (name ~ /(^|\/)\.\.\//) {
        broken("\"" name "\": an include names its file from src, never through \"..\"")
        next
    }

    from = place(FILENAME)
    if (!(from in allowed) && from !~ /^(apps\/|examples$)/) next # tests may see everything
    to = target(FILENAME, name, quoted)
    if (to == "") {
        if (quoted) broken("\"" name "\": no such file; headers of the system are in <>")
        next
    }
    to_place = place(to)
    if (from ~ /^(apps\/|examples$)/) {
        if (to_place != "include" && to_place != from)
            broken("\"" name "\": programs see the public headers only")
        next
    }
    if ((from == "filters" || from == "tables") && to_place == from) {
        if (kind(FILENAME) != kind(to))
            broken("\"" name "\": a kind never includes a file of another kind")
        next
    }
    if (index(" " allowed[from] " ", " " to_place " ") == 0)
        broken("\"" name "\": " from " may include only: " allowed[from])
}

END { exit bad }
