// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "builder/layers/kept_image.hpp"
#include "images/container/container.hpp"
#include "images/squashfs/squashfs.hpp"
#include "support/error.hpp"
#include "support/file.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

/// A tree as a stack of layers, each the difference that one step made.
namespace cybele::builder {

/// How this place mounts layers; found by trying.
struct OverlaySupport {
    /// The attribute namespace in which an overlay marks directories that hide what lies below:
    /// "trusted" (root), "user" (in a user namespace, Linux 5.11); "" where no overlay works.
    std::string attributes;
    std::string because; ///< why none works
    bool is_root = false;
};

/// Tries in `directory` (private, where the trees will be) whether an overlay can be mounted that
/// keeps deletions and opaque directories. For the process apart: it mounts.
[[nodiscard]] OverlaySupport find_overlay_support(const std::filesystem::path& directory);

/// Layers below a private folder, which is made. Mounts go with the process's mount namespace.
class Layers {
public:
    [[nodiscard]] static Result<Layers> make(std::filesystem::path directory, OverlaySupport way);

    /// An empty folder that becomes the topmost layer; the caller fills it.
    [[nodiscard]] Result<std::filesystem::path> add_folder();
    /// A squashfs as the topmost layer: mounted by the kernel (root) or by FUSE, else unpacked.
    [[nodiscard]] Result<void> add_squashfs(const std::filesystem::path& file);
    /// Shows all layers at root(), with a new empty one on top that takes every change.
    [[nodiscard]] Result<void> begin();
    /// Takes root() away; what changed is the topmost layer now. Gives its folder.
    [[nodiscard]] Result<std::filesystem::path> end();

    [[nodiscard]] const std::filesystem::path& root() const {
        return root_;
    }
    /// The folder of the layer that begin() opened.
    [[nodiscard]] std::filesystem::path upper() const {
        return directory_ / std::to_string(upper_);
    }
    /// The folders of all closed layers, the lowest first.
    [[nodiscard]] std::vector<std::filesystem::path> folders() const;
    /// The topmost closed layer, a folder, was packed into this squashfs; `file` is its name.
    void note_packed(UniqueFd squashfs, std::filesystem::path file = {});
    /// All that root() shows, for packing it; good while this object lives.
    [[nodiscard]] std::vector<images::TreeLayer> shown() const;
    /// The squashfs files of those of shown() that have one, by descriptor.
    [[nodiscard]] std::vector<LayerFile> files() const;
    [[nodiscard]] const OverlaySupport& way() const {
        return way_;
    }

private:
    Layers(std::filesystem::path directory, OverlaySupport way)
        : directory_(std::move(directory)), root_(directory_ / "root"), way_(std::move(way)) {}
    [[nodiscard]] Result<std::filesystem::path> new_folder();

    std::filesystem::path directory_;
    std::filesystem::path root_;
    OverlaySupport way_;
    unsigned next_ = 0;
    unsigned upper_ = 0;
    bool is_open_ = false;
    struct Lower {
        unsigned number = 0;
        UniqueFd squashfs; ///< of the same files, where there is one
        std::filesystem::path file;
    };
    std::vector<Lower> lowers_; ///< the lowest first
};

/// Packs a layer's folder into a file of its own.
[[nodiscard]] Result<void> pack_layer(const std::filesystem::path& folder,
                                      const std::filesystem::path& file);

} // namespace cybele::builder
