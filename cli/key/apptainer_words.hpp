// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/common/session.hpp"
#include "images/sif/sif.hpp"
#include "images/signatures/report.hpp"

#include <string>
#include <string_view>
#include <vector>

/// What `sign` and `verify` print by the name of Apptainer: its lines, which its callers read.
namespace cybele::cli {

/// "PGP key material", "key material from 'FILE'".
[[nodiscard]] std::string key_material(const std::vector<std::string>& keys,
                                       const std::vector<std::string>& certificates);

/// The signers, then a table of the objects (of `asked`, where it names some), or why the image is
/// not verified.
[[nodiscard]] std::string apptainer_text(const images::Verification& verification,
                                         const images::Image& image,
                                         const std::vector<std::uint32_t>& asked);
/// `image`: null where it cannot be read.
[[nodiscard]] std::string apptainer_json(const images::Verification& verification,
                                         const images::Image* image,
                                         const std::vector<std::uint32_t>& asked);

/// "Failed to sign container: integrity: object not found".
[[nodiscard]] Error apptainer_error(std::string_view failed, const Error& error);

} // namespace cybele::cli
