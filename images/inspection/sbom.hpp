// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/inspection/packages.hpp"
#include "images/sif/sif.hpp"
#include "support/error.hpp"

#include <cstdint>
#include <string>
#include <vector>

/// Lists of what is inside an image ("software bill of materials"): the object 0x4009 of a SIF, and
/// such lists made of the packages found.
namespace cybele::images {

struct Sbom {
    std::uint32_t object = 0; ///< its id in the image
    SbomFormat format{};
    std::string bytes;
};
/// The lists that an image carries, in the order of their ids. One of more than 64 MiB is kInput.
[[nodiscard]] Result<std::vector<Sbom>> read_sboms(const Image& image);

/// An object for write_image() or add_objects().
[[nodiscard]] NewObject sbom_object(SbomFormat format, std::string bytes);

/// What a list says besides the packages. Nothing is taken from the clock or from chance: the same
/// input gives the same bytes.
struct SbomSubject {
    std::string name;      ///< of the image
    std::string version;   ///< of the image; may be empty
    std::int64_t time = 0; ///< Unix seconds: when the list was made
    /// A UUID that makes the document's name space unique; empty: one is derived from the content.
    std::string unique;
};

/// A document of SPDX 2.3, as JSON.
[[nodiscard]] std::string make_sbom(const SbomSubject& subject, const PackageList& packages);

/// The package's address by the rules of package URLs: pkg:deb/debian/zlib1g@1.2.13?arch=amd64
[[nodiscard]] std::string package_url(const Package& package, const PackageList& list);

} // namespace cybele::images
