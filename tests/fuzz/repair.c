/* A file, or a store with its journal, that is damaged or forged: kith_repair() must not promise too much.
 *
 *     0 … 3   the prototype, and how many keys it has
 *     4       HOW_ bits; the five high bits are the number of operations in the journal
 *     then    one byte per operation: bit 7 removes, the others are the key
 *     then    damage: what to do (bit 7: with the journal), two bytes of offset, one byte of value
 *
 * What was there before the damage is known. So what the report says about it can be checked, unless the checksums were
 * made right again after the damage (HOW_FORGED): then nothing is promised but a sound filter. */
#define _GNU_SOURCE

#include "fuzz/blocks.h"
#include "store_calls.h"
#include "unit/memory_files.h"

enum {
    HOW_STORE = 1,
    HOW_FORGED = 2,
    HOW_OPERATIONS_SHIFT = 3,
    KEYS_MAX = 256,
    DAMAGES_MAX = 8,
    BUDGET_SMALL = 1 << 18, /* enough to search a page of 180 bytes for a flipped bit */
    BUDGET_LARGE = 1 << 26, /* enough to search seven headers for a wrong byte */
};

static struct disk disk;
static kithi_files files;

/* ---- memory: FUZZ_ALLOCATOR, except for the window of the journal, which would take most of the time ---- */

static uint8_t window[KITHI_JOURNAL_WINDOW_BYTES];
static bool window_is_used;

static void *allocate(void *context, size_t bytes, size_t alignment) {
    if (bytes != sizeof window || window_is_used)
        return fuzz_allocate(context, bytes, alignment);
    window_is_used = true;
    return window;
}

static void release(void *context, void *memory, size_t bytes) {
    if (memory == window)
        window_is_used = false;
    else
        fuzz_release(context, memory, bytes);
}

static const kith_allocator ALLOCATOR = {allocate, release, NULL};

/* ---- what was there ---- */

/* What the file held: how many copies of each key, and which of them an operation of the journal has touched. */
typedef struct original {
    kith_filter *filter;
    bool in_snapshot[KEYS_MAX], in_all[KEYS_MAX];
    bool removed[KEYS_MAX]; /* by the journal, at least once */
    bool is_damaged, journal_is_damaged;
} original;

static uint64_t digest_of(const prototype *p, uint64_t key) {
    return kith_digest(&p->spec.hash, &key, sizeof key);
}

static struct disk_bytes *bytes_of(const char *name) {
    int file = disk_find(disk.names, name)->file;
    return file < 0 ? NULL : &disk.files[file].now;
}

static void put_file(const char *name, const uint8_t *bytes, size_t n) {
    int file = disk_new_file(&disk);
    disk_put(&disk.files[file].now, bytes, n, 0);
    disk_set(disk.names, name, file);
}

/* Adds to or removes from the store and the model. An operation that fails is in the journal, too. */
static void operate(kithi_store *store, original *was, const prototype *p, uint8_t what, unsigned *copies) {
    uint64_t key = what & 127, digest = digest_of(p, key);
    bool removes = (what & 128) != 0;
    if (removes && (copies[key] == 0 || (p->plan.capabilities & KITH_CAN_REMOVE) == 0))
        return; /* removing what is not there may lose another key */
    kith_status status =
        removes ? kithi_store_remove_digest(store, digest) : kithi_store_add_digest(store, digest, NULL);
    kith_status wanted =
        removes ? kith_filter_remove_digest(was->filter, digest) : kith_filter_add_digest(was->filter, digest, NULL);
    HOLD(status == wanted);
    if (status != KITH_OK)
        return;
    copies[key] += removes ? -1U : 1;
    was->removed[key] |= removes;
    was->in_all[key] = copies[key] > 0;
}

static void make_store(const prototype *p, original *was, tape *t, unsigned operations, unsigned *copies) {
    kithi_store_options options = KITHI_STORE_OPTIONS_INIT;
    options.checkpoint_bytes = options.close_bytes = KITH_FILE_NEVER;
    options.max_bytes = PROTOTYPE_BYTES_MAX;
    options.allocator = &ALLOCATOR;
    kithi_store *store = NULL;
    HOLD(kithi_store_create_with(&files, "x", was->filter, &options, &store) == KITH_OK);
    for (unsigned i = 0; i < operations; i++)
        operate(store, was, p, tape_byte(t), copies);
    HOLD(kithi_store_close(store) == KITH_OK);
}

/* ---- damage ---- */

/* If the header of the whole file is damaged, nothing else can be repaired. So only one damage in eight reaches it. */
static void damage_bytes(struct disk_bytes *b, size_t header_bytes, uint8_t what, size_t at, uint8_t value) {
    size_t first = (what & 112) == 112 ? 0 : header_bytes, end;
    if (b == NULL || b->n <= first)
        return;
    at = first + at % (b->n - first);
    end = at + value < b->n ? at + value : b->n;
    switch ((what & 15) % 5) {
    case 0:
        b->at[at] ^= value;
        break;
    case 1:
        memset(b->at + at, 0, end - at);
        break;
    case 2:
        disk_resize(b, at);
        break;
    case 3:
        disk_resize(b, b->n + value);
        break;
    default: /* at most 127 bytes: with the whole header of a layer in its place, the file would be forged */
        memmove(b->at + first, b->at + at, (end - at) / 2);
        break;
    }
}

static void damage(original *was, tape *t) {
    struct disk_bytes file = disk_copy(bytes_of("x")), journal = {0};
    if (bytes_of("x-journal") != NULL)
        journal = disk_copy(bytes_of("x-journal"));
    for (unsigned i = 0; i < DAMAGES_MAX && !tape_ended(t); i++) {
        uint8_t what = tape_byte(t);
        size_t at = tape_byte(t);
        at |= (size_t)tape_byte(t) << 8;
        if (what == 255 && bytes_of("x-journal") != NULL)
            disk_set(disk.names, "x-journal", -1);
        else if ((what & 128) != 0)
            damage_bytes(bytes_of("x-journal"), KITHI_JOURNAL_HEADER_BYTES, what, at, tape_byte(t));
        else
            damage_bytes(bytes_of("x"), KITHI_HEADER_BYTES, what, at, tape_byte(t));
    }
    const struct disk_bytes *f = bytes_of("x"), *j = bytes_of("x-journal");
    was->journal_is_damaged = journal.n > 0 && (j == NULL || j->n != journal.n || memcmp(j->at, journal.at, j->n) != 0);
    was->is_damaged = was->journal_is_damaged || f->n != file.n || memcmp(f->at, file.at, f->n) != 0;
    free(file.at);
    free(journal.at);
}

/* ---- what must hold ---- */

static bool may_fail_with(kith_status status) {
    switch (status) {
    case KITH_E_CORRUPT:
    case KITH_E_TRUNCATED:
    case KITH_E_EMPTY:
    case KITH_E_NOT_KITH:
    case KITH_E_VERSION:
    case KITH_E_KIND:
    case KITH_E_MEMORY:
    case KITH_E_ADDRESS:
    case KITH_E_TOO_LARGE:
        return true;
    default:
        return false;
    }
}

/* The result is a filter like any other. A forged one can be so large that its layers cannot be joined in the memory
 * that is left. */
static void check_sound(kith_filter *filter) {
    const void *bytes;
    size_t n;
    kith_filter *view = NULL;
    HOLD(kith_filter_check(filter, NULL) == KITH_OK);
    kith_status status = kith_filter_bytes(filter, &bytes, &n);
    if (status == KITH_E_MEMORY && kith_filter_memory(filter) > FUZZ_MEMORY_MAX / 3)
        return;
    HOLD(status == KITH_OK);
    HOLD(kith_filter_view(bytes, n, KITH_OPEN_DEFAULT, &FUZZ_ALLOCATOR, &view) == KITH_OK);
    HOLD(kith_filter_count(view) == kith_filter_count(filter));
    kith_filter_free(view);
}

static bool same_bytes(kith_filter *a, kith_filter *b) {
    const void *bytes_a, *bytes_b;
    size_t n_a, n_b;
    HOLD(kith_filter_bytes(a, &bytes_a, &n_a) == KITH_OK && kith_filter_bytes(b, &bytes_b, &n_b) == KITH_OK);
    return n_a == n_b && memcmp(bytes_a, bytes_b, n_a) == 0;
}

/* Nothing proves that the last records of a journal were ever there, so they may be lost without a word. */
static void check_report(const prototype *p, const original *was, const kith_repair_report *r, kith_filter *filter) {
    uint64_t missing = 0, lost = r->keys_at_risk + r->adds_refused + r->operations_lost_max;
    bool is_bounded =
        r->keys_at_risk != UINT64_MAX && r->operations_lost_max != UINT64_MAX && r->journal <= KITH_JOURNAL_DAMAGED;
    for (uint64_t key = 0; key < KEYS_MAX; key++) {
        bool must_be_there = was->journal_is_damaged ? was->in_snapshot[key] && !was->removed[key] : was->in_all[key];
        missing += must_be_there && !kith_filter_has_digest(filter, digest_of(p, key));
    }
    HOLD(r->may_miss_keys || missing == 0);
    HOLD(!is_bounded || missing <= lost);
    HOLD(!r->is_whole || was->journal_is_damaged || same_bytes(filter, was->filter));
    HOLD(was->is_damaged || (r->is_whole && !r->may_miss_keys));
}

/* The search for a wrong byte in a header takes longer than everything else. So only one input in 32 is allowed to make
 * it. The sum of all bytes decides, because every mutation changes it. If a byte of the tape decided, libFuzzer would
 * keep inputs that make the search, and mutate them again and again. */
static uint64_t budget_of(const uint8_t *data, size_t size) {
    unsigned sum = 0;
    for (size_t i = 0; i < size; i++)
        sum += data[i];
    return sum % 32 == 0 ? BUDGET_LARGE : BUDGET_SMALL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    tape t = tape_of(data, size);
    const prototype *p = prototype_of(&t);
    size_t fill = tape_byte(&t) % PROTOTYPE_FILLS;
    uint8_t how = tape_byte(&t);
    unsigned copies[KEYS_MAX] = {0};
    original was = {.filter = NULL};
    disk_init(&disk, 1);
    files = disk_files(&disk);
    HOLD(kith_filter_view(p->fills[fill].bytes, p->fills[fill].n, KITH_OPEN_COPY, &FUZZ_ALLOCATOR, &was.filter) ==
         KITH_OK);
    kith_filter_set_limit(was.filter, PROTOTYPE_BYTES_MAX);
    uint64_t count = kith_filter_count(was.filter);
    for (uint64_t key = 0; key < count && key < KEYS_MAX; key++) {
        copies[key] = 1;
        was.in_snapshot[key] = was.in_all[key] = true;
    }
    if ((how & HOW_STORE) != 0 && (p->plan.capabilities & KITH_CAN_ADD) != 0)
        make_store(p, &was, &t, how >> HOW_OPERATIONS_SHIFT, copies);
    else
        put_file("x", p->fills[fill].bytes, p->fills[fill].n);
    damage(&was, &t);
    struct disk_bytes *file = bytes_of("x");
    bool is_forged = (how & HOW_FORGED) != 0 && was.is_damaged && file->n >= KITHI_HEADER_BYTES;
    if (is_forged)
        fuzz_seal(file->at, file->n);

    kith_repair_report report = KITH_REPAIR_REPORT_INIT;
    kith_filter *filter = NULL;
    kith_status status = kithi_repair_with(&files, "x", budget_of(data, size), &ALLOCATOR, &report, &filter);
    HOLD(disk_open_handles(&disk) == 0 && disk.maps == 0);
    HOLD(status == KITH_OK || (was.is_damaged && may_fail_with(status)));
    if (status == KITH_OK) {
        check_sound(filter);
        if (!is_forged)
            check_report(p, &was, &report, filter);
        kith_filter_free(filter);
    }
    kith_filter_free(was.filter);
    disk_free(&disk);
    HOLD(fuzz_live_bytes == 0 && !window_is_used);
    return 0;
}
