// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"

#include <string>
#include <string_view>

namespace cybele::registry {

inline constexpr std::string_view kLibraryScheme = "library://";

/// An artifact of a registry: `oras://HOST[:PORT]/REPOSITORY[:TAG][@sha256:…]`.
struct Reference {
    std::string host;       ///< with its port
    std::string repository; ///< `group/app`
    std::string tag;        ///< `latest` where none is given
    std::string digest;     ///< `sha256:…`; empty: none is given
    /// Before the host: SIF artifacts are of oras://, OCI images of docker://, images of library
    /// servers of library://.
    std::string_view scheme = "oras://";
    bool has_tag = false; ///< the tag was written

    /// What a manifest is asked for by: the digest, else the tag.
    [[nodiscard]] const std::string& version() const {
        return digest.empty() ? tag : digest;
    }
    /// HOST/REPOSITORY
    [[nodiscard]] std::string place() const {
        return host + "/" + repository;
    }
    /// With its scheme.
    [[nodiscard]] std::string text_of_place() const {
        return std::string(scheme) + place();
    }
    [[nodiscard]] std::string text() const;
};

[[nodiscard]] bool is_registry_reference(std::string_view text);

/// Names and tags by the rules of the OCI distribution specification 1.1. A first part without a
/// dot and a port is no host: the image is of Docker's registry, as everywhere. kInput with what is
/// wrong; another scheme (docker://, library://, shub://) is refused by name, and so is a user
/// before the host, whose password is not repeated.
[[nodiscard]] Result<Reference> read_reference(std::string_view text);

/// The same of an OCI image, as docker, podman and definition files name it:
/// `[docker://]HOST[:PORT]/REPOSITORY[:TAG][@sha256:…]`.
[[nodiscard]] Result<Reference> read_docker_reference(std::string_view text);

/// What an image can be pulled by: read_reference(), or
/// `library://[HOST[:PORT]/]ENTITY/COLLECTION/NAME[:TAG][@sha256:…]`, where `:sha256.…` is a
/// digest, too, and `library` the host (HOST[:PORT] or its URL) where none is named. kInput as
/// above, and where no host is known.
[[nodiscard]] Result<Reference> read_pull_reference(std::string_view text,
                                                    std::string_view library);

/// `HOST[:PORT]` for login and logout; a scheme before it is left out.
[[nodiscard]] Result<std::string> read_host(std::string_view text);

} // namespace cybele::registry
