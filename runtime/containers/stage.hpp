// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"
#include "support/file.hpp"

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cybele::runtime {

/// A private tmpfs in this mount namespace, laid over a folder that every host has, on which the
/// root file system is put together. What it covers stays reachable through descriptors that were
/// opened before. It goes with the namespace.
class Stage {
public:
    /// The working directory moves into it. `size` is that of tmpfs ("64m"), or "" for its default.
    /// It is laid over a folder that none of `sources` (O_PATH) is or holds: a recursive bind of
    /// one that does would show the stage in the container.
    [[nodiscard]] static Result<Stage> make(const std::string& size,
                                            const std::vector<int>& sources);

    /// Of the tmpfs, O_PATH.
    [[nodiscard]] int fd() const {
        return fd_.get();
    }
    /// A new empty directory; its descriptor (O_PATH).
    [[nodiscard]] Result<UniqueFd> make_directory(const char* name) const;
    /// A new file with this content; its descriptor (O_PATH).
    [[nodiscard]] Result<UniqueFd> make_file(const char* name, std::string_view bytes) const;
    /// Names the image where it lies below an overlay, whose line in mountinfo(5) shows the name:
    /// how remove_unpacked() sees that a container needs a tree.
    void name_image(std::string name) {
        image_name_ = std::move(name);
    }
    /// That name, or `otherwise`.
    [[nodiscard]] std::string image_name(const char* otherwise) const {
        return image_name_.empty() ? otherwise : image_name_;
    }
    /// Opens what was mounted on one of its directories.
    [[nodiscard]] Result<UniqueFd> open(const char* name) const;
    /// Takes it away again, with all that was mounted in it.
    [[nodiscard]] Result<void> remove();

private:
    Stage() = default;
    UniqueFd fd_;
    std::string image_name_;
};

/// A mount point that the container needs.
struct NeededTarget {
    std::filesystem::path path;
    bool is_directory = true;
    bool is_optional = false;
};

/// What a container asks of its root.
struct RootNeeds {
    std::vector<NeededTarget> targets; ///< mount points
    bool is_writable = false;
    int kept = -1;           ///< the folder of the user's overlay; negative: none
    bool may_overlay = true; ///< else an overlay is mounted only where the root is to be written
};

struct PreparedRoot {
    UniqueFd fd;
    std::string how; ///< "image", "overlay", "underlay"
};

/// A root with all needed mount points on top of the read-only `image` (O_PATH): the image itself
/// where it has them; an underlay where that takes a few mounts (an image without the home
/// directory); else an overlay; else (kernels without overlays for users, or owners that cannot be
/// copied up) an underlay all the same: a tmpfs with the image's entries bound into it. Only the
/// overlay can be written.
[[nodiscard]] Result<PreparedRoot>
prepare_root(const Stage& stage, UniqueFd image, const RootNeeds& needs);

} // namespace cybele::runtime
