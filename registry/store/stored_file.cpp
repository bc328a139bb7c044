// SPDX-License-Identifier: Apache-2.0
#include "registry/store/stored_file.hpp"

#include <string>
#include <system_error>

#include <sys/stat.h>

namespace cybele::registry {

namespace fs = std::filesystem;

namespace {

/// ROOT/blobs/sha256/AB/REST of a folder that is a store.
bool is_blob(const fs::path& real) {
    constexpr std::size_t kDigits = 64;
    const fs::path shard = real.parent_path();
    const std::string digits = shard.filename().native() + real.filename().native();
    const Place place(shard.parent_path().parent_path().parent_path());
    std::error_code error;
    return digits.size() == kDigits && place.blob("sha256:" + digits) == real &&
           fs::exists(place.format_file(), error);
}

} // namespace

bool is_stored_file(const Place& place, const fs::path& file) {
    std::error_code error;
    const fs::path real = fs::canonical(file, error);
    if (error || is_blob(real)) {
        return !error;
    }
    struct stat asked {};
    if (::stat(real.c_str(), &asked) != 0 || !S_ISREG(asked.st_mode) || asked.st_nlink < 2) {
        return false;
    }
    constexpr mode_t kWritable = 0222;
    if ((asked.st_mode & kWritable) == 0) {
        return true; // so are images of every store
    }
    fs::recursive_directory_iterator entry(place.blobs(), error);
    for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
        struct stat blob {};
        if (::lstat(entry->path().c_str(), &blob) == 0 && blob.st_ino == asked.st_ino &&
            blob.st_dev == asked.st_dev) {
            return true;
        }
    }
    return false;
}

} // namespace cybele::registry
