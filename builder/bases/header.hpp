// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "definitions/grammar/definition.hpp"
#include "support/error.hpp"

#include <string>
#include <string_view>
#include <vector>

/// What a stage's header says of its base, beyond what the agents read themselves.
namespace cybele::builder {

/// Keys that the agent does not read: those that name who signed the base, or where it comes from,
/// are refused (`faults`, with their places in `file`); for others a warning is given.
[[nodiscard]] std::vector<std::string>
check_header_keys(const definitions::Stage& stage, std::string_view file, Faults& faults);

/// The image that the stage begins with: From, for `docker` behind Registry and Namespace.
[[nodiscard]] std::string base_image(const definitions::Stage& stage);

/// The OpenPGP keys of Fingerprints, each as 40 upper-case digits. kInput for other words.
[[nodiscard]] Result<std::vector<std::string>> base_signers(const definitions::Stage& stage,
                                                            std::string_view file);

} // namespace cybele::builder
