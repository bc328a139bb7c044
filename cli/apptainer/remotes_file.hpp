// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/apptainer/other_verbs.hpp"
#include "support/yaml.hpp"

#include <filesystem>
#include <map>
#include <string>
#include <vector>

/// The file remote.yaml, in which Apptainer keeps endpoints and the addresses of logins.
namespace cybele::cli {

inline constexpr const char* kSystemRemotes = "/etc/apptainer/remote.yaml";

struct Remote {
    std::string uri;
    bool is_system = false;
    bool is_exclusive = false;
    bool is_insecure = false;
    std::vector<yaml::Entry> others; ///< what is not used here stays in the file
};

struct Remotes {
    std::string active;
    std::map<std::string, Remote> all;
    std::vector<yaml::Entry> others;
};

/// Those of a file; none where it is not there.
[[nodiscard]] Result<Remotes> read_remotes(const std::filesystem::path& file);
/// As Apptainer installs it.
[[nodiscard]] Remotes installed_remotes();
/// Adds the endpoints of the host, as the user's list has them.
[[nodiscard]] Result<void> add_system_remotes(const Session& session, Remotes& remotes);
[[nodiscard]] Result<void>
write_remotes(const std::filesystem::path& file, const Remotes& remotes, bool is_own);
/// `--config FILE`, or the user's own.
[[nodiscard]] std::filesystem::path remotes_file(const Session& session, const OtherCall& call);

/// The addresses of registries that have a login, in the order in which they came.
[[nodiscard]] std::vector<std::string> login_addresses(const Remotes& remotes);
void add_login_address(Remotes& remotes, const std::string& address);
void remove_login_address(Remotes& remotes, const std::string& address);

} // namespace cybele::cli
