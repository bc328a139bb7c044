// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace cybele::namespaces {

/// What a server of a squashfs has.
struct Served {
    int image = -1; ///< open for reading
    std::uint64_t offset = 0;
    /// A socket, through which the letter `word` brings /dev/fuse when the squashfs is mounted.
    int gate = -1;
    char word = 0;
    /// Where the mount's user namespace has one id, all belongs to it: modes hold for this user as
    /// for an owner. Other owners would be nobody's.
    bool has_one_owner = false;
};

/// Answers the kernel's questions about a squashfs that is mounted by FUSE: a process of its own
/// that ends when the mount is gone, after stay_behind(): a job's processes need their files to end
/// well. It has no privileges, and its system calls are those of reading and answering.
///
/// Faster than the program squashfuse_ll, whose libraries it is made of: to open a file or a folder
/// asks nothing (FUSE_NO_OPEN_SUPPORT), listings bring what stat() wants and are cached by the
/// kernel, and more blocks are kept unpacked.
[[noreturn]] void serve_squashfs(const Served& served);

} // namespace cybele::namespaces
