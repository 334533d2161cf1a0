# Checks that dependencies point one way:
# core <- format <- plan <- kind.h <- filters, tables <- registry <- fronts <- build, store <- file <- apps.
# usage: awk -f includes.awk FILE…   with every C file of the project, as paths relative to its root.
# Prints each #include that breaks the order, and exits with 1 if there is one.
#
# A layer is a folder of src, or a group of files directly in src. "front" is every file in src that has no other layer.

# Reads the names of kinds from a register, such as KIND(bloom) in src/kinds.def.
function read_kinds(register,   line) {
    while ((getline line < register) > 0)
        if (line ~ /^(KIND|TABLE)\(/) {
            gsub(/^[A-Z]*\(|\).*/, "", line)
            kinds[line] = 1
        }
    close(register)
}

# Returns the kind that a file of filters/ or tables/ belongs to: cuckoo.c and cuckoo_find.c belong to the same kind.
# One name may begin with another: blocked_counting_lookup.h belongs to blocked_counting, not to blocked.
function kind(path) {
    sub(/.*\//, "", path)
    sub(/\..*/, "", path)
    while (!(path in kinds) && sub(/_[^_]*$/, "", path)) {
    }
    return path
}

function layer(path,   parts, n) {
    if (path !~ /^src\//) {
        n = split(path, parts, "/")
        if (parts[1] == "apps" && n > 2) return "apps/" parts[2]
        return parts[1]
    }
    if (path ~ /^src\/(kind|lookup|table_kind|registry|handle|verbs|salvage)\.h$/) return "kind.h"
    if (path == "src/plan/planner.h") return "kind.h"
    if (path == "src/plan/planner.c") return "front" # it uses the registry
    n = split(path, parts, "/")
    if (n > 3) return parts[2] "/" parts[3]
    if (n > 2) return parts[2]
    if (path == "src/kinds.def" || path == "src/tables.def") return "kinds.def"
    if (path ~ /^src\/registry\.[ch]$/) return "registry"
    return "front"
}

# Returns true for the files of the Redis module that know nothing of the server.
function is_layout(path) {
    return path ~ /^apps\/redis\/(redisbloom_[a-z]*|murmur)\.[ch]$/
}

# Returns the file of the project that an include names, or "" for a system header.
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
    allowed["simd"] = "include core format plan simd"
    allowed["kind.h"] = "include core format plan kinds.def kind.h"
    allowed["filters/common"] = "include core format plan kind.h filters/common"
    allowed["tables/common"] = "include core format plan kind.h tables/common"
    allowed["filters"] = "include core format plan simd kind.h filters/common"
    allowed["tables"] = "include core format plan simd kind.h tables/common"
    allowed["registry"] = "include core format plan kind.h kinds.def registry"
    allowed["front"] = "include core format plan kind.h kinds.def registry front"
    allowed["build"] = "include core format plan kind.h registry front build"
    allowed["store"] = "include core format plan kind.h registry front store"
    allowed["file"] = "include core format plan kind.h registry front store file"
    for (i = 1; i < ARGC; i++) {
        sub(/^\.\//, "", ARGV[i])
        known[ARGV[i]] = 1
    }
    known["src/kinds.def"] = 1
    known["src/tables.def"] = 1
    read_kinds("src/kinds.def")
    read_kinds("src/tables.def")
}

/^[ \t]*#[ \t]*include[ \t]*[<"]/ {
    line = $0
    sub(/^[ \t]*#[ \t]*include[ \t]*/, "", line)
    quoted = substr(line, 1, 1) == "\""
    name = substr(line, 2)
    sub(/[>"].*/, "", name)
    if (name ~ /(^|\/)\.\.\//) {
        broken("\"" name "\": includes name a file by its path from src, never with \"..\"")
        next
    }

    # Headers directly in tests are shared by its folders, which include them.
    if (FILENAME ~ /^tests\/[^\/]*$/ && ("tests/" name) in known && name ~ /\//)
        broken("\"" name "\": headers that the folders of tests share may not include a file of one of them")
    from = layer(FILENAME)
    if (!(from in allowed) && from !~ /^(apps\/|examples$)/) next # tests may include everything
    to = target(FILENAME, name, quoted)
    if (to == "") {
        if (quoted) broken("\"" name "\": no such file; system headers are included with <>")
        next
    }
    to_layer = layer(to)
    if (from ~ /^(apps\/|examples$)/) {
        if (to_layer != "include" && to_layer != from)
            broken("\"" name "\": programs may include only the public headers")
        # RedisBloom's layouts are tested without a server, so they must not need its API.
        if (is_layout(FILENAME) && to_layer == from && !is_layout(to))
            broken("\"" name "\": RedisBloom's layouts may include only the public headers and each other")
        next
    }
    if ((from == "filters" || from == "tables") && to_layer == from) {
        if (kind(FILENAME) != kind(to))
            broken("\"" name "\": a kind may not include a file of another kind")
        next
    }
    if (index(" " allowed[from] " ", " " to_layer " ") == 0)
        broken("\"" name "\": " from " may include only: " allowed[from])
}

END { exit bad }
