# Counts the function pointers that can be reached from the record of a filter kind, and fails if there are more than
# 24. Kernels are not counted: they are the operations on keys, once per instruction set.
# usage: awk -f hooks.awk FILE…   with the headers that define the record (kithi_kind) and its parts.

# Returns the number of function pointers in a struct and in the structs that it contains or points to.
function reachable(name,   i, sum) {
    sum = pointers[name]
    for (i = 1; i <= members[name]; i++) sum += reachable(member[name, i])
    return sum
}

# Removes comments.
{
    if (inside && !sub(/^.*\*\//, "")) next
    inside = 0
    gsub(/\/\*([^*]|\*+[^*\/])*\*+\//, "")
    inside = sub(/\/\*.*/, "")
}

/^typedef struct kithi_[a-z_]+ \{/ { name = $3; next }
/^}/ { name = "" }
name == "" { next }
/\(\*[a-z_]+\)\(/ { pointers[name]++; next }
/^ *(const )?kithi_[a-z_]+ \*?[a-z_]+(\[.*\])?;/ {
    sub(/^ *(const )?/, "")
    if ($1 != "kithi_kernels") member[name, ++members[name]] = $1
}

END {
    most = 24
    count = reachable("kithi_kind")
    if (count > 0 && count <= most) exit 0
    print "the record of a kind (src/kinds/kind.h) has " count " function pointers; it may have " most
    exit 1
}
