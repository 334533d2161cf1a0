# Prints the first block of a Markdown file fenced as ```c, with #line so that errors point into that file.
/^```c[ \t]*$/ && !found { found = inside = 1; printf "#line %d \"%s\"\n", NR + 1, FILENAME; next }
/^```/ && inside { closed = 1; exit }
inside { print }
END {
    if (!closed) {
        print FILENAME ": no complete ```c block" > "/dev/stderr"
        exit 1
    }
}
