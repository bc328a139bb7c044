// SPDX-License-Identifier: Apache-2.0
#include "registry/cache.hpp"

#include "support/digest.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cybele::registry {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSuffix = ".tar";

fs::path digest_file(fs::path entry) {
    return entry += ".sha256";
}

fs::path lock_file(fs::path entry) {
    return entry += ".lock";
}

void remove_entry(const fs::path& entry) {
    std::error_code ignored;
    // The digest last: an entry without one is never given.
    fs::remove(entry, ignored);
    fs::remove(digest_file(entry), ignored);
}

/// What the digest file holds: the digest and the size, so that a cut file is found without
/// reading.
std::string describe(const Digest& digest, std::uint64_t size) {
    return fmt::format("{} {}\n", hex(digest), size);
}

struct Candidate {
    fs::path path;
    std::uint64_t bytes = 0;
    timespec used{};
};

std::vector<Candidate> entries(const fs::path& directory) {
    std::vector<Candidate> found;
    std::error_code error;
    for (auto it = fs::directory_iterator(directory, error);
         !error && it != fs::directory_iterator();
         it.increment(error)) {
        struct stat status {};
        if (it->path().extension() == kSuffix && ::lstat(it->path().c_str(), &status) == 0 &&
            S_ISREG(status.st_mode)) {
            found.push_back(
                {it->path(), static_cast<std::uint64_t>(status.st_size), status.st_mtim});
        }
    }
    std::sort(found.begin(), found.end(), [](const Candidate& a, const Candidate& b) {
        return std::pair(a.used.tv_sec, a.used.tv_nsec) < std::pair(b.used.tv_sec, b.used.tv_nsec);
    });
    return found;
}

} // namespace

fs::path Cache::path(std::string_view kind, std::string_view key) const {
    return directory_ / kind / (hex(sha256(key)) + std::string(kSuffix));
}

Result<Cache::Lock> Cache::lock(std::string_view kind, std::string_view key) const {
    const fs::path file = lock_file(path(kind, key));
    CYBELE_CHECK(make_directories(file.parent_path(), 0700));
    UniqueFd fd(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!fd.valid()) {
        return fail(
            system_error("cannot open the cache's lock " + printable(file.native()), errno));
    }
    while (::flock(fd.get(), LOCK_EX) != 0) {
        if (errno != EINTR) {
            return fail(system_error("cannot lock " + printable(file.native()), errno));
        }
    }
    return Lock(std::move(fd));
}

std::optional<fs::path> Cache::get(std::string_view kind, std::string_view key) const {
    fs::path entry = path(kind, key);
    UniqueFd fd(::open(entry.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (!fd.valid()) {
        return std::nullopt;
    }
    const auto known = read_file(digest_file(entry), 4096);
    const auto size = file_size(fd.get(), entry);
    if (known && size && known->ends_with(fmt::format(" {}\n", *size))) {
        const auto digest = sha256_range(fd.get(), 0, *size, entry);
        if (digest && *known == describe(*digest, *size)) {
            (void)::futimens(fd.get(), nullptr);
            return entry;
        }
    }
    remove_entry(entry);
    return std::nullopt;
}

Result<fs::path> Cache::put(std::string_view kind,
                            std::string_view key,
                            const std::function<Result<void>(const fs::path&)>& write) const {
    const fs::path entry = path(kind, key);
    CYBELE_CHECK(make_directories(entry.parent_path(), 0700));
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
    CYBELE_TRY(const std::uint64_t size, file_size(fd.get(), temporary));
    CYBELE_TRY(const Digest digest, sha256_range(fd.get(), 0, size, temporary));
    // Not synced: an entry that a crash cuts has another digest, and is made again.
    if (::rename(temporary.c_str(), entry.c_str()) != 0) {
        const int saved = errno;
        fs::remove(temporary, ignored);
        return fail(system_error("cannot put " + printable(entry.native()) + " in place", saved));
    }
    CYBELE_CHECK(write_file(digest_file(entry), describe(digest, size), 0600));
    return entry;
}

Result<fs::path>
Cache::get_or_put(std::string_view kind,
                  std::string_view key,
                  const std::function<Result<void>(const fs::path&)>& write) const {
    CYBELE_TRY(const Lock held, lock(kind, key));
    if (auto entry = get(kind, key)) {
        return *entry;
    }
    return put(kind, key, write);
}

std::uint64_t Cache::prune(std::string_view kind, std::uint64_t bytes) const {
    const auto found = entries(directory_ / kind);
    std::uint64_t total = 0;
    for (const Candidate& candidate : found) {
        total += candidate.bytes;
    }
    std::uint64_t freed = 0;
    for (const Candidate& candidate : found) {
        if (total - freed <= bytes) {
            break;
        }
        const UniqueFd fd(::open(
            lock_file(candidate.path).c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
        if (fd.valid() && ::flock(fd.get(), LOCK_EX | LOCK_NB) == 0) {
            remove_entry(candidate.path);
            freed += candidate.bytes;
        }
    }
    return freed;
}

} // namespace cybele::registry
