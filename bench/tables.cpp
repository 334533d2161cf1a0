// tables.cpp: compares hash tables with the peers that Debian packages and with a search tree, tsearch() of the C
// library: 64-bit keys and values, one thread.
//
//     bench_tables [KEYS [ROUNDS [TABLE…]]]    default: 10,000,000 keys, 5 rounds, all tables
//
// TABLE is the name of a row, such as "kith cuckoo"; absl::flat_hash_map is always measured. Of kith, every registered
// kind is measured that stores 64-bit keys with values and does not compare a key with all others. The search tree
// takes minutes per round with 10,000,000 keys.
//
// Each round builds and measures every table again. Tables alternate within a round, so that a slow phase of the
// machine affects all of them. Printed are the median nanoseconds per operation, in brackets the spread ((slowest -
// fastest round) / median), and the ratio to absl::flat_hash_map in the same run. Bytes are the growth of the heap.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <malloc.h>
#include <search.h>
#include <string>
#include <vector>

#include <absl/container/flat_hash_map.h>
#include <kith/table.h>
#include <libcuckoo/cuckoohash_map.hh>

#include "splitmix.h"

namespace {

using std::size_t;
using std::uint64_t;

double now() {
    using clock = std::chrono::steady_clock;
    return std::chrono::duration<double>(clock::now().time_since_epoch()).count();
}

size_t heap_bytes() {
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

// The operations that are measured, in the order of the columns. "put growing" starts with an empty table without a
// known capacity; all others with one that has space for all keys.
const char *const COLUMNS[] = {"put",         "get present", "get absent", "many present",
                               "many absent", "remove",      "put growing"};
constexpr size_t COLUMN_COUNT = 7;

struct Keys {
    std::vector<uint64_t> present, shuffled, absent;
};

struct Row {
    std::string name;
    std::function<void(const Keys &, Row &)> round;
    std::vector<double> ns[COLUMN_COUNT];
    double bytes_per_key = 0;
};

void fail(const char *what) {
    std::fprintf(stderr, "bench_tables: %s\n", what);
    std::exit(1);
}

template <typename Body> void time_column(Row &row, size_t column, size_t n, Body body) {
    double start = now();
    body();
    row.ns[column].push_back((now() - start) * 1e9 / static_cast<double>(n));
}

void expect(size_t got, size_t want) {
    if (got != want)
        fail("a table returned a wrong result");
}

void kith_round(const char *kind, const Keys &keys, Row &row) {
    size_t n = keys.present.size(), before = heap_bytes();
    kith_table_spec spec = KITH_TABLE_SPEC_INIT;
    spec.kind = kind;
    spec.key_bytes = 8;
    spec.capacity = n;
    spec.seed = 1;
    kith_table *table;
    if (kith_table_create(&spec, &table) != KITH_OK)
        fail("kith_table_create");
    time_column(row, 0, n, [&] {
        for (size_t i = 0; i < n; i++)
            if (kith_table_put(table, &keys.present[i], 8, i, nullptr) != KITH_OK)
                fail("kith_table_put");
    });
    row.bytes_per_key = static_cast<double>(heap_bytes() - before) / static_cast<double>(n);
    auto get_all = [&](const std::vector<uint64_t> &wanted) {
        size_t found = 0;
        for (uint64_t key : wanted) {
            uint64_t value;
            found += kith_table_get(table, &key, 8, &value);
        }
        return found;
    };
    auto get_many = [&](const std::vector<uint64_t> &wanted) {
        static uint64_t values[1024];
        size_t found = 0;
        for (size_t i = 0; i < wanted.size(); i += 1024) {
            kith_keys part = {nullptr, &wanted[i], std::min<size_t>(1024, wanted.size() - i)};
            found += kith_table_get_many(table, &part, values, nullptr);
        }
        return found;
    };
    size_t found = 0;
    time_column(row, 1, n, [&] { found = get_all(keys.shuffled); });
    expect(found, n);
    time_column(row, 2, n, [&] { found = get_all(keys.absent); });
    expect(found, 0);
    time_column(row, 3, n, [&] { found = get_many(keys.shuffled); });
    expect(found, n);
    time_column(row, 4, n, [&] { found = get_many(keys.absent); });
    expect(found, 0);
    time_column(row, 5, n, [&] {
        for (uint64_t key : keys.shuffled)
            if (kith_table_remove(table, &key, 8, nullptr) != KITH_OK)
                fail("kith_table_remove");
    });
    kith_table_free(table);
    spec.capacity = 0;
    if (kith_table_create(&spec, &table) != KITH_OK)
        fail("kith_table_create");
    time_column(row, 6, n, [&] {
        for (size_t i = 0; i < n; i++)
            if (kith_table_put(table, &keys.present[i], 8, i, nullptr) != KITH_OK)
                fail("kith_table_put");
    });
    kith_table_free(table);
}

// True if the kind accepts any 8-byte key with a value, and a lookup does not scan all keys, which would make a round
// quadratic in the number of keys. Both are found by trying.
bool can_be_measured(const char *kind) {
    constexpr uint64_t TRIAL_KEYS = 64;
    kith_table_spec spec = KITH_TABLE_SPEC_INIT;
    spec.kind = kind;
    spec.key_bytes = 8;
    kith_table *table;
    if (kith_table_create(&spec, &table) != KITH_OK)
        return false;
    uint64_t state = 1, stored = 0;
    for (uint64_t i = 0; i < TRIAL_KEYS; i++) {
        uint64_t key = splitmix_next(&state);
        stored += kith_table_put(table, &key, 8, i + 1, nullptr) == KITH_OK;
    }
    kith_table_stats stats = KITH_TABLE_STATS_INIT;
    bool measured = kith_table_stats_of(table, &stats) == KITH_OK;
    kith_table_free(table);
    return measured && stored == TRIAL_KEYS && stats.longest < TRIAL_KEYS;
}

// Wrappers that give the peers' tables the same interface.
struct AbslTable {
    absl::flat_hash_map<uint64_t, uint64_t> map;
    explicit AbslTable(size_t n) { map.reserve(n); }
    void put(uint64_t key, uint64_t value) { map[key] = value; }
    bool get(uint64_t key, uint64_t &value) const {
        auto at = map.find(key);
        if (at == map.end())
            return false;
        value = at->second;
        return true;
    }
    void remove(uint64_t key) { map.erase(key); }
};

struct LibcuckooTable {
    libcuckoo::cuckoohash_map<uint64_t, uint64_t> map;
    explicit LibcuckooTable(size_t n) : map(n) {}
    void put(uint64_t key, uint64_t value) { map.insert_or_assign(key, value); }
    bool get(uint64_t key, uint64_t &value) const { return map.find(key, value); }
    void remove(uint64_t key) { map.erase(key); }
};

// A balanced search tree. tsearch() stores a pointer, so each key and its value are allocated on their own.
struct TreeTable {
    struct Pair {
        uint64_t key, value;
    };
    void *root = nullptr;
    explicit TreeTable(size_t) {}
    TreeTable(const TreeTable &) = delete;
    TreeTable &operator=(const TreeTable &) = delete;
    ~TreeTable() { tdestroy(root, std::free); }
    static int compare(const void *a, const void *b) {
        uint64_t x = static_cast<const Pair *>(a)->key, y = static_cast<const Pair *>(b)->key;
        return (x > y) - (x < y);
    }
    void put(uint64_t key, uint64_t value) {
        auto *pair = static_cast<Pair *>(std::malloc(sizeof(Pair)));
        if (pair == nullptr)
            fail("out of memory");
        *pair = {key, value};
        void *node = tsearch(pair, &root, compare);
        if (node == nullptr)
            fail("out of memory");
        Pair *stored = *static_cast<Pair **>(node);
        if (stored != pair) {
            stored->value = value;
            std::free(pair);
        }
    }
    bool get(uint64_t key, uint64_t &value) const {
        Pair wanted = {key, 0};
        void *node = tfind(&wanted, &root, compare);
        if (node == nullptr)
            return false;
        value = (*static_cast<Pair **>(node))->value;
        return true;
    }
    void remove(uint64_t key) {
        Pair wanted = {key, 0};
        void *node = tfind(&wanted, &root, compare);
        if (node == nullptr)
            return;
        Pair *pair = *static_cast<Pair **>(node);
        tdelete(&wanted, &root, compare);
        std::free(pair);
    }
};

template <typename Table> void peer_round(const Keys &keys, Row &row) {
    size_t n = keys.present.size(), before = heap_bytes();
    Table table(n);
    time_column(row, 0, n, [&] {
        for (size_t i = 0; i < n; i++)
            table.put(keys.present[i], i);
    });
    row.bytes_per_key = static_cast<double>(heap_bytes() - before) / static_cast<double>(n);
    auto get_all = [&](const std::vector<uint64_t> &wanted) {
        size_t found = 0;
        for (uint64_t key : wanted) {
            uint64_t value;
            found += table.get(key, value);
        }
        return found;
    };
    size_t found = 0;
    time_column(row, 1, n, [&] { found = get_all(keys.shuffled); });
    expect(found, n);
    time_column(row, 2, n, [&] { found = get_all(keys.absent); });
    expect(found, 0);
    time_column(row, 5, n, [&] {
        for (uint64_t key : keys.shuffled)
            table.remove(key);
    });
    Table growing(0);
    time_column(row, 6, n, [&] {
        for (size_t i = 0; i < n; i++)
            growing.put(keys.present[i], i);
    });
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

double spread(const std::vector<double> &values) {
    auto ends = std::minmax_element(values.begin(), values.end());
    return (*ends.second - *ends.first) / median(values);
}

// A number like 1000000 or 1e6; 0 if the text is none.
size_t whole_number(const char *text) {
    char *end;
    double value = std::strtod(text, &end);
    return *end == '\0' && value >= 1 && value <= 1e12 && value == std::floor(value) ? static_cast<size_t>(value) : 0;
}

// Returns the first row, with which all others are compared, and those with these names.
std::vector<Row> chosen(const std::vector<Row> &rows, const std::vector<std::string> &names) {
    std::vector<Row> result{rows[0]};
    for (const std::string &name : names) {
        auto row = std::find_if(rows.begin(), rows.end(), [&](const Row &r) { return r.name == name; });
        if (row == rows.end()) {
            std::fprintf(stderr, "bench_tables: no table '%s'; the tables are:\n", name.c_str());
            for (const Row &r : rows)
                std::fprintf(stderr, "  %s\n", r.name.c_str());
            std::exit(2);
        }
        if (row != rows.begin())
            result.push_back(*row);
    }
    return result;
}

} // namespace

int main(int argc, char **argv) {
    size_t n = argc > 1 ? whole_number(argv[1]) : 10000000;
    size_t rounds = argc > 2 ? whole_number(argv[2]) : 5;
    if (n == 0 || rounds == 0)
        fail("usage: bench_tables [KEYS [ROUNDS [TABLE…]]]");
    Keys keys;
    uint64_t state = 1;
    for (size_t i = 0; i < n; i++)
        keys.present.push_back(splitmix_next(&state));
    for (size_t i = 0; i < n; i++)
        keys.absent.push_back(splitmix_next(&state));
    keys.shuffled = keys.present;
    for (size_t i = n; i > 1; i--)
        std::swap(keys.shuffled[i - 1], keys.shuffled[splitmix_next(&state) % i]);

    std::vector<Row> rows;
    rows.push_back({"absl flat_hash_map", peer_round<AbslTable>, {}, 0});
    rows.push_back({"libcuckoo", peer_round<LibcuckooTable>, {}, 0});
    rows.push_back({"tsearch (libc)", peer_round<TreeTable>, {}, 0});
    for (size_t i = 0; i < kith_table_kind_count(); i++) {
        const char *kind = kith_table_kind_at(i)->name;
        if (can_be_measured(kind))
            rows.push_back({std::string("kith ") + kind,
                            [kind](const Keys &k, Row &r) { kith_round(kind, k, r); },
                            {},
                            0});
    }
    if (argc > 3)
        rows = chosen(rows, {argv + 3, argv + argc});
    for (size_t round = 0; round < rounds; round++)
        for (Row &row : rows)
            row.round(keys, row);

    std::printf("%zu keys of 8 bytes with values of 8 bytes, medians of %zu rounds: ns (spread), ratio to absl\n\n", n,
                rounds);
    std::printf("%-20s %12s", "", "bytes/key");
    for (const char *column : COLUMNS)
        std::printf(" %20s", column);
    std::printf("\n");
    for (const Row &row : rows) {
        std::printf("%-20s %6.2f %5.2f", row.name.c_str(), row.bytes_per_key,
                    row.bytes_per_key / rows[0].bytes_per_key);
        for (size_t c = 0; c < COLUMN_COUNT; c++) {
            if (row.ns[c].empty()) {
                std::printf(" %20s", "-");
                continue;
            }
            // absl has no batch calls, so batches are compared with its single lookups.
            double base = median(rows[0].ns[c == 3 ? 1 : c == 4 ? 2 : c]);
            std::printf(" %7.1f (%3.0f%%) %5.2f", median(row.ns[c]), spread(row.ns[c]) * 100, median(row.ns[c]) / base);
        }
        std::printf("\n");
    }
    return 0;
}
