// SPDX-License-Identifier: Apache-2.0
#include "images/squashfs/file_node.hpp"

#include "support/quote.hpp"

#include <deque>
#include <set>

#include <fmt/format.h>
#include <sys/stat.h>

namespace cybele::images {
namespace {

constexpr int kMostLinks = 40; // as Linux
constexpr int kDeepestPath = 512;

// "/a/b" gives its names, without empty ones and ".".
std::deque<std::string> parts_of(std::string_view path) {
    std::deque<std::string> parts;
    for (std::size_t at = 0; at <= path.size();) {
        const auto end = std::min(path.find('/', at), path.size());
        const auto part = path.substr(at, end - at);
        if (!part.empty() && part != ".") {
            parts.emplace_back(part);
        }
        at = end + 1;
    }
    return parts;
}

class Walk {
public:
    explicit Walk(const FileVisitor& visitor) : visitor_(visitor) {}

    [[nodiscard]] Result<void> enter(const FilePointer& directory, std::string& path, int depth) {
        CYBELE_TRY(const auto children, directory->children());
        // The same directory under two names can be forged, and then be nested in itself. Empty
        // ones may be mount points, whose numbers are of other file systems.
        const bool is_again = !children.empty() && !seen_.insert(directory->status().inode).second;
        if (depth > kDeepestPath || is_again) {
            return fail(ErrorCode::kInput,
                        problem("image-directory-unreadable",
                                fmt::format("the directory {}/ of the image cannot be read",
                                            printable(path))),
                        depth > kDeepestPath
                            ? "directories are nested too deep"
                            : "it is the same as another one: the image is damaged");
        }
        for (const auto& child : children) {
            const auto length = path.size();
            path += '/';
            path += child->name();
            CYBELE_TRY(const bool is_wanted, visitor_(path, child));
            if (is_wanted && child->status().is_directory()) {
                CYBELE_CHECK(enter(child, path, depth + 1));
            }
            path.resize(length);
        }
        return {};
    }

private:
    const FileVisitor& visitor_;
    std::set<std::uint64_t> seen_;
};

} // namespace

bool FileStatus::is_directory() const {
    return S_ISDIR(mode);
}
bool FileStatus::is_regular() const {
    return S_ISREG(mode);
}
bool FileStatus::is_link() const {
    return S_ISLNK(mode);
}

Result<FilePointer> find_file(const FilePointer& root, std::string_view path) {
    std::vector<FilePointer> way{root};
    auto left = parts_of(path);
    for (int links = 0; !left.empty();) {
        const auto part = std::move(left.front());
        left.pop_front();
        if (part == "..") {
            if (way.size() > 1) {
                way.pop_back();
            }
            continue;
        }
        if (!way.back()->status().is_directory()) {
            return FilePointer{};
        }
        CYBELE_TRY(auto next, way.back()->child(part));
        if (!next) {
            return FilePointer{};
        }
        if (!next->status().is_link()) {
            way.push_back(std::move(next));
            continue;
        }
        const auto& target = next->status().target;
        if (++links > kMostLinks) {
            return FilePointer{};
        }
        if (target.starts_with('/')) {
            way.resize(1);
        }
        auto more = parts_of(target);
        left.insert(left.begin(), more.begin(), more.end());
    }
    return way.back();
}

Result<std::string> read_node(const FileNode& node, std::size_t limit) {
    std::string bytes;
    if (node.status().size > limit) {
        return fail(ErrorCode::kInput,
                    problem("image-file-too-big",
                            fmt::format("{} in the image is too big", printable(node.name()))),
                    fmt::format("at most {} bytes are read of it", limit));
    }
    CYBELE_CHECK(node.read([&](std::string_view piece) -> Result<void> {
        bytes += piece;
        return {};
    }));
    return bytes;
}

Result<std::optional<std::string>>
read_file_at(const FilePointer& root, std::string_view path, std::size_t limit) {
    CYBELE_TRY(const auto node, find_file(root, path));
    if (!node || !node->status().is_regular()) {
        return std::nullopt;
    }
    CYBELE_TRY(auto bytes, read_node(*node, limit));
    return std::optional<std::string>(std::move(bytes));
}

Result<void> walk_files(const FilePointer& root, const FileVisitor& visitor) {
    std::string path;
    return Walk(visitor).enter(root, path, 0);
}

} // namespace cybele::images
