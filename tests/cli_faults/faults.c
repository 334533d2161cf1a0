/* Every command of the tool when the system fails: each allocation, once and from then on, and each system call, with
 * EIO, ENOSPC, EDQUOT, EINTR and short transfers. The number of the call that fails grows until a run meets no failure.
 *
 * What must hold after a run with a failure:
 *
 *     The tool ends by itself, with the status, the output and the files of a run without failure, or with status 2, a
 *     message that names what failed, and the old or the complete new content in the target. If the call failed before
 *     the first rename, it is the old one, byte by byte. If it is the new one and no sync has failed, the message says
 *     that everything was written. All other files are unchanged.
 *     After EINTR and short transfers it is always the first of the two, except that an interrupted sync is a failed
 *     sync.
 *     A failed sync ends with status 2 and is not repeated.
 *     A temporary file is left only if its removal failed, and then the message names it.
 *     A store can be opened for writing afterwards.
 *
 * `./dev test` tries a sample of the calls, KITH_TIER=soak all of them. The test fails if a call was left out. */
#define _GNU_SOURCE

#include "check.h"

#include <errno.h>
#include <unistd.h>

#include <kith/kith.h>

#include "calls.h"
#include "packed.h"
#include "run.h"
#include "sanitizer.h"
#include "splitmix.h"

enum { STORE = 1, THREADS = 2, SLOW = 4, TIMED = 8, SECONDS = 16, SEVERAL = 32, SALVAGES = 64, IN_PARTS = 128 };
enum { LARGE_LINES = 60000, SECONDS_SAMPLE = 8, SECONDS_STEP = 30, SLOW_FACTOR = 20, SHOWN_MAX = 4 };

typedef struct scene {
    const char *name, *preparation, *command, *target;
    int kinds;
} scene;

static const scene SCENES[] = {
#define SCENE(name, preparation, command, target, kinds) {#name, preparation, command, target, kinds},
#include "scenes.def"
#undef SCENE
};
enum { SCENE_COUNT = sizeof SCENES / sizeof *SCENES };

typedef struct mode {
    const char *name;
    int which, error;
    bool stays;
    bool few; /* there are few such calls */
} mode;

/* ---- files of the scenes ---- */

static void put_lines(files *f, const char *name, int from, int to) {
    size_t room = (size_t)(to - from + 1) * 8, used = 0;
    char *text = malloc(room);
    CHECK(text != NULL);
    for (int i = from; i <= to; i++)
        used += (size_t)snprintf(text + used, room - used, "%d\n", i);
    files_put(f, name, text, used);
    free(text);
}

static void put_text(files *f, const char *name, const char *text) {
    files_put(f, name, text, strlen(text));
}

static void put_inputs(files *f, const scene *s) {
    put_lines(f, "a.txt", 1, 40);
    put_lines(f, "b.txt", 41, 60);
    if (strstr(s->command, "large.txt") != NULL)
        put_lines(f, "large.txt", 1, LARGE_LINES);
    put_text(f, "c.csv", "x,\"one\"\ny, Two \nz,\"a \"\"b\"\"\"\n");
    put_text(f, "d.json", "{\"id\": \"one\"}\n{\"x\": [1, {}], \"id\": 2}\n");
    put_text(f, "e.txt", "00ff\n0g\n1234\n");
    put_text(f, "key.txt", "000102030405060708090a0b0c0d0e0f\n");
    for (size_t i = 0; i < sizeof PACKED / sizeof *PACKED; i++)
        files_put(f, PACKED[i].name, PACKED[i].bytes, PACKED[i].byte_count);
}

/* Makes the journal of a store so long that the next command will make a checkpoint. */
static void grow_journal(const char *path) {
    enum { OPERATIONS = 600000 };
    kith_file_options options = KITH_FILE_OPTIONS_INIT;
    options.checkpoint_bytes = options.close_bytes = KITH_FILE_NEVER;
    kith_file *store;
    uint64_t *digests = malloc(OPERATIONS * sizeof *digests);
    CHECK(digests != NULL);
    CHECK_OK(kith_file_open(path, KITH_FILE_CHANGE, &options, &store));
    uint64_t digest = kith_filter_digest(kith_file_filter(store), "1", 1); /* of a key that it has */
    for (size_t i = 0; i < OPERATIONS; i++)
        digests[i] = digest;
    CHECK_OK(kith_file_add_many(store, digests, OPERATIONS, NULL, NULL));
    CHECK_OK(kith_file_close(store));
    free(digests);
}

/* @copy FROM TO, @link TARGET NAME, @remove FILE, @cut FILE BYTES (from its end), @flip FILE PLACE, @grow STORE */
static void prepare_by_hand(const char *line) {
    char verb[16], one[NAME_BYTES], two[NAME_BYTES] = "";
    CHECK(sscanf(line, "@%15s %63s %63s", verb, one, two) >= 2);
    if (strcmp(verb, "link") == 0) {
        CHECK(symlink(one, two) == 0);
        return;
    }
    if (strcmp(verb, "grow") == 0) {
        grow_journal(one);
        return;
    }
    files f = {.count = 0};
    folder_get(&f);
    content *c = files_find(&f, one);
    CHECK(c != NULL);
    size_t number = (size_t)atoi(two);
    if (strcmp(verb, "copy") == 0) {
        files_put(&f, two, c->bytes, c->byte_count);
    } else if (strcmp(verb, "cut") == 0) {
        CHECK(number < c->byte_count);
        c->byte_count -= number;
    } else if (strcmp(verb, "flip") == 0) {
        CHECK(number < c->byte_count);
        c->bytes[number] ^= 16;
    } else {
        CHECK(strcmp(verb, "remove") == 0);
        free(c->bytes);
        *c = f.of[--f.count];
    }
    folder_set(&f);
    files_free(&f);
}

static void prepare(const scene *s, files *before) {
    files inputs = {.count = 0};
    put_inputs(&inputs, s);
    folder_set(&inputs);
    files_free(&inputs);
    char text[512];
    (void)snprintf(text, sizeof text, "%s", s->preparation);
    memset(faults, 0, sizeof *faults);
    for (char *line = text, *next; *line != '\0'; line = next) {
        next = line + strcspn(line, ";");
        if (*next == ';')
            *next++ = '\0';
        if (*line == '@') {
            prepare_by_hand(line);
            continue;
        }
        outcome o;
        run_line(line, false, &o);
        if (o.status != 0)
            CHECK_FAIL("%s: %s: status %d: %s", s->name, line, o.status, o.err);
        outcome_free(&o);
    }
    folder_get(before);
}

/* ---- what a target holds ---- */

typedef struct holding {
    kith_status status; /* of opening it */
    bool is_store;
    uint64_t count, found; /* keys, and a hash of which of the keys of all scenes are found */
} holding;

static uint64_t keys_found(const kith_filter *filter) {
    uint64_t sum = 0;
    char key[16];
    for (uint64_t i = 1; i <= 80; i++)
        if (kith_filter_has(filter, key, (size_t)snprintf(key, sizeof key, "%" PRIu64, i)))
            sum += splitmix_mix(i);
    return sum;
}

/* With `writes`, the file is opened as a writer does, which recovers a store. */
static holding held_by(const char *path, bool writes) {
    holding h = {.status = KITH_OK};
    kith_file *file;
    kith_file_options options = KITH_FILE_OPTIONS_INIT;
    kith_file_info info = KITH_FILE_INFO_INIT;
    options.lazy = true; /* a writer does not verify a snapshot either */
    h.status = kith_file_open(path, writes ? KITH_FILE_CHANGE : KITH_FILE_READ, &options, &file);
    if (h.status != KITH_OK)
        return h;
    CHECK_OK(kith_file_info_of(file, &info));
    h.is_store = info.has_journal;
    h.status = kith_file_verify(file);
    if (h.status == KITH_OK || h.is_store) {
        h.count = kith_filter_count(kith_file_filter(file));
        h.found = keys_found(kith_file_filter(file));
    }
    kith_status closed = kith_file_close(file);
    if (h.status == KITH_OK)
        h.status = closed;
    return h;
}

static bool same_keys(const holding *a, const holding *b) {
    return a->status == b->status && a->count == b->count && a->found == b->found;
}

/* ---- a run and its rules ---- */

typedef struct trial {
    const scene *s;
    const mode *m;
    uint64_t n;
    const files *before, *clean; /* the files before the run, and after one without failure */
    const outcome *expected;
    const holding *old, *fresh;
    files after;
    outcome got;
} trial;

static unsigned broken, broken_here; /* rules, in this mode and in this scene */

static void broke(const trial *t, const char *what, const char *detail) {
    int hit = atomic_load(&faults->hit);
    broken++;
    if (++broken_here <= SHOWN_MAX)
        fprintf(stderr, "%s, %s %" PRIu64 " (%s): %s%s%s; status %d: %s%s", t->s->name, t->m->name, t->n,
                hit == 0 ? "none" : call_names[hit - 1], what, detail[0] != '\0' ? " " : "", detail, t->got.status,
                t->got.err, t->got.err_bytes > 0 && t->got.err[t->got.err_bytes - 1] == '\n' ? "" : "\n");
}

/* kith demo leaves the folder in which it has shown its commands, unless it fails. */
static bool is_of_demo(const char *name) {
    return strncmp(name, "kith-demo-", 10) == 0;
}

static bool is_temporary(const char *name) {
    const char *last_dot = strrchr(name, '.');
    return (name[0] == '.' && strncmp(last_dot, ".kith-", 6) == 0 && strlen(last_dot) == 18) ||
           (strncmp(name, "kith-", 5) == 0 && !is_of_demo(name));
}

static bool is_beside_target(const scene *s, const char *name) {
    size_t bytes = s->target == NULL ? 0 : strlen(s->target);
    return s->target != NULL && strncmp(name, s->target, bytes) == 0 &&
           (name[bytes] == '\0' || strcmp(name + bytes, "-lock") == 0 || strcmp(name + bytes, "-journal") == 0);
}

static bool same_content(const content *a, const content *b) {
    if (a == NULL || b == NULL)
        return a == b;
    return a->byte_count == b->byte_count && memcmp(a->bytes, b->bytes, a->byte_count) == 0;
}

static bool harmless(const mode *m) {
    return m->which == INTERRUPTED || m->which == TRANSFERS;
}

/* All files of `a` outside the target are in `b`, with the same content. */
static void check_others(const trial *t, const files *a, const files *b, const char *what) {
    for (size_t i = 0; i < a->count; i++)
        if (!is_beside_target(t->s, a->of[i].name) && !is_temporary(a->of[i].name) &&
            !(is_of_demo(a->of[i].name) &&
              (t->got.status == t->expected->status || atomic_load(&faults->unlink_failed))) &&
            !same_content(&a->of[i], files_find(b, a->of[i].name)))
            broke(t, what, a->of[i].name);
}

static void check_temporary(const trial *t) {
    bool nothing_works = t->m->which == SYSTEM && t->m->stays; /* the tool cannot read the folder either */
    for (size_t i = 0; i < t->after.count; i++) {
        const char *name = t->after.of[i].name;
        if (!is_temporary(name))
            continue;
        if (files_find(t->before, name) != NULL) /* the temporary file of another process; see check_success() */
            continue;
        if (!atomic_load(&faults->unlink_failed))
            broke(t, "a temporary file is left:", name);
        else if (t->got.status == t->expected->status)
            broke(t, "success, but a temporary file is left:", name);
        else if (!nothing_works && strstr(t->got.err, name) == NULL)
            broke(t, "the message does not name the temporary file", name);
    }
}

static void check_message(const trial *t) {
    static const char *const words[] = {"stdout",     "stdin",       "temporary file", "random",
                                        "memory",     "pipe",        "/dev/null",      "passwords.txt",
                                        "others.txt", "denied.kith", "kith-demo"};
    const char *last = t->got.err;
    for (const char *at = last; (at = strchr(at, '\n')) != NULL && at[1] != '\0';)
        last = ++at;
    if (strncmp(last, "kith", 4) != 0 || strchr(last, '\n') == NULL) {
        broke(t, "no message", "");
        return;
    }
    if (t->m->which == MEMORY) {
        if (strstr(last, "memory") == NULL || strstr(last, "damaged") != NULL)
            broke(t, "the message does not say that memory is missing", "");
        return;
    }
    bool named = false;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        named |= strstr(last, words[i]) != NULL;
    for (size_t i = 0; i < t->before->count; i++)
        named |= strstr(last, t->before->of[i].name) != NULL;
    named |= t->s->target != NULL && strstr(last, t->s->target) != NULL;
    if (!named)
        broke(t, "the message names no file", "");
}

static void check_success(const trial *t) {
    const scene *s = t->s;
    if (atomic_load(&faults->sync_failed))
        broke(t, "success after a failed sync", "");
    if (s->kinds & SALVAGES && atomic_load(&faults->hit) == CALL_pread64 + 1 && t->m->error == EIO) {
        if (strstr(t->got.out, "could not be read") == NULL && strstr(t->got.out, "unreadable_bytes\":0") != NULL)
            broke(t, "what could not be read is not reported:", t->got.out);
        return;
    }
    if (!(s->kinds & TIMED) &&
        (t->got.out_bytes != t->expected->out_bytes || memcmp(t->got.out, t->expected->out, t->got.out_bytes) != 0))
        broke(t, "success with another output", "");
    check_others(t, &t->after, t->clean, "success, but another file was created or changed:");
    if (s->target == NULL)
        return;
    for (size_t i = 0; i < t->after.count && harmless(t->m); i++)
        if (files_find(t->clean, t->after.of[i].name) == NULL)
            broke(t, "a file is left:", t->after.of[i].name);
    for (size_t i = 0; i < t->clean->count; i++)
        if (files_find(&t->after, t->clean->of[i].name) == NULL)
            broke(t, "success, but a file is missing:", t->clean->of[i].name);
    if (s->kinds & STORE) {
        holding now = held_by(s->target, false);
        if (!same_keys(&now, t->fresh) || now.is_store != t->fresh->is_store)
            broke(t, "success, but other keys:", kith_status_name(now.status));
    } else if (!same_content(files_find(&t->after, s->target), files_find(t->clean, s->target))) {
        broke(t, "success, but other bytes", "");
    }
}

/* Whether a key that the target did not have before the run is in it now, but not in the output. */
static bool has_unprinted_key(const trial *t, const holding *now) {
    uint64_t printed = t->old->found;
    for (const char *line = t->got.out; line[0] != '\0' && printed != now->found;) {
        const char *end = strchr(line, '\n');
        if (end == NULL)
            break;
        printed += splitmix_mix(strtoull(line, NULL, 10));
        line = end + 1;
    }
    return printed != now->found;
}

/* The target has the keys of the latest sync: the first lines of the output, in order. */
static void check_parts(const trial *t) {
    holding now = held_by(t->s->target, false), later = held_by(t->s->target, true);
    if (!same_keys(&now, &later))
        broke(t, "other keys when it is opened for writing:", kith_status_name(later.status));
    if (same_keys(&now, t->old) || same_keys(&now, t->fresh))
        return;
    if (now.status != KITH_OK || now.count < t->old->count || now.count > t->fresh->count)
        broke(t, "neither the old nor some of the new keys:", kith_status_name(now.status));
    if (has_unprinted_key(t, &now))
        broke(t, "a key is in the state, but its line was not printed", "");
}

static void check_failure(const trial *t) {
    const scene *s = t->s;
    if (t->got.status != 2)
        broke(t, "wrong status", "");
    check_message(t);
    check_others(t, &t->after, t->before, "failure, but another file was created or changed:");
    if (!(s->kinds & (TIMED | SEVERAL)) &&
        (t->got.out_bytes > t->expected->out_bytes || memcmp(t->got.out, t->expected->out, t->got.out_bytes) != 0))
        broke(t, "failure with another output", t->got.out);
    if (s->target == NULL)
        return;
    if (s->kinds & IN_PARTS) {
        check_parts(t);
        return;
    }
    const content *was = files_find(t->before, s->target), *is = files_find(&t->after, s->target);
    bool is_old = same_content(was, is);
    if (!(s->kinds & STORE)) {
        if (!is_old && !same_content(files_find(t->clean, s->target), is))
            broke(t, "neither the old nor the new bytes", "");
        if (!is_old && atomic_load(&faults->renames_before_failure) == 0)
            broke(t, "failed before the rename, but has the new bytes", "");
        if (!is_old && !atomic_load(&faults->sync_failed) && strstr(t->got.err, "everything was written") == NULL &&
            strstr(t->got.err, "stdout") == NULL) /* the report of kith repair, when its result is in place */
            broke(t, "has the new bytes, but the message does not say so", "");
        return;
    }
    if (atomic_load(&faults->renames_before_failure) == 0 && !is_old)
        broke(t, "failed before the rename, but has other bytes", "");
    holding now = held_by(s->target, false);
    if (!same_keys(&now, t->old) && !same_keys(&now, t->fresh))
        broke(t, "neither the old nor the new keys:", kith_status_name(now.status));
    holding later = held_by(s->target, true);
    if (!same_keys(&now, &later))
        broke(t, "other keys when it is opened for writing:", kith_status_name(later.status));
}

static void check_run(const trial *t) {
    if (t->got.status >= 256) {
        broke(t, t->got.status == HUNG ? "does not end" : "ended by a signal", "");
        return;
    }
    if (atomic_load(&faults->sync_repeated))
        broke(t, "a failed sync was repeated", "");
    check_temporary(t);
    if (t->got.status == t->expected->status) {
        check_success(t);
        if (harmless(t->m) && !(t->s->kinds & TIMED) && strcmp(t->got.err, t->expected->err) != 0)
            broke(t, "another message", "");
    } else {
        if (harmless(t->m))
            broke(t, "must succeed", "");
        check_failure(t);
    }
}

/* ---- all runs ---- */

static uint64_t tried, known; /* calls */

static void arm(const mode *m, uint64_t n) {
    memset(faults, 0, sizeof *faults);
    faults->which = m->which;
    faults->error = m->error;
    faults->stays = m->stays;
    faults->at = n;
}

static void try_call(trial *t, uint64_t n) {
    t->n = n;
    folder_set(t->before);
    arm(t->m, n);
    run_line(t->s->command, true, &t->got);
    folder_get(&t->after);
    check_run(t);
    outcome_free(&t->got);
}

/* What does not depend on the fault, for each scene; made when it is first needed. */
static struct ready {
    bool is_made;
    files before, clean;
    outcome expected;
    holding old, fresh;
    uint64_t made[CALLS]; /* calls of a run without failure */
} scenes_ready[SCENE_COUNT];

static const struct ready *make_ready(const scene *s) {
    struct ready *r = &scenes_ready[s - SCENES];
    if (r->is_made)
        return r;
    prepare(s, &r->before);
    r->old.status = r->fresh.status = KITH_E_NO_FILE;
    if (s->target != NULL && files_find(&r->before, s->target) != NULL)
        r->old = held_by(s->target, false);
    folder_set(&r->before);
    memset(faults, 0, sizeof *faults);
    run_line(s->command, true, &r->expected);
    if (r->expected.status >= 2)
        CHECK_FAIL("%s: %s: status %d: %s", s->name, s->command, r->expected.status, r->expected.err);
    for (size_t c = 0; c < CALLS; c++)
        r->made[c] = atomic_load(&faults->made[c]);
    folder_get(&r->clean);
    if (s->kinds & (STORE | IN_PARTS))
        r->fresh = held_by(s->target, false);
    r->is_made = true;
    return r;
}

static void try_scene(const scene *s, const mode *m, uint64_t step) {
    const struct ready *r = make_ready(s);
    trial t = {.s = s,
               .m = m,
               .before = &r->before,
               .clean = &r->clean,
               .expected = &r->expected,
               .old = &r->old,
               .fresh = &r->fresh};
    uint64_t all = 0;
    for (size_t c = 0; c < CALLS; c++)
        all += (call_properties[c] & m->which) == m->which ? r->made[c] : 0;
    broken_here = 0;
    uint64_t first = 0;
    if (s->kinds & SECONDS) { /* nearly all of its calls write a line of a list; the others come after them */
        first = all > SECONDS_SAMPLE * SECONDS_STEP ? all - SECONDS_SAMPLE * SECONDS_STEP : 0;
        step = SECONDS_STEP;
    }
    uint64_t seed = splitmix_mix((uint64_t)(s - SCENES) * 1000 + (uint64_t)m->which * 2 + m->stays);
    for (uint64_t n = first + 1 + seed % step; n <= all; n += step) {
        try_call(&t, n);
        if (atomic_load(&faults->hit) == 0 && !(s->kinds & THREADS))
            broke(&t, "the call was not made", "");
        tried += !(s->kinds & SECONDS);
    }
    if (!(s->kinds & SECONDS))
        known += all;
    files_free(&t.after);
}

static void try_mode(const mode *m) {
    const char *only = getenv("KITH_SCENE"), *step_text = getenv("KITH_STEP");
    uint64_t step = step_text != NULL ? strtoull(step_text, NULL, 10) : check_soak() ? 1 : UNDER_SANITIZER ? 60 : 8;
    broken = 0;
    tried = known = 0;
    for (const scene *s = SCENES; s < SCENES + SCENE_COUNT; s++)
        if (only != NULL ? strcmp(only, s->name) == 0 : check_soak() || !(s->kinds & SECONDS))
            try_scene(s, m, step == 1 ? 1 : s->kinds & SLOW ? step * SLOW_FACTOR : m->few ? 2 : step);
    printf("shows: tool, %s: %" PRIu64 " of %" PRIu64 " calls fail in turn, %u rules broken\n", m->name, tried, known,
           broken);
    CHECK_EQ_U64(broken, 0);
    if (check_soak() && only == NULL)
        CHECK_EQ_U64(tried, known);
}

#define MODE(name, which, error, stays)                                                                                \
    TEST(name) {                                                                                                       \
        static const mode m = {#name, which, error, stays, (which) == SYNCS || (which) == UNLINKS};                    \
        try_mode(&m);                                                                                                  \
    }
MODE(an_allocation_fails, MEMORY, ENOMEM, false)
MODE(allocations_fail_from_then_on, MEMORY, ENOMEM, true)
MODE(a_system_call_fails, SYSTEM, EIO, false)
MODE(system_calls_fail_from_then_on, SYSTEM, EIO, true)
MODE(the_disk_is_full_once, SPACE, ENOSPC, false)
MODE(the_disk_is_full_from_then_on, SPACE, ENOSPC, true)
MODE(the_quota_is_exceeded, SPACE, EDQUOT, false)
MODE(a_call_is_interrupted, INTERRUPTED, EINTR, false)
MODE(a_sync_is_interrupted, SYNCS, EINTR, false)
MODE(a_sync_fails, SYNCS, EIO, false)
MODE(a_transfer_is_short, TRANSFERS, 0, false)
MODE(transfers_are_short_from_then_on, TRANSFERS, 0, true)
MODE(a_file_is_not_removed, UNLINKS, EIO, false)
MODE(files_are_not_removed_from_then_on, UNLINKS, EIO, true)

int main(int argc, char **argv) {
    run_begin();
    int status = check_main(argc, argv);
    run_end();
    return status;
}
