/* What the objects of kith/kith.hpp do. usage: objects FILE */
#include <kith/kith.hpp>

#include <array>
#include <cstdio>
#include <string>
#include <vector>
#if __cplusplus >= 202002L
#include <span>
#endif

#define EXPECT(condition)                                                                                              \
    do                                                                                                                 \
        if (!(condition)) {                                                                                            \
            std::fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition);                        \
            return 1;                                                                                                  \
        }                                                                                                              \
    while (0)

template <typename Call> static kith_status thrown_by(Call call) {
    try {
        call();
    } catch (const kith::error &e) {
        return std::string(e.what()) == kith_status_text(e.status()) ? e.status() : KITH_OK;
    }
    return KITH_OK;
}

int main(int argc, char **argv) {
    EXPECT(argc == 2);
    const std::string path = argv[1];

    kith::filter seen(100, 0.001);
    EXPECT(seen.add("alpha") && !seen.add(std::string("alpha")) && seen.add(-1) && seen.count() == 2);
    EXPECT(seen.has(std::string_view("alpha")) && !seen.has("beta") && seen.has(~std::uint64_t(0)));
    EXPECT(kith_filter_has_string(seen.get(), "alpha") && kith_filter_has_number(seen.get(), ~std::uint64_t(0)));
    seen.save(path);
    kith::filter loaded = kith::filter::load(path), mapped = kith::filter::open(path), copy = mapped.clone();
    EXPECT(loaded.add("beta") && !mapped.has("beta") && copy.add("beta"));
    EXPECT(thrown_by([&] { mapped.add("beta"); }) == KITH_E_READONLY);
    EXPECT(thrown_by([&] { (void)kith::filter::load(path + ".none"); }) == KITH_E_NO_FILE);
    EXPECT(thrown_by([] { kith::filter none(0, 0.001); }) == KITH_E_CAPACITY);

    kith::filter set(100, 0.01, KITH_REMOVABLE | KITH_UNTRUSTED);
    EXPECT(set.add(7) && set.remove(7) && !set.remove(7) && !set.has(7));
    EXPECT(thrown_by([&] { (void)seen.remove("alpha"); }) == KITH_E_UNSUPPORTED);

    const std::vector<std::string> words = {"one", "two", "two"};
    const std::array<unsigned, 2> numbers = {1, 2};
    kith::filter of_words = kith::filter::of(words, 0.01), of_numbers = kith::filter::of(numbers, 0.01);
    kith::filter of_nothing = kith::filter::of(std::vector<int>(), 0.01);
    EXPECT(of_words.count() == 2 && of_words.has("two") && of_numbers.has(2) && of_nothing.count() == 0);

    kith::filter digests(100, 0.001);
    digests.add_many(std::vector<std::uint64_t>{digests.digest("x"), digests.digest(70)});
    const auto maybe = digests.has_many(std::array{digests.digest(70), digests.digest("y"), digests.digest("x")});
    EXPECT(maybe == (std::vector<bool>{true, false, true}));
#if __cplusplus >= 202002L
    const std::vector<std::uint64_t> more = {digests.digest("z")};
    digests.add_many(std::span(more));
    EXPECT(digests.has_many(std::span(more)) == std::vector<bool>{true} && digests.has("z"));
#endif

    kith::filter moved = std::move(digests);
    EXPECT(moved.has("x") && digests.get() == nullptr);
    digests = kith::filter(moved.release());
    EXPECT(digests.has("x") && moved.get() == nullptr);
    return 0;
}
