// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "builder/stage.hpp"
#include "images/container.hpp"
#include "support/file.hpp"

#include <optional>
#include <vector>

namespace cybele::builder {

/// What a delta image is made of: the last flat image's squashfs, and the changes since.
struct Delta {
    UniqueFd image; ///< of the cache
    images::ReadySquashfs base;
    std::filesystem::path folder; ///< of the changes
    std::size_t names = 0;        ///< how many differ
};

/// Compares the last stage's tree with the last flat image of the same definition file. Nothing,
/// and a line for the user, where there is none that can be compared with.
[[nodiscard]] Result<std::optional<Delta>> find_delta(const StageContext& context);

/// What a flat image was made of, as the cache notes it for find_delta().
[[nodiscard]] std::vector<KeyPart> parts_of_flat(const StageKeys& keys);

} // namespace cybele::builder
