// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/sif/descriptor.hpp"

#include <cstdint>
#include <string>
#include <vector>

/// What an image must hold before anything in it is believed (docs/reference/sif-format.md, "What a
/// reader refuses").
namespace cybele::images {

/// What is wrong with an image; empty: nothing.
using Reason = std::string;

/// Numbers, table and data area against the size of the file.
[[nodiscard]] Reason judge_header(const Header& header, std::uint64_t size);
/// One used entry; `group` as stored.
[[nodiscard]] Reason
judge_descriptor(const Descriptor& object, const Header& header, std::uint64_t size);
/// Where an object's bytes lie.
struct Extent {
    std::uint64_t offset = 0;
    std::uint64_t size = 0; ///< more than 0
    std::uint32_t id = 0;
};
/// No two objects share a byte. Sorts the extents.
[[nodiscard]] Reason judge_overlaps(std::vector<Extent>& extents);
/// At most one primary partition, of the architecture that the header says.
[[nodiscard]] Reason judge_primary(const std::vector<Descriptor>& primaries, const Header& header);

} // namespace cybele::images
