// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

namespace cybele::cli {

/// The first line of the help and the usage of a verb or group of Apptainer 1.4.5, which its
/// callers look for.
struct VerbText {
    std::string_view verb;
    std::string_view usage;
    std::string_view about;
};

[[nodiscard]] const VerbText* verb_text(std::string_view verb);

[[nodiscard]] std::span<const VerbText> verb_texts();

} // namespace cybele::cli
