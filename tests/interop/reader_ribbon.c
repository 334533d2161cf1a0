/* reader_ribbon.c: kind 9 for the reader, see reader.c. Written from docs/format.md alone. */
#include "reader.h"

#define LEVELS 3
#define LAST 2

static uint64_t slots(const filter *f, unsigned level) {
    return f->parameter[1 + level];
}

static uint64_t marks_at(const filter *f, unsigned level) {
    uint64_t at = 24 + 8 * f->parameter[4];
    for (unsigned l = 0; l < level && l < LAST; l++)
        at += (slots(f, l) + 511) / 512;
    return at;
}

static uint64_t slots_at(const filter *f, unsigned level) {
    uint64_t at = round_up(marks_at(f, LAST), 64);
    for (unsigned l = 0; l < level; l++)
        at += slots(f, l) / 64 * f->parameter[0] * 8;
    return at;
}

static uint64_t shard_bytes(const filter *f) {
    return round_up(slots_at(f, LEVELS) + 8 * f->parameter[0] + 56, 64);
}

uint64_t ribbon_body_bytes(const filter *f) {
    const uint64_t *p = f->parameter, most = (uint64_t)1 << 40;
    require(p[0] >= 1 && p[0] <= 32, "f out of range");
    for (unsigned l = 0; l < LEVELS; l++)
        require(slots(f, l) <= most && slots(f, l) % 64 == 0, "the slots of a level are out of range");
    require(slots(f, 2) != 0 && (slots(f, 0) != 0 || slots(f, 1) == 0), "a level is missing");
    require(p[4] <= most, "S out of range");
    require(power_of_two(p[5]) && p[5] <= ((uint64_t)1 << 62) / shard_bytes(f), "shards out of range");
    return p[5] * shard_bytes(f);
}

static unsigned mark(const uint8_t *marks, uint64_t b) {
    return marks[b / 4] >> (2 * (b % 4)) & 3;
}

static void verify_marks(const filter *f, const uint8_t *shard, unsigned level, uint64_t end) {
    uint64_t b = slots(f, level) == 0 ? 0 : (slots(f, level) - 64) / 128 + 1;
    for (; b < 4 * (end - marks_at(f, level)); b++)
        require(mark(shard + marks_at(f, level), b) == 0, "a mark after the last one is not 0");
}

void ribbon_verify(const filter *f) {
    uint64_t keys = 0;
    for (uint64_t i = 0; i < f->parameter[5]; i++) {
        const uint8_t *shard = f->body + i * shard_bytes(f), *stash = shard + 24;
        uint64_t here = load(shard, 8), stashed = load(shard + 8, 8);
        require(here <= f->count - keys, "the shards have more keys than count says");
        keys += here;
        require(here != 0 || all_zero(shard, shard_bytes(f)), "a shard without keys is not 0");
        require(stashed <= f->parameter[4] && stashed <= here, "too many digests in a stash");
        for (uint64_t d = 1; d < stashed; d++)
            require(load(stash + 8 * d - 8, 8) < load(stash + 8 * d, 8), "a stash is not in increasing order");
        require(all_zero(stash + 8 * stashed, 8 * (f->parameter[4] - stashed)), "the unused part of a stash is not 0");
        verify_marks(f, shard, 0, marks_at(f, 1));
        verify_marks(f, shard, 1, slots_at(f, 0));
        require(all_zero(shard + slots_at(f, LEVELS), shard_bytes(f) - slots_at(f, LEVELS)),
                "a byte after the last slot is not 0");
    }
    require(keys == f->count, "the shards have fewer keys than count says");
}

static uint64_t slot(const filter *f, const uint8_t *shard, unsigned level, uint64_t number) {
    const uint8_t *words = shard + slots_at(f, level) + number / 64 * f->parameter[0] * 8;
    uint64_t value = 0;
    for (unsigned j = 0; j < f->parameter[0]; j++)
        value |= (load(words + 8 * j, 8) >> number % 64 & 1) << j;
    return value;
}

bool ribbon_has(const filter *f, uint64_t d) {
    static const unsigned THRESHOLDS[] = {0, 24, 48, 128};
    const uint64_t C = 0xd6e8feb86659fd93u;
    const uint8_t *shard = f->body + hi(d, f->parameter[5]) * shard_bytes(f);
    unsigned level = 0;
    uint64_t h, start;
    for (;; level++) {
        if (slots(f, level) == 0)
            continue;
        h = word(d + load(shard + 16, 8), level);
        start = hi(h, slots(f, level) - 63);
        if (level == LAST || start % 128 >= THRESHOLDS[mark(shard + marks_at(f, level), start / 128)])
            break;
    }
    uint64_t sum = lo(h, slots(f, level) - 63) >> (64 - f->parameter[0]), row = (hi(h, C) ^ lo(h, C)) | 1;
    for (unsigned i = 0; i < 64; i++)
        if ((row >> i & 1) != 0)
            sum ^= slot(f, shard, level, start + i);
    bool stashed = false;
    for (uint64_t i = 0; level == LAST && i < load(shard + 8, 8); i++)
        stashed = stashed || load(shard + 24 + 8 * i, 8) == d;
    return sum == 0 || stashed;
}
