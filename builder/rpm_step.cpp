// SPDX-License-Identifier: Apache-2.0
#include "builder/rpm_step.hpp"

#include "images/inspection/packages.hpp"
#include "support/digest.hpp"
#include "support/encoding.hpp"
#include "support/file.hpp"
#include "support/file_copy.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cybele::builder {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTop = "var/cache";

/// Below it, where the tools keep packages: dnf 4; dnf 5; yum 3 and microdnf; zypper.
constexpr std::array<std::string_view, 4> kFolders = {"dnf", "libdnf5", "yum", "zypp"};
constexpr std::array<std::string_view, 5> kTools = {"dnf", "dnf5", "microdnf", "yum", "zypper"};

bool is_tool_folder(std::string_view name) {
    return std::find(kFolders.begin(), kFolders.end(), name) != kFolders.end();
}

bool is_package(std::string_view name) {
    return name.ends_with(".rpm");
}

std::string below_top(const fs::path& place) {
    return std::string(kTop) + "/" + place.native();
}

/// "rocky 9", as repositories of one distribution's releases share their packages; "" where the
/// tree does not say.
std::string distribution_of(const images::RootDirectory& tree) {
    for (const char* name : {"etc/os-release", "usr/lib/os-release"}) {
        const auto text = tree.read(name).value_or(std::nullopt);
        if (text) {
            const images::Release release = images::parse_release(*text);
            return release.distribution + " " +
                   release.release.substr(0, release.release.find('.'));
        }
    }
    return {};
}

bool is_same(const timespec& a, const timespec& b) {
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

/// 1970 where it is not known.
timespec folder_modified(const images::RootDirectory& tree, const std::string& folder) {
    struct stat status = {};
    const UniqueFd there = tree.open_inside(folder, O_RDONLY | O_DIRECTORY);
    return ::fstat(there.get(), &status) == 0 ? status.st_mtim : timespec{};
}

} // namespace

bool installs_by_rpm(std::string_view script) {
    const auto is_part = [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
    };
    for (std::size_t at = 0; at < script.size();) {
        const auto end = static_cast<std::size_t>(
            std::find_if_not(
                script.begin() + static_cast<std::ptrdiff_t>(at), script.end(), is_part) -
            script.begin());
        if (std::find(kTools.begin(), kTools.end(), script.substr(at, end - at)) != kTools.end()) {
            return true;
        }
        at = std::max(end, at + 1);
    }
    return false;
}

StepRpms::StepRpms(const registry::Cache& cache,
                   images::RootDirectory tree,
                   fs::path copies,
                   std::string definition)
    : tree_(std::move(tree)), copies_(std::move(copies)),
      shelf_(cache, "steps of " + distribution_of(tree_), std::move(definition)) {}

bool StepRpms::prepare_folder(const std::string& folder) {
    if (folders_.contains(folder)) {
        return true;
    }
    Folder found;
    found.is_made = !tree_.open_inside(folder, O_PATH | O_NOFOLLOW).valid();
    if (found.is_made) {
        // Where there is no var/cache, there is no such tool.
        if (folder == kTop || !prepare_folder(fs::path(folder).parent_path()) ||
            !tree_.make_directory(folder, 0755)) {
            return false;
        }
    } else if (tree_.open_inside(folder, O_PATH | O_DIRECTORY).valid()) {
        found.before = folder_modified(tree_, folder);
    } else {
        return false; // a file, or a link that leads nowhere: it stays
    }
    folders_[folder] = found;
    return true;
}

bool StepRpms::put(const fs::path& file, const fs::path& place) {
    const std::string folder = below_top(place.parent_path());
    struct stat status = {};
    const UniqueFd from(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
    if (!prepare_folder(folder) || !from.valid() || ::fstat(from.get(), &status) != 0) {
        return false;
    }
    const UniqueFd there = tree_.open_inside(folder, O_RDONLY | O_DIRECTORY);
    const UniqueFd to(::openat(there.get(),
                               place.filename().c_str(),
                               O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                               0644));
    if (!to.valid()) {
        return false; // the tree has it itself
    }
    images::FileCopy bytes;
    bytes.from = from.get();
    bytes.to = to.get();
    bytes.bytes = static_cast<std::uint64_t>(status.st_size);
    // A copy: scripts of packages run in the tree, and could write to a link.
    if (!images::copy_bytes(bytes).ok()) {
        (void)::unlinkat(there.get(), place.filename().c_str(), 0);
        return false;
    }
    (void)::fchmod(to.get(), 0644); // whatever the umask is
    return true;
}

void StepRpms::begin() {
    if (!remove_tree(copies_) || !make_directories(copies_)) {
        return;
    }
    placed_ = shelf_.lay([this](const fs::path& file, const fs::path& place) {
        return is_tool_folder(place.begin()->native()) && put(file, place);
    });
    for (auto& [name, folder] : folders_) {
        folder.after = folder_modified(tree_, name);
    }
    watch_ = DownloadWatch::start(tree_, {kTop, is_tool_folder, is_package}, copies_);
}

std::set<std::string> StepRpms::keep_copies() const {
    std::set<std::string> fetched;
    std::error_code error;
    for (auto it = fs::recursive_directory_iterator(copies_, error);
         !error && it != fs::recursive_directory_iterator();
         it.increment(error)) {
        if (is_package(it->path().native()) && it->is_regular_file(error)) {
            const fs::path place = it->path().lexically_relative(copies_);
            if (const auto digest = sha256_file(it->path())) {
                shelf_.keep(it->path(), place, hex(*digest));
            }
            fetched.insert(place);
        }
    }
    return fetched;
}

/// What nobody needed goes, and folders in which nothing else happened are as they were.
void StepRpms::clear(const std::set<std::string>& needed) const {
    std::set<std::string> unchanged;
    for (const auto& [name, folder] : folders_) {
        if (!folder.is_made && is_same(folder_modified(tree_, name), folder.after)) {
            unchanged.insert(name);
        }
    }
    for (const auto& [place, digest] : placed_) {
        if (!needed.contains(place)) {
            (void)tree_.remove(below_top(place));
        }
    }
    for (auto folder = folders_.rbegin(); folder != folders_.rend(); ++folder) { // inner ones first
        const fs::path path = folder->first;
        const UniqueFd parent =
            tree_.open_inside(path.parent_path().native(), O_RDONLY | O_DIRECTORY);
        if (folder->second.is_made) {
            (void)::unlinkat(parent.get(), path.filename().c_str(), AT_REMOVEDIR); // where empty
        } else if (unchanged.contains(folder->first)) {
            const UniqueFd there = tree_.open_inside(folder->first, O_RDONLY | O_DIRECTORY);
            const std::array<timespec, 2> times = {timespec{0, UTIME_OMIT}, folder->second.before};
            (void)::futimens(there.get(), times.data());
        }
    }
}

PackageCount StepRpms::end() {
    PackageCount count;
    std::set<std::string> needed = watch_ ? watch_->end() : std::set<std::string>();
    const std::set<std::string> fetched = keep_copies();
    count.fetched = fetched.size();
    for (const auto& [place, digest] : placed_) {
        count.reused += needed.contains(place) && !fetched.contains(place) ? 1U : 0U;
    }
    needed.insert(fetched.begin(), fetched.end());
    clear(needed);
    (void)remove_tree(copies_);
    return count;
}

} // namespace cybele::builder
