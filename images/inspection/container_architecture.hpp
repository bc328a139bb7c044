// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/inspection/layout_root.hpp"

#include <string>
#include <string_view>

namespace cybele::images {

/// "amd64" for the first bytes of an ELF file; "" for what is none, or for an unknown machine.
[[nodiscard]] std::string elf_architecture(std::string_view first_bytes);

/// The architecture that a root file system is made for: of its /bin/sh, else of the first other
/// program found in its usual places, else this machine's.
[[nodiscard]] std::string root_architecture(const RootDirectory& root);

} // namespace cybele::images
