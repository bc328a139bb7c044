// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/common/build_arguments.hpp"
#include "cli/common/cli11.hpp"
#include "cli/common/image_access.hpp"
#include "cli/common/passphrase.hpp"
#include "pipeline/image_build.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace cybele::cli {

/// Options of the spelling of Apptainer.
struct SandboxWords {
    bool is_sandbox = false;
    bool is_update = false;
    std::string architecture; ///< of images of registries; empty: this machine's
};

/// How steps and tests are run.
struct StepWords {
    std::vector<std::string> binds;
    std::vector<std::string> mounts;
    bool no_test = false;
    bool no_cache = false;
    std::string timeout;
};

/// Who signs, and what is signed besides.
struct SigningWords {
    std::string key;
    PassphraseOptions passphrase;
    std::string provenance;
};

/// Values of a definition's and of a Recipe's arguments.
struct ArgumentWords {
    BuildArgumentOptions definition;
    std::vector<std::string> recipe;
};

/// A shell where a build failed.
struct LookWords {
    bool is_shell = false;
    bool is_keeping = false; ///< tells what is changed there
};

/// What the command line of `build` says.
struct BuildOptions {
    pipeline::ImageBuild build;
    std::string source;
    std::vector<std::string> more; ///< words behind it
    std::string output;
    SigningWords signing;
    AccessOptions access;
    ArgumentWords arguments;
    StepWords steps;
    bool is_all = false;
    unsigned jobs = 0; ///< 0: the default
    SandboxWords sandbox;
    LookWords look;
};

/// Adds the options to the command; parsing fills `options`.
void add_build_options(CLI::App& verb, BuildOptions& options);

/// The line that tells an image of `bytes` bytes.
[[nodiscard]] std::string built_line(const std::string& image, std::uint64_t bytes, bool is_signed);

/// Warns of an image that the next `git add` adds, with the line that leaves images out.
void tell_git(const Session& session, const std::string& image);

/// `build --all`: each variant by a program of its own, options.jobs at a time; each has its own
/// messages. Gives the highest of their exit codes. Options that no two images can share are
/// refused (kUsage).
[[nodiscard]] Result<int> build_all(Session& session, const BuildOptions& options);

/// Imports a source that is a Dockerfile, and reports which lines were not carried; does nothing
/// for any other source.
[[nodiscard]] Result<void> take_dockerfile(Session& session, BuildOptions& options);

/// `build --shell`: a shell where the last build of the source failed; its exit code.
[[nodiscard]] Result<int> open_failure_shell(Session& session, const BuildOptions& options);

} // namespace cybele::cli
