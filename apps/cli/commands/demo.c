/* demo.c: `kith demo`, which builds and queries a password deny list and shows each step as the command a user would
 * type.
 *
 * The list is generated the way password crackers do it: common words with common changes. A password on the list is
 * always found; another password is refused wrongly with a probability of at most the rate. At the end both are checked
 * for all passwords of the list and for a million others. The same million is looked up with grep, to compare the
 * times. The files stay in a temporary folder, so that the user can repeat the commands; after an error the folder is
 * removed. */
#define _GNU_SOURCE

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <kith/filter.h>

#include "cli/commands.h"
#include "cli/output/report.h"
#include "cli/values.h"

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

/* Endings: none, 0 to 9999, and a hundred years with an exclamation mark. Each word starts with a lower-case or an
 * upper-case letter. */
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

/* Does not begin with a letter, so it is not on the list. */
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
    /* The folder is removed while it is the current folder, where a relative path would not work. */
    char whole[PATH_MAX];
    if (realpath(parent, whole) == NULL)
        fail("%s: %s (set TMPDIR to use another folder)", parent, errno == ENOENT ? "no such folder" : strerror(errno));
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

static uint64_t bytes_of(const char *path) {
    struct stat st;
    if (stat(path, &st) != 0)
        fail_errno(path);
    return (uint64_t)st.st_size;
}

/* ---- the steps ---- */

static void explain(const char *text) {
    out_text("\n%s\n", text);
}

/* Prints a word so that a shell reads it back unchanged: in single quotes if it has special characters. A single quote
 * itself is written '\\''. */
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

static void show_command(const char *program, int word_count, const char *const *words) {
    out_text(out_is_coloured() ? "\033[1m$ %s" : "$ %s", program);
    for (int i = 0; i < word_count; i++)
        put_word(words[i]);
    out_text(out_is_coloured() ? "\033[0m\n" : "\n");
}

static double seconds_now(void) {
    struct timespec t;
    return clock_gettime(CLOCK_MONOTONIC, &t) == 0 ? (double)t.tv_sec + (double)t.tv_nsec * 1e-9 : 0;
}

/* Shows a command line and runs it. Returns the seconds that it took; an error in it ends the tool. */
static double run(int word_count, const char *const *words) {
    show_command("kith", word_count, words);
    double start = seconds_now();
    char **copy = allocate((size_t)word_count * sizeof *copy);
    for (int i = 0; i < word_count; i++) {
        size_t bytes = strlen(words[i]) + 1;
        copy[i] = memcpy(allocate(bytes), words[i], bytes);
    }
    (void)run_words(word_count, copy);
    double seconds = seconds_now() - start;
    heed_signals();
    for (int i = 0; i < word_count; i++)
        free(copy[i]);
    free(copy);
    report_command("demo");
    return seconds;
}

#define COUNT_OF(array) ((int)(sizeof(array) / sizeof *(array)))

static volatile pid_t grep_process;

static void stop_grep(void *context) {
    (void)context;
    if (grep_process > 0)
        (void)kill(grep_process, SIGKILL);
}

/* Starts grep with its output going to the returned descriptor. Returns -1, with errno, if it cannot be started. */
static int start_grep(const char *const *words) {
    int ends[2];
    if (pipe(ends) != 0)
        fail_errno("pipe");
    posix_spawn_file_actions_t actions;
    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    (void)posix_spawn_file_actions_addclose(&actions, ends[0]);
    (void)posix_spawn_file_actions_addclose(&actions, ends[1]);
    char *path = getenv("PATH"), path_setting[4096];
    (void)snprintf(path_setting, sizeof path_setting, "PATH=%s", path != NULL ? path : "/usr/bin:/bin");
    char *environment[] = {path_setting, (char[]){"LC_ALL=C"}, NULL}; /* other locales make grep slower */
    pid_t process;
    int error = posix_spawnp(&process, "grep", &actions, NULL, (char *const *)(uintptr_t)words, environment);
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)close(ends[1]);
    if (error != 0) {
        (void)close(ends[0]);
        errno = error;
        return -1;
    }
    grep_process = process;
    return ends[0];
}

/* Looks up the same passwords with grep, which compares exactly, and prints the time of both. */
static void compare_with_grep(double kith_seconds) {
    static const char *const words[] = {"grep", "-Fxcf", LIST, OTHERS, NULL};
    show_command("grep", COUNT_OF(words) - 2, words + 1);
    out_flush();
    at_failure(stop_grep, NULL);
    double start = seconds_now();
    int output = start_grep(words);
    if (output < 0) {
        at_failure_forget();
        out_text("There is no time to compare with: grep %s.\n",
                 errno == ENOENT ? "is not installed" : "could not be started");
        return;
    }
    char count[64];
    size_t used = 0;
    for (ssize_t got = 1; (got > 0 || (got < 0 && errno == EINTR)) && used + 1 < sizeof count;) {
        got = read(output, count + used, sizeof count - 1 - used);
        used += got > 0 ? (size_t)got : 0;
    }
    count[used] = '\0';
    (void)close(output);
    int status = 0;
    pid_t ended;
    do
        ended = waitpid(grep_process, &status, 0);
    while (ended < 0 && errno == EINTR);
    double seconds = seconds_now() - start;
    grep_process = 0;
    at_failure_forget();
    bool counted = ended > 0 && WIFEXITED(status) && WEXITSTATUS(status) <= 1; /* 1: nothing found */
    if (!counted) {
        out_text("There is no time to compare with: grep failed.\n");
        return;
    }
    out_text("%s", count);
    out_text("time: kith query %.2f s, grep %.2f s\n", kith_seconds, seconds);
}

static void look_up(const arguments *a) {
    static const char *const examples[] = {"password", "Dragon1987", "sunshine2024!", "correct horse battery staple",
                                           "p4Tk!vq"};
    const char *const *keys = a->operand_count > 0 ? a->operands : examples;
    size_t count = a->operand_count > 0 ? a->operand_count : sizeof examples / sizeof *examples;
    const char **words = allocate((count + 5) * sizeof *words);
    static const char *const begin[] = {"query", "--mark", FILTER, "--key", "--"};
    memcpy(words, begin, sizeof begin);
    memcpy(words + 5, keys, count * sizeof *words);
    (void)run((int)count + 5, words);
    free(words);
}

static void check(uint64_t list_bytes) {
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
    value_text promised, measured, count, others, list_size, filter_size;
    out_text("\nLooked up all %s passwords of the list: %zu lost.\n", text_of_integer(LISTED_COUNT, count), lost);
    out_text("Looked up %s others: %zu false positives, a rate of %s; the filter promises at most %s.\n",
             text_of_integer(OTHER_COUNT, others), wrong, text_of_rate(rate, measured), text_of_rate(RATE, promised));
    out_text("The list has %s, the filter %s.\n", text_of_size(list_bytes, list_size),
             text_of_size(bytes_of(FILTER), filter_size));
    /* The standard deviation of the measured rate is 3.2% of it, so a factor of 1.2 is six standard deviations. */
    if (lost > 0 || rate > 1.2 * RATE)
        fail("the filter does not keep its promised rate");
}

int command_demo(const arguments *a) {
    enter_folder();
    value_text count, size;
    write_list(LIST, LISTED_COUNT, listed);
    uint64_t list_bytes = bytes_of(LIST);
    out_text("%s bad passwords, made of common words with common changes: " LIST ", %s.\n",
             text_of_integer(LISTED_COUNT, count), text_of_size(list_bytes, size));

    explain("Build a filter of them that wrongly refuses at most one good password in a thousand:");
    static const char *const build[] = {"build", "-o", FILTER, "-k", "overlap", "-p", "0.1%", LIST};
    (void)run(COUNT_OF(build), build);
    static const char *const info[] = {"info", FILTER};
    (void)run(COUNT_OF(info), info);

    explain("Look up some passwords:");
    look_up(a);

    explain(
        "Count how many of a million passwords that are not on the list are wrongly refused, and compare with grep:");
    write_list(OTHERS, OTHER_COUNT, other);
    static const char *const query[] = {"query", "-c", FILTER, OTHERS};
    double seconds = run(COUNT_OF(query), query);
    compare_with_grep(seconds);

    check(list_bytes);
    out_text("\nThe files are in %s. To run the commands yourself:\n$ cd %s\n", folder, folder);
    at_failure_forget();
    return EXIT_FOUND;
}
