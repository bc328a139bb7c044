// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/common/image_access.hpp"
#include "cli/common/session.hpp"
#include "support/error.hpp"

#include <filesystem>
#include <string>

/// Images of web servers: http:// and https://.
namespace cybele::cli {

/// Brings the image at the address into a file.
[[nodiscard]] Result<void> download_image(const Session& session,
                                          const AccessOptions& access,
                                          const std::string& uri,
                                          const std::filesystem::path& file);

/// What identifies the image that is at the address now; empty where the server does not say it:
/// not every server answers HEAD, and a size alone can be that of another image.
[[nodiscard]] Result<std::string>
state_of_web_image(const Session& session, const AccessOptions& access, const std::string& uri);

} // namespace cybele::cli
