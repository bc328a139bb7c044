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

/// One more user namespace, in which each id of this process's is itself, with mount, IPC and UTS
/// namespaces of its own: what was mounted before cannot be undone from there, and what belongs to
/// the namespaces outside cannot be changed. False where the kernel makes none; then nothing has
/// changed. `proc` is a descriptor of a mounted /proc; the caller is root.
[[nodiscard]] Result<bool> enter_same_ids(int proc);

} // namespace cybele::namespaces
