// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "registry/oci/connection.hpp"
#include "registry/oci/manifest.hpp"
#include "registry/oci/reference.hpp"
#include "registry/store/transfer.hpp"
#include "support/http.hpp"

#include <filesystem>
#include <string>

namespace cybele::registry {

/// A server of SIF images as Singularity had them before OCI registries (`library://`): asked for
/// an image it tells digest and size, and sends the file or leads to where it lies. It is pulled
/// from only. Requests: v1/images and v1/imagefile of sylabs/scs-library-client.
class Library {
public:
    Library(const HttpClient& client,
            const Access& access,
            const Environment& environment,
            const Reference& reference);

    /// What Apptainer names for an architecture. kInput: no such image, or one without a
    /// SHA-256; kVerification: the library has another image under the digest; kEnvironment: not
    /// reachable, not allowed.
    [[nodiscard]] Result<ContentDescriptor> image(const std::string& architecture);
    /// As download().
    [[nodiscard]] Result<void> get(const ContentDescriptor& image,
                                   const std::string& architecture,
                                   const std::filesystem::path& file,
                                   const Progress& progress);

private:
    [[nodiscard]] Result<void> show_token();
    [[nodiscard]] std::string address(const std::string& kind,
                                      const std::string& architecture) const;

    Connection connection_;
    const Environment& environment_;
    Reference reference_;
    bool has_shown_ = false;
};

} // namespace cybele::registry
