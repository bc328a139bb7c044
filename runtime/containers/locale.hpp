// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/process.hpp"

#include <filesystem>
#include <string>

namespace cybele::runtime {

/// True if the image below `root` can set the locale: C and POSIX, those it has compiled, and all
/// where it has no /usr/lib/locale of glibc's (musl takes every name).
[[nodiscard]] bool has_locale(const std::filesystem::path& root, const std::string& name);

/// Host locales that the image lacks make programs complain ("setlocale: cannot change locale"):
/// then LC_* and LANG of the host go, and LANG becomes C.UTF-8.
void fall_back_to_known_locale(EnvironmentMap& host, const std::filesystem::path& root);

} // namespace cybele::runtime
