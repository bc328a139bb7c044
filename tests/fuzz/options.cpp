// SPDX-License-Identifier: Apache-2.0
// How libFuzzer's programs allocate. libsquashfs asks for as much memory as an inode or attribute
// says, before it reads that; the kernel gives no pages for it, or none at all. Here more than this
// is refused to C's allocators, and reported for operator new: our own code never asks for it.

// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming): the sanitizer's name
extern "C" const char* __asan_default_options() {
    return "allocator_may_return_null=1:max_allocation_size_mb=512";
}
