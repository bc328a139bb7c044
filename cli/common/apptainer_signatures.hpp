// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/common/session.hpp"
#include "images/signatures/report.hpp"

#include <filesystem>
#include <string>
#include <string_view>

/// What commands say of signatures by the name of Apptainer.
namespace cybele::cli {

/// What Apptainer finds before it reads signatures.
inline constexpr std::string_view kApptainerLacksKey =
    "key material not provided for DSSE envelope signature";
inline constexpr std::string_view kApptainerLacksIssuer =
    "x509: certificate signed by unknown authority";
inline constexpr std::string_view kApptainerWithoutGroup =
    "non-signature object not associated with object group";
/// Of an object, after its number.
inline constexpr std::string_view kApptainerUnsigned = "object not signed";

/// Why the image is not verified.
[[nodiscard]] std::string apptainer_reason(const images::Verification& verification);

/// Warns of a base whose signatures the keyring does not confirm; the build continues. Nothing is
/// said of one without signatures.
void warn_of_signatures(const Session& session, const std::filesystem::path& base);

} // namespace cybele::cli
