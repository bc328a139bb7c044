// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/environment.hpp"
#include "support/error.hpp"

#include <filesystem>
#include <vector>

namespace cybele {

/// The folders whose settings and stores the user has allowed: the file `trusted-folders` in the
/// user's configuration folder, one absolute path a line. It counts only where nobody else can have
/// written it.
class TrustedFolders {
public:
    /// No file: none. kEnvironment where others can write the file.
    [[nodiscard]] static Result<TrustedFolders> load(const Environment& environment);

    /// Whether this folder itself is one of them; one below another is not.
    [[nodiscard]] bool allows(const std::filesystem::path& folder) const;

    [[nodiscard]] const std::vector<std::filesystem::path>& all() const {
        return folders_;
    }

    /// Adds a folder, in its real spelling, which is given back. kInput where there is none.
    [[nodiscard]] static Result<std::filesystem::path> add(const Environment& environment,
                                                           const std::filesystem::path& folder);
    /// Removes it; a folder that no longer exists can be named as it is listed.
    [[nodiscard]] static Result<std::filesystem::path> remove(const Environment& environment,
                                                              const std::filesystem::path& folder);

private:
    std::vector<std::filesystem::path> folders_;
};

} // namespace cybele
