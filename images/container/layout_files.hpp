// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/container/metadata.hpp"
#include "images/inspection/layout_root.hpp"
#include "support/embedded.hpp"
#include "support/error.hpp"

#include <span>
#include <string_view>

namespace cybele::embedded {

/// The shell files below images/container/data, named `container/data/…`: what is the same in every
/// image.
std::span<const EmbeddedFile> singularity_files();

} // namespace cybele::embedded

namespace cybele::images {

inline constexpr std::string_view kDataFolder = "container/data/";

/// What write_base_layout() does, on an open root: makes what is missing, keeps what is there.
[[nodiscard]] Result<void> write_fixed_files(const RootDirectory& root, EtcFiles files);

} // namespace cybele::images
