// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launchers/documents/site.hpp"
#include "support/document_view.hpp"

#include <filesystem>
#include <vector>

namespace cybele::launchers {

/// The files NAME.mustache of a Site's folder `templates`, and of script/ and dialect/ in it, by
/// name. What cannot be read is a fault at `templates`. Which names there are, the renderer knows.
[[nodiscard]] std::vector<SiteTemplate> read_site_templates(document::Reading& reading,
                                                            const std::filesystem::path& folder);

} // namespace cybele::launchers
