# Checks that dependencies point one way:
# core <- os, format <- plan <- kind.h <- kinds, tables <- registry <- handle <- layers <- build <- file <- apps.
# usage: awk -f includes.awk FILE…   with every C file of the project, as paths relative to its root.
# Prints each #include that breaks the order, and exits with 1 if there is one.
#
# A layer is a folder of src, with these exceptions. "kind.h" is what describes a kind and a handle, so that kinds may
# use it; "register" are the lists of kinds.

function layer(path,   parts, n) {
    n = split(path, parts, "/")
    if (parts[1] == "apps" && n > 2) return "apps/" parts[2] (parts[3] == "front" ? "/front" : "")
    if (parts[1] != "src") return parts[1]
    if (path ~ /^src\/(kinds|tables)\/[a-z]*\.def$/) return "register"
    if (path ~ /^src\/kinds\/registry\.[ch]$/) return "registry"
    if (path ~ /^src\/(kinds\/(kind|lookup|crowding_state)|tables\/table_kind)\.h$/) return "kind.h"
    if (path ~ /^src\/(handle\/(handle|salvage|verbs)|plan\/planner)\.h$/) return "kind.h"
    if (path ~ /^src\/plan\/(planner|option_error)\.c$/) return "handle" # they use the registry
    if (path ~ /^src\/tables\/(table|table_file|exact)\.c$/) return "handle" # the public functions of tables
    if (parts[2] == "kinds" && n > 3) return parts[3] == "shared" ? "kinds/shared" : "kinds"
    if (parts[2] == "tables") return parts[3] == "shared" ? "tables/shared" : "tables"
    return parts[2]
}

# Returns the kind that a file belongs to: the folder of a filter kind; of a table kind its folder or its file.
function kind(path,   parts) {
    split(path, parts, "/")
    sub(/\..*/, "", parts[3])
    return parts[3]
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
    if (("apps/" name) in known) return "apps/" name
    return ""
}

function broken(text) {
    printf "%s:%d: %s\n", FILENAME, FNR, text
    bad = 1
}

BEGIN {
    allowed["include"] = "include"
    allowed["core"] = "include core"
    allowed["os"] = "include core os"
    allowed["format"] = "include core os format"
    allowed["plan"] = "include core os format plan"
    allowed["kernels"] = "include core os format plan kernels"
    allowed["kind.h"] = "include core os format plan register kind.h"
    allowed["kinds/shared"] = "include core os format plan kernels kind.h kinds/shared"
    allowed["tables/shared"] = "include core os format plan kind.h tables/shared"
    allowed["kinds"] = "include core os format plan kernels kind.h kinds/shared"
    allowed["tables"] = "include core os format plan kind.h tables/shared"
    allowed["registry"] = "include core os format plan kind.h register registry"
    allowed["handle"] = "include core os format plan kind.h register registry handle"
    allowed["layers"] = "include core os format plan kind.h registry layers"
    allowed["build"] = "include core os format plan kind.h registry handle build"
    allowed["file"] = "include core os format plan kind.h registry handle file"
    for (i = 1; i < ARGC; i++) {
        sub(/^\.\//, "", ARGV[i])
        known[ARGV[i]] = 1
    }
    known["src/kinds/kinds.def"] = 1
    known["src/tables/tables.def"] = 1
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
        # The front of the lab is a command of the tool.
        if (from ~ /^apps\/(cli|lab\/front)$/ && to ~ /^apps\/(cli|lab)\//) next
        if (to_layer != "include" && to_layer != from)
            broken("\"" name "\": programs may include only the public headers")
        # RedisBloom's layouts are tested without a server, so they must not need its API.
        if (is_layout(FILENAME) && to_layer == from && !is_layout(to))
            broken("\"" name "\": RedisBloom's layouts may include only the public headers and each other")
        next
    }
    if ((from == "kinds" || from == "tables") && to_layer == from) {
        if (kind(FILENAME) != kind(to))
            broken("\"" name "\": a kind may not include a file of another kind")
        next
    }
    if (index(" " allowed[from] " ", " " to_layer " ") == 0)
        broken("\"" name "\": " from " may include only: " allowed[from])
}

END { exit bad }
