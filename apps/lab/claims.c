/* claims.c: the list of all claims, built from claims.def. */
#include "claim.h"

#include <strings.h>

#define CLAIM(id) extern const lab_claim lab_##id;
#include "claims.def"
#undef CLAIM

const lab_claim *const LAB_CLAIMS[] = {
#define CLAIM(id) &lab_##id,
#include "claims.def"
#undef CLAIM
};

const size_t LAB_CLAIM_COUNT = sizeof LAB_CLAIMS / sizeof *LAB_CLAIMS;

const lab_claim *lab_claim_named(const char *id) {
    for (size_t i = 0; i < LAB_CLAIM_COUNT; i++)
        if (strcasecmp(LAB_CLAIMS[i]->id, id) == 0)
            return LAB_CLAIMS[i];
    return NULL;
}
