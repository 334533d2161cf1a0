/* lookup.h: the part of a filter kind that reads a block, for kind.h and for kith/reader.h.
 *
 * Each kind has this part in a header kinds/<kind>/lookup.h: the names of its parameters, the sizes that follow from
 * them, and has(). The header ends with one const kithi_lookup of the name kithi_lookup_<kind>. The kind's .c file
 * includes this header. The build joins the headers of all kinds, and what they include, into the single header
 * kith/reader.h (src/reader).
 *
 * These headers are therefore written in the common subset of C11 and C++17, with gcc's builtins: no designated
 * initialisers, no compound literals, no implicit conversion of void pointers. All names that they define begin with
 * kithi_ or KITHI_, and all functions and constants are static. These headers may not include kind.h. */
#ifndef KITHI_LOOKUP_H
#define KITHI_LOOKUP_H

#include "core/compiler.h"
#include "format/head.h"
#include "plan/geometry.h"

/* The properties of a filter that follow from its parameters: sizes, limits, capabilities. (kithi_geometry has the
 * parameters themselves: plan/geometry.h.) */
typedef struct kithi_shape {
    uint64_t body_bytes; /* a multiple of 64; includes the padding that wide loads of the last cell need */
    /* Number of regions: ranges of the body of equal size that share no byte and are all 0 when empty. A digest belongs
     * to region mulhi(digest, regions), the high 64 bits of the product, and operations on it read and write only that
     * region. 0 if the kind has none; a static kind must have regions. If their number is a power of two, a build with
     * digests on disk need not read all of them into memory at once (build/static.c). */
    uint64_t regions;
    uint64_t cells; /* bits, counters or slots. This and the next six mean the same as in kith_plan */
    unsigned cell_bits;
    unsigned hashes; /* bits or counters per key */
    unsigned fingerprint_bits;
    unsigned lines;        /* cache lines that a lookup reads */
    unsigned lookup_cells; /* cells that a lookup reads */
    unsigned max_copies;
    /* If filters of this shape are layers: the most copies of a key that all layers together may store; 0 means
     * max_copies. The cuckoo kinds set a higher number, because they cannot distinguish copies of a key from other keys
     * with the same places and fingerprint, and there may be such keys in every layer. */
    unsigned copies_limit;
    uint32_t capabilities;
} kithi_shape;

typedef struct kithi_lookup {
    uint16_t id;         /* stored in files; never reused */
    uint8_t params_mask; /* bit i is set if the kind uses parameter i; parameters that it does not use are 0 in files */
    bool adds;           /* keys can be added to an existing filter; only such kinds can be layers of another filter */
    /* Copies the parameters into a struct with names. It does not check them: head->params may hold anything. */
    kithi_geometry (*decode)(const kithi_head *head);
    /* Computes sizes from head->params, which may come from a hostile file. KITH_E_CORRUPT if they are out of range.
     * `capabilities` is left 0: kithi_kind_shape() sets it. A kind that consists of filters of another kind sets only
     * `body_bytes`. */
    kith_status (*shape)(const kithi_head *head, kithi_shape *shape);
    /* Returns whether a digest may be in the set. The body has the size that shape() computed, but its bytes may be
     * hostile. NULL for `layers`, which consists of filters of another kind: whoever searches them goes through its
     * directory (layers/lookup.h).
     *
     * If kithi_<kind>_has() is KITHI_INLINE, it is compiled into kith_reader_has(), and so into every caller of that
     * function. Only the kinds with the shortest lookups declare it so. The others declare it static inline, and
     * kith_reader_has() calls another function, which contains the lookups of all kinds. */
    bool (*has)(const kithi_geometry *g, const uint8_t *body, uint64_t digest);
} kithi_lookup;

#endif
