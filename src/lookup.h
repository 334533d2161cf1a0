/* lookup.h: the part of a filter kind that reads a block, for kind.h and for kith/reader.h.
 *
 * Each kind has a header filters/<kind>_lookup.h with the part of it that reads a block: the names of its parameters,
 * the sizes that follow from them, and has(). The header ends with one const kithi_lookup of the name
 * kithi_lookup_<kind>. The kind's .c file includes it. The build joins the headers of all kinds, and what they include,
 * to the one header kith/reader.h (src/reader).
 *
 * These headers are therefore written in the common subset of C11 and C++17, with gcc's builtins: no designated
 * initialisers, no compound literals, no implicit conversion of void pointers. All that they define begins with kithi_
 * or KITHI_ and is static. They may not include kind.h. */
#ifndef KITHI_LOOKUP_H
#define KITHI_LOOKUP_H

#include "core/compiler.h"
#include "format/head.h"
#include "plan/geometry.h"

/* What follows from the parameters of a filter. */
typedef struct kithi_shape {
    uint64_t body_bytes; /* a multiple of 64; includes the padding that wide loads of the last cell need */
    uint64_t cells;
    unsigned cell_bits;
    unsigned hashes; /* bits or counters per key. This and the next three mean the same as in kith_plan */
    unsigned fingerprint_bits;
    unsigned lines; /* cache lines that a lookup reads */
    unsigned max_copies;
    /* The most copies of a key that all layers of a filter of kind `layers` may store together; 0 means max_copies. The
     * cuckoo kinds set a higher number, because they cannot distinguish copies of a key from other keys with the same
     * places and fingerprint, and there may be such keys in every layer. */
    unsigned copies_limit;
    uint32_t capabilities;
} kithi_shape;

/* The position of an inner filter in the body that contains it. */
typedef struct kithi_inner_block {
    uint64_t at; /* offset in the body */
    uint64_t bytes;
} kithi_inner_block;

typedef struct kithi_lookup {
    uint16_t id;    /* stored in files; never reused */
    uint8_t params; /* bit i: parameter i is used; the others are 0 */
    bool adds;      /* keys can be added after the filter was created: it may be a layer of another filter */
    /* Copies the parameters into a struct with names. It does not check them: head->params may hold anything. */
    kithi_geometry (*decode)(const kithi_head *head);
    /* Computes sizes from head->params, which may come from a hostile file. KITH_E_CORRUPT if they are out of range.
     * `capabilities` is left 0: the kind's shape() in kind.h sets it. A kind that consists of filters of another kind
     * sets only `body_bytes`. */
    kith_status (*shape)(const kithi_head *head, kithi_shape *shape);
    /* Returns whether a digest may be in the set. The body has the size that shape() computed, but its bytes may be
     * hostile. NULL for a kind that consists of filters of another kind.
     *
     * If kithi_<kind>_has() is KITHI_INLINE, kith_reader_has() contains it, and so does every caller of that function.
     * Only the shortest ones are. If it is static inline, kith_reader_has() calls another function, which contains the
     * lookups of all kinds. */
    bool (*has)(const kithi_geometry *g, const uint8_t *body, uint64_t digest);

    /* The next three are NULL for kinds that do not consist of filters of another kind.
     *
     * inner_kind   returns the id of that kind
     * inner_block  sets *block to where the next filter is in the body. `block` describes the previous one; its fields
     *              are 0 before the first. Returns KITH_OK; KITH_E_ABSENT after the last one; or KITH_E_CORRUPT
     * inner_fits   returns whether the header `inner` may be that of filter number i */
    uint64_t (*inner_kind)(const kithi_head *head);
    kith_status (*inner_block)(const kithi_head *head, const uint8_t *body, unsigned i, kithi_inner_block *block);
    bool (*inner_fits)(const kithi_head *head, unsigned i, const kithi_head *inner);
} kithi_lookup;

#endif
