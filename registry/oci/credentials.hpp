// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/environment.hpp"
#include "support/error.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

/// Names and passwords for registries, in the files that docker, podman and Apptainer keep.
namespace cybele::registry {

/// How somebody is known to a registry. Never shown, and never a word of a command line.
struct Login {
    std::string user;
    std::string password;
    std::string identity_token; ///< instead of both: exchanged for tokens
    std::string origin;         ///< where it was found, for people
};

/// Looks, in this order, into: `authfile`; $APPTAINER_DOCKER_USERNAME and _PASSWORD (or
/// SINGULARITY_…); $REGISTRY_AUTH_FILE; $XDG_RUNTIME_DIR/containers/auth.json;
/// ~/.apptainer/docker-config.json; ~/.docker/config.json. In a file the longest key that fits
/// wins: HOST/GROUP/NAME, HOST/GROUP, HOST; a credential program of the file is asked. Nothing
/// found is no error; kInput: a file that cannot be read, kEnvironment: a program that fails.
[[nodiscard]] Result<std::optional<Login>> find_login(const std::string& host,
                                                      const std::string& repository,
                                                      const std::filesystem::path& authfile,
                                                      const Environment& environment);

/// The same without the variables, which name no host: a login that is kept for this host.
[[nodiscard]] Result<std::optional<Login>> find_kept_login(const std::string& host,
                                                           const std::filesystem::path& authfile,
                                                           const Environment& environment);

/// Where `image login` writes: `authfile`, $REGISTRY_AUTH_FILE, ~/.apptainer/docker-config.json
/// where that is, else ~/.docker/config.json, so that Apptainer, docker and oras find it, too.
[[nodiscard]] std::filesystem::path login_file(const std::filesystem::path& authfile,
                                               const Environment& environment);

/// The hosts for which a file has a login, sorted; empty if the file does not exist.
[[nodiscard]] Result<std::vector<std::string>> login_hosts(const std::filesystem::path& file);

/// Puts a login into a file (0600), whose other content stays.
[[nodiscard]] Result<void>
write_login(const std::filesystem::path& file, const std::string& host, const Login& login);
/// False: there was none.
[[nodiscard]] Result<bool> erase_login(const std::filesystem::path& file, const std::string& host);

} // namespace cybele::registry
