// SPDX-License-Identifier: Apache-2.0
#include "images/inspection/listing.hpp"

#include "support/quote.hpp"

#include <array>
#include <ctime>
#include <vector>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/stat.h>

namespace cybele::images {
namespace {

struct FileType {
    std::uint32_t bits;
    char letter;
    std::string_view name;
};
constexpr std::array kTypeLetters = {
    FileType{S_IFREG, '-', "file"},
    FileType{S_IFDIR, 'd', "directory"},
    FileType{S_IFLNK, 'l', "link"},
    FileType{S_IFIFO, 'p', "fifo"},
    FileType{S_IFSOCK, 's', "socket"},
    FileType{S_IFCHR, 'c', "character device"},
    FileType{S_IFBLK, 'b', "block device"},
};

const FileType& type_of(std::uint32_t mode) {
    for (const auto& type : kTypeLetters) {
        if ((mode & S_IFMT) == type.bits) {
            return type;
        }
    }
    return kTypeLetters.front();
}

// `[a-z]` or `[!a-z]` at the begin of the pattern; its length goes to `size`, 0 when it never ends.
bool matches_set(std::string_view pattern, char c, std::size_t& size) {
    std::size_t at = 1;
    const bool is_negated = at < pattern.size() && (pattern[at] == '!' || pattern[at] == '^');
    at += is_negated ? 1 : 0;
    bool is_in = false;
    for (const auto first = at; at < pattern.size() && (pattern[at] != ']' || at == first); ++at) {
        if (at + 2 < pattern.size() && pattern[at + 1] == '-' && pattern[at + 2] != ']') {
            is_in = is_in || (pattern[at] <= c && c <= pattern[at + 2]);
            at += 2;
        } else {
            is_in = is_in || pattern[at] == c;
        }
    }
    size = at < pattern.size() ? at + 1 : 0;
    return is_in != is_negated && c != '/';
}

// Each character of the pattern against every place that the ones before can reach: no pattern
// takes longer than its length times that of the text.
bool matches_whole(std::string_view pattern, std::string_view text) {
    std::vector<bool> reached(text.size() + 1, false);
    reached[0] = true;
    while (!pattern.empty()) {
        std::vector<bool> next(text.size() + 1, false);
        std::size_t size = 1;
        const bool is_any = pattern.starts_with("**");
        if (pattern.front() == '*') {
            size = is_any ? 2 : 1;
            bool is_open = false;
            for (std::size_t at = 0; at <= text.size(); ++at) {
                is_open = reached[at] || (is_open && (is_any || text[at - 1] != '/'));
                next[at] = is_open;
            }
        } else {
            std::size_t set = 0;
            for (std::size_t at = 0; at < text.size(); ++at) {
                bool is_match = pattern.front() == text[at];
                if (pattern.front() == '?') {
                    is_match = text[at] != '/';
                } else if (pattern.front() == '[') {
                    const bool is_in = matches_set(pattern, text[at], set);
                    is_match = set == 0 ? is_match : is_in;
                } else if (pattern.front() == '\\' && pattern.size() > 1) {
                    set = 2;
                    is_match = pattern[1] == text[at];
                }
                next[at + 1] = reached[at] && is_match;
            }
            size = set == 0 ? 1 : set;
        }
        reached = std::move(next);
        pattern.remove_prefix(size);
    }
    return reached[text.size()];
}

} // namespace

std::string mode_text(std::uint32_t mode) {
    std::string text(1, type_of(mode).letter);
    constexpr std::string_view kRights = "rwx";
    for (unsigned bit = 0; bit < 9; ++bit) {
        text += (mode & (0400U >> bit)) != 0 ? kRights[bit % 3] : '-';
    }
    const auto mark = [&](std::uint32_t bit, std::size_t at, char with, char without) {
        if ((mode & bit) != 0) {
            text[at] = text[at] == 'x' ? with : without;
        }
    };
    mark(S_ISUID, 3, 's', 'S');
    mark(S_ISGID, 6, 's', 'S');
    mark(S_ISVTX, 9, 't', 'T');
    return text;
}

std::string_view type_name(std::uint32_t mode) {
    return type_of(mode).name;
}

std::string time_text(std::int64_t unix_seconds) {
    const std::time_t time = unix_seconds;
    std::tm parts{};
    if (::gmtime_r(&time, &parts) == nullptr) { // a year that no calendar has
        return fmt::format("{}", unix_seconds);
    }
    return fmt::format("{:%Y-%m-%d %H:%M}", parts);
}

std::string listing_line(const std::string& path, const FileStatus& status) {
    const bool is_device = S_ISCHR(status.mode) || S_ISBLK(status.mode);
    const auto size = is_device ? fmt::format("{},{}", status.major, status.minor)
                                : fmt::format("{}", status.size);
    return fmt::format("{} {:>5} {:>5} {:>10} {} {}{}{}",
                       mode_text(status.mode),
                       status.uid,
                       status.gid,
                       size,
                       time_text(status.mtime),
                       printable(path),
                       status.is_link() ? " -> " : "",
                       printable(status.target));
}

bool matches_glob(std::string_view pattern, std::string_view path) {
    if (pattern.find('/') == std::string_view::npos) {
        path = path.substr(path.rfind('/') + 1);
    } else if (!pattern.starts_with('/') && path.starts_with('/')) {
        path.remove_prefix(1);
    }
    return matches_whole(pattern, path);
}

} // namespace cybele::images
