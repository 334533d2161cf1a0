/* kith/kith.hpp: libkith for C++17, as objects that free themselves and throw kith::error.
 *
 *     kith::filter seen(1'000'000, 0.001);
 *     if (seen.add(url)) // a std::string_view, or an integer
 *         visit(url);
 *     seen.save("seen.kith");
 *
 * Every member function is the call of the same name in kith/filter.h, which is its contract; get() returns the handle
 * for the calls that are not here. A kith::filter can be moved, but not copied (clone() copies). The strings and
 * integers that are keys here are the keys of kith_filter_add_string() and kith_filter_add_number(): a negative integer
 * is the number of its two's complement in 64 bits. The flag KITH_INT_KEYS or KITH_UINT_KEYS makes a filter of
 * integers that other languages know as such.
 *
 * Calls of which one result is ordinary return it: remove() returns false for KITH_E_ABSENT. Everything else that is
 * not KITH_OK is thrown. */
#ifndef KITH_KITH_HPP
#define KITH_KITH_HPP

#include <kith/kith.h>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace kith {

/* A status that is not KITH_OK. what() is its text. */
class error : public std::runtime_error {
  public:
    explicit error(kith_status status) : std::runtime_error(kith_status_text(status)), status_(status) {}
    kith_status status() const noexcept {
        return status_;
    }

  private:
    kith_status status_;
};

/* Throws kith::error unless the status is KITH_OK. */
inline void check(kith_status status) {
    if (status != KITH_OK)
        throw error(status);
}

class filter {
  public:
    /* kith_filter_new(): an empty filter for n keys. `flags` are KITH_UNTRUSTED, KITH_REMOVABLE and KITH_GROWS, and
     * the type of the keys. */
    filter(std::uint64_t n, double rate, unsigned flags = 0) {
        check(kith_filter_new(n, rate, flags, &handle_));
    }

    /* kith_filter_create(): an empty filter with these properties. */
    explicit filter(const kith_filter_spec &spec) {
        check(kith_filter_create(&spec, &handle_));
    }

    /* Takes a handle over, and frees it. */
    explicit filter(kith_filter *handle) noexcept : handle_(handle) {}

    filter(filter &&other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    filter &operator=(filter &&other) noexcept {
        std::swap(handle_, other.handle_);
        return *this;
    }
    filter(const filter &) = delete;
    filter &operator=(const filter &) = delete;
    ~filter() {
        kith_filter_free(handle_);
    }

    /* The smallest filter of a complete set, to which nothing can be added: of any container of strings, signed integers
     * (key type int) or unsigned integers (uint). */
    template <typename Keys> static filter of(const Keys &keys, double rate) {
        kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
        std::vector<std::uint64_t> digests;
        for (const auto &key : keys)
            digests.push_back(
                hashed(key, [&spec](const void *bytes, std::size_t n) { return kith_digest(&spec.hash, bytes, n); }));
        spec.final = true;
        spec.excludes = KITH_CAN_ADD;
        spec.rate = rate;
        spec.capacity = digests.empty();
        spec.recipe = kith_key_recipe(type_of<std::decay_t<decltype(*std::begin(keys))>>());
        kith_filter *handle = nullptr;
        check(kith_filter_build(&spec, digests.data(), digests.size(), KITH_BUILD_SET, 1, &handle));
        return filter(handle);
    }

    static filter load(const std::string &path) {
        kith_filter *handle = nullptr;
        check(kith_filter_load(path.c_str(), &handle));
        return filter(handle);
    }

    /* kith_filter_open(): maps the file; the filter is read-only. */
    static filter open(const std::string &path, unsigned flags = KITH_OPEN_DEFAULT) {
        kith_filter *handle = nullptr;
        check(kith_filter_open(path.c_str(), flags, nullptr, &handle));
        return filter(handle);
    }

    filter clone() const {
        kith_filter *handle = nullptr;
        check(kith_filter_clone(handle_, nullptr, &handle));
        return filter(handle);
    }

    void save(const std::string &path) {
        check(kith_filter_save(handle_, path.c_str()));
    }

    /* Returns true if has() was false before. */
    template <typename Key> bool add(const Key &key) {
        bool was_new = false;
        check(kith_filter_add_digest(handle_, digest(key), &was_new));
        return was_new;
    }

    template <typename Key> bool has(const Key &key) const {
        return kith_filter_has_digest(handle_, digest(key));
    }

    /* Removes one copy of a key that was added. Returns false if the key is not in the set. */
    template <typename Key> bool remove(const Key &key) {
        kith_status status = kith_filter_remove_digest(handle_, digest(key));
        if (status != KITH_E_ABSENT)
            check(status);
        return status == KITH_OK;
    }

    /* The digest of a string or an integer, with the hash of this filter. */
    template <typename Key> std::uint64_t digest(const Key &key) const {
        return hashed(key, [this](const void *bytes, std::size_t n) { return kith_filter_digest(handle_, bytes, n); });
    }

    /* kith_filter_has_many(): looks up the digests of a std::vector, std::array, std::span … Element i of the result
     * says whether digest i may be in the set. */
    template <typename Digests> std::vector<bool> has_many(const Digests &digests) const {
        const std::size_t n = std::size(digests);
        std::vector<std::uint64_t> bitmap((n + 63) / 64);
        kith_filter_has_many(handle_, std::data(digests), n, bitmap.data());
        std::vector<bool> maybe(n);
        for (std::size_t i = 0; i < n; i++)
            maybe[i] = kith_bitmap_get(bitmap.data(), i);
        return maybe;
    }

    /* kith_filter_add_many(): adds digests, and throws at the first that fails. */
    template <typename Digests> void add_many(const Digests &digests) {
        check(kith_filter_add_many(handle_, std::data(digests), std::size(digests), nullptr, nullptr));
    }

    void merge(const filter &from) {
        check(kith_filter_merge(handle_, from.handle_));
    }
    void clear() {
        check(kith_filter_clear(handle_));
    }

    std::uint64_t count() const noexcept {
        return kith_filter_count(handle_);
    }
    std::uint64_t capacity() const noexcept {
        return kith_filter_capacity(handle_);
    }
    std::string_view kind() const noexcept {
        return kith_filter_kind_name(handle_);
    }

    kith_filter *get() noexcept {
        return handle_;
    }
    const kith_filter *get() const noexcept {
        return handle_;
    }

    /* Gives the handle away: the caller frees it. */
    kith_filter *release() noexcept {
        return std::exchange(handle_, nullptr);
    }

  private:
    /* The 8 bytes of an integer, little-endian. */
    struct packed {
        unsigned char at[8];
        template <typename Integer> explicit packed(Integer integer) {
            static_assert(!std::is_same_v<Integer, bool> && !std::is_same_v<Integer, char> &&
                              sizeof(Integer) <= sizeof at,
                          "a key is a string or an integer of at most 64 bits; 'a' could be either");
            auto word = static_cast<std::uint64_t>(integer);
            for (auto &byte : at) {
                byte = static_cast<unsigned char>(word);
                word >>= 8;
            }
        }
    };

    template <typename Key> static constexpr kith_key_type type_of() {
        if constexpr (!std::is_integral_v<Key>)
            return KITH_KEYS_BYTES;
        else
            return std::is_signed_v<Key> ? KITH_KEYS_INT : KITH_KEYS_UINT;
    }

    /* Calls hash(bytes, byte_count) with the bytes of the key. */
    template <typename Key, typename Hash> static std::uint64_t hashed(const Key &key, Hash hash) {
        if constexpr (std::is_integral_v<Key>) {
            const packed bytes(key);
            return hash(bytes.at, sizeof bytes.at);
        } else {
            const std::string_view text(key);
            return hash(text.data(), text.size());
        }
    }

    kith_filter *handle_ = nullptr;
};

} // namespace kith

#endif
