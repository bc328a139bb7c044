// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/sif/journal.hpp"
#include "images/sif/table.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <vector>

namespace cybele::images {

/// What a change asks for besides the new table.
struct ChangeOutcome {
    bool is_changed = true;
    std::vector<JournalRange> zeros;
    std::optional<std::uint64_t> length; ///< to cut the file to
};

/// Changes the table; new objects' bytes go to `fd`.
using ImageChange = std::function<Result<ChangeOutcome>(Table& table, int fd)>;

/// How the change reaches the file.
struct ChangeOptions {
    bool may_copy = true; ///< a reflinked copy, where the file system can
    StepHook on_step;     ///< for tests
};

/// Makes one change of an image, all or nothing (change.hpp): locks it, finishes or undoes what was
/// interrupted, checks it, and changes a reflinked copy or, with a journal, the file itself.
[[nodiscard]] Result<void> change_image(const std::filesystem::path& path,
                                        const ImageChange& change,
                                        const ChangeOptions& options = {});

} // namespace cybele::images
