/* kith/keys.h: the type of the keys of a set.
 *
 * A set has one key type, which is fixed when it is made and stored in its recipe (kith_filter_recipe). A number or a
 * UUID then is the same key in every language and in the kith tool. The library only stores the type: it is the program
 * that refuses keys of another type, because only the program knows what its keys are.
 *
 *     type    keys                    bytes of a key
 *     bytes   bytes; text is UTF-8    the bytes themselves
 *     int     −2^63 … 2^63 − 1        8 bytes in two's complement, the lowest byte first
 *     uint    0 … 2^64 − 1            8 bytes, the lowest byte first
 *     uuid    UUIDs                   16 bytes, in the order of the text
 *
 * The same number in an int set and in a uint set has the same bytes, if both have it. */
#ifndef KITH_KEYS_H
#define KITH_KEYS_H

#include <kith/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum kith_key_type {
    KITH_KEYS_BYTES = 0,
    KITH_KEYS_INT = 1,
    KITH_KEYS_UINT = 2,
    KITH_KEYS_UUID = 3,
} kith_key_type;

/* Returns the key type of a recipe: its bits 6 and 7. */
KITH_API kith_key_type kith_key_type_of(uint64_t recipe);

/* Returns the recipe of a set with this key type, if nothing else is done to its keys: 0 for bytes. */
KITH_API uint64_t kith_key_recipe(kith_key_type type);

/* Returns "bytes", "int", "uint" or "uuid". */
KITH_API const char *kith_key_type_name(kith_key_type type);

/* Sets *type to the key type with this name. KITH_E_ARGUMENT: there is none. */
KITH_API KITH_MUST_USE kith_status kith_key_type_named(const char *name, kith_key_type *type);

/* Returns the size of every key of this type: 8, 8 or 16 bytes; 0 for bytes, whose keys may have any size. */
KITH_API size_t kith_key_type_bytes(kith_key_type type);

enum {
    KITH_TYPED_KEY_BYTES = 16, /* the most that kith_key_type_bytes() returns */
    KITH_KEY_TEXT_BYTES = 37,  /* the longest text of a key, with the terminating zero */
};

/* Reads a key that is written as text. An int is an optional minus sign and decimal digits, a uint is decimal digits,
 * without leading zeros and without -0; a uuid is 32 hex digits in either case with hyphens, 8-4-4-4-12. There must be
 * nothing else, not even white space. So each int and uint has exactly one text.
 *
 * Writes kith_key_type_bytes() bytes to `key`. KITH_E_KEY_TEXT: it is no such text; KITH_E_KEY_RANGE: a number that the
 * type does not have; KITH_E_ARGUMENT: keys of type bytes have no text of their own. `key` is then unchanged. */
KITH_API KITH_MUST_USE kith_status kith_key_parse(kith_key_type type, const char *text, size_t text_bytes,
                                                  uint8_t *key);

/* Writes a key as text, as kith_key_parse() reads it (a uuid in lower case), with a terminating zero. Returns the
 * length. The type must not be bytes. */
KITH_API size_t kith_key_format(kith_key_type type, const uint8_t *key, char text[KITH_KEY_TEXT_BYTES]);

#ifdef __cplusplus
}
#endif
#endif
