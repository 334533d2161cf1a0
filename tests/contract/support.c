/* Helpers of the checks for keys, filters, bytes and memory. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <sys/mman.h>
#include <unistd.h>

#include "contract/contract.h"
#include "format/format.h"
#include "splitmix.h"

/* ---- keys ---- */

/* No digest occurs twice in a stream, because mixing and the multiplication by an odd number are bijections. */
uint64_t digest_at(uint64_t seed, uint64_t place) {
    return splitmix_mix(splitmix_mix(seed + 1) + place * SPLITMIX_STEP);
}

uint64_t *digests_from(uint64_t seed, uint64_t place, size_t n) {
    uint64_t *digests = malloc((n + 1) * sizeof *digests);
    CHECK(digests != NULL);
    for (size_t i = 0; i < n; i++)
        digests[i] = digest_at(seed, place + i);
    return digests;
}

key key_at(uint64_t seed, uint64_t place) {
    key k;
    uint64_t x = digest_at(~seed, place);
    for (size_t i = 0; i < sizeof k.bytes; i++)
        k.bytes[i] = (uint8_t)(x >> 8 * i);
    return k;
}

uint64_t draw(uint64_t *state, uint64_t range) {
    return splitmix_next(state) % range;
}

/* ---- filters ---- */

static bool is_static(const kith_filter_spec *spec) {
    kith_plan plan = KITH_PLAN_INIT;
    CHECK_OK(kith_filter_plan(spec, &plan));
    return !can(&plan, KITH_CAN_ADD);
}

static kith_filter *built(const kith_filter_spec *spec, const uint64_t *digests, size_t n) {
    kith_filter *f = NULL;
    CHECK_OK(kith_filter_build(spec, digests, n, KITH_BUILD_SET, 1, &f));
    return f;
}

kith_filter *created(const kith_filter_spec *spec) {
    if (is_static(spec))
        return built(spec, NULL, 0);
    kith_filter *f = NULL;
    CHECK_OK(kith_filter_create(spec, &f));
    return f;
}

kith_filter *filled_with(const kith_filter_spec *spec, const uint64_t *digests, size_t n) {
    if (is_static(spec))
        return built(spec, digests, n);
    kith_filter *f = created(spec);
    size_t done = 0;
    CHECK_OK(kith_filter_add_many(f, digests, n, NULL, &done));
    CHECK_EQ_U64(done, n);
    return f;
}

kith_filter *filled(const kith_filter_spec *spec, uint64_t seed, uint64_t place, size_t n) {
    uint64_t *digests = digests_from(seed, place, n);
    kith_filter *f = filled_with(spec, digests, n);
    free(digests);
    return f;
}

void fill_filter(kith_filter *f, uint64_t seed, uint64_t place, size_t n) {
    uint64_t *digests = digests_from(seed, place, n);
    size_t done = 0;
    CHECK_OK(kith_filter_add_many(f, digests, n, NULL, &done));
    CHECK_EQ_U64(done, n);
    free(digests);
}

kith_filter *keyed(const kith_filter_spec *spec, uint64_t seed, uint64_t place, size_t n) {
    if (is_static(spec)) {
        uint64_t *digests = digests_from(seed, place, n);
        for (size_t i = 0; i < n; i++) {
            key k = key_at(seed, place + i);
            digests[i] = kith_digest(&spec->hash, k.bytes, sizeof k.bytes);
        }
        kith_filter *f = built(spec, digests, n);
        free(digests);
        return f;
    }
    kith_filter *f = created(spec);
    for (size_t i = 0; i < n; i++) {
        key k = key_at(seed, place + i);
        CHECK_OK(kith_filter_add(f, k.bytes, sizeof k.bytes, NULL));
    }
    return f;
}

kith_filter *cloned(const kith_filter *from) {
    kith_filter *f = NULL;
    CHECK_OK(kith_filter_clone(from, NULL, &f));
    return f;
}

kith_filter *viewed(const void *bytes, size_t byte_count, unsigned flags) {
    kith_filter *f = NULL;
    CHECK_OK(kith_filter_view(bytes, byte_count, flags, NULL, &f));
    return f;
}

bool has_digest(const kith_filter *f, uint64_t digest) {
    return kith_filter_has_many(f, &digest, 1, NULL) == 1;
}

kith_status add_digest(kith_filter *f, uint64_t digest) {
    return kith_filter_add_many(f, &digest, 1, NULL, NULL);
}

size_t yes_among(const kith_filter *f, uint64_t seed, uint64_t place, size_t n) {
    uint64_t digests[1024];
    size_t yes = 0;
    for (size_t done = 0; done < n;) {
        size_t part = n - done < 1024 ? n - done : 1024;
        for (size_t i = 0; i < part; i++)
            digests[i] = digest_at(seed, place + done + i);
        yes += kith_filter_has_many(f, digests, part, NULL);
        done += part;
    }
    return yes;
}

kith_filter_stats stats_of(const kith_filter *f) {
    kith_filter_stats stats = KITH_FILTER_STATS_INIT;
    CHECK_OK(kith_filter_stats_of(f, &stats));
    return stats;
}

/* ---- bytes ---- */

snapshot snapshot_of(kith_filter *f) {
    const void *bytes;
    snapshot s;
    CHECK_OK(kith_filter_bytes(f, &bytes, &s.byte_count));
    s.bytes = malloc(s.byte_count);
    CHECK(s.bytes != NULL);
    memcpy(s.bytes, bytes, s.byte_count);
    return s;
}

bool same_bytes(kith_filter *f, const snapshot *s) {
    const void *bytes;
    size_t byte_count;
    CHECK_OK(kith_filter_bytes(f, &bytes, &byte_count));
    return byte_count == s->byte_count && memcmp(bytes, s->bytes, byte_count) == 0;
}

bool equal_filters(kith_filter *a, kith_filter *b) {
    snapshot s = snapshot_of(a);
    bool equal = same_bytes(b, &s);
    snapshot_free(&s);
    return equal;
}

bool same_body(kith_filter *a, kith_filter *b) {
    const void *bytes_a, *bytes_b;
    size_t count_a, count_b;
    CHECK_OK(kith_filter_bytes(a, &bytes_a, &count_a));
    CHECK_OK(kith_filter_bytes(b, &bytes_b, &count_b));
    /* The checksums of the body come last and agree if the bodies do. */
    return count_a == count_b &&
           memcmp((const uint8_t *)bytes_a + KITHI_HEADER_BYTES, (const uint8_t *)bytes_b + KITHI_HEADER_BYTES,
                  count_a - KITHI_HEADER_BYTES) == 0;
}

void snapshot_free(snapshot *s) {
    free(s->bytes);
    *s = (snapshot){NULL, 0};
}

snapshot file_bytes(const char *path) {
    snapshot s = {NULL, 0};
    FILE *file = fopen(path, "rb");
    CHECK(file != NULL);
    CHECK(fseek(file, 0, SEEK_END) == 0);
    long end = ftell(file);
    CHECK(end >= 0 && fseek(file, 0, SEEK_SET) == 0);
    s.byte_count = (size_t)end;
    s.bytes = malloc(s.byte_count + 1);
    CHECK(s.bytes != NULL);
    CHECK(fread(s.bytes, 1, s.byte_count, file) == s.byte_count);
    CHECK(fclose(file) == 0);
    return s;
}

void write_file(const char *path, const void *bytes, size_t byte_count) {
    FILE *file = fopen(path, "wb");
    CHECK(file != NULL);
    CHECK(fwrite(bytes, 1, byte_count, file) == byte_count);
    CHECK(fclose(file) == 0);
}

guarded guarded_room(size_t byte_count) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t usable = (byte_count + page - 1) / page * page;
    guarded g = {.page_bytes = usable + 2 * page};
    void *pages = mmap(NULL, g.page_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(pages != MAP_FAILED);
    g.pages = pages;
    CHECK(mprotect(g.pages + page, usable, PROT_READ | PROT_WRITE) == 0);
    g.at_start = g.pages + page;
    g.at_end = g.at_start + usable - byte_count;
    return g;
}

void guarded_free(guarded *g) {
    CHECK(munmap(g->pages, g->page_bytes) == 0);
}

/* ---- memory ----
 *
 *     | 64 bytes: size, mark | the memory of the caller, aligned to 64 |
 */

#define MARK UINT64_C(0x6b697468a110c8ed)

typedef struct frame {
    uint64_t bytes, mark;
} frame;

static void *test_allocate(void *context, size_t bytes, size_t alignment) {
    test_memory *m = context;
    CHECK(bytes > 0 && alignment <= 64);
    m->calls++;
    if (m->fail_at != 0 && (m->calls == m->fail_at || (m->keep_failing && m->calls > m->fail_at))) {
        m->failures++;
        return NULL;
    }
    size_t usable = 64 + (bytes + 63) / 64 * 64;
    uint8_t *raw = aligned_alloc(64, usable);
    CHECK(raw != NULL);
    memset(raw, 0, 64 + bytes);
    memset(raw + 64 + bytes, 0xa5, usable - 64 - bytes);
    memcpy(raw, &(frame){bytes, MARK}, sizeof(frame));
    m->live_bytes += bytes;
    m->live_blocks++;
    if (bytes > m->largest)
        m->largest = bytes;
    return raw + 64;
}

static void test_release(void *context, void *memory, size_t bytes) {
    test_memory *m = context;
    uint8_t *raw = (uint8_t *)memory - 64;
    frame f;
    memcpy(&f, raw, sizeof f);
    CHECK_EQ_U64(f.mark, MARK);
    CHECK_EQ_U64(f.bytes, bytes);
    for (size_t i = 64 + bytes; i % 64 != 0; i++)
        CHECK(raw[i] == 0xa5);
    m->live_bytes -= bytes;
    m->live_blocks--;
    memset(raw, 0xdd, 64 + bytes);
    free(raw);
}

void memory_init(test_memory *m) {
    *m = (test_memory){.allocator = {test_allocate, test_release, m}};
}

void memory_arm(test_memory *m, uint64_t fail_at, bool keep_failing) {
    m->calls = 0;
    m->failures = 0;
    m->fail_at = fail_at;
    m->keep_failing = keep_failing;
}

void memory_disarm(test_memory *m) {
    m->fail_at = 0;
}
