/* Active defragmentation, which Debian's builds of the servers refuse, and memory of the server's alignment. */
#include "values.h"

TEST(memory_is_zeroed_and_aligned_with_and_without_calloc) {
    for (int has_calloc = 0; has_calloc < 2; has_calloc++) {
        standin_begin(has_calloc != 0);
        /* Below and above the size from which pages are given back to the kernel. */
        for (size_t bytes = 1; bytes < ((size_t)8 << 20); bytes = bytes * 3 + 1) {
            unsigned char *memory = memory_allocate(bytes);
            CHECK(memory != NULL && (uintptr_t)memory % 64 == 0);
            for (size_t i = 0; i < bytes; i++)
                CHECK(memory[i] == 0);
            memset(memory, 1, bytes);
            memory_release(memory, bytes);
        }
        CHECK(memory_allocate(SIZE_MAX - 10) == NULL);
        standin_end();
    }
}

TEST(moved_values_have_the_same_bytes_and_still_work) {
    standin_begin(true);
    for (int sort = 0; sort < SORTS; sort++) {
        value *v = make_value(sort);
        value_bytes *before = bytes_of(v);
        for (unsigned round = 0; round < 5; round++) {
            uint64_t moves = standin_moves;
            v = value_relocate(v, memory_move, NULL);
            CHECK(standin_moves >= moves + 2); /* the value and at least one block */
            value_bytes *after = bytes_of(v);
            check_same_bytes(before, after);
            free(after);
        }
        check_items(v, item_count(sort));
        if (sort != SORT_HALF_LOADED && sort != SORT_BLOOM) {
            add_items(v, 1000, 3000); /* grows in memory that it allocates itself */
            v = value_relocate(v, memory_move, NULL);
            check_items(v, 4000);
        }
        free(before);
        value_free(v);
    }
    standin_end();
}

TEST(values_stay_where_the_server_does_not_move_them) {
    standin_begin(true);
    standin_may_move = false;
    for (int sort = 0; sort < SORTS; sort++) {
        value *v = make_value(sort);
        CHECK(value_relocate(v, memory_move, NULL) == v);
        check_items(v, item_count(sort));
        value_free(v);
    }
    CHECK_EQ_U64(standin_moves, 0);
    standin_end();
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
