// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/common/session.hpp"
#include "registry/oci/images.hpp"
#include "support/http.hpp"

#include <string>

namespace cybele::cli {

/// Options of every verb that speaks to a registry.
struct AccessOptions {
    std::string ca_file;
    std::string authfile;
    std::string library;
    bool is_plain = false;
    registry::OptionWords words; ///< of this command, for errors
    bool may_be_plain = false;   ///< as by the name of Apptainer: see registry::Access
};

void add_access(CLI::App& verb, AccessOptions& options);
/// Of verbs that pull.
void add_library(CLI::App& verb, AccessOptions& options);

/// The client lives as long as what is made from it.
[[nodiscard]] Result<registry::Transport> make_transport(const Session& session,
                                                         const AccessOptions& options,
                                                         const HttpClient& client,
                                                         const std::string& what);

/// Below `image`: login, logout.
void install_image_logins(CLI::App& image, Session& session);

} // namespace cybele::cli
