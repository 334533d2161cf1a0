/* json.c: writes the run as JSON: the machine, the settings, and every row with the times of its rounds. */
#define _DEFAULT_SOURCE
#include "output.h"

#include <kith/base.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

static void string(FILE *to, const char *text) {
    fputc('"', to);
    for (const char *c = text; *c != '\0'; c++) {
        if (*c == '"' || *c == '\\')
            fputc('\\', to);
        if ((unsigned char)*c >= ' ')
            fputc(*c, to);
    }
    fputc('"', to);
}

static void member(FILE *to, const char *name, const char *text) {
    fprintf(to, "\"%s\": ", name);
    string(to, text);
}

/* Reads the first line of a file without its newline; "" if there is no such file. */
static void first_line(const char *path, char *text, size_t size) {
    text[0] = '\0';
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return;
    if (fgets(text, (int)size, file) != NULL)
        text[strcspn(text, "\n")] = '\0';
    fclose(file);
}

static void cpu_model(char *text, size_t size) {
    struct utsname name;
    snprintf(text, size, "%s", uname(&name) == 0 ? name.machine : "");
    FILE *file = fopen("/proc/cpuinfo", "r");
    if (file == NULL)
        return;
    char one[256];
    while (fgets(one, sizeof one, file) != NULL) {
        const char *colon = strchr(one, ':');
        if (strncmp(one, "model name", 10) == 0 && colon != NULL && colon[1] == ' ') {
            one[strcspn(one, "\n")] = '\0';
            snprintf(text, size, "%s", colon + 2);
            break;
        }
    }
    fclose(file);
}

/* The file has the form "always [madvise] never"; the word in brackets is the setting. */
static void huge_pages(char *text, size_t size) {
    first_line("/sys/kernel/mm/transparent_hugepage/enabled", text, size);
    char *open = strchr(text, '['), *close = strchr(text, ']');
    if (open != NULL && close != NULL && open < close) {
        *close = '\0';
        memmove(text, open + 1, strlen(open + 1) + 1);
    }
}

static void machine(FILE *to) {
    char text[256], level[32], kind[32], path[96];
    struct utsname name;
    fprintf(to, "  \"machine\": {\n    ");
    cpu_model(text, sizeof text);
    member(to, "cpu", text);
    fprintf(to, ",\n    \"processors\": %ld,\n    \"memory_bytes\": %.0f,\n    \"caches\": [",
            sysconf(_SC_NPROCESSORS_ONLN), (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE));
    for (int i = 0; i < 8; i++) {
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/level", i);
        first_line(path, level, sizeof level);
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/type", i);
        first_line(path, kind, sizeof kind);
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/size", i);
        first_line(path, text, sizeof text);
        if (text[0] == '\0')
            break;
        fprintf(to, "%s{\"level\": %s, ", i > 0 ? ", " : "", level[0] != '\0' ? level : "0");
        member(to, "type", kind);
        fprintf(to, ", ");
        member(to, "size", text);
        fprintf(to, "}");
    }
    fprintf(to, "],\n    \"page_bytes\": %ld,\n    ", sysconf(_SC_PAGESIZE));
    huge_pages(text, sizeof text);
    member(to, "huge_pages", text);
    fprintf(to, ",\n    ");
    snprintf(text, sizeof text, "%s %s", uname(&name) == 0 ? name.sysname : "", uname(&name) == 0 ? name.release : "");
    member(to, "system", text);
    fprintf(to, ",\n    ");
#if defined(__clang__)
    member(to, "compiler", __VERSION__);
#elif defined(__GNUC__)
    member(to, "compiler", "gcc " __VERSION__);
#else
    member(to, "compiler", "");
#endif
    fprintf(to, "\n  },\n");
}

static void fact_json(FILE *to, const fact *f) {
    fprintf(to, "    {");
    member(to, "who", f->who);
    fprintf(to, ", ");
    member(to, "name", f->name);
    fprintf(
        to,
        ", \"n\": %zu, \"rate\": %g, \"measured_rate\": %.6g, \"bytes\": %llu, \"bits_per_key\": %.4f, \"lines\": %u}",
        f->n, f->rate, f->measured_rate, (unsigned long long)f->bytes, (double)f->bytes * 8 / (double)f->n, f->lines);
}

static void row_json(FILE *to, const row *w) {
    fprintf(to, "    {");
    member(to, "who", w->who);
    fprintf(to, ", ");
    member(to, "name", w->name);
    fprintf(to, ", \"n\": %zu, \"rate\": %g, ", w->n, w->rate);
    member(to, "op", w->op);
    fprintf(to, ", \"threads\": %u, ", w->threads);
    member(to, "pages", w->pages);
    double median = row_median(w), floor = row_floor(w), theirs = row_peer(w);
    fprintf(to, ", \"ns\": %.3f, \"least\": %.3f, \"most\": %.3f, \"spread\": %.4f", median, row_min(w), row_max(w),
            row_spread(w));
    if (floor > 0)
        fprintf(to, ", \"limit_ns\": %.3f, \"to_limit\": %.3f", floor, median / floor);
    if (theirs > 0)
        fprintf(to, ", \"peer_ns\": %.3f, \"to_peer\": %.4f", theirs, median / theirs);
    fprintf(to, ", \"rounds\": [");
    for (size_t i = 0; i < w->rounds; i++)
        fprintf(to, "%s%.3f", i > 0 ? ", " : "", w->ns[i]);
    fprintf(to, "]}");
}

void write_json(FILE *to, const results *r, const run_settings *settings) {
    char date[32];
    time_t seconds = time(NULL);
    struct tm utc;
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&seconds, &utc));
    fprintf(to, "{\n  \"bench\": 1,\n  ");
    member(to, "kith", kith_version());
    fprintf(to, ",\n  ");
    member(to, "date", date);
    fprintf(to, ",\n");
    machine(to);
    fprintf(to, "  \"rounds\": %zu,\n  \"most_asks\": %zu,\n  ", settings->rounds, settings->max_lookups);
    member(to, "clock", settings->clock);
    fprintf(to, ",\n  \"peers\": [");
    for (const peer *const *p = peers; *p != NULL; p++) {
        fprintf(to, "%s{", p != peers ? ", " : "");
        member(to, "name", (*p)->name);
        fprintf(to, ", ");
        member(to, "version", (*p)->version());
        fprintf(to, "}");
    }
    fprintf(to, "],\n  \"left_out\": [");
    for (size_t i = 0; i < r->skipped_count; i++) {
        fprintf(to, "%s", i > 0 ? ", " : "");
        string(to, r->skipped[i]);
    }
    fprintf(to, "],\n  \"filters\": [\n");
    for (size_t i = 0; i < r->fact_count; i++) {
        fact_json(to, &r->facts[i]);
        fprintf(to, "%s\n", i + 1 < r->fact_count ? "," : "");
    }
    fprintf(to, "  ],\n  \"results\": [\n");
    for (size_t i = 0; i < r->row_count; i++) {
        row_json(to, r->rows[i]);
        fprintf(to, "%s\n", i + 1 < r->row_count ? "," : "");
    }
    fprintf(to, "  ]\n}\n");
}
