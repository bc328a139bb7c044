// SPDX-License-Identifier: Apache-2.0
#include "runtime/containers/unpacked_trees.hpp"

#include "support/file.hpp"
#include "support/lock.hpp"

#include <algorithm>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

namespace cybele::runtime {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kKeySize = 64;
constexpr std::size_t kMostPath = 4096;
constexpr std::size_t kMostMounts = std::size_t{16} << 20U;
constexpr std::uint64_t kBlock = 512; // of st_blocks

fs::path beside(const fs::path& folder, const std::string& key, const char* suffix) {
    return folder / (key.substr(0, kKeySize) + suffix);
}

bool is_tree(const std::string& name) {
    const bool has_key =
        name.size() >= kKeySize && name.find_first_not_of("0123456789abcdef") >= kKeySize;
    return has_key && (name.size() == kKeySize || name.substr(kKeySize).starts_with(".part-"));
}

/// Folders that may not be read are counted as empty.
std::uint64_t bytes_of(const fs::path& tree) {
    std::uint64_t sum = 0;
    std::set<std::pair<dev_t, ino_t>> seen;
    std::error_code error;
    constexpr auto kSkip = fs::directory_options::skip_permission_denied;
    for (auto it = fs::recursive_directory_iterator(tree, kSkip, error);
         !error && it != fs::recursive_directory_iterator();
         it.increment(error)) {
        struct stat status = {};
        if (lstat(it->path().c_str(), &status) == 0 &&
            (status.st_nlink == 1 || S_ISDIR(status.st_mode) ||
             seen.emplace(status.st_dev, status.st_ino).second)) {
            sum += static_cast<std::uint64_t>(status.st_blocks) * kBlock;
        }
    }
    return sum;
}

std::int64_t last_use(const fs::path& folder, const std::string& key, const fs::path& tree) {
    struct stat status = {};
    if (lstat(beside(folder, key, ".used").c_str(), &status) == 0) {
        return status.st_mtim.tv_sec;
    }
    // Earlier versions noted no use; the tree's own mtime is the image's.
    return lstat(tree.c_str(), &status) == 0 ? status.st_ctim.tv_sec : 0;
}

/// Whether a process that may be looked at has it mounted: mountinfo(5) shows of a bind the folder
/// of the file system, and of an overlay what lies below, see Stage::name_image().
bool is_mounted(const std::string& key) {
    std::error_code error;
    for (auto it = fs::directory_iterator("/proc", error); !error && it != fs::directory_iterator();
         it.increment(error)) {
        const auto mounts = read_file(it->path() / "mountinfo", kMostMounts);
        // Else it is no process, or another user's.
        if (mounts && mounts->find(key) != std::string::npos) {
            return true;
        }
    }
    return false;
}

} // namespace

std::vector<UnpackedTree> unpacked_trees(const fs::path& cache) {
    const fs::path folder = cache / kUnpackedFolder;
    std::vector<UnpackedTree> trees;
    std::error_code error;
    for (auto it = fs::directory_iterator(folder, error); !error && it != fs::directory_iterator();
         it.increment(error)) {
        const std::string name = it->path().filename();
        if (is_tree(name) && it->symlink_status(error).type() == fs::file_type::directory) {
            const auto image = read_file(beside(folder, name, ".used"), kMostPath);
            trees.push_back({name,
                             it->path(),
                             bytes_of(it->path()),
                             last_use(folder, name, it->path()),
                             image ? *image : std::string()});
        }
    }
    std::sort(
        trees.begin(), trees.end(), [](const auto& a, const auto& b) { return a.key < b.key; });
    return trees;
}

bool remove_unpacked(const UnpackedTree& tree) {
    const fs::path folder = tree.path.parent_path();
    const std::string key = tree.key.substr(0, kKeySize);
    const UniqueFd lock(open(
        beside(folder, key, ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!lock.valid() || !take_lock(lock.get(), LOCK_EX | LOCK_NB) || is_mounted(key)) {
        return false;
    }
    fs::path going = tree.path;
    if (tree.key == key) {
        // Under its own name a tree is whole, also when this process is killed.
        going += ".part-old";
        std::error_code failed;
        if (!remove_tree(going)) {
            return false;
        }
        fs::rename(tree.path, going, failed);
        if (failed) {
            return false;
        }
        fs::remove(beside(folder, key, ".used"), failed);
    }
    return remove_tree(going).has_value(); // not its lock, for which another process may wait
}

void mark_unpacked_used(const fs::path& folder, const std::string& key, const fs::path& image) {
    const fs::path note = beside(folder, key, ".used");
    if (utimensat(AT_FDCWD, note.c_str(), nullptr, AT_SYMLINK_NOFOLLOW) != 0) {
        (void)write_file(note, image.native(), 0600);
    }
}

} // namespace cybele::runtime
