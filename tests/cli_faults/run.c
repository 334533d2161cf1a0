/* Runs the tool in child processes; see run.h. */
#define _GNU_SOURCE

#include "run.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "calls.h"
#include "folder.h"

enum { WORDS_MAX = 40, SECONDS_MAX = 60, CPU_SECONDS_MAX = 20 };

int tool_main(int argc, char **argv); /* main() of the tool */

static struct folder here;
static int out_file, err_file;
static volatile pid_t running;
static volatile sig_atomic_t hung;

static void must(bool holds, const char *what) {
    if (!holds) {
        perror(what);
        exit(99);
    }
}

/* ---- files ---- */

void files_put(files *f, const char *name, const void *bytes, size_t byte_count) {
    content *c = files_find(f, name);
    if (c == NULL) {
        must(f->count < FILES_MAX && strlen(name) < NAME_BYTES, "too many files");
        c = &f->of[f->count++];
        strcpy(c->name, name);
    } else {
        free(c->bytes);
    }
    c->bytes = malloc(byte_count + 1);
    must(c->bytes != NULL, "malloc");
    memcpy(c->bytes, bytes, byte_count);
    c->bytes[byte_count] = '\0';
    c->byte_count = byte_count;
    c->is_link = false;
}

content *files_find(const files *f, const char *name) {
    for (size_t i = 0; i < f->count; i++)
        if (strcmp(f->of[i].name, name) == 0)
            return (content *)&f->of[i];
    return NULL;
}

void files_free(files *f) {
    for (size_t i = 0; i < f->count; i++)
        free(f->of[i].bytes);
    f->count = 0;
}

static void each_entry(void (*visit)(const char *name, void *context), void *context) {
    DIR *dir = opendir(".");
    must(dir != NULL, "opendir");
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            visit(entry->d_name, context);
    (void)closedir(dir);
}

static void remove_one(const char *name, void *context) {
    (void)context;
    if (unlink(name) != 0) { /* a folder that the tool has created */
        struct folder inner;
        (void)snprintf(inner.path, sizeof inner.path, "%s", name);
        remove_folder(&inner);
    }
}

static char *read_descriptor(int fd, size_t *byte_count) {
    struct stat st;
    must(fstat(fd, &st) == 0, "fstat");
    char *bytes = malloc((size_t)st.st_size + 1);
    must(bytes != NULL, "malloc");
    must(pread(fd, bytes, (size_t)st.st_size, 0) == st.st_size, "pread");
    bytes[st.st_size] = '\0';
    *byte_count = (size_t)st.st_size;
    return bytes;
}

static void read_one(const char *name, void *context) {
    size_t byte_count;
    char link[NAME_BYTES];
    ssize_t link_bytes = readlink(name, link, sizeof link);
    if (link_bytes >= 0) {
        files_put(context, name, link, (size_t)link_bytes);
        files_find(context, name)->is_link = true;
        return;
    }
    int fd = open(name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    must(fd >= 0, name);
    struct stat st;
    must(fstat(fd, &st) == 0, name);
    if (S_ISDIR(st.st_mode)) { /* counts as an empty file: its name matters */
        files_put(context, name, "", 0);
    } else {
        char *bytes = read_descriptor(fd, &byte_count);
        files_put(context, name, bytes, byte_count);
        free(bytes);
    }
    (void)close(fd);
}

void folder_get(files *f) {
    files_free(f);
    each_entry(read_one, f);
}

void folder_set(const files *f) {
    each_entry(remove_one, NULL);
    for (size_t i = 0; i < f->count; i++) {
        if (f->of[i].is_link) {
            must(symlink(f->of[i].bytes, f->of[i].name) == 0, f->of[i].name);
            continue;
        }
        int fd = open(f->of[i].name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
        must(fd >= 0, f->of[i].name);
        must(write(fd, f->of[i].bytes, f->of[i].byte_count) == (ssize_t)f->of[i].byte_count, f->of[i].name);
        must(close(fd) == 0, f->of[i].name);
    }
}

/* ---- processes ---- */

static void on_alarm(int number) {
    (void)number;
    hung = 1;
    if (running > 0)
        (void)kill(running, SIGKILL);
}

void run_begin(void) {
    calls_share();
    /* In memory if possible: the disk would be synced thousands of times. */
    if (getenv("TMPDIR") == NULL && access("/dev/shm", W_OK) == 0)
        (void)setenv("TMPDIR", "/dev/shm", 1);
    here = fresh_folder();
    must(chdir(here.path) == 0, here.path);
    must(setenv("TMPDIR", here.path, 1) == 0 && setenv("TERM", "dumb", 1) == 0, "setenv");
    out_file = memfd_create("out", MFD_CLOEXEC);
    err_file = memfd_create("err", MFD_CLOEXEC);
    must(out_file >= 0 && err_file >= 0, "memfd_create");
    must(signal(SIGALRM, on_alarm) != SIG_ERR, "signal");
}

void run_end(void) {
    must(chdir("/") == 0, "chdir");
    remove_folder(&here);
}

static void become_tool(char **words, int word_count, const char *input, bool armed) {
    int in = open(input, O_RDONLY);
    struct rlimit none = {0, 0}, cpu = {CPU_SECONDS_MAX, CPU_SECONDS_MAX + 5};
    if (in < 0 || dup2(in, STDIN_FILENO) < 0 || dup2(out_file, STDOUT_FILENO) < 0 ||
        dup2(err_file, STDERR_FILENO) < 0 || setrlimit(RLIMIT_CORE, &none) != 0 || setrlimit(RLIMIT_CPU, &cpu) != 0 ||
        signal(SIGALRM, SIG_DFL) == SIG_ERR)
        _exit(99);
    (void)close(in);
    calls_arm(armed);
    int status = tool_main(word_count, words);
    calls_arm(false);
    exit(status);
}

void run_line(const char *line, bool armed, outcome *o) {
    char text[512], *words[WORDS_MAX + 1] = {(char[]){"kith"}};
    const char *input = "/dev/null";
    int word_count = 1;
    must(strlen(line) < sizeof text, line);
    strcpy(text, line);
    for (char *word = strtok(text, " "); word != NULL; word = strtok(NULL, " ")) {
        if (strcmp(word, "<") == 0) {
            input = strtok(NULL, " ");
            break;
        }
        must(word_count < WORDS_MAX, line);
        words[word_count++] = word;
    }
    words[word_count] = NULL;
    must(ftruncate(out_file, 0) == 0 && ftruncate(err_file, 0) == 0, "ftruncate");
    must(lseek(out_file, 0, SEEK_SET) == 0 && lseek(err_file, 0, SEEK_SET) == 0, "lseek");
    hung = 0;
    (void)fflush(NULL);
    running = fork();
    must(running >= 0, "fork");
    if (running == 0)
        become_tool(words, word_count, input, armed);
    (void)alarm(SECONDS_MAX);
    int status;
    pid_t ended;
    while ((ended = waitpid(running, &status, 0)) < 0 && errno == EINTR)
        continue;
    (void)alarm(0);
    running = 0;
    must(ended > 0, "waitpid");
    o->status = hung || (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU) ? HUNG
                : WIFEXITED(status)                                          ? WEXITSTATUS(status)
                                                                             : 256 + WTERMSIG(status);
    o->out = read_descriptor(out_file, &o->out_bytes);
    o->err = read_descriptor(err_file, &o->err_bytes);
}

void outcome_free(outcome *o) {
    free(o->out);
    free(o->err);
}
