// SPDX-License-Identifier: Apache-2.0
// Apart from session.cpp: a start of a container reads no settings, and links nothing that does.
#include "cli/session.hpp"

namespace cybele::cli {

Result<project::Settings> Session::settings() const {
    return project::Settings::load(environment, ".");
}

} // namespace cybele::cli
