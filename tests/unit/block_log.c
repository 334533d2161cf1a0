/* The reader of block logs in tests/blocklog, and the states that it derives. The test writes the logs itself. */
#define _GNU_SOURCE

#include "check.h"

#include "blocklog/log.h"

enum { SECTOR = 512, LOG_MAX = 1 << 16 };

struct written {
    uint8_t bytes[LOG_MAX];
    size_t byte_count;
    uint64_t entries;
};

static void put(uint8_t *bytes, uint64_t value, unsigned byte_count) {
    for (unsigned i = 0; i < byte_count; i++)
        bytes[i] = (uint8_t)(value >> 8 * i);
}

static void begin(struct written *w) {
    memset(w, 0, sizeof *w);
    put(w->bytes, UINT64_C(0x6a736677736872), 8);
    put(w->bytes + 8, 1, 8);
    put(w->bytes + 24, SECTOR, 4);
    w->byte_count = SECTOR;
}

/* Appends an entry, whose data has the byte `fill` everywhere. */
static void append(struct written *w, uint64_t sector, uint64_t sectors, uint64_t flags, uint8_t fill) {
    uint8_t *entry = w->bytes + w->byte_count;
    put(entry, sector, 8);
    put(entry + 8, sectors, 8);
    put(entry + 16, flags, 8);
    w->byte_count += SECTOR;
    if (!(flags & LOG_DISCARD)) {
        CHECK(w->byte_count + sectors * SECTOR <= LOG_MAX);
        memset(w->bytes + w->byte_count, fill, (size_t)sectors * SECTOR);
        w->byte_count += (size_t)sectors * SECTOR;
    }
    put(w->bytes + 16, ++w->entries, 8);
}

static struct log opened(const struct written *w) {
    struct log log;
    const char *wrong = log_open(&log, w->bytes, w->byte_count);
    if (wrong != NULL)
        CHECK_FAIL("%s", wrong);
    return log;
}

static struct log_entry next(struct log *log) {
    struct log_entry entry;
    bool found;
    const char *wrong = log_next(log, &entry, &found);
    if (wrong != NULL)
        CHECK_FAIL("%s", wrong);
    CHECK(found);
    return entry;
}

static void check_wrong(const char *wrong, const char *words) {
    if (wrong == NULL || strstr(wrong, words) == NULL)
        CHECK_FAIL("\"%s\" expected, not \"%s\"", words, wrong == NULL ? "success" : wrong);
}

TEST(entries_are_read_in_order) {
    static struct written w;
    begin(&w);
    append(&w, 7, 3, 0, 0xaa);
    append(&w, 0, 0, LOG_FLUSH, 0);
    append(&w, 9, 2, LOG_DISCARD, 0);
    append(&w, 1, 1, LOG_FUA, 0xbb);
    struct log log = opened(&w);
    struct log_entry entry = next(&log);
    CHECK_EQ_U64(entry.offset, 7 * SECTOR);
    CHECK_EQ_U64(entry.byte_count, 3 * SECTOR);
    CHECK(entry.data[0] == 0xaa && entry.data[3 * SECTOR - 1] == 0xaa);
    entry = next(&log);
    CHECK(entry.flags == LOG_FLUSH && entry.byte_count == 0);
    entry = next(&log);
    CHECK(entry.data == NULL && entry.byte_count == 2 * SECTOR);
    entry = next(&log);
    CHECK(entry.flags == LOG_FUA && entry.data[0] == 0xbb);
    bool found;
    CHECK(log_next(&log, &entry, &found) == NULL && !found);
}

TEST(damaged_logs_are_named) {
    static struct written w;
    struct log log;
    struct log_entry entry;
    bool found;
    begin(&w);
    check_wrong(log_open(&log, w.bytes, 27), "not a log");
    w.bytes[0] ^= 1;
    check_wrong(log_open(&log, w.bytes, w.byte_count), "not a log");
    w.bytes[0] ^= 1;
    w.bytes[8] = 2;
    check_wrong(log_open(&log, w.bytes, w.byte_count), "version");
    w.bytes[8] = 1;
    for (unsigned bytes = 0; bytes <= 768; bytes += 256) /* 512 is right */
        if (bytes != SECTOR) {
            put(w.bytes + 24, bytes, 4);
            check_wrong(log_open(&log, w.bytes, w.byte_count), "sector size");
        }

    begin(&w);
    append(&w, 0, 2, 0, 1);
    for (size_t n = SECTOR; n < w.byte_count; n++) {
        CHECK(log_open(&log, w.bytes, n) == NULL);
        check_wrong(log_next(&log, &entry, &found), n < 2 * SECTOR ? "ends before" : "beyond the end");
    }
    static const struct {
        unsigned at;
        uint64_t value;
        const char *words;
    } forged[] = {
        {0, UINT64_MAX / SECTOR, "too large"},
        {8, UINT64_MAX, "too large"},
        {8, UINT64_MAX / SECTOR, "too large"},
        {8, 3, "beyond the end"},
        {16, 16, "unknown flags"},
        {24, SECTOR, "beyond the end"},
    };
    for (size_t i = 0; i < sizeof forged / sizeof *forged; i++) {
        begin(&w);
        append(&w, 1, 2, 0, 1);
        put(w.bytes + SECTOR + forged[i].at, forged[i].value, 8);
        log = opened(&w);
        check_wrong(log_next(&log, &entry, &found), forged[i].words);
    }
}

/* The image is a part of the disk: an entry may begin before it and end after it. */
TEST(only_the_part_of_an_entry_inside_the_image_is_applied) {
    static struct written w;
    static uint8_t bytes[6 * SECTOR];
    struct log_image image = {bytes + SECTOR, 10 * SECTOR, 4 * SECTOR};
    for (uint64_t sector = 0; sector < 20; sector++)
        for (uint64_t sectors = 0; sectors <= 8; sectors++)
            for (unsigned discards = 0; discards < 2; discards++) {
                begin(&w);
                append(&w, sector, sectors, discards ? LOG_DISCARD : 0, 0xcc);
                struct log log = opened(&w);
                struct log_entry entry = next(&log);
                memset(bytes, 0x11, sizeof bytes);
                log_apply(&entry, &image);
                for (size_t i = 0; i < sizeof bytes; i++) {
                    uint64_t at = 9 + i / SECTOR;
                    bool written = at >= 10 && at < 14 && at >= sector && at < sector + sectors;
                    CHECK(bytes[i] == (!written ? 0x11 : discards ? 0 : 0xcc));
                }
            }
}

/* Every fate occurs, a torn write arrives in blocks, and a write with FUA always arrives. */
TEST(subsets_keep_lose_and_tear_writes) {
    static struct written w;
    static uint8_t bytes[4 * LOG_TEAR_BYTES];
    struct log_image image = {bytes, 0, sizeof bytes};
    uint64_t fates[3] = {0}, partly = 0, random = 1;
    for (unsigned run = 0; run < 300; run++) {
        begin(&w);
        append(&w, 0, sizeof bytes / SECTOR, run % 3 == 0 ? LOG_FUA : 0, 0xee);
        struct log log = opened(&w);
        struct log_entry entry = next(&log);
        memset(bytes, 0, sizeof bytes);
        enum log_fate fate = log_fate(&entry, &random);
        log_apply_fate(&entry, &image, fate, random);
        unsigned blocks = 0;
        for (size_t at = 0; at < sizeof bytes; at += LOG_TEAR_BYTES) {
            blocks += bytes[at] == 0xee;
            for (size_t i = 0; i < LOG_TEAR_BYTES; i++)
                CHECK(bytes[at + i] == bytes[at]);
        }
        CHECK(run % 3 != 0 || fate == LOG_KEPT);
        CHECK(fate != LOG_KEPT || blocks == 4);
        CHECK(fate != LOG_LOST || blocks == 0);
        partly += blocks > 0 && blocks < 4;
        fates[fate]++;
    }
    CHECK(fates[LOG_LOST] > 30 && fates[LOG_TORN] > 30 && partly > 30);

    append(&w, 0, 1, 0, 1); /* a small write is never torn */
    struct log log = opened(&w);
    (void)next(&log);
    struct log_entry entry = next(&log);
    for (unsigned run = 0; run < 100; run++)
        CHECK(log_fate(&entry, &random) != LOG_TORN);
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
