/* forge.c: writes the files that the inputs of a corpus stand for into the working folder, for tests of another reader
 * of files: fuzz_forge_<target> is the target with replay.c and this file.
 *
 * An input is a recipe for a file: a good one with edits, for example, and right checksums. The functions below take
 * the place of those that open the finished bytes in the target, write them to a file and go on. */
#define _GNU_SOURCE

#include <kith/filter.h>

#include "format/format.h"
#include "fuzz/target.h"
#include "store_calls.h"

static void write_file(const char *name, const void *bytes, size_t byte_count) {
    FILE *file = fopen(name, "wb");
    HOLD(file != NULL && fwrite(bytes, 1, byte_count, file) == byte_count && fclose(file) == 0);
}

static const char *next_name(const char *kind) {
    static unsigned number;
    static char name[64];
    (void)snprintf(name, sizeof name, "%s-%04u.kith", kind, number++);
    return name;
}

#ifdef FORGE_view
kith_status __real_kith_filter_view(const void *bytes, size_t byte_count, unsigned flags,
                                    const kith_allocator *allocator, kith_filter **filter);
kith_status __wrap_kith_filter_view(const void *bytes, size_t byte_count, unsigned flags,
                                    const kith_allocator *allocator, kith_filter **filter);
kith_status __wrap_kith_filter_view(const void *bytes, size_t byte_count, unsigned flags,
                                    const kith_allocator *allocator, kith_filter **filter) {
    write_file(next_name("view"), bytes, byte_count);
    return __real_kith_filter_view(bytes, byte_count, flags, allocator, filter);
}
#endif

#ifdef FORGE_table_file
kith_status __real_kithi_header_read(const uint8_t *bytes, uint64_t byte_count, kithi_head *head);
kith_status __wrap_kithi_header_read(const uint8_t *bytes, uint64_t byte_count, kithi_head *head);
kith_status __wrap_kithi_header_read(const uint8_t *bytes, uint64_t byte_count, kithi_head *head) {
    write_file(next_name("table"), bytes, (size_t)byte_count);
    return __real_kithi_header_read(bytes, byte_count, head);
}
#endif

#ifdef FORGE_journal
static void copy_file(const kithi_files *files, int folder, const char *from, const char *to) {
    static uint8_t bytes[1 << 20];
    size_t got;
    int file;
    HOLD(kithi_files_open(files, folder, from, false, &file) == KITH_OK);
    HOLD(kithi_files_read(files, file, bytes, sizeof bytes, 0, &got) == KITH_OK && got < sizeof bytes);
    files->close(files->context, file);
    write_file(to, bytes, got);
}

kith_status __real_kithi_store_open_with(const kithi_files *files, const char *path, unsigned flags,
                                         const kithi_store_options *options, kithi_store **store);
kith_status __wrap_kithi_store_open_with(const kithi_files *files, const char *path, unsigned flags,
                                         const kithi_store_options *options, kithi_store **store);
kith_status __wrap_kithi_store_open_with(const kithi_files *files, const char *path, unsigned flags,
                                         const kithi_store_options *options, kithi_store **store) {
    char name[KITHI_NAME_BYTES], journal[KITHI_NAME_BYTES + 64];
    const char *to = next_name("store");
    int folder = files->open_folder(files->context, path, true, name);
    HOLD(folder >= 0);
    copy_file(files, folder, name, to);
    (void)snprintf(journal, sizeof journal, "%s-journal", to);
    copy_file(files, folder, "x-journal", journal);
    files->close(files->context, folder);
    return __real_kithi_store_open_with(files, path, flags, options, store);
}
#endif
