// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/common/session.hpp"
#include "registry/cache/cache.hpp"
#include "support/error.hpp"

#include <cstdint>
#include <string>
#include <vector>

/// What the verbs of `cache` look at: what builds keep, and the images that starts unpacked.
namespace cybele::cli {

using registry::Cache;
using registry::CacheEntry;

/// The kind of the images that starts have unpacked, where they could not be mounted.
inline constexpr const char* kUnpacked = "unpacked";

/// The cache of the settings.
[[nodiscard]] Result<Cache> open_cache(const Session& session);

/// kUsage for a word that is no kind; an empty one stands for all.
[[nodiscard]] Result<void> check_kind(const std::string& kind);

/// What builds keep, of one kind or of all.
[[nodiscard]] std::vector<CacheEntry> kept_entries(const Cache& cache, const std::string& kind);

/// Those, and the images of kUnpacked; their `about` is the path that they were unpacked from.
[[nodiscard]] std::vector<CacheEntry>
entries_of(const Session& session, const Cache& cache, const std::string& kind);

/// The value of --keep: "500M", "2G", "2 GiB", bytes.
[[nodiscard]] Result<std::uint64_t> read_keep(std::string text);

/// False where it is in use, and stays.
[[nodiscard]] bool remove_entry(const CacheEntry& entry);

} // namespace cybele::cli
