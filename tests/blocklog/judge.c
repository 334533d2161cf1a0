/* The judge: makes each state that a power cut could have left on the disk, mounts it, and opens what is there.
 *
 * A state passes if
 *   - the file system can be mounted (it replays its own journal), and every store and file that the mark of the state
 *     names can be opened
 *   - nothing that was acknowledged is missing: the sequence number of the store is at least that of the mark, and the
 *     plain file has at least the version of the mark
 *   - nothing is there in part: the sequence number is the end of a call or batch, the filter has the bytes that it has
 *     after the same calls on files in memory, and the plain file is exactly one version
 *   - a store takes one more operation after it was recovered, and keeps it */
#define _GNU_SOURCE

#include "blocklog/guest.h"
#include "blocklog/log.h"
#include "blocklog/work.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { ROUNDS_MAX = 64, WINDOW_MAX = 1 << 16, CHUNK_BYTES = 1 << 20, LINES_MAX = 20 };

enum result { LOST, HALF, REFUSED, UNMOUNTABLE, RESULTS };

struct judge {
    const struct guest_options *options;
    struct work_round *rounds[ROUNDS_MAX]; /* NULL: not computed yet */
    struct log_image base, base_mark;      /* at the last flush */
    struct log_image state, state_mark;    /* with some of the writes after it */
    uint64_t state_number, at_flush, of_subsets, judged;
    uint64_t results[RESULTS], findings; /* numbers of states */
    bool found[RESULTS];                 /* in the state that is judged */
    char what[64];                       /* that state, in words */
};

static struct judge j;

__attribute__((format(printf, 2, 3))) static void find(enum result result, const char *format, ...) {
    static const char *const names[] = {"lost", "half", "refused", "unmountable"};
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (j.found[result])
        return;
    j.findings += memcmp(j.found, (bool[RESULTS]){false}, sizeof j.found) == 0;
    j.found[result] = true;
    j.results[result]++;
    if (j.findings <= LINES_MAX)
        guest_say("finding %s: %s: %s", names[result], j.what, text);
}

/* ---- what must be there ---- */

static void save_nothing(void *context) {
    (void)context;
}

static void acknowledge_nothing(void *context, const struct work_round *round, uint64_t step) {
    (void)context;
    (void)round;
    (void)step;
}

static struct work_round *round_at(uint64_t number) {
    static struct disk disk;
    if (j.rounds[number] == NULL) {
        struct work_round *round = malloc(sizeof *round);
        CHECK(round != NULL);
        disk_init(&disk, 1);
        kithi_files files = disk_files(&disk);
        struct work_place place = {&files, "x", save_nothing, acknowledge_nothing, NULL};
        work_run(round, number, &place);
        disk_free(&disk);
        j.rounds[number] = round;
    }
    return j.rounds[number];
}

/* Sets *bytes to the filter of the round after the call with this sequence number, which it remembers: the next state
 * mostly asks for the same. */
static void expect(struct work_round *round, uint64_t sequence, const void **bytes, size_t *byte_count) {
    static struct {
        kith_filter *filter; /* NULL: none yet */
        uint64_t sequence;
    } last[ROUNDS_MAX];
    struct model *m = &round->model;
    kith_filter **filter = &last[round->number].filter;
    if (*filter == NULL || last[round->number].sequence != sequence) {
        size_t calls = m->call_count, digests = m->digest_count;
        uint64_t end = m->sequence;
        kith_filter_free(*filter);
        CHECK_OK(kith_filter_clone(round->initial, NULL, &m->filter));
        model_advance(m, sequence);
        *filter = m->filter;
        last[round->number].sequence = sequence;
        m->filter = round->initial;
        m->call_count = calls; /* model_advance has dropped the log, but not overwritten it */
        m->digest_count = digests;
        m->sequence = m->durable = end;
    }
    CHECK_OK(kith_filter_bytes(*filter, bytes, byte_count));
}

/* Returns whether the filter is that of the round after the call with this sequence number. */
static bool equals_round(struct work_round *round, uint64_t sequence, const kith_filter *filter) {
    kith_filter *copy;
    const void *got, *want;
    size_t got_bytes, want_bytes;
    expect(round, sequence, &want, &want_bytes);
    CHECK_OK(kith_filter_clone(filter, NULL, &copy));
    CHECK_OK(kith_filter_bytes(copy, &got, &got_bytes));
    bool equal = got_bytes == want_bytes && memcmp(got, want, got_bytes) == 0;
    kith_filter_free(copy);
    return equal;
}

/* ---- one state ---- */

/* Returns the sequence number of the last operation that a store contains. While its content is being replaced, the
 * snapshot is newer than every record of the journal for a moment. A writer that finds this starts a new journal, but a
 * reader does not. */
static uint64_t last_sequence(const kithi_store *store) {
    kithi_store_info info = info_of(store);
    return info.sequence > info.snapshot_sequence ? info.sequence : info.snapshot_sequence;
}

/* Opens the store of a round and checks it. `wanted` is the sequence number that was acknowledged. Returns the one that
 * it has. */
static uint64_t judge_store(struct work_round *round, const char *path, uint64_t wanted, unsigned flags) {
    kithi_store *store;
    kith_status status = kithi_store_open(path, flags, NULL, &store);
    if (status != KITH_OK) {
        find(REFUSED, "%s: %s", path, kith_status_name(status));
        return 0;
    }
    uint64_t got = last_sequence(store);
    if (got < wanted)
        find(LOST, "%s: sequence %" PRIu64 ", but %" PRIu64 " was acknowledged", path, got, wanted);
    if (!model_is_boundary(&round->model, 0, got))
        find(HALF, "%s: sequence %" PRIu64 " is within a call or batch", path, got);
    else if (!equals_round(round, got, kithi_store_filter(store)))
        find(HALF, "%s: other content at sequence %" PRIu64, path, got);
    status = kithi_store_verify(store);
    if (status != KITH_OK)
        find(HALF, "%s: verify: %s", path, kith_status_name(status));
    status = kithi_store_close(store);
    if (status != KITH_OK)
        find(REFUSED, "%s: close: %s", path, kith_status_name(status));
    return got;
}

/* A recovered store takes the next operation, and keeps it. */
static void judge_next(const char *path, uint64_t last) {
    kithi_store *store;
    uint64_t sequence = 0;
    kith_status status = kithi_store_open(path, KITHI_STORE_WRITE, NULL, &store);
    if (status == KITH_OK) {
        kith_status added = kithi_store_add_digest(store, splitmix_mix(last), NULL);
        status = kithi_store_close(store);
        if (!is_outcome(added))
            status = added;
    }
    if (status == KITH_OK)
        status = kithi_store_open(path, KITHI_STORE_READ, NULL, &store);
    if (status == KITH_OK) {
        sequence = last_sequence(store);
        status = kithi_store_close(store);
    }
    if (status != KITH_OK)
        find(REFUSED, "%s: one more add: %s", path, kith_status_name(status));
    else if (sequence != last + 1)
        find(LOST, "%s: sequence %" PRIu64 " after one more add to %" PRIu64, path, sequence, last);
}

/* Checks the store of a round that has been made a plain file, or was about to be made one. */
static void judge_plain_store(struct work_round *round, const char *path) {
    kith_filter *filter;
    kith_status status = kith_filter_open(path, 0, NULL, &filter);
    if (status != KITH_OK) {
        find(REFUSED, "%s: %s", path, kith_status_name(status));
        return;
    }
    if (!equals_round(round, round->model.sequence, filter))
        find(HALF, "%s: other content in the plain file", path);
    kith_filter_free(filter);
}

/* Checks the file of a round: one that is over, the one of the mark, or the next one, which may have begun. */
static void judge_round(uint64_t number, const struct work_mark *mark) {
    struct work_round *round = round_at(number);
    bool over = number < mark->round, begun = number <= mark->round;
    bool is_plain = work_ends_plain(number) && (over || (begun && mark->step == WORK_STEPS - 1));
    bool may_be_plain = work_ends_plain(number) && (over || (begun && mark->step >= WORK_STEPS - 2));
    char path[64];
    kithi_store *store;
    (void)snprintf(path, sizeof path, GUEST_FOLDER "/s%02u", (unsigned)number);
    kith_status status = kithi_store_open(path, KITHI_STORE_READ, NULL, &store);
    if (status == KITH_OK)
        CHECK_OK(kithi_store_close(store));
    if (status == KITH_E_NO_FILE) {
        if (begun)
            find(LOST, "%s: there is no such file", path);
        return;
    }
    if (status == KITH_E_NOT_STORE && may_be_plain) {
        judge_plain_store(round, path);
        return;
    }
    uint64_t wanted = over ? round->model.sequence : begun ? mark->durable : 0;
    if (status == KITH_OK && is_plain)
        find(LOST, "%s: is still a store, but was made a plain file", path);
    /* Half of the states are seen by a reader before a writer recovers them. */
    unsigned flags = j.judged % 2 ? KITHI_STORE_READ : KITHI_STORE_WRITE;
    uint64_t first = judge_store(round, path, wanted, flags);
    uint64_t second =
        judge_store(round, path, wanted, flags == KITHI_STORE_READ ? KITHI_STORE_WRITE : KITHI_STORE_READ);
    if (first != second)
        find(HALF, "%s: sequence %" PRIu64 " when it is opened again, not %" PRIu64, path, second, first);
    judge_next(path, second);
}

/* Returns whether the plain file has exactly the bytes of this version. */
static bool is_version(const uint8_t *bytes, size_t byte_count, uint64_t version) {
    const void *want;
    size_t want_bytes;
    kith_filter *filter = work_version(version);
    CHECK_OK(kith_filter_bytes(filter, &want, &want_bytes));
    bool equal = byte_count == want_bytes && memcmp(bytes, want, want_bytes) == 0;
    kith_filter_free(filter);
    return equal;
}

static void judge_plain(const struct work_mark *mark) {
    static uint8_t bytes[WORK_SAVE_BYTES_MAX];
    int fd = open(GUEST_PLAIN, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        if (mark->version > 0 || errno != ENOENT)
            find(errno == ENOENT ? LOST : REFUSED, "the plain file: %s", strerror(errno));
        return;
    }
    ssize_t n = read(fd, bytes, sizeof bytes);
    (void)close(fd);
    if (n >= 0 && ((mark->version > 0 && is_version(bytes, (size_t)n, mark->version)) ||
                   is_version(bytes, (size_t)n, mark->version + 1)))
        return;
    for (uint64_t version = mark->version; n >= 0 && version-- > 1;)
        if (is_version(bytes, (size_t)n, version)) {
            find(LOST, "the plain file: version %" PRIu64 ", but %" PRIu64 " was acknowledged", version, mark->version);
            return;
        }
    find(HALF, "the plain file: %zd bytes that are no version of it", n);
}

static void judge_files(const struct work_mark *mark) {
    for (uint64_t number = mark->round > 0 ? mark->round - 1 : 0; number <= mark->round + 1; number++)
        if (number < j.options->rounds)
            judge_round(number, mark);
    judge_plain(mark);
}

static void judge_state(const struct log_image *image, const struct log_image *image_mark) {
    struct work_mark mark;
    j.judged++;
    memset(j.found, 0, sizeof j.found);
    int scratch = open("/dev/ram0", O_WRONLY | O_DIRECT | O_CLOEXEC); /* a disk in memory */
    CHECK(scratch >= 0);
    for (size_t at = 0; at < image->byte_count; at += CHUNK_BYTES)
        CHECK(pwrite(scratch, image->bytes + at, CHUNK_BYTES, (off_t)at) == CHUNK_BYTES);
    CHECK(close(scratch) == 0);
    memcpy(&mark, image_mark->bytes, sizeof mark);
    if (memcmp(mark.magic, "kithmark", sizeof mark.magic) != 0) /* nothing was acknowledged yet */
        memset(&mark, 0, sizeof mark);
    if (mount("/dev/ram0", GUEST_FOLDER, j.options->file_system, MS_NOATIME, NULL) != 0) {
        find(UNMOUNTABLE, "%s", strerror(errno));
        return;
    }
    if (mark.number == 0) {
        struct stat st; /* the first store may be there or not */
        if (stat(GUEST_FOLDER "/s00", &st) == 0)
            judge_round(0, &mark);
    } else {
        judge_files(&mark);
    }
    CHECK(umount(GUEST_FOLDER) == 0);
}

/* ---- all states ---- */

static bool is_mine(void) {
    return j.state_number++ % j.options->jobs == j.options->job;
}

static bool is_enough(void) {
    return j.findings >= j.options->findings;
}

/* The states of one window: random subsets of its writes, then all of them. */
static void judge_window(const struct log_entry *window, size_t count, uint64_t number) {
    for (uint64_t i = 0; i < j.options->subsets && count > 1 && !is_enough(); i++) {
        if (!is_mine())
            continue;
        uint64_t random = splitmix_mix(j.options->seed + number * j.options->subsets + i);
        memcpy(j.state.bytes, j.base.bytes, j.base.byte_count);
        memcpy(j.state_mark.bytes, j.base_mark.bytes, j.base_mark.byte_count);
        for (size_t k = 0; k < count; k++) {
            enum log_fate fate = log_fate(&window[k], &random);
            log_apply_fate(&window[k], &j.state, fate, random);
            log_apply_fate(&window[k], &j.state_mark, fate, random);
        }
        (void)snprintf(j.what, sizeof j.what, "some writes after flush %" PRIu64, number);
        j.of_subsets++;
        judge_state(&j.state, &j.state_mark);
    }
    for (size_t k = 0; k < count; k++) {
        log_apply(&window[k], &j.base);
        log_apply(&window[k], &j.base_mark);
    }
    if (count > 0 && !is_enough() && is_mine()) {
        (void)snprintf(j.what, sizeof j.what, "at flush %" PRIu64, number + 1);
        j.at_flush++;
        judge_state(&j.base, &j.base_mark);
    }
}

static const char *judge_log(struct log *log) {
    static struct log_entry window[WINDOW_MAX];
    uint64_t writes = 0, flushes = 0, bytes = 0;
    size_t count = 0;
    for (;;) {
        struct log_entry entry;
        bool found;
        const char *wrong = log_next(log, &entry, &found);
        if (wrong != NULL)
            return wrong;
        if (!found)
            break;
        if (entry.flags & LOG_FLUSH) {
            judge_window(window, count, flushes++);
            count = 0;
        }
        if (entry.byte_count > 0) {
            CHECK(count < WINDOW_MAX);
            window[count++] = entry;
            writes++;
            bytes += entry.byte_count;
        }
        if (j.judged > 0 && j.judged % 100 == 0 && entry.flags & LOG_FLUSH)
            guest_say("progress %" PRIu64 " states, entry %" PRIu64 " of %" PRIu64, j.judged, log->next, log->entries);
    }
    judge_window(window, count, flushes); /* the end of the log is a state, too */
    guest_say("log entries=%" PRIu64 " writes=%" PRIu64 " flushes=%" PRIu64 " bytes=%" PRIu64, log->entries, writes,
              flushes, bytes);
    return NULL;
}

static struct log_image new_image(uint64_t offset, size_t byte_count) {
    void *bytes;
    CHECK(posix_memalign(&bytes, 4096, byte_count) == 0);
    memset(bytes, 0, byte_count);
    return (struct log_image){bytes, offset, byte_count};
}

static void read_base(void) {
    int fd = open("/dev/vda", O_RDONLY | O_CLOEXEC);
    CHECK(fd >= 0);
    for (size_t at = 0; at < j.base.byte_count; at += CHUNK_BYTES)
        CHECK(pread(fd, j.base.bytes + at, CHUNK_BYTES, (off_t)at) == CHUNK_BYTES);
    (void)close(fd);
}

bool guest_judge(const struct guest_options *options) {
    struct log log;
    if (setjmp(check_exit) != 0)
        return false;
    j.options = options;
    CHECK(options->rounds <= ROUNDS_MAX && options->jobs > 0 && options->part_bytes % CHUNK_BYTES == 0);
    j.base = new_image(options->part_at, (size_t)options->part_bytes);
    j.state = new_image(options->part_at, (size_t)options->part_bytes);
    j.base_mark = new_image(options->marks_at, sizeof(struct work_mark));
    j.state_mark = new_image(options->marks_at, sizeof(struct work_mark));
    read_base();
    int fd = open("/dev/vdb", O_RDONLY | O_CLOEXEC);
    off_t log_bytes = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);
    CHECK(log_bytes > 0);
    void *bytes = mmap(NULL, (size_t)log_bytes, PROT_READ, MAP_PRIVATE, fd, 0);
    CHECK(bytes != MAP_FAILED);
    const char *wrong = log_open(&log, bytes, (size_t)log_bytes);
    if (wrong == NULL)
        wrong = judge_log(&log);
    if (wrong != NULL)
        CHECK_FAIL("%s", wrong);
    guest_say("judged states=%" PRIu64 " at_flush=%" PRIu64 " subsets=%" PRIu64 " lost=%" PRIu64 " half=%" PRIu64
              " refused=%" PRIu64 " unmountable=%" PRIu64,
              j.judged, j.at_flush, j.of_subsets, j.results[LOST], j.results[HALF], j.results[REFUSED],
              j.results[UNMOUNTABLE]);
    return true;
}
