// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "builder/kept_image.hpp"
#include "builder/stage.hpp"
#include "images/container/container.hpp"

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace cybele::builder {

/// What a delta image is made of: the last flat image's squashfs, and the changes since.
struct Delta {
    std::shared_ptr<const KeptImage> base;
    /// Compares the last stage's tree with that squashfs, where it was written. Gives a folder of
    /// the changes; tells how many names differ.
    std::function<Result<std::filesystem::path>(const images::ReadySquashfs& base)> compare;
};

/// The last flat image of the same definition file. Nothing, and a line for the user, where there
/// is none that can be compared with. Good as long as the context.
[[nodiscard]] Result<std::optional<Delta>> find_delta(const StageContext& context);

/// What a flat image was made of, as the cache notes it for find_delta().
[[nodiscard]] std::vector<KeyPart> parts_of_flat(const StageKeys& keys);

} // namespace cybele::builder
