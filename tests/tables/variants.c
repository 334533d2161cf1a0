/* Lists the variants of tables. It compiles the code that lists the variants of filters, with the register of
 * tables. */
#include "tables/tables.h"

#define kith_filter_kind_count kith_table_kind_count
#define kith_filter_kind_at kith_table_kind_at
#include "contract/variants.c"

enum { PAIRS_MAX = 1024 };

static variant pairs[PAIRS_MAX];
static size_t pair_count;

static size_t name_length(const variant *v) {
    return strcspn(v->options, "=");
}

static void list_pairs(void) {
    EACH_VARIANT(a) for (const variant *b = next_variant(a); b != NULL; b = next_variant(b)) {
        bool same_name = name_length(a) == name_length(b) && memcmp(a->options, b->options, name_length(a)) == 0;
        if (strcmp(a->kind, b->kind) != 0 || a->options[0] == '\0' || b->options[0] == '\0' || same_name)
            continue;
        CHECK(pair_count < PAIRS_MAX);
        variant *pair = &pairs[pair_count++];
        *pair = *a;
        size_t length = strlen(pair->options), left = sizeof pair->options - length;
        CHECK((size_t)snprintf(pair->options + length, left, " %s", b->options) < left);
    }
}

const variant *next_of(const variant *v, variety which) {
    if (which == DEFAULTS)
        return next_default(v);
    if (which == SINGLES)
        return next_variant(v);
    if (pair_count == 0)
        list_pairs();
    const variant *next = v == NULL ? pairs : v + 1;
    return next < pairs + pair_count ? next : NULL;
}

static bool has_fixed_variant(const char *kind) {
    EACH_SUBJECT(s, SINGLES) if (strcmp(s.v->kind, kind) == 0 && s.fixed) return true;
    return false;
}

bool restrict_tables(bool fixed) {
    const kith_kind_info *kind = kith_table_kind_at(0);
    for (size_t i = 0; fixed && kind != NULL && !has_fixed_variant(kind->name);)
        kind = kith_table_kind_at(++i);
    if (kind == NULL)
        return false;
    variant_count = 0;
    only_kind = kind->name;
    for (size_t i = 0; fixed && i < kind->option_count; i++)
        take_option(kind->name, &kind->options[i]);
    return true;
}
