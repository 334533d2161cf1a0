# Prints the first block of a Markdown file fenced as ```c, or, with -v all=1, all of them, with #line so that errors
# point into that file.
/^```c[ \t]*$/ && (all || !found) { found = inside = 1; printf "#line %d \"%s\"\n", NR + 1, FILENAME; next }
/^```/ && inside { inside = 0; next }
inside { print }
END {
    if (!found || inside) {
        print FILENAME ": no complete ```c block" > "/dev/stderr"
        exit 1
    }
}
