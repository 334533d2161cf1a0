/* A journal that somebody has forged or damaged, next to the snapshot of a store: opening the store must end as
 * docs/format.md says. A second reader of journals, below, computes what that is.
 *
 *     0 … 3   the prototype that is the snapshot, and how many keys it has
 *     4       sequence number of the snapshot (low half), base of the journal (high half)
 *     5       what to do with the store that was opened
 *     6       what to do with the header of the journal
 *     7 …     records: one byte `how`, then their digests; with `damaged`, one byte more that says what is wrong
 *
 * The journal is at most JOURNAL_BYTES_MAX long, so that the bound on the effort of the search for a proof is never
 * reached. */
#define _GNU_SOURCE

#include "core/bits.h"
#include "core/hash.h"
#include "format/format.h"
#include "fuzz/prototypes.h"
#include "store_calls.h"
#include "unit/memory_files.h"

enum {
    JOURNAL_BYTES_MAX = 1400,
    HEADER_BYTES = 64,
    RECORD_BYTES = 40,
    KEYS = 24,
    /* the bits of `how` */
    HOW_TYPE = 3, /* 0, 1: add; 2: remove; 3: commit */
    HOW_OPEN = 4,
    HOW_CONTINUES = 8,
    HOW_SYNCED = 16, /* everything before this record was synced */
    HOW_DAMAGED = 32,
    HOW_COUNT_SHIFT = 6, /* 1 to 4 digests */
};

static struct disk disk;
static kithi_files files;

/* ---- memory: FUZZ_ALLOCATOR, except for the window of a journal, which would take most of the time ---- */

static uint8_t windows[2][KITHI_JOURNAL_WINDOW_BYTES];
static bool window_used[2];

static void *allocate(void *context, size_t bytes, size_t alignment) {
    if (bytes != KITHI_JOURNAL_WINDOW_BYTES)
        return fuzz_allocate(context, bytes, alignment);
    for (size_t i = 0; i < 2; i++)
        if (!window_used[i]) {
            window_used[i] = true;
            return windows[i];
        }
    return NULL;
}

static void release(void *context, void *memory, size_t bytes) {
    for (size_t i = 0; i < 2; i++)
        if (memory == windows[i]) {
            window_used[i] = false;
            return;
        }
    fuzz_release(context, memory, bytes);
}

static const kith_allocator ALLOCATOR = {allocate, release, NULL};

/* ---- the files ---- */

static uint8_t journal[JOURNAL_BYTES_MAX];
static size_t journal_bytes;

static uint64_t digest_of(const prototype *p, uint8_t key) {
    uint64_t word = key % KEYS;
    return kith_digest(&p->spec.hash, &word, sizeof word);
}

static void write_header(uint64_t base, uint8_t damage) {
    static const uint8_t SIGNATURE[] = {0x8b, 'K', 'J', 'N', 'L', '\r', '\n', 0x1a, 1, 0, HEADER_BYTES, 0};
    memset(journal, 0, HEADER_BYTES);
    memcpy(journal, SIGNATURE, sizeof SIGNATURE);
    memset(journal + 16, 0x55, 16);
    kithi_store64(journal + 32, 3);
    kithi_store64(journal + 40, base);
    if ((damage & 0xc0) == 0x40) /* before it is sealed */
        journal[damage & 63] ^= 1;
    kithi_store64(journal + 56, kithi_checksum(journal, 56));
    if ((damage & 0xc0) == 0x80)
        journal[damage & 63] ^= 1;
    journal_bytes = (damage & 0xc0) == 0xc0 ? damage & 63 : HEADER_BYTES;
}

/* Appends a record that follows the record (or header) whose checksum is at `*before`. */
static bool write_record(const prototype *p, tape *t, uint64_t *sequence, uint64_t *synced, size_t *before) {
    uint8_t how = tape_byte(t), damage = (how & HOW_DAMAGED) != 0 ? tape_byte(t) : 0;
    unsigned type = (how & HOW_TYPE) == 0 ? 1 : how & HOW_TYPE;
    uint32_t count = type == 3 ? 0 : 1 + (how >> HOW_COUNT_SHIFT);
    size_t n = RECORD_BYTES + 8 * count;
    if (journal_bytes + n > JOURNAL_BYTES_MAX)
        return false;
    uint8_t *record = journal + journal_bytes;
    memset(record, 0, n);
    *synced = (how & HOW_SYNCED) != 0 ? *sequence : *synced;
    ++*sequence;
    kithi_store64(record + 8, kithi_load64(journal + *before));
    kithi_store64(record + 16, *sequence);
    kithi_store64(record + 24, *synced);
    record[32] = (uint8_t)type;
    record[33] = (uint8_t)(type == 3 ? 0 : (how & HOW_OPEN) / HOW_OPEN + 2 * (how & HOW_CONTINUES) / HOW_CONTINUES);
    kithi_store32(record + 36, count);
    for (uint32_t i = 0; i < count; i++)
        kithi_store64(record + RECORD_BYTES + 8 * i, digest_of(p, tape_byte(t)));
    if ((damage & 0x80) != 0) /* a field that is wrong, and sealed */
        record[8 + (damage & 63) % 32] ^= (uint8_t)(1 + (damage >> 5 & 2));
    kithi_store64(record, kithi_checksum(record + 8, n - 8) ^ kithi_load64(journal + 56));
    if ((how & HOW_DAMAGED) != 0 && (damage & 0x80) == 0) /* a byte that is wrong */
        record[damage % n] ^= 0x10;
    *before = journal_bytes;
    journal_bytes += n;
    return true;
}

/* Returns the snapshot: the block of the prototype, as the file of a store. */
static uint8_t *make_snapshot(const prototype *p, size_t fill, uint64_t sequence) {
    kithi_head head;
    uint8_t *block = malloc(p->fills[fill].n);
    HOLD(block != NULL);
    memcpy(block, p->fills[fill].bytes, p->fills[fill].n);
    HOLD(kithi_header_read(block, p->fills[fill].n, &head) == KITH_OK);
    head.store.is_store = true;
    memset(head.store.id, 0x55, sizeof head.store.id);
    head.store.sequence = sequence;
    kithi_block_seal(block, &head);
    return block;
}

static void put_file(const char *name, const uint8_t *bytes, size_t n) {
    int file = disk_new_file(&disk);
    struct disk_file *f = &disk.files[file];
    if (n > 0) {
        disk_put(&f->now, bytes, n, 0);
        disk_put(&f->durable, bytes, n, 0);
    }
    disk_set(disk.names, name, file);
    disk_set(disk.durable_names, name, file);
}

static struct disk_bytes *journal_now(void) {
    return &disk.files[disk_find(disk.names, "x-journal")->file].now;
}

/* Returns true if the file has the first n bytes of the journal that was written. */
static bool journal_is(size_t n) {
    return journal_now()->n == n && (n == 0 || memcmp(journal_now()->at, journal, n) == 0);
}

/* ---- the second reader ---- */

typedef struct expectation {
    kith_status status;
    size_t end;        /* of the last complete batch */
    uint64_t sequence; /* of its last record */
} expectation;

typedef struct seen_record {
    uint64_t checksum, previous, sequence, synced;
    unsigned type, flags;
    uint32_t count;
    size_t bytes;
} seen_record;

static bool read_at(size_t at, seen_record *r) {
    const uint8_t *b = journal + at;
    if (journal_bytes < at + RECORD_BYTES)
        return false;
    *r = (seen_record){kithi_load64(b),
                       kithi_load64(b + 8),
                       kithi_load64(b + 16),
                       kithi_load64(b + 24),
                       b[32],
                       b[33],
                       kithi_load32(b + 36),
                       0};
    if (b[34] != 0 || b[35] != 0 || r->synced >= r->sequence || r->count > (journal_bytes - at - RECORD_BYTES) / 8)
        return false;
    bool sensible =
        r->type == 3 ? r->flags == 0 && r->count == 0 : r->type >= 1 && r->type <= 2 && r->flags <= 3 && r->count >= 1;
    r->bytes = RECORD_BYTES + 8 * (size_t)r->count;
    return sensible && r->checksum == (kithi_checksum(b + 8, r->bytes - 8) ^ kithi_load64(journal + 56));
}

static kith_status header_status(uint64_t *base) {
    static const uint8_t SIGNATURE[] = {0x8b, 'K', 'J', 'N', 'L', '\r', '\n', 0x1a};
    if (journal_bytes < sizeof SIGNATURE || memcmp(journal, SIGNATURE, sizeof SIGNATURE) != 0)
        return KITH_E_JOURNAL_FOREIGN;
    if (journal_bytes < HEADER_BYTES)
        return KITH_E_CORRUPT;
    if (kithi_load16(journal + 8) != 1)
        return KITH_E_VERSION;
    *base = kithi_load64(journal + 40);
    if (kithi_load64(journal + 56) != kithi_checksum(journal, 56) || kithi_load16(journal + 10) != HEADER_BYTES ||
        kithi_load32(journal + 12) != 0 || kithi_load64(journal + 48) != 0 || *base > UINT64_C(1) << 62)
        return KITH_E_CORRUPT;
    for (size_t i = 0; i < 16; i++)
        if (journal[16 + i] != 0x55)
            return KITH_E_JOURNAL_FOREIGN;
    return KITH_OK;
}

/* Applies the digests of a record to the model, one after the other. */
static kith_status apply(kith_filter *model, size_t at, const seen_record *r, bool *stopped) {
    if ((r->flags & 2) == 0)
        *stopped = false;
    for (uint32_t i = 0; i < r->count && !*stopped; i++) {
        uint64_t digest = kithi_load64(journal + at + RECORD_BYTES + 8 * i);
        kith_status status =
            r->type == 1 ? kith_filter_add_digest(model, digest, NULL) : kith_filter_remove_digest(model, digest);
        if (status == KITH_E_UNSUPPORTED)
            return KITH_E_CORRUPT;
        if (status == KITH_E_TOO_LARGE || status == KITH_E_MEMORY)
            return status;
        *stopped = status != KITH_OK;
    }
    return KITH_OK;
}

static expectation expect(kith_filter *model, uint64_t snapshot_sequence) {
    expectation e = {KITH_OK, HEADER_BYTES, 0};
    seen_record r;
    e.status = header_status(&e.sequence);
    if (e.status == KITH_OK && e.sequence > snapshot_sequence)
        e.status = KITH_E_JOURNAL_FOREIGN;
    if (e.status != KITH_OK)
        return e;
    size_t at = HEADER_BYTES;
    uint64_t sequence = e.sequence, base = e.sequence, previous = kithi_load64(journal + 56);
    while (read_at(at, &r) && r.sequence == sequence + 1 && r.previous == previous) {
        at += r.bytes;
        sequence = r.sequence;
        previous = r.checksum;
        if ((r.flags & 1) == 0) {
            e.end = at;
            e.sequence = sequence;
        }
    }
    for (size_t later = at; later < journal_bytes; later += 8)
        if (read_at(later, &r) && r.sequence > sequence + 1 && r.synced > sequence)
            e.status = KITH_E_CORRUPT;
    bool stopped = false;
    sequence = base;
    for (at = HEADER_BYTES; at < e.end && e.status == KITH_OK; at += r.bytes) {
        HOLD(read_at(at, &r));
        if (++sequence > snapshot_sequence)
            e.status = apply(model, at, &r, &stopped);
    }
    return e;
}

/* ---- the store ---- */

static kith_status open_store(unsigned flags, kithi_store **store) {
    kithi_store_options options = KITHI_STORE_OPTIONS_INIT;
    options.allocator = &ALLOCATOR;
    options.max_bytes = PROTOTYPE_BYTES_MAX;
    return kithi_store_open_with(&files, "x", flags, &options, store);
}

static void compare(const kithi_store *store, kith_filter *model) {
    kith_filter *copy = NULL;
    const void *got, *want;
    size_t got_bytes, want_bytes;
    HOLD(kith_filter_clone(kithi_store_filter(store), &FUZZ_ALLOCATOR, &copy) == KITH_OK);
    HOLD(kith_filter_bytes(copy, &got, &got_bytes) == KITH_OK);
    HOLD(kith_filter_bytes(model, &want, &want_bytes) == KITH_OK);
    HOLD(got_bytes == want_bytes && memcmp(got, want, got_bytes) == 0);
    kith_filter_free(copy);
}

static void check_closed(void) {
    HOLD(disk_open_handles(&disk) == 0);
    HOLD(disk.maps == 0);
}

static void check_reader(const expectation *e, kith_filter *model) {
    kithi_store *store = NULL;
    kithi_store_info info = KITHI_STORE_INFO_INIT;
    HOLD(open_store(KITHI_STORE_READ, &store) == e->status);
    if (e->status == KITH_OK) {
        HOLD(kithi_store_info_of(store, &info) == KITH_OK);
        HOLD(info.sequence == e->sequence && info.cut_bytes == journal_bytes - e->end);
        compare(store, model);
        HOLD(kithi_store_add_digest(store, 1, NULL) == KITH_E_READONLY);
        HOLD(kithi_store_close(store) == KITH_OK);
    }
    HOLD(journal_is(journal_bytes));
    check_closed();
}

/* Changes the store and the model in the same way: a call, or a batch of one call that is committed or rolled back. */
static void change(kithi_store *store, kith_filter **model, const prototype *p, uint8_t what) {
    uint64_t digests[8];
    size_t done, model_done;
    for (uint8_t i = 0; i < 8; i++)
        digests[i] = digest_of(p, (uint8_t)(what + i));
    bool batch = (what & 1) != 0, kept = !batch || (what & 2) != 0;
    bool removes = (what & 4) != 0 && (p->plan.capabilities & KITH_CAN_REMOVE) != 0;
    kith_filter *changed = NULL;
    HOLD(kith_filter_clone(*model, &FUZZ_ALLOCATOR, &changed) == KITH_OK);
    kith_status wanted = removes ? kith_filter_remove_many(changed, digests, 8, &model_done)
                                 : kith_filter_add_many(changed, digests, 8, NULL, &model_done);
    if (batch)
        HOLD(kithi_store_begin(store) == KITH_OK);
    kith_status status = removes ? kithi_store_remove_many(store, digests, 8, &done)
                                 : kithi_store_add_many(store, digests, 8, NULL, &done);
    HOLD(status == wanted && done == model_done);
    compare(store, changed);
    if (batch)
        HOLD((kept ? kithi_store_commit(store) : kithi_store_rollback(store)) == KITH_OK);
    kith_filter_free(kept ? *model : changed);
    *model = kept ? changed : *model;
    compare(store, *model);
    if ((what & 8) != 0)
        HOLD(kithi_store_checkpoint(store) == KITH_OK);
}

static void check_writer(const expectation *e, kith_filter **model, const prototype *p, uint64_t snapshot_sequence,
                         uint8_t what) {
    kithi_store *store = NULL;
    HOLD(open_store(KITHI_STORE_WRITE, &store) == e->status);
    if (e->status != KITH_OK) {
        HOLD(journal_is(journal_bytes));
        check_closed();
        return;
    }
    compare(store, *model);
    if (e->sequence < snapshot_sequence) /* a new journal begins after the snapshot */
        HOLD(journal_now()->n == HEADER_BYTES && kithi_load64(journal_now()->at + 40) == snapshot_sequence);
    else
        HOLD(journal_is(e->end));
    if (what != 0 && (p->plan.capabilities & KITH_CAN_ADD) != 0)
        change(store, model, p, what);
    HOLD(kithi_store_close(store) == KITH_OK);
    HOLD(open_store(KITHI_STORE_READ, &store) == KITH_OK);
    compare(store, *model);
    HOLD(kithi_store_verify(store) == KITH_OK);
    HOLD(kithi_store_close(store) == KITH_OK);
    check_closed();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    tape t = tape_of(data, size);
    const prototype *p = prototype_of(&t);
    size_t fill = tape_byte(&t) % PROTOTYPE_FILLS;
    uint8_t sequences = tape_byte(&t), what = tape_byte(&t), damage = tape_byte(&t);
    uint64_t snapshot_sequence = sequences & 15, base = sequences >> 4, sequence = base, synced = base;
    uint8_t *snapshot = make_snapshot(p, fill, snapshot_sequence);
    write_header(base, damage);
    size_t before = 56;
    while (!tape_ended(&t) && journal_bytes >= HEADER_BYTES && write_record(p, &t, &sequence, &synced, &before))
        ;
    disk_init(&disk, 1);
    files = disk_files(&disk);
    put_file("x", snapshot, p->fills[fill].n);
    put_file("x-journal", journal, journal_bytes);
    kith_filter *model = NULL;
    HOLD(kith_filter_view(p->fills[fill].bytes, p->fills[fill].n, KITH_OPEN_COPY, &FUZZ_ALLOCATOR, &model) == KITH_OK);
    kith_filter_set_limit(model, PROTOTYPE_BYTES_MAX);
    expectation e = expect(model, snapshot_sequence);
    check_reader(&e, model);
    check_writer(&e, &model, p, snapshot_sequence, what);
    kith_filter_free(model);
    free(snapshot);
    disk_free(&disk);
    HOLD(fuzz_live_bytes == 0);
    return 0;
}
