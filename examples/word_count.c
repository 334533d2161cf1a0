/* word_count: counts how often each word occurs, in an exact table.
 *
 * Counts the words of a file (by default, of a short built-in text), saves the table, opens it again and prints the
 * counts of the words given. An exact table is never wrong. A filter (see the README) is smaller, but has false
 * positives.
 *
 *     word_count [FILE [WORD…]]
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kith/kith.h>

#define FILE_NAME "word_count.kith"

static const char OWN_TEXT[] = "how often each word occurs, in an exact table: a word and its count, "
                               "or that it never occurred. A table is never wrong";

static void must(kith_status status, const char *doing) {
    if (status == KITH_OK)
        return;
    fprintf(stderr, "word_count: %s: %s\n", doing, kith_status_text(status));
    exit(1);
}

/* Adds one character to the current word. At the end of a word, counts it. */
static void take_character(kith_table *table, int letter) {
    static char word[64];
    static size_t length;
    if (isalpha(letter) && length < sizeof word) {
        word[length++] = (char)tolower(letter);
    } else if (!isalpha(letter) && length != 0) {
        uint64_t count = 0;
        (void)kith_table_get(table, word, length, &count); /* count stays 0 for a new word */
        must(kith_table_put(table, word, length, count + 1, NULL), "counting");
        length = 0;
    }
}

static void count_words(kith_table *table, const char *path) {
    if (path == NULL) {
        for (size_t i = 0; i < sizeof OWN_TEXT; i++)
            take_character(table, (unsigned char)OWN_TEXT[i]);
        return;
    }
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        perror(path);
        exit(1);
    }
    for (int letter; (letter = getc(file)) != EOF;)
        take_character(table, letter);
    take_character(table, '\n');
    (void)fclose(file);
}

static uint64_t print_count(const kith_table *table, const char *word) {
    uint64_t count = 0;
    if (kith_table_get(table, word, strlen(word), &count))
        printf("  %-12s %llu\n", word, (unsigned long long)count);
    else
        printf("  %-12s never\n", word);
    return count;
}

int main(int argc, char **argv) {
    kith_table_spec spec = KITH_TABLE_SPEC_INIT; /* byte strings of any length, in a cuckoo table that grows */
    kith_table *table;
    must(kith_table_create(&spec, &table), "creating the table");
    count_words(table, argc > 1 ? argv[1] : NULL);
    must(kith_table_save(table, FILE_NAME), "saving " FILE_NAME);
    kith_table_free(table);

    must(kith_table_open(FILE_NAME, KITH_OPEN_DEFAULT, NULL, &table), "opening " FILE_NAME);
    printf("%s: %llu different words\n", FILE_NAME, (unsigned long long)kith_table_count(table));
    bool right = true;
    for (int i = 2; i < argc; i++)
        (void)print_count(table, argv[i]);
    if (argc < 2) /* the counts in OWN_TEXT are known */
        right =
            print_count(table, "word") == 2 && print_count(table, "table") == 2 && print_count(table, "sometimes") == 0;
    kith_table_free(table);
    return right ? 0 : 1;
}
