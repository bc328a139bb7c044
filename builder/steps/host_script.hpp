// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "builder/steps/inside.hpp"
#include "support/error.hpp"

#include <filesystem>
#include <string_view>

namespace cybele::builder {

/// Whether a script has a line that is neither blank nor a comment.
[[nodiscard]] bool has_command(std::string_view script);

/// What %pre and %setup are told: where the image's files are, and its file of variables.
void add_host_variables(EnvironmentMap& environment, const std::filesystem::path& root);

/// Runs %pre or %setup of an ordinary user's definition: `/bin/sh -ex FILE` on this machine, with
/// the caller's variables and in the caller's folder `directory`, enclosed like a build step. The
/// machine's files can be read; only `root` (the image's), /tmp, /var/tmp, /run and /dev/shm of the
/// script's own can be written.
[[nodiscard]] Result<ScriptEnd> run_host_enclosed(const std::filesystem::path& root,
                                                  const InsideScript& script,
                                                  const std::filesystem::path& directory,
                                                  const EnvironmentMap& environment,
                                                  const HostEnvironment& host_environment);

} // namespace cybele::builder
