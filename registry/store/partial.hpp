// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"
#include "support/file.hpp"

#include <filesystem>

namespace cybele::registry {

/// A file for what comes, locked: who else wants the same bytes waits, and then finds them. What a
/// killed process left in it is gone on with.
class Partial {
public:
    [[nodiscard]] static Result<Partial> open(const std::filesystem::path& path);

    [[nodiscard]] const std::filesystem::path& path() const {
        return path_;
    }
    /// Brings it to the disk with its last mode; then it may be renamed.
    [[nodiscard]] Result<void> finish(unsigned mode) const;
    void remove() const;

private:
    Partial() = default;
    std::filesystem::path path_;
    UniqueFd fd_;
};

} // namespace cybele::registry
