// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace cybele {

/// Overwrites memory in a way that the compiler may not leave out.
void wipe(void* bytes, std::size_t size);

/// Overwrites the whole buffer of a text, then empties it.
void wipe(std::string& text);

/// Bytes that nobody else may see: a passphrase, the inner form of a private key. Never copied, and
/// overwritten before their memory is given back, also when they grow.
class Secret {
public:
    Secret() = default;
    /// Takes the bytes over and wipes the text they come from.
    explicit Secret(std::string&& text) {
        append(text);
        wipe(text);
    }
    Secret(Secret&& other) noexcept
        : bytes_(std::move(other.bytes_)), size_(std::exchange(other.size_, 0)),
          capacity_(std::exchange(other.capacity_, 0)) {}
    Secret& operator=(Secret&& other) noexcept {
        if (this != &other) {
            clear();
            bytes_ = std::move(other.bytes_);
            size_ = std::exchange(other.size_, 0);
            capacity_ = std::exchange(other.capacity_, 0);
        }
        return *this;
    }
    Secret(const Secret&) = delete;
    Secret& operator=(const Secret&) = delete;
    ~Secret() {
        clear();
    }

    [[nodiscard]] std::string_view view() const {
        return {bytes_.get(), size_};
    }
    [[nodiscard]] const char* data() const {
        return bytes_.get();
    }
    /// For functions that write into it; size() bytes are there.
    [[nodiscard]] char* data() {
        return bytes_.get();
    }
    [[nodiscard]] unsigned char* bytes() {
        return reinterpret_cast<unsigned char*>(bytes_.get());
    }
    [[nodiscard]] const unsigned char* bytes() const {
        return reinterpret_cast<const unsigned char*>(bytes_.get());
    }
    [[nodiscard]] std::size_t size() const {
        return size_;
    }
    [[nodiscard]] bool empty() const {
        return size_ == 0;
    }

    void append(std::string_view more);
    /// New bytes are zero; bytes that are cut off are wiped.
    void resize(std::size_t size);
    /// Wipes and gives the memory back.
    void clear();

private:
    void grow(std::size_t capacity);

    std::unique_ptr<char[]> bytes_;
    std::size_t size_ = 0;
    std::size_t capacity_ = 0;
};

/// The whole file, of which no copy stays in memory. More than `limit` bytes, no file: kInput. "-"
/// is standard input.
[[nodiscard]] Result<Secret> read_secret(const std::filesystem::path& path, std::size_t limit);

} // namespace cybele
