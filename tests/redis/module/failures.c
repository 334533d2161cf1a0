/* Memory that runs out, and RDB data that ends early, at every possible place: no leak, and a NULL or a status. */
#include "values.h"

#include "chunks.h"
#include "compat_rdb.h"

static void save(const value *v, RedisModuleIO *io) {
    if (v->state == VALUE_REDISBLOOM)
        compat_save(io, (value *)v);
    else
        rdb_save(io, (value *)v);
}

static value *load(int sort, RedisModuleIO *io) {
    standin_rewind(io);
    switch (sort) {
    case SORT_RB_BLOOM:
        return compat_load_bloom(io, COMPAT_RDB_VERSION);
    case SORT_RB_CUCKOO:
        return compat_load_cuckoo(io, COMPAT_RDB_VERSION);
    case SORT_GROWN_CUCKOO:
    case SORT_HALF_LOADED:
        return rdb_load_cuckoo(io, RDB_VERSION);
    default:
        return rdb_load_bloom(io, RDB_VERSION);
    }
}

TEST(loaded_values_have_the_same_bytes) {
    standin_begin(true);
    for (int sort = 0; sort < SORTS; sort++) {
        static RedisModuleIO io;
        value *v = make_value(sort);
        save(v, &io);
        value *loaded = load(sort, &io);
        CHECK(loaded != NULL && loaded->state == v->state && loaded->removes == v->removes);
        CHECK(loaded->layers == v->layers && loaded->deleted == v->deleted);
        CHECK(loaded->loading.chunks == v->loading.chunks && loaded->loading.total == v->loading.total);
        value_bytes *a = bytes_of(v), *b = bytes_of(loaded);
        check_same_bytes(a, b);
        free(a);
        free(b);
        value_free(v);
        value_free(loaded);
        standin_io_free(&io);
    }
    standin_end();
}

TEST(a_half_loaded_dump_of_redisbloom_survives) {
    standin_begin(true);
    for (int sort = SORT_RB_BLOOM; sort <= SORT_RB_CUCKOO; sort++) {
        static RedisModuleIO io;
        char header[1000];
        const void *chunk;
        size_t bytes;
        value *from = make_value(sort), *half;
        CHECK_OK(compat_load_header(from->removes, header, compat_header(from, header), 0, &half));
        uint64_t cursor = compat_chunk(from, 1, &chunk, &bytes);
        CHECK_OK(compat_load_chunk(half, cursor - 3, chunk, bytes - 3)); /* ends in the middle of a level */
        CHECK(value_is_loading(half));
        rdb_save(&io, half);
        standin_rewind(&io);
        value *loaded = from->removes ? rdb_load_cuckoo(&io, RDB_VERSION) : rdb_load_bloom(&io, RDB_VERSION);
        CHECK(loaded != NULL && value_is_loading(loaded) && compat_loaded(loaded) == bytes - 3);
        for (size_t i = 0; i < io.count; i++) { /* and one that ends early is refused */
            size_t count = io.count;
            io.count = i;
            standin_rewind(&io);
            CHECK((from->removes ? rdb_load_cuckoo(&io, RDB_VERSION) : rdb_load_bloom(&io, RDB_VERSION)) == NULL);
            io.count = count;
        }
        CHECK_OK(compat_load_chunk(loaded, cursor, (const char *)chunk + bytes - 3, 3));
        while ((cursor = compat_chunk(from, cursor, &chunk, &bytes)) != 0)
            CHECK_OK(compat_load_chunk(loaded, cursor, chunk, bytes));
        CHECK(!value_is_loading(loaded));
        check_items(loaded, 1000);
        value_free(from);
        value_free(half);
        value_free(loaded);
        standin_io_free(&io);
    }
    standin_end();
}

TEST(data_that_ends_early_is_refused) {
    standin_begin(true);
    for (int sort = 0; sort < SORTS; sort++) {
        static RedisModuleIO io;
        value *v = make_value(sort);
        save(v, &io);
        size_t count = io.count, live = standin_live();
        for (io.count = 0; io.count < count; io.count++) {
            CHECK(load(sort, &io) == NULL);
            CHECK_EQ_U64(standin_live(), live);
        }
        standin_io_free(&io);
        value_free(v);
    }
    standin_end();
}

TEST(wrong_sizes_and_types_are_refused) {
    standin_begin(true);
    static RedisModuleIO io;
    value *v = make_value(SORT_GROWN_BLOOM);
    rdb_save(&io, v);
    size_t live = standin_live();
    standin_rewind(&io);
    CHECK(rdb_load_cuckoo(&io, RDB_VERSION) == NULL); /* no deletion */
    standin_rewind(&io);
    CHECK(rdb_load_bloom(&io, RDB_VERSION + 1) == NULL);
    const uint64_t wrong[] = {0, 1, 1000, (uint64_t)1 << 45, (uint64_t)1 << 46, UINT64_MAX};
    for (size_t field = 7; field <= 8; field++) /* total and received */
        for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
            uint64_t right = io.item[field].number;
            io.item[field].number = wrong[i];
            value *loaded = load(SORT_GROWN_BLOOM, &io);
            CHECK(loaded == NULL || value_is_loading(loaded));
            if (loaded != NULL)
                value_free(loaded);
            io.item[field].number = right;
            CHECK_EQ_U64(standin_live(), live);
        }
    standin_io_free(&io);
    value_free(v);
    standin_end();
}

/* The prelude of a dump has the same numbers as the RDB format, which tests/redis/corrupt.py tries in a server. */
TEST(preludes_with_numbers_that_no_filter_can_have_are_refused) {
    standin_begin(true);
    for (int sort = SORT_GROWN_BLOOM; sort <= SORT_GROWN_CUCKOO; sort++) {
        unsigned char bytes[PRELUDE_BYTES];
        prelude read;
        value *v = make_value(sort), right = *v;
        prelude_write(v, bytes);
        CHECK(prelude_read(bytes, sizeof bytes, &read) && read.layers == v->layers && read.removes == v->removes);
        for (int field = 0; field < 5; field++) {
            v->layers = field == 0 ? UINT32_MAX : right.layers;
            v->request.expansion = field == 1 ? 32769 : right.request.expansion;
            v->request.bucket_size = field == 2 ? 256 : right.request.bucket_size;
            v->request.max_iterations = field == 3 ? 65536 : right.request.max_iterations;
            v->deleted = field == 4 ? UINT64_C(1) << 63 : right.deleted;
            prelude_write(v, bytes);
            CHECK(!prelude_read(bytes, sizeof bytes, &read));
        }
        *v = right;
        value_free(v);
    }
    standin_end();
}

TEST(when_memory_runs_out_nothing_leaks) {
    standin_begin(true);
    for (int sort = 0; sort < SORTS; sort++) {
        static RedisModuleIO io;
        value *v = make_value(sort);
        save(v, &io);
        size_t live = standin_live();
        bool copied = false, loaded = false, created = sort == SORT_HALF_LOADED;
        for (uint64_t n = 1; !copied || !loaded || !created; n++) {
            CHECK(n < 1000);
            value *made;
            standin_calls = 0;
            standin_fail_at = n;
            if ((made = value_copy(v)) != NULL)
                value_free(made);
            copied = copied || made != NULL;
            standin_calls = 0;
            if ((made = load(sort, &io)) != NULL)
                value_free(made);
            loaded = loaded || made != NULL;
            standin_calls = 0;
            if (!created) {
                kith_status status = create_value(sort, &made);
                CHECK(status == KITH_OK || status == KITH_E_MEMORY);
                created = status == KITH_OK;
                if (created)
                    value_free(made);
            }
            CHECK_EQ_U64(standin_live(), live);
        }
        standin_fail_at = 0;
        standin_io_free(&io);
        value_free(v);
    }
    standin_end();
}

TEST(an_add_without_memory_changes_nothing) {
    standin_begin(true);
    for (int sort = SORT_GROWN_BLOOM; sort <= SORT_RB_CUCKOO; sort++) {
        value *v;
        char item[32];
        bool was_new, failed = false;
        if (sort == SORT_HALF_LOADED)
            continue;
        CHECK_OK(create_value(sort, &v));
        for (unsigned i = 0; i < 2000; i++) {
            value_bytes *before = bytes_of(v);
            standin_calls = 0;
            standin_fail_at = 1;
            kith_status status = value_add(v, (kith_key){item, item_of(i, item)}, (value_limits){0, 0}, &was_new);
            standin_fail_at = 0;
            if (status != KITH_OK) {
                CHECK(status == KITH_E_MEMORY);
                value_bytes *after = bytes_of(v);
                check_same_bytes(before, after);
                free(after);
                CHECK_OK(value_add(v, ((kith_key){item, item_of(i, item)}), ((value_limits){0, 0}), &was_new));
                failed = true;
            }
            free(before);
        }
        CHECK(failed); /* every one of them grows */
        check_items(v, 2000);
        value_free(v);
    }
    standin_end();
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
