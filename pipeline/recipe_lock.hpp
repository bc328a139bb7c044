// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pipeline/build_settings.hpp"
#include "recipes/model/lock.hpp"
#include "recipes/model/recipe.hpp"
#include "support/environment.hpp"
#include "support/error.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace cybele::pipeline {

/// NAME.lock.yaml beside NAME.yaml.
[[nodiscard]] std::filesystem::path lock_path(const std::filesystem::path& recipe);

struct LockRequest {
    BuildSettings settings;
    std::filesystem::path directory; ///< the Recipe's
};

/// What a Recipe's variants install now, and what could not be locked here (warnings).
struct MadeLock {
    std::string text;
    std::size_t packages = 0;
    std::vector<Fault> notes;
};

/// Asks apt (as the embedded builder would bootstrap and install) and pip for exact versions and
/// digests; nothing is installed. Conda and spack packages are not locked here: a note says so.
/// Of a base that is an image its digest is kept; of packages for it only those of pip.
/// kInput for other bases that are not Debian, kEnvironment without apt, pip or the network.
[[nodiscard]] Result<MadeLock> make_lock(const std::vector<recipes::Recipe>& variants,
                                         const LockRequest& request,
                                         const Environment& environment);

/// The variant of the Lock beside a Recipe; nothing where there is no Lock. Stale: kInput.
[[nodiscard]] Result<std::optional<recipes::LockVariant>>
find_lock(const recipes::Recipe& recipe, const std::filesystem::path& file);

} // namespace cybele::pipeline
