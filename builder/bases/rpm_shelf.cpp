// SPDX-License-Identifier: Apache-2.0
#include "builder/bases/rpm_shelf.hpp"

#include "builder/steps/kept_step.hpp"

#include <algorithm>
#include <system_error>
#include <vector>

namespace cybele::builder {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kRpmPackages = "packages";
constexpr std::size_t kMostPlaces = 16; // of one package
constexpr std::uint64_t kMostLaid = std::uint64_t{1} << 30U;

/// A name below a folder and nothing else, whatever the cache's file says.
bool is_below(const fs::path& place) {
    return place.is_relative() && place.extension() == ".rpm" &&
           std::ranges::none_of(place, [](const fs::path& part) {
               return part.empty() || part == "." || part == "..";
           });
}

} // namespace

std::vector<fs::path> RpmShelf::places_of(const registry::CacheEntry& entry) const {
    std::vector<fs::path> places;
    if (entry.kind == kRpmPackages) {
        for (const KeyPart& part : read_kept(entry.about).parts) {
            if (part.what == origin_ && is_below(part.digest)) {
                places.emplace_back(part.digest);
            }
        }
    }
    return places;
}

std::map<fs::path, std::string> RpmShelf::lay(const Put& put) const {
    std::map<fs::path, std::string> laid;
    const auto held = cache_.hold(kRpmPackages);
    const std::vector<registry::CacheEntry> entries = cache_.list();
    std::uint64_t total = 0;
    for (auto entry = entries.rbegin(); held && entry != entries.rend(); ++entry) {
        for (const fs::path& place : places_of(*entry)) {
            if (laid.contains(place) || total + entry->bytes > kMostLaid) {
                continue;
            }
            const auto file = cache_.get(kRpmPackages, entry->key);
            if (file && put(*file, place)) {
                laid[place] = entry->key;
                total += entry->bytes;
            }
        }
    }
    return laid;
}

void RpmShelf::keep(const fs::path& file, const fs::path& place, const std::string& digest) const {
    const auto lock = cache_.lock(kRpmPackages, digest);
    const auto copy = [&](const fs::path& target) -> Result<void> {
        std::error_code error;
        if (!fs::copy_file(file, target, error)) {
            return fail(system_error("cannot keep a package", error.value()));
        }
        fs::permissions(target, fs::perms(0600), error);
        return {};
    };
    if (!lock || (!cache_.get(kRpmPackages, digest) && !cache_.put(kRpmPackages, digest, copy))) {
        return;
    }
    KeptStep what = read_kept(cache_.noted(kRpmPackages, digest));
    std::erase_if(what.parts, [&](const KeyPart& part) {
        return part.what == origin_ && part.digest == place.native();
    });
    what.parts.insert(what.parts.begin(), {origin_, place.native()});
    what.parts.resize(std::min(what.parts.size(), kMostPlaces));
    what.definition = definition_;
    what.step = file.filename().native();
    cache_.note(kRpmPackages, digest, print_kept(what));
}

} // namespace cybele::builder
