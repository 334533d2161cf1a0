/* input_unpack.c as it is in a build that has none of the libraries: every format is still recognised, and refused by
 * name. The definitions here take the place of those of the tool, and of the libraries none is asked for. */
#undef CLI_WITH_ZLIB
#undef CLI_WITH_ZSTD
#undef CLI_WITH_LZMA
#undef CLI_WITH_BZ2
#undef CLI_WITH_LZ4

#include "cli/input_unpack.c"

#include "check.h"

static void expect_refused(const char *head, size_t head_bytes, const char *name) {
    unpacker *u = NULL;
    char reason[160] = "", wanted[160];
    CHECK(!unpack_open("list", head, head_bytes, false, &u, reason, sizeof reason));
    CHECK(u == NULL);
    (void)snprintf(wanted, sizeof wanted, "is packed with %s, and this kith was built without it: unpack it first",
                   name);
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
    CHECK(unpack_open("list.gz", "text", 4, true, &u, reason, sizeof reason) && u == NULL);
    CHECK(!unpack_open("list.bz2", "", 0, true, &u, reason, sizeof reason));
    CHECK(strstr(reason, "is empty") != NULL);
    /* More bytes are to come, so nothing is known yet. */
    CHECK(unpack_open("list.bz2", "BZ", 2, false, &u, reason, sizeof reason) && u == NULL);
    unpack_close(NULL);
    CHECK(unpack_knows_name("a.lz4") && !unpack_knows_name(".lz4") && unpack_format_of("a", 1) == NULL);
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
