// SPDX-License-Identifier: Apache-2.0
#include "builder/steps/packages.hpp"

#include "builder/steps/kept_step.hpp"
#include "support/embedded.hpp"
#include "support/file.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <sstream>
#include <string_view>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cybele::embedded {
std::span<const EmbeddedFile> builder_files();
} // namespace cybele::embedded

namespace cybele::builder {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kDebianPackages = "packages";
constexpr std::uint64_t kMostPackageBytes = std::uint64_t{10} << 30U;
constexpr std::uint64_t kMostCopied = std::uint64_t{512} << 20U;
constexpr std::size_t kPackageDigestLetters = 64;
constexpr std::array<const char*, 2> kSchemes = {"http", "https"};

bool is_digest(std::string_view text) {
    return text.size() == kPackageDigestLetters &&
           text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

/// A script could have put anything there, a link or a pipe too.
bool is_plain(const fs::path& path, fs::file_type type) {
    std::error_code error;
    return fs::symlink_status(path, error).type() == type;
}

std::string read_plain(const fs::path& file) {
    return is_plain(file, fs::file_type::regular) ? read_file(file).value_or("") : "";
}

/// `names` of a folder of kept files: a digest and apt's name of it a line.
std::map<std::string, std::string> read_names(const fs::path& kept) {
    std::map<std::string, std::string> names;
    std::istringstream lines(read_plain(kept / "names"));
    for (std::string line; std::getline(lines, line);) {
        if (const std::size_t blank = line.find(' '); blank == kPackageDigestLetters) {
            names[line.substr(0, blank)] = line.substr(blank + 1);
        }
    }
    return names;
}

/// By link, or across disks by copy; a file that apt's own user fetched belongs to the cache's.
Result<void> bring(const fs::path& from, const fs::path& to) {
    std::error_code error;
    fs::create_hard_link(from, to, error);
    if (error) {
        fs::copy_file(from, to, error);
    }
    if (error) {
        return fail(system_error("cannot keep a package", error.value()));
    }
    (void)::lchown(to.c_str(), ::geteuid(), ::getegid());
    (void)::chmod(to.c_str(), 0600);
    return {};
}

} // namespace

std::string PackageCount::text() const {
    return reused + fetched == 0
               ? std::string()
               : fmt::format(
                     "{} packages and lists from the cache, {} downloaded", reused, fetched);
}

std::string method_option(const std::string& scheme, const std::string& method) {
    return fmt::format("Dir::Bin::Methods::{} \"{}\";", scheme, method);
}

Result<fs::path> PackageCache::folder() const {
    fs::path folder = cache_.directory() / kDebianPackages;
    CYBELE_CHECK(make_directories(folder, 0700));
    return folder;
}

Result<registry::Cache::Lock> PackageCache::hold() const {
    return cache_.hold(kDebianPackages);
}

Result<void> PackageCache::write_methods(const fs::path& folder) {
    const EmbeddedFile& method = embedded::builder_files().front();
    for (const char* scheme : kSchemes) {
        CYBELE_CHECK(write_file(folder / scheme, method.bytes, 0755));
        (void)::chmod((folder / scheme).c_str(), 0755); // whatever the umask is
    }
    return {};
}

Result<void> PackageCache::copy_recent(const fs::path& folder) const {
    std::vector<registry::CacheEntry> entries = cache_.list();
    std::uint64_t total = 0;
    std::error_code error;
    for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
        if (entry->kind != kDebianPackages || total + entry->bytes > kMostCopied) {
            continue;
        }
        const fs::path copy = folder / entry->path.filename();
        if (fs::copy_file(entry->path, copy, error) && ::chmod(copy.c_str(), 0644) == 0) {
            total += entry->bytes;
        }
    }
    return {};
}

bool PackageCache::take_one(const fs::path& file, const std::string& name) const {
    const std::string digest = file.filename().native();
    const auto lock = cache_.lock(kDebianPackages, digest);
    // It was fetched although it may be here: then what is here is damaged, and goes.
    if (!lock || cache_.get(kDebianPackages, digest) ||
        !cache_.put(
            kDebianPackages, digest, [&](const fs::path& target) { return bring(file, target); })) {
        return false;
    }
    KeptStep what;
    what.definition = definition_;
    what.step = name.empty() ? "package" : name;
    cache_.note(kDebianPackages, digest, print_kept(what));
    return true;
}

PackageCount PackageCache::take(const fs::path& kept) const {
    PackageCount count;
    if (!is_plain(kept, fs::file_type::directory)) {
        return count;
    }
    auto names = read_names(kept);
    std::error_code error;
    for (auto it = fs::directory_iterator(kept, error); !error && it != fs::directory_iterator();
         it.increment(error)) {
        if (is_digest(it->path().filename().native()) &&
            is_plain(it->path(), fs::file_type::regular)) {
            ++count.fetched;
            (void)take_one(it->path(), names[it->path().filename().native()]);
        }
    }
    std::istringstream used(read_plain(kept / "used"));
    for (std::string digest; std::getline(used, digest);) {
        if (is_digest(digest)) {
            ++count.reused;
            cache_.mark_used(kDebianPackages, digest);
        }
    }
    return count;
}

void PackageCache::prune() const {
    (void)cache_.prune(kDebianPackages, kMostPackageBytes);
}

} // namespace cybele::builder
