/* Writes, verifies and reads the notes section (see notes.h). Names are few and short, so all searches are linear. */
#include "format/notes.h"

#include <assert.h>
#include <string.h>

#include "core/bits.h"
#include "core/hash.h"
#include "format/read.h"

static bool name_occurs(const char *name, const kith_note *notes, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(notes[i].name, name) == 0)
            return true;
    return false;
}

kith_status kithi_notes_measure(const kith_note *notes, size_t count, uint64_t *section_bytes) {
    uint64_t content_bytes = 0;
    if (count > KITHI_NOTES_MAX)
        return KITH_E_NOTES;
    for (size_t i = 0; i < count; i++) {
        assert(notes[i].name != NULL && notes[i].value != NULL);
        if (notes[i].name[0] == '\0' || name_occurs(notes[i].name, notes, i))
            return KITH_E_NOTE;
        content_bytes += (uint64_t)strlen(notes[i].name) + 1 + strlen(notes[i].value) + 1;
        if (content_bytes > KITHI_NOTES_CONTENT_MAX)
            return KITH_E_NOTES;
    }
    *section_bytes = content_bytes == 0 ? 0 : kithi_notes_bytes_for(content_bytes);
    return KITH_OK;
}

static uint8_t *put_string(uint8_t *to, const char *text) {
    size_t bytes = strlen(text) + 1;
    memcpy(to, text, bytes);
    return to + bytes;
}

void kithi_notes_write(uint8_t *section, const kith_note *notes, size_t count) {
    uint8_t *to = section + KITHI_NOTES_AT_CONTENT;
    for (size_t i = 0; i < count; i++)
        to = put_string(put_string(to, notes[i].name), notes[i].value);
    uint64_t content_bytes = (uint64_t)(to - (section + KITHI_NOTES_AT_CONTENT));
    kithi_store64(section + KITHI_NOTES_AT_CONTENT_BYTES, content_bytes);
    size_t checked_bytes = (size_t)kithi_notes_bytes_for(content_bytes) - KITHI_NOTES_AT_CONTENT_BYTES;
    kithi_store64(section + KITHI_NOTES_AT_CHECKSUM,
                  kithi_checksum(section + KITHI_NOTES_AT_CONTENT_BYTES, checked_bytes));
}

kith_status kithi_notes_verify(const uint8_t *section, uint64_t section_bytes) {
    return kithi_notes_verify_inline(section, section_bytes);
}

static const char *content_end(const uint8_t *section) {
    return (const char *)section + KITHI_NOTES_AT_CONTENT + kithi_load64(section + KITHI_NOTES_AT_CONTENT_BYTES);
}

static const char *next_note(const char *at) {
    const char *value = at + strlen(at) + 1;
    return value + strlen(value) + 1;
}

size_t kithi_notes_count(const uint8_t *section) {
    size_t count = 0;
    if (section == NULL)
        return 0;
    for (const char *at = (const char *)section + KITHI_NOTES_AT_CONTENT; at < content_end(section); at = next_note(at))
        count++;
    return count;
}

kith_note kithi_notes_at(const uint8_t *section, size_t index) {
    assert(index < kithi_notes_count(section));
    const char *at = (const char *)section + KITHI_NOTES_AT_CONTENT;
    while (index-- > 0)
        at = next_note(at);
    return (kith_note){at, at + strlen(at) + 1};
}
