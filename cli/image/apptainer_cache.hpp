// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/common/session.hpp"
#include "support/error.hpp"

#include <string>
#include <string_view>
#include <vector>

/// By the name of Apptainer: what the verbs of its cache print and remove.
namespace cybele::cli {

enum class UnknownTypes { kIgnored, kWarned };

/// The types in the values of `--type`, each a list such as "library,blob"; no types mean all. The
/// cache has nothing of an unknown type.
[[nodiscard]] std::vector<std::string> read_cache_types(const Session& session,
                                                        const std::vector<std::string>& lists,
                                                        UnknownTypes unknown);
/// Whether the variables of Apptainer leave it a cache, with what it says of them: none where
/// APPTAINER_DISABLE_CACHE asks for none, or where the folder of APPTAINER_CACHEDIR cannot be
/// written. kEnvironment where that folder is a file.
[[nodiscard]] Result<bool> has_apptainer_cache(const Session& session);

[[nodiscard]] bool has_cache_type(const std::vector<std::string>& types, std::string_view type);

/// `cache list`: the counts and sizes of images and of what they are made from, in Apptainer's
/// words. Without a cache: all of them are none.
[[nodiscard]] Result<int> list_apptainer_cache(const Session& session,
                                               bool has_cache,
                                               bool is_long,
                                               const std::vector<std::string>& types);

/// Removes the images of URIs of these types that were not used for `days` (0: all), but those that
/// run.
[[nodiscard]] Result<void>
clean_apptainer_images(const Session& session, int days, const std::vector<std::string>& types);
/// What will be removed, in Apptainer's words.
[[nodiscard]] Result<void> inform_of_cleaning(const Session& session,
                                              bool has_cache,
                                              int days,
                                              const std::vector<std::string>& types);
/// Removes the layers that images were made from and that were not used for `days` (0: all).
[[nodiscard]] Result<void> clean_apptainer_layers(const Session& session, int days);

} // namespace cybele::cli
