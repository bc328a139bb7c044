// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/containers/runtime.hpp"
#include "support/error.hpp"
#include "support/process.hpp"

#include <string>
#include <string_view>
#include <vector>

/// What becomes of the environment on the way into the container (facts: engine notes, section 2).
namespace cybele::runtime {

inline constexpr std::string_view kDefaultPath =
    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The three layers, weakest first, and the changes of PATH that come last.
struct PayloadEnvironment {
    EnvironmentMap host;     ///< yields to what the image sets
    EnvironmentMap injected; ///< beats what the image sets: --env, APPTAINERENV_…
    EnvironmentMap facts; ///< of the runtime: APPTAINER_CONTAINER, HOME …; there from the start
    std::string prepend_path;
    std::string append_path;
    std::string path;          ///< replaces PATH
    bool is_evaluated = false; ///< a shell evaluates the injected values
    bool is_old_image = false; ///< /environment is read, not /.singularity.d
};

/// Sorts the host's variables and the request's into the layers; `home` is that of the container.
[[nodiscard]] Result<PayloadEnvironment> make_environment(const Request& request,
                                                          const Environment& environment,
                                                          const std::filesystem::path& home);

/// The layers as one, for an image whose scripts cannot be run.
[[nodiscard]] EnvironmentMap flatten(const PayloadEnvironment& layers);

/// PREPEND_PATH, APPEND_PATH and PATH of the user, done to a PATH.
void change_path(std::string& path, const PayloadEnvironment& layers);

/// As Apptainer, of variables with the prefix of its earlier name.
void tell_old_names(const Request& request, const Environment& environment);

} // namespace cybele::runtime
