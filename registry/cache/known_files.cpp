// SPDX-License-Identifier: Apache-2.0
#include "registry/cache/known_files.hpp"

#include "registry/cache/cache.hpp"
#include "support/encoding.hpp"
#include "support/file.hpp"
#include "support/lock.hpp"
#include "support/note.hpp"
#include "support/own_folder.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

namespace cybele::registry {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kKnownFilesFormat = "cybelectl known files 1\n";
constexpr std::size_t kLineBytes = 256; ///< more than any line has
constexpr std::int64_t kDay = 86'400'000'000'000;

fs::path file_below(const fs::path& cache) {
    return cache / "known-files";
}

/// Held until it goes; not valid where it cannot be had.
UniqueFd lock(const fs::path& file) {
    UniqueFd fd(
        ::open((file.native() + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (fd.valid() && !take_lock(fd.get(), LOCK_EX)) {
        fd.reset();
    }
    return fd;
}

/// Removes what a killed process left of a list that it wrote. The lock is held.
void sweep(const fs::path& file) {
    const std::string begin = file.filename().native() + ".new.";
    std::error_code error;
    for (auto at = fs::directory_iterator(file.parent_path(), error);
         !error && at != fs::directory_iterator();
         at.increment(error)) {
        if (at->path().filename().native().starts_with(begin)) {
            std::error_code ignored;
            fs::remove(at->path(), ignored);
        }
    }
}

/// The next word of a line, which loses it.
std::string_view take_word(std::string_view& line) {
    const std::string_view word = line.substr(0, line.find(' '));
    line.remove_prefix(std::min(line.size(), word.size() + 1));
    return word;
}

template <class Number>
bool take_number(std::string_view& line, Number& number) {
    const std::string_view word = take_word(line);
    const char* const end = word.data() + word.size();
    const auto [last, error] = std::from_chars(word.data(), end, number);
    return error == std::errc() && last == end;
}

bool take_digest(std::string_view& line, Digest& digest) {
    const std::string_view word = take_word(line);
    if (word.size() != 2 * digest.size()) {
        return false;
    }
    for (std::size_t i = 0; i < digest.size(); ++i) {
        const char* const at = word.data() + 2 * i;
        const auto [last, error] = std::from_chars(at, at + 2, digest[i], 16);
        if (error != std::errc() || last != at + 2) {
            return false;
        }
    }
    return true;
}

} // namespace

KnownFiles::Files KnownFiles::read(const fs::path& file) {
    Files files;
    const auto text = read_file(file, kMost * kLineBytes);
    if (!text || !text->starts_with(kKnownFilesFormat)) {
        return files;
    }
    std::string_view left = std::string_view(*text).substr(kKnownFilesFormat.size());
    while (!left.empty()) {
        std::string_view line = left.substr(0, left.find('\n'));
        left.remove_prefix(std::min(left.size(), line.size() + 1));
        const std::string_view what = take_word(line);
        Known known;
        if ((what == "c" || what == "m") && take_number(line, known.stamp.device) &&
            take_number(line, known.stamp.inode) && take_number(line, known.stamp.bytes) &&
            take_number(line, known.stamp.modified) && take_number(line, known.stamp.changed) &&
            take_digest(line, known.digest) && take_number(line, known.used) && line.empty()) {
            files[{static_cast<What>(what[0]), {known.stamp.device, known.stamp.inode}}] = known;
        }
    }
    return files;
}

std::string KnownFiles::print(const Files& files) {
    std::string text(kKnownFilesFormat);
    for (const auto& [name, known] : files) {
        fmt::format_to(std::back_inserter(text),
                       "{} {} {} {} {} {} {} {}\n",
                       static_cast<char>(name.first),
                       known.stamp.device,
                       known.stamp.inode,
                       known.stamp.bytes,
                       known.stamp.modified,
                       known.stamp.changed,
                       hex(known.digest),
                       known.used);
    }
    return text;
}

KnownFiles KnownFiles::open(const fs::path& cache, bool reads) {
    KnownFiles known(file_below(cache));
    if (reads && check_own_folder({cache, "the cache", "CYBELE_CACHE_DIR"})) {
        known.files_ = read(known.file_);
    }
    return known;
}

KnownFiles KnownFiles::open_own(const fs::path& cache) {
    // A build that is refused makes no cache: save() does.
    std::error_code error;
    const bool is_new = !fs::exists(cache, error);
    if (!is_new && !Cache(cache).prepare()) {
        return none();
    }
    KnownFiles known = open(cache, !is_new);
    known.new_cache_ = is_new ? cache : fs::path();
    return known;
}

std::optional<Digest> KnownFiles::find(What what, const FileStamp& stamp) {
    const auto found = files_.find({what, {stamp.device, stamp.inode}});
    if (found == files_.end() || found->second.stamp != stamp) {
        return std::nullopt;
    }
    const std::int64_t today = nanoseconds_now() / kDay;
    if (found->second.used != today) {
        found->second.used = today;
        news_.insert_or_assign(found->first, found->second);
    }
    return found->second.digest;
}

void KnownFiles::remember(What what, const FileStamp& stamp, const Digest& digest) {
    const std::pair<What, Name> name{what, {stamp.device, stamp.inode}};
    const Known known{stamp, digest, nanoseconds_now() / kDay};
    files_.insert_or_assign(name, known);
    news_.insert_or_assign(name, known);
}

Result<Digest> KnownFiles::content_of(int fd, const fs::path& path) {
    const std::optional<FileStamp> stamp = stamp_of(fd);
    if (stamp) {
        if (const auto known = find(What::kContent, *stamp)) {
            return *known;
        }
    }
    const bool is_settled = stamp && stamp->is_settled(nanoseconds_now());
    CYBELE_TRY(const std::uint64_t size, file_size(fd, path));
    CYBELE_TRY(const Digest digest, sha256_range(fd, 0, size, path));
    if (is_settled && stamp_of(fd) == stamp) {
        remember(What::kContent, *stamp, digest);
    }
    return digest;
}

void KnownFiles::save() {
    if (news_.empty() || file_.empty() || (!new_cache_.empty() && !Cache(new_cache_).prepare())) {
        return;
    }
    const UniqueFd held = lock(file_);
    if (!held.valid()) {
        return;
    }
    Files all = read(file_);
    for (const auto& [name, known] : news_) {
        all.insert_or_assign(name, known);
    }
    if (all.size() > kMost) {
        std::vector<std::pair<std::int64_t, Files::key_type>> by_use;
        by_use.reserve(all.size());
        for (const auto& [name, known] : all) {
            by_use.emplace_back(known.used, name);
        }
        std::sort(by_use.begin(), by_use.end());
        by_use.resize(all.size() - kMost);
        for (const auto& [used, name] : by_use) {
            all.erase(name);
        }
    }
    sweep(file_);
    if (write_note(file_, print(all))) {
        news_.clear();
    }
}

std::size_t KnownFiles::forget(const fs::path& cache, std::optional<std::int64_t> before) {
    const fs::path file = file_below(cache);
    const UniqueFd held = lock(file);
    Files all = read(file);
    const std::size_t count = all.size();
    std::erase_if(all, [&](const auto& one) { return !before || one.second.used < *before; });
    const std::size_t gone = count - all.size();
    if (held.valid() && gone > 0) {
        (void)write_note(file, print(all));
    }
    return gone;
}

} // namespace cybele::registry
