// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

/// What is done to one file of a tree that somebody else's tar describes.
namespace cybele::builder {

/// Removes a name with all below it; no link is followed. A missing name is fine. `path` is for
/// people.
[[nodiscard]] Result<void> remove_at(int folder, const std::string& name, const std::string& path);

/// Writes at an offset; a block of zeros stays a hole.
[[nodiscard]] Result<void>
write_block(int fd, std::string_view bytes, std::int64_t offset, const std::string& path);

struct Attribute {
    const char* name = nullptr;
    const void* value = nullptr;
    std::size_t size = 0;
};
/// False: the file system or the kernel does not take it. Links have none.
[[nodiscard]] bool
set_attribute_at(int folder, const std::string& name, const Attribute& attribute);

} // namespace cybele::builder
