// SPDX-License-Identifier: Apache-2.0
#include "builder/rpm_packages.hpp"

#include "builder/keys.hpp"
#include "support/digest.hpp"
#include "support/encoding.hpp"
#include "support/file.hpp"

#include <algorithm>
#include <system_error>
#include <utility>
#include <vector>

namespace cybele::builder {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kKind = "packages";
constexpr const char* kRepositories = "its repositories";
constexpr const char* kPlace = "its place";
constexpr std::uint64_t kMostPlaced = std::uint64_t{1} << 30U;

std::string digest_of_repositories(const RpmBase& base) {
    std::string text = base.version + "\n";
    for (const RpmBase::Repository& repository : base.repositories) {
        text += repository.address + "\n";
    }
    return hex(sha256(text));
}

/// A name below the folder and nothing else, whatever the cache's file says.
bool is_below(const fs::path& place) {
    return place.is_relative() && place.extension() == ".rpm" &&
           std::none_of(place.begin(), place.end(), [](const fs::path& part) {
               return part.empty() || part == "." || part == "..";
           });
}

} // namespace

RpmPackages::RpmPackages(registry::Cache cache,
                         const RpmBase& base,
                         fs::path folder,
                         std::string definition)
    : cache_(std::move(cache)), folder_(std::move(folder)), definition_(std::move(definition)),
      repositories_(digest_of_repositories(base)) {}

fs::path RpmPackages::place_of(const registry::CacheEntry& entry) const {
    if (entry.kind != kKind) {
        return {};
    }
    const KeptStep kept = read_kept(entry.about);
    fs::path place;
    bool is_of_these = false;
    for (const KeyPart& part : kept.parts) {
        is_of_these = is_of_these || (part.what == kRepositories && part.digest == repositories_);
        place = part.what == kPlace ? fs::path(part.digest) : place;
    }
    return is_of_these && is_below(place) ? place : fs::path();
}

void RpmPackages::place() {
    if (cache_.directory().empty()) {
        return;
    }
    const auto held = cache_.hold(kKind);
    const std::vector<registry::CacheEntry> entries = cache_.list();
    std::uint64_t total = 0;
    std::error_code error;
    for (auto entry = entries.rbegin(); held && entry != entries.rend(); ++entry) {
        const fs::path place = place_of(*entry);
        const fs::path target = folder_ / place;
        if (place.empty() || total + entry->bytes > kMostPlaced || fs::exists(target, error)) {
            continue;
        }
        const auto kept = cache_.get(kKind, entry->key);
        if (!kept || !make_directories(target.parent_path())) {
            continue;
        }
        // A copy: scripts of packages run in the tree, and could write to a link.
        if (fs::copy_file(*kept, target, error)) {
            fs::permissions(target, fs::perms(0644), error);
            placed_[place] = entry->key;
            total += entry->bytes;
        }
    }
}

void RpmPackages::keep(const fs::path& file, const std::string& digest) const {
    const auto lock = cache_.lock(kKind, digest);
    const auto copy = [&](const fs::path& target) -> Result<void> {
        std::error_code error;
        if (!fs::copy_file(file, target, error)) {
            return fail(system_error("cannot keep a package", error.value()));
        }
        fs::permissions(target, fs::perms(0600), error);
        return {};
    };
    if (!lock || (!cache_.get(kKind, digest) && !cache_.put(kKind, digest, copy))) {
        return;
    }
    KeptStep what;
    what.definition = definition_;
    what.step = file.filename().native();
    what.parts = {{kRepositories, repositories_},
                  {kPlace, file.lexically_relative(folder_).native()}};
    cache_.note(kKind, digest, print_kept(what));
}

PackageCount RpmPackages::take() const {
    PackageCount count;
    std::error_code error;
    if (cache_.directory().empty()) {
        return count;
    }
    for (auto it = fs::recursive_directory_iterator(folder_, error);
         !error && it != fs::recursive_directory_iterator();
         it.increment(error)) {
        // A script could have put anything there, a link or a pipe too.
        if (!fs::is_regular_file(it->symlink_status()) || it->path().extension() != ".rpm") {
            continue;
        }
        const auto digest = sha256_file(it->path());
        if (!digest) {
            continue;
        }
        const std::string text = hex(*digest);
        const auto placed = placed_.find(it->path().lexically_relative(folder_));
        if (placed != placed_.end() && placed->second == text) {
            ++count.reused;
        } else {
            ++count.fetched;
            keep(it->path(), text);
        }
    }
    return count;
}

} // namespace cybele::builder
