// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "registry/oci/connection.hpp"
#include "registry/oci/manifest.hpp"
#include "registry/store/transfer.hpp"

#include <filesystem>
#include <string>

namespace cybele::registry {

/// One file that a server is to send: its digest and size are known beforehand.
struct Download {
    std::string url;
    ContentDescriptor blob;
    std::filesystem::path file; ///< may have the beginning already
    std::string what;           ///< for people: "the image sha256:…"
};

/// Resumes when the connection breaks or stalls, and begins anew where the server cannot send a
/// rest. kVerification: the bytes are not those of the digest; then there is no file.
/// kEnvironment: too little space, or the server stays broken; the file is left for the next try.
[[nodiscard]] Result<void>
download(Connection& connection, const Download& wanted, const Progress& progress);

} // namespace cybele::registry
