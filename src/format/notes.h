/* notes.h: the optional section behind a block's checksums, for what a program wants to remember about a filter.
 *
 *     | u64 checksum | u64 content bytes | name NUL value NUL name NUL value NUL … | zeros to a multiple of 8 |
 *
 * The checksum covers everything behind it. The library stores the notes and never interprets them. */
#ifndef KITHI_FORMAT_NOTES_H
#define KITHI_FORMAT_NOTES_H

#include <stdint.h>

#include <kith/plan.h>

#define KITHI_NOTES_MAX 64 /* few, since names are compared pair by pair */
#define KITHI_NOTES_CONTENT_MAX 65536
#define KITHI_NOTES_FRAME_BYTES 16

/* The size of the section for these notes, 0 for none. KITH_E_ARGUMENT for an empty name or one that occurs twice,
 * KITH_E_TOO_LARGE for more than KITHI_NOTES_MAX notes or KITHI_NOTES_CONTENT_MAX bytes. */
kith_status kithi_notes_measure(const kith_note *notes, size_t count, uint64_t *section_bytes);

/* Writes the section; its size is what kithi_notes_measure returned for these notes, and its memory is zeroed. */
void kithi_notes_write(uint8_t *section, const kith_note *notes, size_t count);

/* The size that a section claims to have, from its first KITHI_NOTES_FRAME_BYTES bytes; 0 if no section can have it. */
uint64_t kithi_notes_claimed_bytes(const uint8_t *frame);

/* Verifies a section of exactly this many bytes, which may be hostile: checksum, strings, padding. KITH_E_CORRUPT. */
kith_status kithi_notes_verify(const uint8_t *section, uint64_t section_bytes);

/* Both take a verified section, or NULL for no notes. */
size_t kithi_notes_count(const uint8_t *section);
kith_note kithi_notes_at(const uint8_t *section, size_t index);

#endif
