// SPDX-License-Identifier: Apache-2.0
#include "cli/image/cache_entries.hpp"

#include "runtime/containers/unpacked_trees.hpp"
#include "support/find.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <array>
#include <cmath>
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
    constexpr std::array<std::string_view, 7> kKinds = {
        "", "bases", "steps", "failed", "images", "packages", kUnpacked};
    if (contains(kKinds, kind)) {
        return {};
    }
    return fail(ErrorCode::kUsage,
                problem("cache-kind-unknown", "the cache has no kind '" + printable(kind) + "'"),
                "the kinds are bases, steps, failed, images, packages and unpacked",
                "leave out --kind to see everything in the cache");
}

Result<std::uint64_t> read_keep(std::string text) {
    std::erase(text, ' ');
    constexpr std::string_view kUnits = "KMGT";
    const std::size_t used = std::min(text.find_first_not_of("0123456789."), text.size());
    const std::string digits = text.substr(0, used);
    constexpr std::size_t kMostDigits = 16;
    const bool is_number = digits.size() <= kMostDigits &&
                           digits.find_first_of("0123456789") != std::string::npos &&
                           std::count(digits.begin(), digits.end(), '.') <= 1;
    const double number = is_number ? std::stod(digits) : -1;
    std::string unit = text.substr(used);
    const bool is_binary = unit.ends_with("iB") || unit.ends_with("i");
    unit.resize(unit.size() - (unit.ends_with("B") ? 1 : 0));
    unit.resize(unit.size() - (is_binary ? 1 : 0));
    const std::size_t power = unit.empty() ? 0 : kUnits.find(unit) + 1;
    const double bytes = number * std::pow(is_binary ? 1024.0 : 1000.0, static_cast<double>(power));
    constexpr double kMost = 9e18; // of 64 bits
    if (!(number >= 0) || bytes > kMost || unit.size() > 1 ||
        (power == 0 && (!unit.empty() || is_binary))) {
        return fail(ErrorCode::kUsage,
                    problem("cache-size-value", "--keep: invalid size '" + printable(text) + "'"),
                    {},
                    "write --keep 500M, --keep 2G or --keep 2GiB");
    }
    return static_cast<std::uint64_t>(bytes);
}

bool remove_entry(const CacheEntry& entry) {
    return entry.kind == kUnpacked
               ? runtime::remove_unpacked({entry.key, entry.path, entry.bytes, entry.used, {}})
               : Cache::remove(entry);
}

} // namespace cybele::cli
