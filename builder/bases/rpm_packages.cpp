// SPDX-License-Identifier: Apache-2.0
#include "builder/bases/rpm_packages.hpp"

#include "support/digest.hpp"
#include "support/encoding.hpp"
#include "support/file.hpp"

#include <system_error>
#include <utility>

namespace cybele::builder {
namespace {

namespace fs = std::filesystem;

std::string digest_of_repositories(const RpmBase& base) {
    std::string text = base.version + "\n";
    for (const RpmBase::Repository& repository : base.repositories) {
        text += repository.address + "\n";
    }
    return hex(sha256(text));
}

} // namespace

RpmPackages::RpmPackages(const registry::Cache& cache,
                         const RpmBase& base,
                         fs::path folder,
                         std::string definition)
    : is_wanted_(!cache.directory().empty()),
      shelf_(cache, "a base of " + digest_of_repositories(base), std::move(definition)),
      folder_(std::move(folder)) {}

void RpmPackages::place() {
    if (!is_wanted_) {
        return;
    }
    placed_ = shelf_.lay([&](const fs::path& file, const fs::path& place) {
        std::error_code error;
        const fs::path target = folder_ / place;
        // A copy: scripts of packages run in the tree, and could write to a link.
        const bool is_there =
            make_directories(target.parent_path()) && fs::copy_file(file, target, error);
        fs::permissions(target, fs::perms(0644), error);
        return is_there;
    });
}

PackageCount RpmPackages::take() const {
    PackageCount count;
    std::error_code error;
    if (!is_wanted_) {
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
        const fs::path place = it->path().lexically_relative(folder_);
        const auto placed = placed_.find(place);
        if (placed != placed_.end() && placed->second == hex(*digest)) {
            ++count.reused;
        } else {
            ++count.fetched;
            shelf_.keep(it->path(), place, hex(*digest));
        }
    }
    return count;
}

} // namespace cybele::builder
