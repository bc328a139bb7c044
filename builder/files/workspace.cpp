// SPDX-License-Identifier: Apache-2.0
#include "builder/files/workspace.hpp"

#include "support/quote.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <ctime>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cybele::builder {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLock = "lock";
constexpr const char* kNewLock = "lock.new";
/// An empty folder without a lock may be one that is just being made.
constexpr std::time_t kUnlockedSeconds = 3600;

/// Whether a folder without a lock has contents: its build was killed while it removed them.
bool is_half_removed(const fs::path& directory) {
    std::error_code error;
    for (auto it = fs::directory_iterator(directory, error);
         !error && it != fs::directory_iterator();
         it.increment(error)) {
        if (it->path().filename() != kLock && it->path().filename() != kNewLock) {
            return true;
        }
    }
    return false;
}

/// True where no living build has this folder.
bool is_abandoned(const fs::path& directory) {
    struct stat status {};
    if (::lstat(directory.c_str(), &status) != 0 || !S_ISDIR(status.st_mode) ||
        status.st_uid != ::geteuid()) {
        return false;
    }
    const UniqueFd lock(::open((directory / kLock).c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
    if (!lock.valid()) {
        return is_half_removed(directory) ||
               std::time(nullptr) - status.st_mtime > kUnlockedSeconds;
    }
    return ::flock(lock.get(), LOCK_EX | LOCK_NB) == 0;
}

void sweep(const fs::path& parent, namespaces::IdMap map) {
    std::error_code error;
    for (auto it = fs::directory_iterator(parent, error); !error && it != fs::directory_iterator();
         it.increment(error)) {
        if (it->path().filename().native().starts_with(kWorkspacePrefix) &&
            is_abandoned(it->path())) {
            (void)remove_tree_as(map, it->path());
        }
    }
}

std::string in_mib(std::uint64_t bytes) {
    return fmt::format("{} MiB", bytes >> 20U);
}

} // namespace

Result<void> remove_tree_as(namespaces::IdMap map, const fs::path& path) {
    if (remove_tree(path)) {
        return {};
    }
    // Files of subordinate owners: only inside the map may we remove them.
    CYBELE_TRY(const int code,
               namespaces::run_in_namespaces(map, [&] { return remove_tree(path) ? 0 : 1; }));
    if (code != 0) {
        return remove_tree(path);
    }
    return {};
}

Result<Workspace> Workspace::make(const fs::path& parent, namespaces::IdMap map) {
    CYBELE_CHECK(make_directories(parent));
    sweep(parent, map);
    CYBELE_TRY(TempDirectory directory, TempDirectory::make(parent, kWorkspacePrefix));
    const fs::path file = directory.path() / kLock;
    // Under its name only when it is locked: another build that begins now would take an unlocked
    // one for that of a killed build, and remove the folder.
    const fs::path fresh = directory.path() / kNewLock;
    UniqueFd lock(::open(fresh.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!lock.valid() || ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0 ||
        ::rename(fresh.c_str(), file.c_str()) != 0) {
        return fail(system_error("cannot lock " + printable(file.native()), errno));
    }
    return Workspace(std::move(directory), std::move(lock), map);
}

Workspace::~Workspace() {
    if (!directory_.path().empty()) {
        (void)remove_tree_as(map_, directory_.path());
    }
}

namespace {

/// MemAvailable of /proc/meminfo, in bytes; 0 if it cannot be read.
std::uint64_t available_memory() {
    constexpr std::string_view kField = "MemAvailable:";
    const auto text = read_file("/proc/meminfo");
    const std::size_t at = text ? text->find(kField) : std::string::npos;
    if (at == std::string::npos) {
        return 0;
    }
    const std::size_t first = text->find_first_not_of(' ', at + kField.size());
    std::uint64_t kibibytes = 0;
    (void)std::from_chars(text->data() + first, text->data() + text->size(), kibibytes);
    return kibibytes << 10U;
}

} // namespace

fs::path building_directory(const Environment& environment, std::uint64_t needed) {
    constexpr const char* kTmpfs = "/dev/shm";
    constexpr std::uint64_t kLeast = std::uint64_t{4} << 30U;
    const bool is_chosen = environment.get("CYBELE_TMPDIR") || environment.get("TMPDIR");
    const std::uint64_t wanted = std::max(kLeast, 3 * needed);
    if (!is_chosen && ::access(kTmpfs, W_OK | X_OK) == 0 && available_memory() >= 2 * wanted &&
        free_space(kTmpfs).value_or(0) >= wanted) {
        return kTmpfs;
    }
    return environment.temporary_directory();
}

Result<void> need_space(const fs::path& directory, std::uint64_t needed) {
    const auto free = free_space(directory);
    if (!free || *free >= needed) {
        return {};
    }
    return fail(
        ErrorCode::kEnvironment,
        problem("build-space", "not enough space to build in " + printable(directory.native())),
        fmt::format("{} are needed, {} are free", in_mib(needed), in_mib(*free)),
        "set CYBELE_TMPDIR to a folder with more space, on a local disk");
}

} // namespace cybele::builder
