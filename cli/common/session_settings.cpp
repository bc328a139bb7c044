// SPDX-License-Identifier: Apache-2.0
// Apart from session.cpp: a start of a container reads no settings, and links nothing that does.
#include "cli/common/session.hpp"
#include "support/quote.hpp"

namespace cybele::cli {

Result<pipeline::Settings> Session::settings() const {
    const bool is_first = !known_settings;
    if (!is_first && known_settings->first.all() == environment.all()) {
        return known_settings->second;
    }
    CYBELE_TRY(pipeline::Settings settings, pipeline::Settings::load(environment, "."));
    known_settings.emplace(environment, settings);
    if (!is_first) {
        return settings;
    }
    for (const std::string& name : ignored_folders) {
        Fault fault;
        fault.is_warning = true;
        fault.message =
            name + " is ignored (it is a relative path); set an absolute one, or unset it";
        note({fault});
    }
    note(settings.notes());
    for (const auto& file : settings.files()) {
        if (verbosity > 0) {
            say("settings: " + printable(file.native()));
        }
    }
    return settings;
}

} // namespace cybele::cli
