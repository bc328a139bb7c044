// SPDX-License-Identifier: Apache-2.0
#include "cli/image/cache_entries.hpp"

#include "runtime/containers/unpacked_trees.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace cybele::cli {

Result<Cache> open_cache(const Session& session) {
    CYBELE_TRY(const pipeline::Settings settings, session.settings());
    const std::string chosen = settings.get("cache-dir");
    Cache cache(chosen.empty() ? session.environment.cache_directory()
                               : std::filesystem::path(chosen));
    CYBELE_CHECK(cache.check());
    return cache;
}

std::vector<CacheEntry> kept_entries(const Cache& cache, const std::string& kind) {
    std::vector<CacheEntry> list = cache.list();
    list.erase(std::remove_if(list.begin(),
                              list.end(),
                              [&](const CacheEntry& e) { return !kind.empty() && e.kind != kind; }),
               list.end());
    return list;
}

std::vector<CacheEntry>
entries_of(const Session& session, const Cache& cache, const std::string& kind) {
    std::vector<CacheEntry> list = kept_entries(cache, kind);
    if (kind.empty() || kind == kUnpacked) {
        // Starts know no settings, see cli/start.
        for (const auto& tree : runtime::unpacked_trees(session.environment.cache_directory())) {
            list.push_back({kUnpacked, tree.key, tree.path, tree.bytes, tree.used, tree.image});
        }
    }
    return list;
}

Result<void> check_kind(const std::string& kind) {
    constexpr std::array<std::string_view, 6> kKinds = {
        "", "bases", "steps", "images", "packages", kUnpacked};
    if (std::find(kKinds.begin(), kKinds.end(), kind) != kKinds.end()) {
        return {};
    }
    return fail(ErrorCode::kUsage,
                "the cache has no kind '" + printable(kind) + "'",
                "the kinds are bases, steps, images, packages and unpacked",
                "leave out --kind to see all that is kept");
}

bool remove_entry(const CacheEntry& entry) {
    return entry.kind == kUnpacked
               ? runtime::remove_unpacked({entry.key, entry.path, entry.bytes, entry.used, {}})
               : Cache::remove(entry);
}

} // namespace cybele::cli
