/* Bytes from anywhere, given to kith_filter_view; what opens is put through every verb.
 *
 * The first byte of the input says how. Bits 0 and 1 are the flags of opening. Bits 2 and 3:
 *
 *     0   the rest is the file as it is
 *     1   the rest is 16 words of header fields and a body; both are sealed, so that checksums do not stop the fuzzer
 *     2   likewise, and the length of the body that the header states is the input's, too
 *     3   a good filter of a kind, capacity and number of keys that the input chooses, then edits of it (two bytes of
 *         offset, one of XOR), then sealed: what an attacker who knows the format would do */
#include <stdlib.h>
#include <string.h>

#include <kith/kith.h>

#include "core/bits.h"
#include "core/hash.h"
#include "core/prng.h"
#include "format/format.h"

enum { PLAIN, SEALED, LYING, EDITED };
enum { FIELDS = 16, MEMORY_MAX = 1 << 22 };

/* Offsets in the header: docs/format.md. */
enum { AT_BODY_BYTES = 96, AT_BODY_CHECKSUM = 176, AT_CHECKSUM = 184 };

/* Memory is bounded, so that what a file asks for beyond reason is refused at once, and counted. */
static size_t live_bytes;

static void *bounded_allocate(void *context, size_t bytes, size_t alignment) {
    (void)context, (void)alignment;
    if (bytes > MEMORY_MAX - live_bytes)
        return NULL;
    uint8_t *raw = calloc(1, bytes + 64);
    if (raw == NULL)
        return NULL;
    live_bytes += bytes;
    size_t distance = 64 - ((uintptr_t)raw & 63);
    raw[distance - 1] = (uint8_t)distance;
    return raw + distance;
}

static void bounded_release(void *context, void *memory, size_t bytes) {
    (void)context;
    uint8_t *given = memory;
    live_bytes -= bytes;
    free(given - given[-1]);
}

static const kith_allocator BOUNDED = {bounded_allocate, bounded_release, NULL};

static volatile uint64_t sink; /* keeps the answers observable: what nobody reads, a compiler leaves out */

static void change(kith_filter *filter, const kith_filter *other, const uint64_t *digests, size_t n) {
    uint64_t bitmap[4];
    kith_adder *adder = NULL;
    size_t done = 0;
    bool was_new;
    for (size_t i = 0; i < n; i++) {
        sink += (uint64_t)kith_filter_add_many(filter, &digests[i], 1, bitmap, &done);
        sink += (uint64_t)kith_filter_remove_many(filter, &digests[i / 3], 1, &done);
    }
    for (unsigned i = 0; i < 20; i++)
        sink += (uint64_t)kith_filter_add(filter, "again", 5, &was_new);
    sink += (uint64_t)kith_filter_remove(filter, "again", 5);
    sink += (uint64_t)kith_filter_merge(filter, other);
    sink += (uint64_t)kith_filter_intersect(filter, other);
    if (kith_adder_open(filter, &adder) == KITH_OK) {
        sink += (uint64_t)kith_adder_add_many(adder, digests, n, bitmap, &done);
        sink += (uint64_t)kith_adder_add(adder, "again", 5, &was_new);
        kith_adder_close(adder);
    }
}

static void use(kith_filter *filter) {
    enum { DIGESTS = 100 };
    kith_filter_stats stats = KITH_FILTER_STATS_INIT;
    kith_plan plan = KITH_PLAN_INIT;
    kith_filter *clone = NULL, *like = NULL, *again = NULL;
    const char *reason = NULL;
    const void *bytes;
    size_t byte_count;
    uint64_t digests[DIGESTS], maybe[2];
    bool subset = false;
    kithi_prng prng = {1};
    for (size_t i = 0; i < DIGESTS; i++)
        digests[i] = kithi_prng_next(&prng);
    digests[0] = 0;
    digests[1] = UINT64_MAX;

    sink += kith_filter_has_many(filter, digests, DIGESTS, maybe) + maybe[0];
    sink += kith_filter_copies(filter, "x", 1) + kith_filter_has(filter, "x", 1);
    sink += kith_filter_count(filter) + kith_filter_capacity(filter) + kith_filter_capabilities(filter);
    sink += (uint64_t)(kith_filter_kind_name(filter)[0] != 0) + (uint64_t)kith_filter_hash(filter).id;
    sink += (uint64_t)kith_filter_stats_of(filter, &stats) + stats.cells_used + (stats.rate_now > 0.5);
    sink += (uint64_t)kith_filter_plan_of(filter, &plan) + plan.file_bytes + (plan.failure > 0.5);
    bool sound = kith_filter_check(filter, &reason) == KITH_OK;
    if (sound != (reason == NULL))
        abort();
    if (kith_filter_clone(filter, &BOUNDED, &clone) == KITH_OK) {
        sink += (uint64_t)kith_filter_subset(clone, filter, &subset);
        change(clone, filter, digests, DIGESTS);
        /* What was sound stays sound, and what is sound opens again. */
        if (sound && kith_filter_check(clone, &reason) != KITH_OK)
            abort();
        if (kith_filter_bytes(clone, &bytes, &byte_count) != KITH_OK)
            abort();
        kith_status status = kith_filter_view(bytes, byte_count, KITH_OPEN_DEFAULT, &BOUNDED, &again);
        if (status == KITH_OK)
            kith_filter_free(again);
        else if (sound && status != KITH_E_MEMORY)
            abort();
        sink += (uint64_t)kith_filter_clear(clone);
        kith_filter_free(clone);
    }
    if (kith_filter_create_like(filter, &BOUNDED, &like) == KITH_OK) {
        change(like, filter, digests, DIGESTS);
        if (kith_filter_check(like, &reason) != KITH_OK && sound)
            abort();
        kith_filter_free(like);
    }
    if (!kith_filter_readonly(filter)) {
        change(filter, filter, digests, DIGESTS);
        sink += (uint64_t)kith_filter_clear(filter);
    }
    sink += (uint64_t)kith_filter_bytes(filter, &bytes, &byte_count);
}

static void try_bytes(const uint8_t *bytes, size_t byte_count, unsigned flags) {
    kith_filter *filter = NULL;
    if (kith_filter_view(bytes, byte_count, flags, &BOUNDED, &filter) == KITH_OK) {
        use(filter);
        kith_filter_free(filter);
    }
    if (live_bytes != 0)
        abort();
}

/* The fields of a header from the input's words; what is missing is 0. */
static kithi_head read_head(const uint8_t *input, size_t byte_count) {
    uint64_t words[FIELDS] = {0};
    for (size_t i = 0; i < FIELDS && 8 * (i + 1) <= byte_count; i++)
        words[i] = kithi_load64(input + 8 * i);
    kithi_head head = {
        .kind_id = (uint16_t)words[0],
        .hash = {.id = (kith_hash_id)(words[1] & 1)},
        .capacity = words[2],
        .count = words[4],
        .fill = words[5],
        .body_bytes = words[6],
    };
    if (head.hash.id == KITH_HASH_XXH3)
        head.hash.seed = words[7];
    memcpy(&head.rate, &words[3], sizeof head.rate);
    memcpy(head.params, &words[8], sizeof head.params);
    return head;
}

static void seal_header(uint8_t *block) {
    kithi_store64(block + AT_CHECKSUM, kithi_checksum(block, AT_CHECKSUM));
}

static void try_sealed(const uint8_t *input, size_t byte_count, unsigned flags, bool lying) {
    kithi_head head = read_head(input, byte_count);
    size_t used = byte_count < 8 * FIELDS ? byte_count : 8 * FIELDS;
    uint64_t stated_bytes = head.body_bytes, block_bytes = 0;
    head.body_bytes = (byte_count - used) & ~(uint64_t)63;
    if (!kithi_block_bytes(head.body_bytes, &block_bytes))
        return;
    uint8_t *block = calloc(1, (size_t)block_bytes);
    if (block == NULL)
        return;
    if (head.body_bytes != 0)
        memcpy(block + KITHI_HEADER_BYTES, input + used, (size_t)head.body_bytes);
    kithi_block_seal(block, &head);
    if (lying) {
        kithi_store64(block + AT_BODY_BYTES, stated_bytes);
        seal_header(block);
    }
    try_bytes(block, (size_t)block_bytes, flags);
    free(block);
}

static void try_edited(const uint8_t *input, size_t byte_count, unsigned flags) {
    enum { CHOICES = 4, EDIT_BYTES = 3 };
    static const char *const INNER[] = {"inner=blocked", "inner=overlap", "inner=counting growth=1", "inner=bloom",
                                        "inner=blocked_counting"};
    if (byte_count < CHOICES)
        return;
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    kith_filter *filter = NULL;
    const void *bytes;
    size_t block_bytes;
    spec.kind = kith_filter_kind_at(input[0] % kith_filter_kind_count())->name;
    spec.capacity = 1 + input[1] % 64u;
    spec.rate = 0.5 / (1 + input[2]);
    static const kith_note notes[] = {{"note", "text"}, {"field", "3"}};
    spec.notes = notes;
    spec.note_count = input[1] >> 6 & 2;
    spec.recipe = input[1];
    if (strcmp(spec.kind, "layers") == 0)
        spec.options = INNER[input[2] % (sizeof INNER / sizeof *INNER)];
    kith_status status = kith_filter_create(&spec, &filter);
    if (status == KITH_E_UNSUPPORTED) { /* a static kind */
        uint64_t digests[64];
        for (uint64_t key = 0; key < spec.capacity; key++)
            digests[key] = kith_digest(&spec.hash, &key, sizeof key);
        size_t n = input[3] < spec.capacity ? input[3] : (size_t)spec.capacity;
        status = kith_filter_build(&spec, digests, n, KITH_BUILD_SET, 1, &filter);
    } else if (status == KITH_OK) {
        for (uint64_t key = 0; key < input[3]; key++)
            sink += (uint64_t)kith_filter_add(filter, &key, sizeof key, NULL);
    }
    if (status != KITH_OK)
        return;
    if (kith_filter_bytes(filter, &bytes, &block_bytes) != KITH_OK)
        abort();
    uint8_t *block = malloc(block_bytes);
    if (block == NULL)
        abort();
    memcpy(block, bytes, block_bytes);
    kith_filter_free(filter);

    uint64_t body_bytes = kithi_load64(block + AT_BODY_BYTES);
    for (size_t at = CHOICES; at + EDIT_BYTES <= byte_count; at += EDIT_BYTES) {
        size_t offset = kithi_load16(input + at);
        if (offset < block_bytes)
            block[offset] ^= input[at + 2];
    }
    uint8_t *checksums = block + KITHI_HEADER_BYTES + body_bytes;
    if (body_bytes <= KITHI_CHECKED_BYTES) { /* else only the header is sealed */
        kithi_store64(checksums, kithi_checksum(block + KITHI_HEADER_BYTES, (size_t)body_bytes));
        kithi_store64(block + AT_BODY_CHECKSUM, kithi_checksum(checksums, 8));
    }
    seal_header(block);
    try_bytes(block, block_bytes, flags);
    free(block);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0)
        return 0;
    unsigned flags = data[0] & 3;
    switch (data[0] >> 2 & 3) {
    case PLAIN:
        try_bytes(data + 1, size - 1, flags);
        break;
    case SEALED:
        try_sealed(data + 1, size - 1, flags, false);
        break;
    case LYING:
        try_sealed(data + 1, size - 1, flags, true);
        break;
    case EDITED:
        try_edited(data + 1, size - 1, flags);
        break;
    }
    return 0;
}
