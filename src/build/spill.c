#include "build/spill.h"

#include <string.h>

#include "os/errno_status.h"
#include "os/map.h"
#include "os/transfer.h"

kith_status kithi_spill_open(kithi_spill_file *s, const char *folder, const kith_allocator *allocator) {
    *s = (kithi_spill_file){.allocator = *allocator, .fd = kithi_open_unnamed(folder)};
    return s->fd >= 0 ? KITH_OK : kithi_status_from_errno(errno);
}

void kithi_spill_close(kithi_spill_file *s) {
    kithi_release(&s->allocator, s->entries, s->allocated * sizeof *s->entries);
    kithi_close_file(s->fd);
    s->fd = -1;
}

static kith_status read_bytes(const kithi_spill_file *s, void *memory, uint64_t bytes, uint64_t at) {
    return kithi_read_at(s->fd, memory, bytes, at) == KITH_OK ? KITH_OK : KITH_E_IO;
}

static bool reserve_entry(kithi_spill_file *s) {
    if (s->count < s->allocated)
        return true;
    size_t allocated = s->allocated == 0 ? 16 : 2 * s->allocated;
    kithi_spill *larger = kithi_allocate(&s->allocator, allocated * sizeof *larger);
    if (larger == NULL)
        return false;
    if (s->count != 0)
        memcpy(larger, s->entries, s->count * sizeof *larger);
    kithi_release(&s->allocator, s->entries, s->allocated * sizeof *larger);
    s->entries = larger;
    s->allocated = allocated;
    return true;
}

kith_status kithi_spill_write(kithi_spill_file *s, const uint64_t *by_part, const size_t *starts,
                              const uint8_t *order) {
    if (!reserve_entry(s))
        return KITH_E_MEMORY;
    uint64_t n = starts[KITHI_SPILL_PARTS], digests_bytes = n * sizeof *by_part;
    kith_status status = kithi_write_at(s->fd, by_part, digests_bytes, s->file_bytes);
    if (status == KITH_OK)
        status = kithi_write_at(s->fd, order, n, s->file_bytes + digests_bytes);
    if (status != KITH_OK)
        return status;
    kithi_spill *entry = &s->entries[s->count++];
    entry->at = s->file_bytes;
    memcpy(entry->starts, starts, sizeof entry->starts);
    s->file_bytes += digests_bytes + n;
    return KITH_OK;
}

uint64_t kithi_spill_total(const kithi_spill_file *s) {
    return s->file_bytes / (sizeof(uint64_t) + 1);
}

uint64_t kithi_spill_part_total(const kithi_spill_file *s, unsigned part) {
    uint64_t total = 0;
    for (size_t i = 0; i < s->count; i++)
        total += s->entries[i].starts[part + 1] - s->entries[i].starts[part];
    return total;
}

kith_status kithi_spill_read_part(const kithi_spill_file *s, unsigned part, uint64_t *digests) {
    kith_status status = KITH_OK;
    for (size_t i = 0; i < s->count && status == KITH_OK; i++) {
        const kithi_spill *entry = &s->entries[i];
        size_t from = entry->starts[part], n = entry->starts[part + 1] - from;
        status = read_bytes(s, digests, n * sizeof *digests, entry->at + from * sizeof *digests);
        digests += n;
    }
    return status;
}

kith_status kithi_spill_read(const kithi_spill_file *s, size_t index, uint64_t *by_part, uint8_t *order) {
    const kithi_spill *entry = &s->entries[index];
    uint64_t n = entry->starts[KITHI_SPILL_PARTS], digests_bytes = n * sizeof *by_part;
    kith_status status = read_bytes(s, by_part, digests_bytes, entry->at);
    return status == KITH_OK ? read_bytes(s, order, n, entry->at + digests_bytes) : status;
}
