// SPDX-License-Identifier: Apache-2.0
#include "schedulers/reading/typed_starter.hpp"

#include "schedulers/reading/asked_parts.hpp"
#include "schedulers/reading/typed_options.hpp"

namespace cybele::schedulers {

bool take_srun_option(const StartedLaunch& started,
                      const std::string& name,
                      const std::string& value) {
    const Place& place = started.place;
    TypedLaunch& launch = started.launch;
    const auto number = whole_number(value);
    if (name == "-N" || name == "--nodes") {
        return number == place.nodes;
    }
    if (name == "-c" || name == "--cpus-per-task") {
        return number == place.cpus;
    }
    if (name == "--ntasks-per-node") {
        return place.nodes * number.value_or(0) == place.tasks;
    }
    if (name == "--kill-on-bad-exit" || name == "-K") {
        launch.options.push_back("--kill-on-bad-exit=" + (value.empty() ? "1" : value));
        return value.empty() || value == "1" || value == "0";
    }
    if (name == "--export") {
        return value == "ALL"; // as without it
    }
    if (name == "--mpi") {
        const bool is_known = value == "pmix" || value == "pmi2" || value.starts_with("pmix_v");
        // The field `pmi` would also bind each rank to its cores, and end all with the first.
        if (started.options.gets_image && !value.starts_with("pmix_v")) {
            launch.pmi = is_known ? value : launch.pmi;
        } else {
            launch.options.push_back(name + "=" + value);
        }
        return is_known;
    }
    if (is_passed_to_srun(name)) {
        launch.options.push_back(value.empty()            ? name
                                 : name.starts_with("--") ? name + "=" + value
                                                          : name + value);
        return true;
    }
    return false;
}

bool take_mpirun_option(const StartedLaunch& started,
                        Starter starter,
                        const std::string& name,
                        const std::vector<std::string>& values) {
    const Place& place = started.place;
    if (starter == Starter::kHydra && is_option_named(starter, name, "ppn perhost grr")) {
        return place.is_exact &&
               place.nodes * whole_number(values.front()).value_or(0) == place.tasks;
    }
    if (!is_passed_to_mpirun(starter, name, values.front())) {
        return false;
    }
    started.launch.options.push_back(name);
    for (const std::string& word : values) {
        if (!word.empty()) {
            started.launch.options.push_back(word);
        }
    }
    return true;
}

} // namespace cybele::schedulers
