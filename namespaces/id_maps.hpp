// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"

namespace cybele::namespaces {

struct SingleMap {
    unsigned inside_gid = 0;
    unsigned gid = 0;
};
/// After unshare(CLONE_NEWUSER): `uid` of the namespace outside becomes `inside_uid` here, and the
/// group likewise. `proc` is a descriptor of a mounted /proc.
[[nodiscard]] Result<void>
map_one(int proc, unsigned inside_uid, unsigned uid, const SingleMap& rest);

} // namespace cybele::namespaces
