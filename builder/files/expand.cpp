// SPDX-License-Identifier: Apache-2.0
#include "builder/files/expand.hpp"

#include "runtime/namespaces/resolve.hpp"
#include "support/characters.hpp"
#include "support/file.hpp"

#include <algorithm>
#include <memory>

#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cybele::builder {
namespace {

namespace fs = std::filesystem;

/// The end of the group that begins at `begin` with '{', and the places of its commas.
bool find_group(std::string_view word,
                std::size_t begin,
                std::size_t& end,
                std::vector<std::size_t>& commas) {
    int depth = 0;
    commas.clear();
    for (std::size_t i = begin; i < word.size(); ++i) {
        if (word[i] == '\\') {
            ++i;
        } else if (word[i] == '{') {
            ++depth;
        } else if (word[i] == ',' && depth == 1) {
            commas.push_back(i);
        } else if (word[i] == '}' && --depth == 0) {
            end = i;
            return !commas.empty();
        }
    }
    return false;
}

std::string without_backslashes(std::string_view word) {
    std::string result;
    for (std::size_t i = 0; i < word.size(); ++i) {
        if (word[i] == '\\' && i + 1 < word.size()) {
            ++i;
        }
        result += word[i];
    }
    return result;
}

bool is_pattern(std::string_view component) {
    return component.find_first_of("*?[") != std::string_view::npos;
}

struct CloseDirectory {
    void operator()(DIR* directory) const {
        ::closedir(directory);
    }
};

/// The names in a directory inside the root that match, sorted.
std::vector<std::string>
matching_names(int root, const fs::path& directory, const std::string& pattern) {
    std::vector<std::string> names;
    const auto place = namespaces::open_in_root(root, directory);
    if (!place) {
        return names;
    }
    const int fd = ::openat(place->get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const std::unique_ptr<DIR, CloseDirectory> stream(fd < 0 ? nullptr : ::fdopendir(fd));
    // The stream is read by this thread only.
    while (const dirent* entry = stream ? ::readdir(stream.get()) : nullptr) { // NOLINT
        if (::fnmatch(pattern.c_str(), entry->d_name, FNM_PERIOD) == 0) {
            names.emplace_back(entry->d_name);
        }
    }
    std::sort(names.begin(), names.end());
    return names;
}

} // namespace

std::vector<std::string> expand_braces(std::string_view word) {
    for (std::size_t begin = word.find('{'); begin != std::string_view::npos;
         begin = word.find('{', begin + 1)) {
        std::size_t end = 0;
        std::vector<std::size_t> commas;
        const bool is_variable = begin > 0 && word[begin - 1] == '$';
        if (is_variable || !find_group(word, begin, end, commas)) {
            continue;
        }
        commas.push_back(end);
        std::vector<std::string> result;
        std::size_t from = begin + 1;
        for (const std::size_t comma : commas) {
            std::string one(word.substr(0, begin));
            one += word.substr(from, comma - from);
            one += word.substr(end + 1);
            const auto further = expand_braces(one);
            result.insert(result.end(), further.begin(), further.end());
            from = comma + 1;
        }
        return result;
    }
    return {std::string(word)};
}

std::string expand_variables(std::string_view word,
                             const std::map<std::string, std::string>& variables) {
    std::string result;
    for (std::size_t i = 0; i < word.size();) {
        if (word[i] == '\\' && i + 1 < word.size()) {
            result += word.substr(i, 2);
            i += 2;
            continue;
        }
        const bool braced = word.substr(i).starts_with("${");
        std::size_t end = i + (braced ? 2 : 1);
        const std::size_t begin = end;
        while (end < word.size() &&
               (end == begin ? is_word_start(word[end]) : is_word_character(word[end]))) {
            ++end;
        }
        if (word[i] != '$' || end == begin ||
            (braced && (end >= word.size() || word[end] != '}'))) {
            result += word[i++];
            continue;
        }
        const auto found = variables.find(std::string(word.substr(begin, end - begin)));
        result += found == variables.end() ? std::string() : found->second;
        i = end + (braced ? 1U : 0U);
    }
    return result;
}

std::vector<fs::path> expand_pattern(const fs::path& root, std::string_view pattern) {
    const UniqueFd top(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    std::vector<fs::path> found{"/"};
    for (const fs::path& part : fs::path(pattern).relative_path()) {
        const std::string& component = part.native();
        std::vector<fs::path> next;
        for (const fs::path& base : found) {
            if (!is_pattern(component)) {
                next.push_back(base / without_backslashes(component));
                continue;
            }
            for (const std::string& name : matching_names(top.get(), base, component)) {
                next.push_back(base / name);
            }
        }
        found = std::move(next);
    }
    // Literal parts behind a pattern may be missing below some of its matches.
    if (is_pattern(pattern)) {
        std::erase_if(found, [&](const fs::path& path) {
            const auto parent = namespaces::open_in_root(top.get(), path.parent_path());
            struct stat status {};
            return !parent ||
                   ::fstatat(
                       parent->get(), path.filename().c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0;
        });
    }
    if (found.empty()) {
        found.emplace_back(without_backslashes(pattern));
    }
    return found;
}

} // namespace cybele::builder
