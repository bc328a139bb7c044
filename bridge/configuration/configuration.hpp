// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bridge/decide/view.hpp"
#include "bridge/objects/admission.hpp"
#include "launchers/documents/bridge.hpp"
#include "launchers/documents/site.hpp"
#include "support/error.hpp"

#include <filesystem>
#include <string>

namespace cybele::bridge {

/// The Bridge document with the Site that it names.
struct Configuration {
    std::filesystem::path file; ///< of the Bridge
    launchers::Bridge document;
    std::string dialect;
    launchers::Site cluster; ///< as its document says
    Site site;               ///< the same, as admission needs it
    Times times;
};

/// How the queue is read: as configured, else as the first account.
[[nodiscard]] launchers::BridgeConnection reader_of(const launchers::Bridge& document);

/// Reads both. A Site whose batch system the bridge cannot use is kInput.
[[nodiscard]] Result<Configuration> read_configuration(const std::filesystem::path& file);

} // namespace cybele::bridge
