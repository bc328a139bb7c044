// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/keys/new.hpp"
#include "images/signatures/report.hpp"
#include "support/error.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

/// Signing and verifying with PEM keys in files; `sign.hpp` and `verify.hpp` have the rest.
namespace cybele::images {

/// Signs every object group (DSSE, apptainer/sif pkg/integrity) with a private PEM key that is not
/// encrypted. `now`: Unix seconds.
[[nodiscard]] Result<void>
sign_image(const std::filesystem::path& image, const std::filesystem::path& key, std::int64_t now);

/// Verifies every group with the public PEM keys; verified when each object is covered by a valid
/// signature by one of the keys. A broken image or key file is an error; a signature that does not
/// hold is told in the result.
[[nodiscard]] Result<Verification> verify_image(const std::filesystem::path& image,
                                                const std::vector<std::filesystem::path>& keys);

} // namespace cybele::images
