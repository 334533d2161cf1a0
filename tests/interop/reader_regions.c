/* Kinds 4 and 5, cuckoo and overlap: docs/format.md. */
#include "reader.h"

typedef struct regions {
    unsigned slot_bits;
    uint64_t R, P, F, S, slots, region_bytes;
} regions;

static regions regions_of(const filter *f) {
    regions r = {
        .slot_bits = (unsigned)f->parameter[0], .P = f->parameter[1], .R = f->parameter[2], .S = f->parameter[6]};
    if (f->kind == CUCKOO) {
        r.F = ((uint64_t)1 << r.slot_bits) - 1;
        r.slots = 2 * r.P * f->parameter[3];
    } else {
        r.F = ((uint64_t)1 << (r.slot_bits - 1)) - 1;
        r.slots = 2 * (r.P + 1);
    }
    r.region_bytes = round_up((r.slots * r.slot_bits + 7) / 8 + (r.S > 1 ? 8 * r.S : 8), 64);
    return r;
}

uint64_t regions_body_bytes(const filter *f) {
    const uint64_t *p = f->parameter, most = (uint64_t)1 << 31;
    if (f->kind == CUCKOO) {
        require(p[0] >= 4 && p[0] <= 32, "slot_bits out of range");
        require(p[3] == 1 || p[3] == 2 || p[3] == 4 || p[3] == 8, "b out of range");
        require(p[1] >= 1 && p[1] <= most / (2 * p[3]), "P out of range");
        require(p[4] == 0 || (p[4] <= 2 && power_of_two(p[1])), "alternate out of range");
        require(p[4] != 2 || p[2] == 1, "more than one region with alternate 2");
        require(p[5] == 0 || (p[5] >= 50 && p[5] <= 10000), "max out of range");
        require(p[7] <= (p[5] != 0), "start out of range");
    } else {
        require(p[0] >= 3 && p[0] <= 32, "slot_bits out of range");
        require(p[1] >= 1 && p[1] <= most / 2 - 1, "P out of range");
    }
    require(p[6] <= 64 && (p[6] == 0 || f->kind == OVERLAP || p[5] == 0), "S out of range");
    uint64_t region_bytes = regions_of(f).region_bytes;
    require(p[2] >= 1 && p[2] <= ((uint64_t)1 << 62) / region_bytes, "R out of range");
    return p[2] * region_bytes;
}

static uint64_t log2_up(uint64_t x) {
    uint64_t bits = 0;
    while (bits < 32 && (uint64_t)1 << bits < x)
        bits++;
    return bits;
}

static uint64_t spread(uint64_t fingerprint) {
    return (fingerprint * 0x9745adbdu ^ fingerprint * 0x2b9c1451u) % ((uint64_t)1 << 32);
}

static uint64_t partner(const regions *r, uint64_t fingerprint, uint64_t p) {
    uint64_t H = spread(fingerprint) * 2 * r->P >> 32 | 1;
    return (H + 2 * r->P - p) % (2 * r->P);
}

static uint64_t other_place(const filter *f, const regions *r, uint64_t fingerprint, uint64_t p) {
    if (f->kind == OVERLAP || f->parameter[4] == 0)
        return partner(r, fingerprint, p);
    uint64_t s = f->parameter[4] == 1 ? fingerprint % (2 * r->P) : spread(fingerprint) * 2 * r->P >> 32;
    return p ^ (s == 0 ? 1 : s);
}

/* Whether a slot of place p holds a key with this fingerprint. */
static bool place_holds(const filter *f, const regions *r, const uint8_t *region, uint64_t fingerprint, uint64_t p) {
    uint64_t b = f->kind == CUCKOO ? f->parameter[3] : 2;
    uint64_t first = f->kind == CUCKOO ? p * b : p / 2 + p % 2 * (r->P + 1);
    for (uint64_t s = 0; s < b; s++) {
        uint64_t code = f->kind == CUCKOO ? fingerprint : 2 * fingerprint + s;
        if (load_bits(region, (first + s) * r->slot_bits, r->slot_bits) == code)
            return true;
    }
    return false;
}

/* Returns the number of entries. */
static uint64_t stash_verify(const filter *f, const regions *r, const uint8_t *region) {
    const uint8_t *stash = region + r->region_bytes - 8 * r->S;
    uint64_t entries = 0, before = 0;
    for (uint64_t i = 0; i < r->S; i++) {
        uint64_t entry = load(stash + 8 * i, 8), p = entry >> 32, fingerprint = entry & 0xffffffff;
        if (entry == 0)
            continue;
        require(entries == i, "an entry of a stash follows an unused one");
        require(entry >= before, "the entries of a stash are not in order");
        require(p < 2 * r->P && fingerprint >= 1 && fingerprint <= r->F, "an entry of a stash is out of range");
        uint64_t other = other_place(f, r, fingerprint, p);
        require(p < other, "an entry of a stash has the larger of two places");
        require(place_holds(f, r, region, fingerprint, p) || place_holds(f, r, region, fingerprint, other),
                "no slot has a key of the class of an entry in a stash");
        before = entry;
        entries++;
    }
    return entries;
}

void regions_verify(const filter *f) {
    regions r = regions_of(f);
    uint64_t used = 0, stashed = 0;
    for (uint64_t region = 0; region < r.R; region++) {
        const uint8_t *at = f->body + region * r.region_bytes;
        for (uint64_t s = 0; s < r.slots; s++) {
            uint64_t code = load_bits(at, s * r.slot_bits, r.slot_bits);
            used += code != 0;
            if (f->kind == OVERLAP && code != 0) {
                uint64_t in_half = s % (r.P + 1);
                require(code >= 2, "a slot holds fingerprint 0");
                require(code % 2 == 1 ? in_half > 0 : in_half < r.P,
                        "a slot has the code of a window that is not in its half");
            }
        }
        for (uint64_t bit = r.slots * r.slot_bits; bit < (r.region_bytes - 8 * r.S) * 8; bit++)
            require(load_bits(at, bit, 1) == 0, "a bit after the last slot of a region is set");
        stashed += stash_verify(f, &r, at);
    }
    require(stashed == f->fill, "fill is not the number of entries in stashes");
    require(used + stashed == f->count, "count is not the number of entries in slots and stashes");
}

bool regions_has(const filter *f, uint64_t d) {
    regions r = regions_of(f);
    const uint8_t *region = f->body + hi(d, r.R) * r.region_bytes;
    uint64_t v = lo(d, r.R), w = v >> 32, region_bits = log2_up(r.R);
    uint64_t bits = (region_bits < 32 ? region_bits : 32) + log2_up(2 * r.P), t = bits > 32 ? bits - 32 : 0;
    uint64_t fingerprint = 1 + ((v ^ (w << t)) % ((uint64_t)1 << 32) * r.F >> 32), p = w * 2 * r.P >> 32;
    return place_holds(f, &r, region, fingerprint, p) ||
           place_holds(f, &r, region, fingerprint, other_place(f, &r, fingerprint, p));
}
