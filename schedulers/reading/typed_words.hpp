// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace cybele::schedulers {

/// Variables whose values are known before the job runs.
using Constants = std::map<std::string, std::string>;

/// The word, as written, after the shell has read it; unset where that depends on the run, on files
/// or on more than one word.
[[nodiscard]] std::optional<std::string> word_value(std::string_view raw,
                                                    const Constants& constants);

/// Whether the text has the name, not as a part of a longer one.
[[nodiscard]] bool mentions(std::string_view text, std::string_view name);

/// The name without its folder.
[[nodiscard]] std::string_view name_of_path(std::string_view path);

[[nodiscard]] bool is_one_of(std::string_view word, std::span<const std::string_view> words);
[[nodiscard]] bool starts_with_one_of(std::string_view word,
                                      std::span<const std::string_view> starts);

} // namespace cybele::schedulers
