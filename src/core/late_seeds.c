#include "core/late_seeds.h"

#include <string.h>

#include "core/bits.h"
#include "core/siphash.h"
#include "core/sort.h"

#define RADIX_MIN 4096 /* heapsort is as fast for fewer numbers */

bool kithi_late_seeds_of(const uint64_t *digests, size_t n, uint64_t *sorted, uint64_t *scratch, uint64_t scratch_n,
                         kithi_late_seeds *seeds) {
    memcpy(sorted, digests, n * sizeof *sorted);
    if (n >= RADIX_MIN && n <= scratch_n)
        kithi_sort_large(sorted, n, scratch);
    else
        kithi_sort(sorted, n);
    /* The states of SipHash with the keys (0, 0) and (1, 1). */
    kithi_sip_state first = {KITHI_SIP_V0, KITHI_SIP_V1, KITHI_SIP_V2, KITHI_SIP_V3};
    kithi_sip_state second = {KITHI_SIP_V0 ^ 1, KITHI_SIP_V1 ^ 1, KITHI_SIP_V2 ^ 1, KITHI_SIP_V3 ^ 1};
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && sorted[i - 1] == sorted[i])
            return false;
        kithi_sip_absorb(&first, sorted[i]);
        kithi_sip_absorb(&second, sorted[i]);
    }
    uint64_t last = (uint64_t)n * sizeof *sorted << 56; /* of whole words, as kithi_sip_last() returns it */
    kithi_store64(seeds->key, kithi_sip_end(&first, last));
    kithi_store64(seeds->key + 8, kithi_sip_end(&second, last));
    return true;
}

uint64_t kithi_late_seed(const kithi_late_seeds *seeds, unsigned attempt, unsigned try) {
    uint8_t number[16];
    kithi_store64(number, attempt);
    kithi_store64(number + 8, try);
    uint64_t seed = kithi_siphash(seeds->key, number, sizeof number);
    return seed != 0 ? seed : 1;
}
