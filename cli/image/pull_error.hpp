// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"

#include <string>

namespace cybele::cli {

enum class PulledFor { kFile, kStart };

/// By the name of Apptainer: why the image of `uri` was not pulled, or not started, in its words;
/// the error itself where Apptainer has other ones.
[[nodiscard]] Error apptainer_pull_error(const std::string& uri, PulledFor use, const Error& error);

} // namespace cybele::cli
