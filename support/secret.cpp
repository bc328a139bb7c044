// SPDX-License-Identifier: Apache-2.0
#include "support/secret.hpp"

#include "support/file.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <cerrno>

#include <string.h>
#include <unistd.h>

namespace cybele {

void wipe(void* bytes, std::size_t size) {
    if (size != 0) {
        ::explicit_bzero(bytes, size);
    }
}

void wipe(std::string& text) {
    text.resize(text.capacity()); // what lies behind its end was once part of it
    wipe(text.data(), text.size());
    text.clear();
}

void Secret::append(std::string_view more) {
    const std::size_t at = size_;
    resize(size_ + more.size());
    std::copy(more.begin(), more.end(), bytes_.get() + at);
}

void Secret::resize(std::size_t size) {
    if (size > capacity_) {
        grow(std::max(size, 2 * capacity_));
    }
    if (size < size_) {
        wipe(bytes_.get() + size, size_ - size);
    }
    size_ = size;
}

void Secret::clear() {
    wipe(bytes_.get(), capacity_);
    bytes_.reset();
    size_ = 0;
    capacity_ = 0;
}

void Secret::grow(std::size_t capacity) {
    auto larger = std::make_unique<char[]>(capacity); // zeros
    std::copy(bytes_.get(), bytes_.get() + size_, larger.get());
    wipe(bytes_.get(), capacity_);
    bytes_ = std::move(larger);
    capacity_ = capacity;
}

Result<Secret> read_secret(const std::filesystem::path& path, std::size_t limit) {
    constexpr std::size_t kPiece = 4096;
    UniqueFd file;
    if (path != "-") {
        CYBELE_TRY(file, open_for_reading(path));
    }
    Secret bytes;
    for (std::size_t size = 0; size <= limit;) {
        bytes.resize(size + kPiece);
        const ssize_t count =
            ::read(file.valid() ? file.get() : STDIN_FILENO, bytes.data() + size, kPiece);
        if (count < 0 && errno != EINTR) {
            return fail(system_error("cannot read " + printable(path.native()), errno));
        }
        size += count < 0 ? 0 : static_cast<std::size_t>(count);
        bytes.resize(size);
        if (count == 0) {
            return bytes;
        }
    }
    return fail(ErrorCode::kInput,
                problem("secret-too-long", printable(path.native()) + " is too long"),
                "it has more than " + std::to_string(limit) + " bytes",
                "is it the right file?");
}

} // namespace cybele
