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

namespace cybele::registry {

/// A folder of big files, each found by a text that says what it was made from: KIND/KEY.tar below
/// the cache directory, KEY being the SHA-256 of that text, with its digest in KEY.tar.sha256. An
/// entry whose digest does not fit (cut off, damaged) is removed when it is asked for, never given.
/// Processes that want one entry wait for each other by flock(2).
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

    /// The entry's file, after its digest was checked; nothing where there is none. Marks it as
    /// used, for prune().
    [[nodiscard]] std::optional<std::filesystem::path> get(std::string_view kind,
                                                           std::string_view key) const;

    /// Makes an entry: `write(path)` makes the file at a temporary name, which becomes the entry
    /// when it gave no error. The caller holds the lock. Gives the entry's path.
    [[nodiscard]] Result<std::filesystem::path>
    put(std::string_view kind,
        std::string_view key,
        const std::function<Result<void>(const std::filesystem::path&)>& write) const;

    /// get(), or put() under the entry's lock: of several processes, one makes it.
    [[nodiscard]] Result<std::filesystem::path>
    get_or_put(std::string_view kind,
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

private:
    std::filesystem::path directory_;
};

} // namespace cybele::registry
