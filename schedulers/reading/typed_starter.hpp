// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "schedulers/reading/launcher_options.hpp"
#include "schedulers/reading/typed_launch.hpp"
#include "schedulers/reading/typed_setup.hpp"

#include <string>
#include <vector>

namespace cybele::schedulers {

/// A launch whose launcher's options are read.
struct StartedLaunch {
    const BatchOptions& options;
    const Place& place;
    TypedLaunch& launch;
};

/// Notes an option of srun, which ours has in the same way, or has by itself; false: it would not.
[[nodiscard]] bool
take_srun_option(const StartedLaunch& started, const std::string& name, const std::string& value);

/// The same of mpirun. `values` may be empty texts.
[[nodiscard]] bool take_mpirun_option(const StartedLaunch& started,
                                      Starter starter,
                                      const std::string& name,
                                      const std::vector<std::string>& values);

} // namespace cybele::schedulers
