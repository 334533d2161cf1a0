/* H3: the words of space that a k-wise independent function takes.
 *
 * [3] says that per hash function O(k) words of space can yield k-wise independence. Functions are drawn with an
 * allocator that counts the bytes that are requested. A polynomial has k coefficients of a word each, and a part that
 * does not depend on k. So the difference between two k is exactly one word for each.
 *
 * That no fewer words are enough for a polynomial is seen in H1: its values for k + 1 words are dependent. */
#include <stdlib.h>
#include <string.h>

#include <lab/experiment.h>

enum { WORD = 8 };

static void *count_bytes(void *context, size_t bytes, size_t alignment) {
    uint64_t *sum = context;
    size_t whole = (bytes + alignment - 1) / alignment * alignment;
    void *memory = aligned_alloc(alignment, whole);
    *sum += bytes;
    return memory == NULL ? NULL : memset(memory, 0, whole);
}

static void release(void *context, void *memory, size_t bytes) {
    (void)context, (void)bytes;
    free(memory);
}

static double words_of(lab *l, kith_family_id family, unsigned k) {
    uint64_t bytes = 0;
    kith_allocator allocator = {count_bytes, release, &bytes};
    kith_function *f = NULL;
    lab_must(l, kith_function_draw(family, k, lab_random(l), &allocator, &f), "drawing a function");
    kith_function_free(f);
    return (double)bytes / WORD;
}

static void run(lab *l) {
    unsigned most = (unsigned)lab_number(l, "k");
    lab_plot *plot = lab_draw(l, "Words of a k-wise independent function", "k", "words", 0);
    lab_series *curve = lab_curve(plot, "k"), *points = lab_points(plot, "polynomial");
    double fixed = words_of(l, KITH_FAMILY_POLYNOMIAL, 2) - 2;
    for (unsigned k = 2; k <= most; k++) {
        double words = words_of(l, KITH_FAMILY_POLYNOMIAL, k);
        lab_at(curve, k, lab_exact(k));
        lab_at(points, k, lab_exact(words));
        if (k == 2 || k == 8 || k == 16 || k == most)
            lab_find_stated(l, LAB_MUST,
                            "[3]: \"Per hash function, O(k) words of space can yield k-wise independence\"", LAB_EQUALS,
                            k, lab_exact(words - fixed), "%u-wise polynomial: words that depend on k", k);
    }
    lab_find(l, LAB_AT_MOST, 16, lab_exact(fixed), "polynomial: words that do not depend on k");
    lab_find(l, LAB_SHOWN, 0, lab_exact(words_of(l, KITH_FAMILY_MULTIPLY_SHIFT, 0)), "multiply_shift, 2-wise: words");
    lab_find(l, LAB_SHOWN, 0, lab_exact(words_of(l, KITH_FAMILY_TABULATION, 0)), "tabulation, 3-wise: words");
    lab_progress(l, 1);
}

const lab_claim lab_H3 = {
    .id = "H3",
    .title = "words of a k-universal function",
    .sentence = "A k-wise independent function takes O(k) words: a polynomial has k coefficients.",
    .formula = "O(k)",
    .code = "src/core/function.c",
    .decides = "16-wise polynomial",
    .settings = {{.name = "k",
                  .help = "the highest independence",
                  .quick = "16",
                  .full = "64",
                  .least = 2,
                  .most = 64,
                  .from = 2,
                  .to = 64,
                  .is_whole = true}},
    .run = run,
};
