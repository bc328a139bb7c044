// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "builder/layers/layer.hpp"
#include "images/inspection/layout_root.hpp"
#include "registry/oci/oci_image.hpp"
#include "support/error.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include <sys/stat.h>

struct archive_entry;

/// Layers of an OCI image, one put on the other (OCI image specification 1.1, layer.md).
namespace cybele::builder {

/// What a tree could not take over from its layers: how many, and the first.
struct LayerNotes {
    struct Count {
        std::uint64_t count = 0;
        std::string first;
    };
    Count devices;    ///< below /dev: a container gets its own
    Count owners;     ///< ids that this user does not have
    Count attributes; ///< extended attributes that the file system or the kernel refuses

    /// A line for people each.
    [[nodiscard]] std::vector<std::string> lines() const;
};

class LayerTree {
public:
    /// `root` is there and empty.
    [[nodiscard]] static Result<LayerTree> open(const std::filesystem::path& root);

    /// Puts a layer on what is there. kInput: names that are absolute or have `..`, links that lead
    /// out, devices outside of /dev, more bytes than a layer may become; kVerification: wrong
    /// bytes. Nothing is written outside of the root, whatever the layer says.
    [[nodiscard]] Result<void> apply(const registry::OciLayer& layer);

    [[nodiscard]] const LayerNotes& notes() const {
        return notes_;
    }

private:
    explicit LayerTree(images::RootDirectory root) : root_(std::move(root)) {}

    /// Of a folder, set when all that is in it has come.
    struct Times {
        mode_t mode = 0;
        timespec modified{};
    };
    struct Spot {
        int folder = -1;
        std::string name;
        std::string path;
    };
    [[nodiscard]] Result<void> take(LayerReader& reader, archive_entry* entry);
    [[nodiscard]] Result<void> take_root(archive_entry* entry);
    [[nodiscard]] Result<void> white_out(const std::string& path, std::string_view name);
    [[nodiscard]] Result<void> remove_lower(const std::string& path);
    [[nodiscard]] Result<void> remove_lower_children(const std::string& path);
    [[nodiscard]] Result<UniqueFd> folder_for(const std::string& path);
    [[nodiscard]] Result<Spot> spot_of(const std::string& path);
    enum class Folders { kGo, kStay };
    [[nodiscard]] Result<void> clear(const Spot& spot, Folders folders = Folders::kGo);
    [[nodiscard]] Result<void> make(LayerReader& reader, archive_entry* entry, const Spot& spot);
    [[nodiscard]] Result<void>
    make_file(LayerReader& reader, archive_entry* entry, const Spot& spot);
    [[nodiscard]] Result<void> make_link(archive_entry* entry, const Spot& spot);
    [[nodiscard]] bool set_owner(archive_entry* entry, const Spot& spot);
    void set_attributes(archive_entry* entry, const Spot& spot);
    [[nodiscard]] Result<void> finish_folders();
    void written(const std::string& path);

    images::RootDirectory root_;
    std::unordered_set<std::string> written_; ///< by the current layer, with the folders on the way
    std::map<std::string, Times> folders_;    ///< of the current layer
    std::uint64_t bytes_ = 0;                 ///< of the current layer's files
    UniqueFd folder_;                         ///< the last one that was looked for
    std::string folder_path_;
    bool has_folder_ = false;
    LayerNotes notes_;
};

} // namespace cybele::builder
