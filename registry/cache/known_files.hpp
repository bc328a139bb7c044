// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/digest.hpp"
#include "support/error.hpp"
#include "support/stamp.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace cybele::registry {

/// What is known of files that lie outside of the cache, by their stamps: the digests of files that
/// builds read, so that they are read again only when they changed, and of the images that builds
/// made, what they were made from. Kept in one file below the cache (`known-files`, 0600), of which
/// a damaged line is none; at most kMost files, the longest unused go first. Where it cannot be
/// read or written, less is known. One thread uses an object of it.
class KnownFiles {
public:
    enum class What : char {
        kContent = 'c', ///< the digest is the SHA-256 of its bytes
        kMade = 'm',    ///< the digest says what it was made from
    };
    static constexpr std::size_t kMost = 200'000;

    /// What is kept below `cache`; with `reads` false, nothing of it is believed.
    [[nodiscard]] static KnownFiles open(const std::filesystem::path& cache, bool reads);

    /// The same, of the cache of a user who builds nothing now: one that does not exist is made by
    /// save(). In one that is not this user's own, or of a later version, nothing is believed or
    /// written.
    [[nodiscard]] static KnownFiles open_own(const std::filesystem::path& cache);
    /// Knows nothing, and keeps nothing.
    [[nodiscard]] static KnownFiles none() {
        return KnownFiles({});
    }

    /// The SHA-256 of a file that is open for reading; it is read only where it is not known. The
    /// digest is remembered, unless somebody could have written to the file meanwhile. `path` is
    /// for messages.
    [[nodiscard]] Result<Digest> content_of(int fd, const std::filesystem::path& path);

    [[nodiscard]] std::optional<Digest> find(What what, const FileStamp& stamp);
    /// In the place of what was known of this file.
    void remember(What what, const FileStamp& stamp, const Digest& digest);

    /// Adds what is new to the file; of several processes none loses what it knows.
    void save();

    /// Forgets what nobody asked for since `before` (days since 1970; unset: all). Gives the number
    /// of files.
    static std::size_t forget(const std::filesystem::path& cache,
                              std::optional<std::int64_t> before);

private:
    using Name = std::pair<std::uint64_t, std::uint64_t>; ///< device, inode
    struct Known {
        FileStamp stamp;
        Digest digest{};
        std::int64_t used = 0; ///< days since 1970
    };
    using Files = std::map<std::pair<What, Name>, Known>;

    /// An empty path: nothing is kept.
    explicit KnownFiles(std::filesystem::path file) : file_(std::move(file)) {}
    static Files read(const std::filesystem::path& file);
    static std::string print(const Files& files);

    std::filesystem::path file_;
    std::filesystem::path new_cache_; ///< that save() makes first; empty: it is there
    Files files_;
    Files news_; ///< what save() adds
};

} // namespace cybele::registry
