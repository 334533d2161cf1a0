/* demo.c: `kith demo`: a password deny list, each step the command that a user would type, in a temporary folder.
 *
 * The list is made the way password crackers do: common words with common changes. A password on it is always found;
 * another one is refused wrongly at the rate. Both are checked at the end over all passwords of the list and a
 * million that are not on it. */
#define _GNU_SOURCE

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <kith/filter.h>

#include "commands.h"
#include "report.h"
#include "values.h"

#define LIST "passwords.txt"
#define OTHERS "others.txt"
#define FILTER "denied.kith"
#define RATE 0.001

enum { OTHER_COUNT = 1000000, PASSWORD_BYTES = 64 };

static const char *const WORDS[] = {
    "password", "qwerty",   "letmein", "dragon",   "monkey",  "football", "baseball", "sunshine", "princess", "welcome",
    "shadow",   "master",   "michael", "superman", "batman",  "trustno1", "iloveyou", "starwars", "computer", "hunter",
    "soccer",   "killer",   "pepper",  "ginger",   "summer",  "winter",   "spring",   "autumn",   "flower",   "hello",
    "freedom",  "whatever", "secret",  "admin",    "login",   "access",   "passw0rd", "zxcvbnm",  "asdfgh",   "abc123",
    "charlie",  "jordan",   "thomas",  "george",   "jessica", "amanda",   "ashley",   "nicole",   "daniel",   "andrew",
    "matrix",   "cheese",   "cookie",  "banana",   "orange",  "purple",   "silver",   "golden",   "guitar",   "london",
};
#define WORD_COUNT (sizeof WORDS / sizeof *WORDS)

/* Endings: nothing, 0 to 9999, and a hundred years with an exclamation mark; each with a small or a capital letter. */
enum { NUMBERS = 10000, YEARS = 100, ENDINGS = 1 + NUMBERS + YEARS };
#define LISTED_COUNT (2 * WORD_COUNT * ENDINGS)

typedef char password[PASSWORD_BYTES];

static size_t listed(size_t i, password text) {
    const char *word = WORDS[i / 2 / ENDINGS];
    size_t ending = i / 2 % ENDINGS;
    int bytes;
    if (ending == 0)
        bytes = snprintf(text, PASSWORD_BYTES, "%s", word);
    else if (ending <= NUMBERS)
        bytes = snprintf(text, PASSWORD_BYTES, "%s%zu", word, ending - 1);
    else
        bytes = snprintf(text, PASSWORD_BYTES, "%s%zu!", word, 1930 + ending - NUMBERS);
    if (i % 2 == 1)
        text[0] = (char)(text[0] - 'a' + 'A');
    return (size_t)bytes;
}

/* Begins with no letter, so it is not on the list. */
static size_t other(size_t i, password text) {
    return (size_t)snprintf(text, PASSWORD_BYTES, "#%zu", i);
}

/* ---- the folder ---- */

static char folder[PATH_MAX];

static void remove_folder(void *context) {
    (void)context;
    (void)unlink(LIST);
    (void)unlink(OTHERS);
    (void)unlink(FILTER);
    (void)rmdir(folder);
}

static void enter_folder(void) {
    const char *parent = getenv("TMPDIR");
    if (parent == NULL || *parent == '\0')
        parent = "/tmp";
    /* The folder is removed from inside, where a relative name leads elsewhere. */
    char whole[PATH_MAX];
    if (realpath(parent, whole) == NULL)
        fail("%s: %s (TMPDIR names another folder)", parent, errno == ENOENT ? "no such folder" : strerror(errno));
    if ((size_t)snprintf(folder, sizeof folder, "%s/kith-demo-XXXXXX", whole) >= sizeof folder)
        fail("%s: the name is too long", whole);
    if (mkdtemp(folder) == NULL)
        fail_errno(folder);
    at_failure(remove_folder, NULL);
    if (chdir(folder) != 0)
        fail_errno(folder);
}

static void write_list(const char *path, size_t count, size_t (*make)(size_t i, password text)) {
    FILE *file = fopen(path, "we");
    if (file == NULL)
        fail_errno(path);
    password text;
    bool written = true;
    for (size_t i = 0; i < count && written; i++) {
        size_t bytes = make(i, text);
        text[bytes++] = '\n';
        written = fwrite(text, 1, bytes, file) == bytes;
    }
    if (fclose(file) != 0 || !written)
        fail_errno(path);
}

/* ---- the steps ---- */

static void say(const char *text) {
    out_text("\n%s\n", text);
}

/* A word as a shell reads it back: as it is when all its characters are plain, else in single quotes, where only a
 * single quote needs more: it is written '\\''. */
static void put_word(const char *word) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789%+,-./:=@_";
    if (*word != '\0' && word[strspn(word, plain)] == '\0') {
        out_text(" %s", word);
        return;
    }
    out_text(" '");
    for (; *word != '\0'; word++) {
        if (*word == '\'')
            out_text("'\\''");
        else
            out(word, 1);
    }
    out_text("'");
}

/* Shows a command line and runs it; an error in it ends the tool. */
static void run(int word_count, const char *const *words) {
    out_text(out_is_coloured() ? "\033[1m$ kith" : "$ kith");
    for (int i = 0; i < word_count; i++)
        put_word(words[i]);
    out_text(out_is_coloured() ? "\033[0m\n" : "\n");
    char **copy = take((size_t)word_count * sizeof *copy);
    for (int i = 0; i < word_count; i++)
        copy[i] = strdup(words[i]);
    (void)run_words(word_count, copy);
    heed_signals();
    for (int i = 0; i < word_count; i++)
        free(copy[i]);
    free(copy);
    report_command("demo");
}

#define RUN(...)                                                                                                       \
    do {                                                                                                               \
        const char *const words[] = {__VA_ARGS__};                                                                     \
        run((int)(sizeof words / sizeof *words), words);                                                               \
    } while (0)

static void ask(const arguments *a) {
    static const char *const own[] = {"password", "Dragon1987", "sunshine2024!", "correct horse battery staple",
                                      "p4Tk!vq"};
    const char *const *keys = a->operand_count > 0 ? a->operands : own;
    size_t count = a->operand_count > 0 ? a->operand_count : sizeof own / sizeof *own;
    const char **words = take((count + 5) * sizeof *words);
    static const char *const begin[] = {"query", "--mark", FILTER, "--key", "--"};
    memcpy(words, begin, sizeof begin);
    memcpy(words + 5, keys, count * sizeof *words);
    run((int)count + 5, words);
    free(words);
}

static void check(void) {
    kith_filter *filter;
    kith_status status = kith_filter_open(FILTER, KITH_OPEN_DEFAULT, NULL, &filter);
    if (status != KITH_OK)
        fail_status(FILTER, status);
    password text;
    size_t lost = 0, wrong = 0;
    for (size_t i = 0; i < LISTED_COUNT; i++)
        lost += !kith_filter_has(filter, text, listed(i, text));
    for (size_t i = 0; i < OTHER_COUNT; i++)
        wrong += kith_filter_has(filter, text, other(i, text));
    kith_filter_free(filter);
    double rate = (double)wrong / OTHER_COUNT;
    value_text promised, measured, count;
    out_text("\n%s listed passwords asked, %zu lost. A million others asked, %zu refused wrongly: %s, promised %s.\n",
             text_of_integer(LISTED_COUNT, count), lost, wrong, text_of_rate(rate, measured),
             text_of_rate(RATE, promised));
    /* The standard deviation of the measured rate is 3.2% of it: 1.2 times is six of them. */
    if (lost > 0 || rate > 1.2 * RATE)
        fail("the filter does not keep its promise");
}

int command_demo(const arguments *a) {
    enter_folder();
    value_text count;
    out_text("%s bad passwords, common words with common changes, in " LIST ".\n",
             text_of_integer(LISTED_COUNT, count));
    write_list(LIST, LISTED_COUNT, listed);

    say("The smallest filter of them that refuses one good password in a thousand:");
    RUN("build", "-o", FILTER, "-k", "overlap", "-p", "0.1%", LIST);
    RUN("info", FILTER);

    say("Ask it:");
    ask(a);

    say("How many of a million passwords that are not on the list would be refused:");
    write_list(OTHERS, OTHER_COUNT, other);
    RUN("query", "-c", FILTER, OTHERS);

    check();
    remove_folder(NULL);
    at_failure_forget();
    return EXIT_FOUND;
}
