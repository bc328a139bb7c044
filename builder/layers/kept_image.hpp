// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/squashfs/squashfs.hpp"
#include "registry/cache/cache.hpp"
#include "support/error.hpp"
#include "support/file.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

/// The unsigned flat image of a build as the cache keeps it: the bytes that no kept step holds, and
/// where in the steps' layers the others lie. So a change keeps little more than itself.
namespace cybele::builder {

/// An open layer and its entry in the cache.
struct LayerFile {
    int fd = -1; ///< as CopiedRange::fd
    std::filesystem::path entry;
};

/// Writes the new file `to`, from which KeptImage makes `image` again. Ranges of layers that are no
/// longer what the cache has are kept as bytes.
[[nodiscard]] Result<void> keep_image(const std::filesystem::path& image,
                                      const std::vector<images::CopiedRange>& ranges,
                                      const std::vector<LayerFile>& layers,
                                      const std::filesystem::path& to);

class KeptImage {
public:
    /// Nothing where the file is none of keep_image(), or the cache no longer has one of its layers
    /// as it was. These are marked as used.
    [[nodiscard]] static std::optional<KeptImage> open(const std::filesystem::path& file);

    /// Writes the whole image into an empty file.
    [[nodiscard]] Result<void> write(int fd) const;

private:
    struct Range {
        std::size_t file = 0; ///< of files_
        std::uint64_t offset = 0;
        std::uint64_t bytes = 0;
    };

    KeptImage() = default;
    [[nodiscard]] bool read_head(const std::string& head, const std::filesystem::path& steps);
    [[nodiscard]] bool add_layer(const std::string& name,
                                 const std::string& digest,
                                 const std::filesystem::path& steps);

    std::vector<UniqueFd> files_; ///< the kept file itself, then the layers
    std::vector<Range> ranges_;   ///< in the image's order
    std::uint64_t own_ = 0;       ///< where the next own bytes lie, while the head is read
    std::uint64_t bytes_ = 0;
};

} // namespace cybele::builder
