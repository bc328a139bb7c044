// SPDX-License-Identifier: Apache-2.0
#include "registry/cache/cache.hpp"

#include "support/digest.hpp"
#include "support/encoding.hpp"
#include "support/lock.hpp"
#include "support/note.hpp"
#include "support/own_folder.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cybele::registry {
namespace {

namespace fs = std::filesystem;

/// How the files of a kind are called; all others are tars.
struct Kind {
    std::string_view name;
    std::string_view suffix;
    bool is_by_content = false; ///< the key is the content's SHA-256, and the file's name
};
constexpr std::string_view kTar = ".tar";
constexpr std::string_view kSif = ".sif";
constexpr std::array kKinds = {Kind{"steps", ".squashfs"},
                               Kind{"failed", ".squashfs"},
                               Kind{"images", ".parts"},
                               Kind{"packages", ".package", true}};

Kind kind_of(std::string_view name) {
    const auto* const found = std::ranges::find(kKinds, name, &Kind::name);
    return found == kKinds.end() ? Kind{name, kTar} : *found;
}

/// Of a whole kind: shared by builds that use some of its entries, which they cannot tell before.
constexpr const char* kInUse = "in-use.lock";

constexpr std::string_view kCacheFormat = "1\n";
constexpr std::string_view kVariable = "CYBELE_CACHE_DIR";

fs::path digest_file(fs::path entry) {
    return entry += ".sha256";
}

fs::path cache_lock(fs::path entry) {
    return entry += ".lock";
}

/// False for a file that was removed after it was opened.
bool has_name(int fd, const fs::path& file) {
    struct stat open {};
    struct stat named {};
    return ::fstat(fd, &open) == 0 && ::lstat(file.c_str(), &named) == 0 &&
           open.st_dev == named.st_dev && open.st_ino == named.st_ino;
}

fs::path about_file(fs::path entry) {
    return entry += ".about";
}

std::string about_of(const fs::path& entry) {
    constexpr std::size_t kMostBytes = 65536;
    return read_file(about_file(entry), kMostBytes).value_or("");
}

fs::path seen_file(fs::path entry) {
    return entry += ".seen";
}

void remove_entry(const fs::path& entry) {
    std::error_code ignored;
    fs::remove(about_file(entry), ignored);
    fs::remove(seen_file(entry), ignored);
    // The digest last: an entry without one is never given.
    fs::remove(entry, ignored);
    fs::remove(digest_file(entry), ignored);
}

/// What the digest file holds: the digest and the size, so that a cut file is found without
/// reading.
std::string describe(const Digest& digest, std::uint64_t size) {
    return fmt::format("{} {}\n", hex(digest), size);
}

/// Of one kind, the longest unused one first.
std::vector<CacheEntry> entries(const fs::path& directory) {
    std::vector<std::pair<timespec, CacheEntry>> found;
    const std::string kind = directory.filename().native();
    const std::string_view suffix = kind_of(kind).suffix;
    std::error_code error;
    for (auto it = fs::directory_iterator(directory, error);
         !error && it != fs::directory_iterator();
         it.increment(error)) {
        struct stat status {};
        const fs::path extension = it->path().extension();
        // Older versions kept steps as tars and images whole, which nobody asks for any more: they
        // are here to go first.
        if ((extension == suffix || extension == kTar || extension == kSif) &&
            ::lstat(it->path().c_str(), &status) == 0 && S_ISREG(status.st_mode)) {
            found.push_back({status.st_mtim,
                             {kind,
                              it->path().stem().native(),
                              it->path(),
                              static_cast<std::uint64_t>(status.st_size),
                              status.st_mtim.tv_sec,
                              {}}});
        }
    }
    std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
        return std::tuple(a.first.tv_sec, a.first.tv_nsec, a.second.key) <
               std::tuple(b.first.tv_sec, b.first.tv_nsec, b.second.key);
    });
    std::vector<CacheEntry> result;
    result.reserve(found.size());
    for (auto& one : found) {
        result.push_back(std::move(one.second));
    }
    return result;
}

/// Whether the file has the size and the digest that were noted.
bool is_as_noted(const UniqueFd& fd, const fs::path& entry) {
    const auto known = read_file(digest_file(entry), 4096);
    const auto size = file_size(fd.get(), entry);
    if (!known || !size || !known->ends_with(fmt::format(" {}\n", *size))) {
        return false;
    }
    const auto digest = sha256_range(fd.get(), 0, *size, entry);
    return digest && *known == describe(*digest, *size);
}

/// What changes when somebody writes to a file, or puts another in its place.
std::string entry_stamp(const UniqueFd& fd) {
    struct stat status {};
    if (::fstat(fd.get(), &status) != 0) {
        return {};
    }
    return fmt::format("{} {} {}.{:09} {}.{:09}\n",
                       status.st_ino,
                       status.st_size,
                       status.st_mtim.tv_sec,
                       status.st_mtim.tv_nsec,
                       status.st_ctim.tv_sec,
                       status.st_ctim.tv_nsec);
}

/// Whether it is untouched since its digest was checked.
bool is_as_seen(const UniqueFd& fd, const fs::path& entry) {
    const auto seen = read_file(seen_file(entry), 4096);
    std::error_code error;
    return seen && !seen->empty() && *seen == entry_stamp(fd) &&
           fs::exists(digest_file(entry), error);
}

/// Whether the user or root wrote it, and nobody else can.
bool is_own(const UniqueFd& fd) {
    struct stat status {};
    return ::fstat(fd.get(), &status) == 0 && S_ISREG(status.st_mode) &&
           (status.st_uid == ::geteuid() || status.st_uid == 0) && (status.st_mode & S_IWOTH) == 0;
}

/// Whether an entry is whole; it is removed where it is not. Marks it as used.
bool use_file(const fs::path& entry) {
    const UniqueFd fd(::open(entry.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (!fd.valid()) {
        return false;
    }
    if (!is_own(fd) || (!is_as_seen(fd, entry) && !is_as_noted(fd, entry))) {
        remove_entry(entry);
        return false;
    }
    (void)::futimens(fd.get(), nullptr);
    (void)write_note(seen_file(entry), entry_stamp(fd));
    return true;
}

} // namespace

fs::path Cache::path(std::string_view kind, std::string_view key) const {
    const Kind known = kind_of(kind);
    return directory_ / kind /
           ((known.is_by_content ? std::string(key) : hex(sha256(key))) +
            std::string(known.suffix));
}

Result<void> Cache::check() const {
    std::error_code error;
    if (!fs::exists(directory_, error)) {
        return {};
    }
    return check_own_folder({directory_, "the cache", kVariable});
}

bool Cache::is_usable(std::string_view kind) const {
    const auto known = read_file(directory_ / "format", 4096);
    return (!known || *known == kCacheFormat) &&
           check_own_folder({directory_ / kind, "the cache", kVariable});
}

Result<void> Cache::prepare() const {
    CYBELE_CHECK(make_own_folder({directory_, "the cache", kVariable}));
    const fs::path file = directory_ / "format";
    const auto known = read_file(file, 4096);
    if (!known) { // older caches have none; their entries are read as they are
        return write_file(file, kCacheFormat);
    }
    if (*known == kCacheFormat) {
        return {};
    }
    return fail(ErrorCode::kInput,
                problem("cache-version",
                        "the cache " + printable(directory_.native()) + " is of version " +
                            printable(known->substr(0, known->find('\n')))),
                "this program knows version 1: a later one made it",
                "use the later cybelectl, or name another cache: CYBELE_CACHE_DIR=DIR");
}

Result<Cache::Lock> Cache::lock_by(const fs::path& file, int how) const {
    CYBELE_CHECK(prepare());
    CYBELE_CHECK(make_own_folder({file.parent_path(), "the cache", kVariable}));
    for (;;) {
        UniqueFd fd(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
        if (!fd.valid()) {
            return fail(
                system_error("cannot open the cache's lock " + printable(file.native()), errno));
        }
        if (!take_lock(fd.get(), how)) {
            return fail(system_error("cannot lock " + printable(file.native()), errno));
        }
        if (has_name(fd.get(), file)) { // else it was removed with its entry meanwhile
            return Lock(std::move(fd));
        }
    }
}

Result<Cache::Lock> Cache::lock(std::string_view kind, std::string_view key) const {
    return lock_by(cache_lock(path(kind, key)), LOCK_EX);
}

Result<Cache::Lock> Cache::hold(std::string_view kind) const {
    return lock_by(directory_ / kind / kInUse, LOCK_SH);
}

void Cache::mark_used(std::string_view kind, std::string_view key) const {
    (void)::utimensat(AT_FDCWD, path(kind, key).c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
}

std::optional<fs::path> Cache::get(std::string_view kind, std::string_view key) const {
    fs::path entry = path(kind, key);
    // Whatever was written beside it, what is found by content has that content.
    const bool can_be = !kind_of(kind).is_by_content ||
                        read_file(digest_file(entry), 4096).value_or("").starts_with(key);
    return can_be && is_usable(kind) && use_file(entry) ? std::optional(std::move(entry))
                                                        : std::nullopt;
}

bool Cache::use(const CacheEntry& entry) {
    return use_file(entry.path);
}

std::optional<std::string> Cache::peek(std::string_view kind, std::string_view key) const {
    const fs::path entry = path(kind, key);
    struct stat status {};
    auto known = read_file(digest_file(entry), 4096);
    if (!known || ::lstat(entry.c_str(), &status) != 0 || !S_ISREG(status.st_mode) ||
        !known->ends_with(fmt::format(" {}\n", status.st_size))) {
        return std::nullopt;
    }
    return std::move(*known);
}

std::optional<std::string> Cache::digest_of(const CacheEntry& entry) {
    auto known = read_file(digest_file(entry.path), 4096);
    return known ? std::optional(std::move(*known)) : std::nullopt;
}

void Cache::note(std::string_view kind, std::string_view key, std::string_view about) const {
    (void)write_note(about_file(path(kind, key)), about);
}

std::string Cache::noted(std::string_view kind, std::string_view key) const {
    return about_of(path(kind, key));
}

std::vector<CacheEntry> Cache::list() const {
    std::vector<fs::path> kinds;
    std::error_code error;
    for (auto it = fs::directory_iterator(directory_, error);
         !error && it != fs::directory_iterator();
         it.increment(error)) {
        if (it->is_directory(error) && !it->is_symlink(error)) {
            kinds.push_back(it->path());
        }
    }
    std::sort(kinds.begin(), kinds.end());
    std::vector<CacheEntry> all;
    for (const fs::path& kind : kinds) {
        for (CacheEntry& entry : entries(kind)) {
            // Other folders hold files of these names too; an entry has its digest beside it.
            if (fs::exists(digest_file(entry.path), error)) {
                entry.about = about_of(entry.path);
                all.push_back(std::move(entry));
            }
        }
    }
    return all;
}

bool Cache::is_whole(const CacheEntry& entry) {
    const UniqueFd fd(::open(entry.path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    return fd.valid() && is_as_noted(fd, entry.path);
}

bool Cache::remove(const CacheEntry& entry) {
    const fs::path lock = cache_lock(entry.path);
    const UniqueFd fd(::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    const UniqueFd whole(
        ::open((entry.path.parent_path() / kInUse).c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
    if (!fd.valid() || !take_lock(fd.get(), LOCK_EX | LOCK_NB) || !has_name(fd.get(), lock) ||
        (whole.valid() && !take_lock(whole.get(), LOCK_EX | LOCK_NB))) {
        return false;
    }
    remove_entry(entry.path);
    (void)::unlink(lock.c_str()); // a process that waits for it opens it again
    return true;
}

Result<fs::path> Cache::put(std::string_view kind,
                            std::string_view key,
                            const std::function<Result<void>(const fs::path&)>& write) const {
    CYBELE_CHECK(prepare());
    const fs::path entry = path(kind, key);
    CYBELE_CHECK(make_own_folder({entry.parent_path(), "the cache", kVariable}));
    // One name per entry: what a killed process left is overwritten by the next one.
    fs::path temporary = entry;
    temporary += ".part";
    std::error_code ignored;
    fs::remove(temporary, ignored);
    if (auto written = write(temporary); !written) {
        fs::remove(temporary, ignored);
        return fail(std::move(written).error());
    }
    CYBELE_TRY(const UniqueFd fd, open_for_reading(temporary));
    struct stat status {};
    if (::fstat(fd.get(), &status) != 0 ||
        ::fchmod(fd.get(), status.st_mode & ALLPERMS & ~mode_t{S_IWGRP | S_IWOTH}) != 0) {
        return fail(system_error("cannot set the mode of " + printable(temporary.native()), errno));
    }
    CYBELE_TRY(const std::uint64_t size, file_size(fd.get(), temporary));
    CYBELE_TRY(const Digest digest, sha256_range(fd.get(), 0, size, temporary));
    if (kind_of(kind).is_by_content && hex(digest) != key) {
        fs::remove(temporary, ignored);
        return fail(
            ErrorCode::kVerification,
            problem("cache-entry-wrong",
                    "what was brought for " + printable(entry.filename().native()) + " is not it"),
            "its SHA-256 is " + hex(digest));
    }
    // Not synced: an entry that a crash cuts has another digest, and is made again.
    if (::rename(temporary.c_str(), entry.c_str()) != 0) {
        const int saved = errno;
        fs::remove(temporary, ignored);
        return fail(system_error("cannot put " + printable(entry.native()) + " in place", saved));
    }
    CYBELE_CHECK(write_note(digest_file(entry), describe(digest, size)));
    (void)write_note(seen_file(entry), entry_stamp(fd));
    return entry;
}

std::uint64_t Cache::prune(std::string_view kind, std::uint64_t bytes) const {
    const auto found = entries(directory_ / kind);
    std::uint64_t total = 0;
    for (const CacheEntry& entry : found) {
        total += entry.bytes;
    }
    std::uint64_t freed = 0;
    for (const CacheEntry& entry : found) {
        if (total - freed <= bytes) {
            break;
        }
        freed += remove(entry) ? entry.bytes : 0;
    }
    return freed;
}

} // namespace cybele::registry
