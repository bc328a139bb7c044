// SPDX-License-Identifier: Apache-2.0
#include "images/inspection/diff.hpp"
#include "images/inspection/listing.hpp"
#include "support/digest.hpp"
#include "support/encoding.hpp"
#include "support/quote.hpp"

#include <array>
#include <set>

#include <fmt/format.h>
#include <sys/stat.h>

namespace cybele::images {
namespace {

constexpr int kDeepestCompared = 512;

/// A field that stands in a file's status, as text.
struct StatusField {
    const char* name;
    std::string (*text)(const FileStatus& status);
    bool is_time = false;
};
constexpr std::array kStatusFields = {
    StatusField{"mode",
                [](const FileStatus& s) { return fmt::format("{:04o}", s.mode & ALLPERMS); }},
    StatusField{"uid", [](const FileStatus& s) { return fmt::format("{}", s.uid); }},
    StatusField{"gid", [](const FileStatus& s) { return fmt::format("{}", s.gid); }},
    StatusField{"device",
                [](const FileStatus& s) {
                    return S_ISCHR(s.mode) || S_ISBLK(s.mode)
                               ? fmt::format("{},{}", s.major, s.minor)
                               : std::string{};
                }},
    StatusField{"target", [](const FileStatus& s) { return s.target; }},
    StatusField{"size",
                [](const FileStatus& s) {
                    return S_ISREG(s.mode) ? fmt::format("{}", s.size) : std::string{};
                }},
    StatusField{"time", [](const FileStatus& s) { return fmt::format("{}", s.mtime); }, true},
};

Result<std::string> content_digest(const FileNode& node) {
    Sha256 digest;
    CYBELE_CHECK(node.read([&](std::string_view bytes) -> Result<void> {
        digest.update(bytes);
        return {};
    }));
    return "sha256:" + hex(digest.finish());
}

class Comparison {
public:
    Comparison(const DiffOptions& options, const DifferenceSink& sink)
        : options_(options), sink_(sink) {}

    [[nodiscard]] Result<void>
    compare(const FilePointer& before, const FilePointer& after, int depth);

private:
    [[nodiscard]] Result<void> tell_only(const FilePointer& node, Change change, int depth);
    [[nodiscard]] Result<void> compare_node(const FileNode& before, const FileNode& after);
    [[nodiscard]] Result<void> compare_content(const FileNode& before,
                                               const FileNode& after,
                                               std::vector<FieldChange>& fields) const;
    [[nodiscard]] Result<std::vector<FilePointer>>
    enter(const FilePointer& directory, std::set<std::uint64_t>& seen, int depth) const;

    const DiffOptions& options_;
    const DifferenceSink& sink_;
    std::set<std::uint64_t> seen_before_; // directories; one that comes twice never ends
    std::set<std::uint64_t> seen_after_;
    std::string path_;
};

Result<std::vector<FilePointer>>
Comparison::enter(const FilePointer& directory, std::set<std::uint64_t>& seen, int depth) const {
    if (!directory || !directory->status().is_directory()) {
        return std::vector<FilePointer>{};
    }
    if (depth > kDeepestCompared || !seen.insert(directory->status().inode).second) {
        return fail(
            ErrorCode::kInput,
            problem("image-directory-unreadable",
                    fmt::format("the directory {}/ of an image cannot be read", printable(path_))),
            "it is the same as another one, or nested too deep: the image is damaged",
            "fetch or build the image again");
    }
    return directory->children();
}

Result<void> Comparison::compare_content(const FileNode& before,
                                         const FileNode& after,
                                         std::vector<FieldChange>& fields) const {
    if (before.status().is_regular() && after.status().is_regular()) {
        CYBELE_TRY(auto old_digest, content_digest(before));
        CYBELE_TRY(auto new_digest, content_digest(after));
        if (old_digest != new_digest) {
            fields.push_back({"content", std::move(old_digest), std::move(new_digest)});
        }
    }
    CYBELE_TRY(const auto old_attributes, before.attributes());
    CYBELE_TRY(const auto new_attributes, after.attributes());
    auto all = old_attributes;
    all.insert(new_attributes.begin(), new_attributes.end());
    for (const auto& [name, ignored] : all) {
        const auto value = [&](const auto& attributes) {
            const auto found = attributes.find(name);
            return found == attributes.end()
                       ? std::string{}
                       : "0x" + hex({reinterpret_cast<const std::uint8_t*>(found->second.data()),
                                     found->second.size()});
        };
        if (value(old_attributes) != value(new_attributes)) {
            fields.push_back({"attribute " + name, value(old_attributes), value(new_attributes)});
        }
    }
    return {};
}

Result<void> Comparison::compare_node(const FileNode& before, const FileNode& after) {
    Difference difference{"file", Change::kChanged, path_.empty() ? "/" : path_, {}, {}};
    const auto old_type = type_name(before.status().mode);
    const auto new_type = type_name(after.status().mode);
    if (old_type != new_type) {
        difference.fields.push_back({"type", std::string(old_type), std::string(new_type)});
    }
    for (const auto& field : kStatusFields) {
        auto old_text = field.text(before.status());
        auto new_text = field.text(after.status());
        if (old_text != new_text && !(field.is_time && options_.ignore_time)) {
            difference.fields.push_back({field.name, std::move(old_text), std::move(new_text)});
        }
    }
    CYBELE_CHECK(compare_content(before, after, difference.fields));
    if (!difference.fields.empty()) {
        sink_(difference);
    }
    return {};
}

Result<void> Comparison::tell_only(const FilePointer& node, Change change, int depth) {
    const bool is_added = change == Change::kAdded;
    const auto& status = node->status();
    auto text = fmt::format("{} {} {}", mode_text(status.mode), status.uid, status.gid);
    if (status.is_regular()) {
        text += fmt::format(" {} bytes", status.size);
    } else if (status.is_link()) {
        text += " -> " + status.target;
    }
    sink_({"file", change, path_, {{"", is_added ? "" : text, is_added ? text : ""}}, {}});
    CYBELE_TRY(const auto children, enter(node, is_added ? seen_after_ : seen_before_, depth));
    for (const auto& child : children) {
        const auto length = path_.size();
        path_ += "/" + child->name();
        CYBELE_CHECK(tell_only(child, change, depth + 1));
        path_.resize(length);
    }
    return {};
}

Result<void> Comparison::compare(const FilePointer& before, const FilePointer& after, int depth) {
    CYBELE_CHECK(compare_node(*before, *after));
    CYBELE_TRY(const auto old_children, enter(before, seen_before_, depth));
    CYBELE_TRY(const auto new_children, enter(after, seen_after_, depth));
    auto old_child = old_children.begin();
    auto new_child = new_children.begin();
    while (old_child != old_children.end() || new_child != new_children.end()) {
        const bool has_old = old_child != old_children.end();
        const bool has_new = new_child != new_children.end();
        const int order = !has_old   ? 1
                          : !has_new ? -1
                                     : (*old_child)->name().compare((*new_child)->name());
        const auto length = path_.size();
        path_ += "/" + (order <= 0 ? *old_child : *new_child)->name();
        if (order == 0) {
            CYBELE_CHECK(compare(*old_child, *new_child, depth + 1));
        } else if (order < 0) {
            CYBELE_CHECK(tell_only(*old_child, Change::kRemoved, depth + 1));
        } else {
            CYBELE_CHECK(tell_only(*new_child, Change::kAdded, depth + 1));
        }
        path_.resize(length);
        old_child += order <= 0 ? 1 : 0;
        new_child += order >= 0 ? 1 : 0;
    }
    return {};
}

} // namespace

Result<void> diff_files(const FilePointer& before,
                        const FilePointer& after,
                        const DiffOptions& options,
                        const DifferenceSink& sink) {
    return Comparison(options, sink).compare(before, after, 0);
}

} // namespace cybele::images
