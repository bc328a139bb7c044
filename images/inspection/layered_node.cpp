// SPDX-License-Identifier: Apache-2.0
#include "images/inspection/layered_node.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <sys/stat.h>

namespace cybele::images {
namespace {

/// More names than any tree has.
constexpr std::uint64_t kInodesOfLayer = std::uint64_t{1} << 40U;
constexpr std::array<const char*, 2> kOpaque = {"trusted.overlay.opaque", "user.overlay.opaque"};

bool is_whiteout(const FileStatus& status) {
    return S_ISCHR(status.mode) && status.major == 0 && status.minor == 0;
}

FileStatus of_layer(FileStatus status, std::uint64_t layer) {
    status.inode += layer * kInodesOfLayer;
    return status;
}

/// A name of the upper tree; a directory may have a lower one below it.
class LayeredNode : public FileNode {
public:
    LayeredNode(FilePointer lower, FilePointer upper, std::uint64_t layer)
        : FileNode(upper->name(), of_layer(upper->status(), layer)), lower_(std::move(lower)),
          upper_(std::move(upper)), layer_(layer) {}

    [[nodiscard]] Result<std::vector<FilePointer>> children() const override;
    [[nodiscard]] Result<FilePointer> child(std::string_view name) const override;
    [[nodiscard]] Result<void> read(const Sink& sink) const override {
        return upper_->read(sink);
    }
    [[nodiscard]] Result<std::map<std::string, std::string>> attributes() const override {
        return upper_->attributes();
    }

private:
    /// Null where nothing shows through.
    [[nodiscard]] Result<FilePointer> visible_lower() const;
    [[nodiscard]] FilePointer over(FilePointer lower, FilePointer upper) const {
        return std::make_shared<LayeredNode>(std::move(lower), std::move(upper), layer_);
    }
    FilePointer lower_; ///< null: there is none
    FilePointer upper_;
    std::uint64_t layer_;
};

Result<FilePointer> LayeredNode::visible_lower() const {
    if (!lower_ || !lower_->status().is_directory() || !status().is_directory()) {
        return FilePointer{};
    }
    CYBELE_TRY(const auto attributes, upper_->attributes());
    const bool is_opaque = std::ranges::any_of(kOpaque, [&](const char* name) {
        const auto found = attributes.find(name);
        return found != attributes.end() && found->second == "y";
    });
    return is_opaque ? FilePointer{} : lower_;
}

Result<std::vector<FilePointer>> LayeredNode::children() const {
    CYBELE_TRY(const auto own, upper_->children());
    CYBELE_TRY(const FilePointer below, visible_lower());
    std::vector<FilePointer> others;
    if (below) {
        CYBELE_TRY(others, below->children());
    }
    std::vector<FilePointer> all;
    auto other = others.begin();
    for (const FilePointer& node : own) {
        for (; other != others.end() && (*other)->name() < node->name(); ++other) {
            all.push_back(*other);
        }
        const bool is_in_both = other != others.end() && (*other)->name() == node->name();
        if (!is_whiteout(node->status())) {
            all.push_back(over(is_in_both ? *other : nullptr, node));
        }
        other += is_in_both ? 1 : 0;
    }
    all.insert(all.end(), other, others.end());
    return all;
}

Result<FilePointer> LayeredNode::child(std::string_view name) const {
    CYBELE_TRY(auto own, upper_->child(name));
    if (own && is_whiteout(own->status())) {
        return FilePointer{};
    }
    CYBELE_TRY(const FilePointer below, visible_lower());
    FilePointer lower;
    if (below) {
        CYBELE_TRY(lower, below->child(name));
    }
    return own ? over(std::move(lower), std::move(own)) : lower;
}

} // namespace

FilePointer lay_over(FilePointer lower, FilePointer upper, std::uint64_t layer) {
    return std::make_shared<LayeredNode>(std::move(lower), std::move(upper), layer);
}

} // namespace cybele::images
