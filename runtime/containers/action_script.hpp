// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/containers/payload_environment.hpp"
#include "runtime/containers/runtime.hpp"
#include "support/process.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace cybele::runtime {

/// "exec", "run", "shell", "test".
[[nodiscard]] std::string_view action_name(Action action);

/// What is started in the container.
struct Program {
    std::vector<std::string> argv;
    EnvironmentMap environment;
    /// Set where the environment files needed no shell: the same by one, for a program that cannot
    /// be started. It uses the layers that the program was made of.
    std::function<Program()> by_shell = {};
};

/// What the image has, seen from inside.
struct ImageTraits {
    bool has_metadata = false; ///< /.singularity.d
    bool has_sh = false;       ///< /bin/sh
    bool has_bash = false;     ///< /bin/bash
    bool has_runscript = false;
    bool has_test = false;
    bool has_test_action = false; ///< /.singularity.d/actions/test, of builds
    /// /.singularity.d/actions/start, of builds, and nothing that it starts.
    bool has_nothing_to_start = false;
    bool has_app = false; ///< /scif/apps/NAME, of the application that was asked for
    bool has_app_runscript = false;
    bool has_app_test = false;
    bool has_environment = false; ///< /environment, of images before /.singularity.d
};

/// The folder of an application inside an image.
[[nodiscard]] std::string app_folder(const std::string& name);

/// With metadata and a shell: /bin/sh with a script that reads the image's environment files, adds
/// the layers with every value quoted, and becomes the action. Else the program itself. kInput
/// where the image has nothing to run. For use in the container's root, whose files are read.
[[nodiscard]] Result<Program>
make_program(const Request& request, const PayloadEnvironment& layers, const ImageTraits& traits);

} // namespace cybele::runtime
