// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"
#include "support/file.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cybele::registry {

/// One entry, as list() finds it.
struct CacheEntry {
    std::string kind;
    std::string key; ///< the SHA-256 of the key text, as in the file's name
    std::filesystem::path path;
    std::uint64_t bytes = 0;
    std::int64_t used = 0; ///< Unix seconds of its last use
    std::string about;     ///< as note() wrote it; empty: nothing
};

/// A folder of big files, each found by a text that says what it was made from: KIND/KEY.tar below
/// the cache directory (KEY.squashfs for steps, KEY.parts for images), KEY being the SHA-256 of
/// that text, with its digest in a file of that name and ".sha256". The kind `packages` is found by
/// content instead: the key is the SHA-256 of the file's own bytes (KEY.package). An
/// entry whose digest does not fit (cut off, damaged) is removed when it is asked for, never given;
/// one that nobody touched since it was made or checked (its inode and times are those in ".seen")
/// is not read again. Damage that leaves no trace in a file's times is found by is_whole().
/// Processes that want one entry wait for each other by flock(2). A file `format` holds the version
/// of all this; a cache without one is of the first.
class Cache {
public:
    /// `directory` is made (0700) when the first entry is.
    explicit Cache(std::filesystem::path directory) : directory_(std::move(directory)) {}

    /// Holds the lock of one entry until it goes; a lock of a killed process goes with it.
    class Lock {
    public:
        Lock() = default;

    private:
        friend class Cache;
        explicit Lock(UniqueFd fd) : fd_(std::move(fd)) {}
        UniqueFd fd_;
    };

    /// Waits for the entry's lock.
    [[nodiscard]] Result<Lock> lock(std::string_view kind, std::string_view key) const;

    /// Keeps every entry of a kind from being removed, for who cannot tell yet which it will use.
    [[nodiscard]] Result<Lock> hold(std::string_view kind) const;

    /// Marks an entry as used, for prune(), without reading it.
    void mark_used(std::string_view kind, std::string_view key) const;

    /// The entry's file, after its digest was checked, which is the key where that is of the
    /// content; nothing where there is none. Marks it as used, for prune().
    [[nodiscard]] std::optional<std::filesystem::path> get(std::string_view kind,
                                                           std::string_view key) const;

    /// The same of an entry that list() found; it is removed where it is not whole.
    [[nodiscard]] static bool use(const CacheEntry& entry);

    /// The digest and the size that get() would check, as one line, without reading the entry;
    /// nothing where the entry is missing or has another size.
    [[nodiscard]] std::optional<std::string> peek(std::string_view kind,
                                                  std::string_view key) const;

    /// That line of an entry that list() found, whatever the entry's size; nothing where there is
    /// none.
    [[nodiscard]] static std::optional<std::string> digest_of(const CacheEntry& entry);

    /// Keeps a text beside an entry, for list(): who made it, from what.
    void note(std::string_view kind, std::string_view key, std::string_view about) const;
    /// That text; empty: there is none.
    [[nodiscard]] std::string noted(std::string_view kind, std::string_view key) const;

    /// All entries, by kind, the longest unused one first.
    [[nodiscard]] std::vector<CacheEntry> list() const;

    /// Whether an entry is as it was written, by its digest.
    [[nodiscard]] static bool is_whole(const CacheEntry& entry);

    /// Removes it; one that is locked stays, and gives false.
    static bool remove(const CacheEntry& entry);

    /// Makes an entry: `write(path)` makes the file at a temporary name, which becomes the entry
    /// when it gave no error. The caller holds the lock. Gives the entry's path; kVerification for
    /// a kind that is found by content where the content is another.
    [[nodiscard]] Result<std::filesystem::path>
    put(std::string_view kind,
        std::string_view key,
        const std::function<Result<void>(const std::filesystem::path&)>& write) const;

    /// Removes the entries of a kind that were not used for longest, until what is left has at most
    /// `bytes`. An entry that is locked stays. Gives the bytes that were freed.
    std::uint64_t prune(std::string_view kind, std::uint64_t bytes) const;

    /// Where an entry lies, whether it is there or not.
    [[nodiscard]] std::filesystem::path path(std::string_view kind, std::string_view key) const;
    [[nodiscard]] const std::filesystem::path& directory() const {
        return directory_;
    }

    /// Makes the folder, and its file `format`: the cache of a later version is refused, and one
    /// that somebody else could have written.
    [[nodiscard]] Result<void> prepare() const;
    /// kEnvironment where somebody else could have written what is in it; a missing one is fine.
    [[nodiscard]] Result<void> check() const;

private:
    [[nodiscard]] bool is_usable(std::string_view kind) const;
    [[nodiscard]] Result<Lock> lock_by(const std::filesystem::path& file, int how) const;
    std::filesystem::path directory_;
};

} // namespace cybele::registry
