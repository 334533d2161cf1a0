/* plan/fit.h: how many slots n fingerprints need so that all of them go in.
 *
 * Two things can keep distinct keys out of a cuckoo filter.
 *
 * Room: no way of moving entries makes a slot free. Seen from afar that happens at a sharp load; a region of m slots
 * stops at a load that is normally distributed about a mean a little under the threshold of its kind, and regions get
 * unequal shares of the keys, which are binomial. In small regions another cause comes first: a few keys that share
 * the same few places, most often c + 1 keys at one pair of places that has c slots.
 *
 * Crowding: among c + 1 keys on one pair of places some have equal fingerprints, which makes the pair equal too, far more
 * likely than by chance when there are fewer fingerprints than places. More fingerprint bits help, more room hardly
 * does.
 *
 * With P = half places in each half of a region, R regions and F fingerprints there are R*P*F different (pair,
 * fingerprint) cells, and a key is answered yes exactly when its cell is not empty, so
 *
 *     rate = 1 - (1 - 1/(R P F))^n                 on average over a random hash, exactly, for every n
 *
 * n keys occupy n cells at most, so no filter has a rate above n/(R P F), whatever the keys. Sizes are chosen by this
 * bound. */
#ifndef KITHI_PLAN_FIT_H
#define KITHI_PLAN_FIT_H

#include <stdbool.h>
#include <stdint.h>

/* A way of laying out slots. */
typedef struct kithi_fit {
    unsigned place_slots; /* slots at a place: b, or 2 for windows */
    bool windows;         /* neighbouring places share a slot */
    bool power_of_two;    /* 2 * half must be one, and at most 2^(slot_bits) */
    unsigned code_bits;   /* bits of a slot that are not fingerprint */
} kithi_fit;

/* What was found. */
typedef struct kithi_fit_size {
    unsigned slot_bits;
    uint64_t half; /* places in a half of a region */
    uint64_t regions;
} kithi_fit_size;

uint64_t kithi_fit_region_slots(const kithi_fit *fit, uint64_t half);
uint64_t kithi_fit_top(const kithi_fit *fit, unsigned slot_bits); /* F */

double kithi_fit_rate(const kithi_fit *fit, const kithi_fit_size *size, uint64_t n);
double kithi_fit_room_failure(const kithi_fit *fit, const kithi_fit_size *size, uint64_t n);
double kithi_fit_crowding(const kithi_fit *fit, const kithi_fit_size *size, uint64_t n);

/* The fewest bits in all with n/(R P F) at most `rate`, with room failure at most 10^-9 and crowding at most 10^-8;
 * with slot_bits given (not 0) that width, whatever the crowding. False when it would take 2^62 bits. */
bool kithi_fit_choose(const kithi_fit *fit, uint64_t n, double rate, unsigned slot_bits, kithi_fit_size *size);

#endif
