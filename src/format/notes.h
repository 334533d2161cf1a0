/* format/notes.h: the optional section after a block's checksums, for what a program wants to remember about a filter.
 *
 *     | u64 checksum | u64 content bytes | name NUL value NUL name NUL value NUL … | zeros to a multiple of 8 |
 *
 * The checksum covers everything after it. The library stores the notes and never interprets them. */
#ifndef KITHI_FORMAT_NOTES_H
#define KITHI_FORMAT_NOTES_H

#include <stdint.h>

#include <kith/plan.h>

#include "format/head.h"

/* Computes the size of the section for these notes; 0 if there are none. Fails with KITH_E_NOTE if a name is empty
 * or occurs twice, and with KITH_E_NOTES for more than KITHI_NOTES_MAX notes or KITHI_NOTES_CONTENT_MAX bytes. */
kith_status kithi_notes_measure(const kith_note *notes, size_t count, uint64_t *section_bytes);

/* Writes the section. It must have the size that kithi_notes_measure() computed for these notes, and be zeroed. */
void kithi_notes_write(uint8_t *section, const kith_note *notes, size_t count);

/* Verifies the checksum, strings and padding of a section of exactly this many bytes, which may be hostile. Fails with
 * KITH_E_CORRUPT. */
kith_status kithi_notes_verify(const uint8_t *section, uint64_t section_bytes);

/* `section` must have been verified, or be NULL for no notes. */
size_t kithi_notes_count(const uint8_t *section);
kith_note kithi_notes_at(const uint8_t *section, size_t index);

#endif
