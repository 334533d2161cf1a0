/* Tests input/unpack.c in a build without any of the compression libraries: every format is still recognised, and
 * refused with an error that names it. This file includes input/unpack.c itself, with all libraries disabled. */
#undef CLI_WITH_ZLIB
#undef CLI_WITH_ZSTD
#undef CLI_WITH_LZMA
#undef CLI_WITH_BZ2
#undef CLI_WITH_LZ4

#include "cli/input/unpack.c"

#include "check.h"

static void expect_refused(const char *head, size_t head_bytes, const char *name) {
    unpacker *u = NULL;
    char reason[160] = "", wanted[160];
    CHECK(!unpack_open("list", head, head_bytes, false, &u, reason, sizeof reason));
    CHECK(u == NULL);
    (void)snprintf(wanted, sizeof wanted,
                   "is compressed with %s, which this build of kith does not support: decompress it first", name);
    CHECK(strcmp(reason, wanted) == 0);
}

TEST(formats_without_a_library_are_refused_by_name) {
    expect_refused("\x1f\x8b\x08\x00", 4, "gzip");
    expect_refused("\x28\xb5\x2f\xfd", 4, "zstd");
    expect_refused("\x50\x2a\x4d\x18", 4, "zstd");
    expect_refused("\xfd\x37\x7a\x58\x5a\x00", 6, "xz");
    expect_refused("BZh91AY&SY", 10, "bzip2");
    expect_refused("\x04\x22\x4d\x18", 4, "lz4");
    expect_refused("\x50\x2a\x4d\x18\x01\x00\x00\x00x\x04\x22\x4d\x18", 13, "lz4");
}

TEST(text_and_empty_archives_need_no_library) {
    unpacker *u = NULL;
    char reason[160] = "";
    CHECK(unpack_open("list.txt", "text", 4, true, &u, reason, sizeof reason) && u == NULL);
    CHECK(!unpack_open("list.bz2", "", 0, true, &u, reason, sizeof reason));
    CHECK(strstr(reason, "is empty") != NULL);
    CHECK(!unpack_open("list.bz2", "text", 4, true, &u, reason, sizeof reason));
    CHECK(strstr(reason, "is not a bzip2 archive") != NULL);
    unpack_close(NULL);
    CHECK(unpack_knows_name("a.lz4") && !unpack_knows_name(".lz4") && unpack_format_of("a", 1) == NULL);
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
