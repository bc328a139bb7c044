// SPDX-License-Identifier: Apache-2.0
// Apart from session.cpp: a start of a container reads no settings, and links nothing that does.
#include "cli/session.hpp"
#include "support/quote.hpp"

namespace cybele::cli {

Result<project::Settings> Session::settings() const {
    CYBELE_TRY(project::Settings settings, project::Settings::load(environment, "."));
    if (!has_reported_settings) {
        has_reported_settings = true;
        note(settings.notes());
        for (const auto& file : settings.files()) {
            if (verbosity > 0) {
                say("settings: " + printable(file.native()));
            }
        }
    }
    return settings;
}

} // namespace cybele::cli
