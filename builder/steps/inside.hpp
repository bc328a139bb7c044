// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "builder/request/request.hpp"
#include "builder/steps/host_environment.hpp"
#include "builder/steps/shell_state.hpp"
#include "runtime/namespaces/sandbox.hpp"
#include "support/error.hpp"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

/// What a script sees that runs in the image while it is built. Nothing of it stays in the image.
namespace cybele::builder {

/// From the request and the machine: the CA file that --ca-file, SSL_CERT_FILE, CURL_CA_BUNDLE …
/// name, the proxies, where pip asks, apt's opinion on expired indexes.
[[nodiscard]] Result<HostEnvironment> find_surroundings(const BuildRequest& request,
                                                        const Environment& environment);

/// A script of a section, as Apptainer runs it: `/bin/sh -ex FILE`, with the section's
/// arguments before FILE (so that `-c /bin/bash` runs bash without -e).
struct InsideScript {
    std::string section; ///< "post"
    std::string arguments;
    std::string text;
    const ShellInside* shell = nullptr; ///< opened in the place of the script
};

/// Runs a script in the tree: working directory /, clean environment, umask 0022 (by the name of
/// Apptainer its 0002, which makes every file group-writable), enclosed
/// (runtime/namespaces/build_step.hpp). kInput for arguments that Apptainer refuses.
[[nodiscard]] Result<ScriptEnd> run_inside(const std::filesystem::path& root,
                                           const InsideScript& script,
                                           const HostEnvironment& host_environment);

/// Runs a program of the tree, which needs neither shell nor network.
[[nodiscard]] Result<ScriptEnd> run_program(const std::filesystem::path& root,
                                            const std::vector<std::string>& words,
                                            const HostEnvironment& host_environment);

enum class Access { kReadOnly, kWritable };

/// `source` of the machine at `target`.
[[nodiscard]] namespaces::Mount
bind(const std::filesystem::path& source, const std::filesystem::path& target, Access access);

/// What a test may do with the tree.
enum class TestTree { kReadOnly, kWritable };

/// Runs the image's own test action.
[[nodiscard]] Result<ScriptEnd>
run_test(const std::filesystem::path& root, const HostEnvironment& host_environment, TestTree tree);

/// `-ex` and the arguments of a section line as Apptainer composes them, FILE being the last
/// word; in `-c WORDS` the file is part of the command.
[[nodiscard]] Result<std::vector<std::string>> script_command(const std::string& arguments,
                                                              const std::string& file);

} // namespace cybele::builder
