# Checks that the library allocates memory in one file only, and never prints, exits, reads the environment or calls
# rand.
# usage: awk -f calls.awk FILE…   with the C files of src, as paths relative to the project's root.
# Prints each forbidden call, and exits with 1 if there is one. Comments, strings, members (allocator->free) and longer
# names (kith_filter_free) do not count.

# Returns the line without comments, strings and character constants. in_comment is kept for the next line.
function code_of(line,   out, c, two, i, quote) {
    out = ""
    quote = ""
    for (i = 1; i <= length(line); i++) {
        c = substr(line, i, 1)
        two = substr(line, i, 2)
        if (in_comment) {
            if (two == "*/") { in_comment = 0; i++ }
        } else if (quote != "") {
            if (c == "\\") i++
            else if (c == quote) quote = ""
        } else if (two == "/*") { in_comment = 1; out = out " "; i++ }
        else if (two == "//") break
        else if (c == "\"" || c == "'") { quote = c; out = out " " }
        else out = out c
    }
    return out
}

BEGIN {
    n = split("malloc calloc realloc reallocarray free aligned_alloc posix_memalign strdup strndup", names, " ")
    for (i = 1; i <= n; i++) why[names[i]] = "memory comes from the allocator; only src/core/alloc.c calls malloc"
    n = split("printf fprintf vprintf vfprintf dprintf puts fputs putchar perror", names, " ")
    for (i = 1; i <= n; i++) why[names[i]] = "the library never prints"
    n = split("exit _exit _Exit quick_exit abort", names, " ")
    for (i = 1; i <= n; i++) why[names[i]] = "the library never exits: use assert for misuse, a status for bad data"
    n = split("getenv secure_getenv", names, " ")
    for (i = 1; i <= n; i++) why[names[i]] = "the library never reads the environment"
    n = split("lgamma tgamma strtok strerror localtime gmtime", names, " ")
    for (i = 1; i <= n; i++) why[names[i]] = "it writes to a global, but const calls must be thread-safe"
    n = split("rand srand rand_r random srandom drand48", names, " ")
    for (i = 1; i <= n; i++) why[names[i]] = "random numbers come from the seeded generator in src/core"
}

FNR == 1 { in_comment = 0 }

{
    rest = code_of($0)
    before = ""
    while (match(rest, /[A-Za-z_][A-Za-z0-9_]*[ \t]*\(/)) {
        name = substr(rest, RSTART, RLENGTH)
        sub(/[ \t]*\($/, "", name)
        before = before substr(rest, 1, RSTART - 1)
        member = before ~ /(\.|->)[ \t]*$/
        if (name in why && !member && !(why[name] ~ /alloc\.c/ && FILENAME == "src/core/alloc.c")) {
            printf "%s:%d: %s(): %s\n", FILENAME, FNR, name, why[name]
            bad = 1
        }
        before = before substr(rest, RSTART, RLENGTH)
        rest = substr(rest, RSTART + RLENGTH)
    }
}

END { exit bad }
