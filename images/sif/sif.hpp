// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The Singularity Image Format, version 01, whole: read (Image), write (write_image), change
/// (add_objects, delete_objects, set_primary).
#include "images/sif/change.hpp"     // IWYU pragma: export
#include "images/sif/descriptor.hpp" // IWYU pragma: export
#include "images/sif/image.hpp"      // IWYU pragma: export
#include "images/sif/types.hpp"      // IWYU pragma: export
#include "images/sif/write.hpp"      // IWYU pragma: export
