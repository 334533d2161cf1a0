# Checks that no line is longer than 120 characters. Rows of Markdown tables cannot be wrapped and may be longer.
# usage: LC_ALL=C awk -f columns.awk FILE…   Prints each line that is too long, and exits with 1 if there is one.
FILENAME ~ /\.md$/ && /^ *\|/ { next }
length($0) > 120 {
    text = $0
    gsub(/[\200-\277]/, "", text) # a character of UTF-8 has one byte outside of this range
    if (length(text) <= 120) next
    print FILENAME ":" FNR ": " length(text) " characters"
    failed = 1
}
END { exit failed }
