// SPDX-License-Identifier: Apache-2.0
#include "submission/staging/pieces.hpp"

#include "submission/backends/command_backend.hpp"
#include "support/digest.hpp"
#include "support/encoding.hpp"
#include "support/quote.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <optional>

#include <unistd.h>

namespace cybele::submission {

namespace fs = std::filesystem;

Result<UniqueFd> open_at(const fs::path& file, std::uint64_t offset) {
    CYBELE_TRY(UniqueFd fd, open_for_reading(file));
    if (::lseek(fd.get(), static_cast<off_t>(offset), SEEK_SET) < 0) {
        return fail(system_error("cannot read " + printable(file.native()), errno));
    }
    return fd;
}

std::string read_some(int fd, std::uint64_t most) {
    constexpr std::uint64_t kPiece = 65536;
    std::string piece(static_cast<std::size_t>(std::min(most, kPiece)), '\0');
    ssize_t count = -1;
    do {
        count = ::read(fd, piece.data(), piece.size());
    } while (count < 0 && errno == EINTR);
    piece.resize(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    return piece;
}

std::vector<std::string_view> lines_of(std::string_view answer, const std::string& nonce) {
    std::vector<std::string_view> lines =
        text::split(answer.substr(0, answer.rfind('\n') + 1), '\n');
    std::erase_if(lines,
                  [&nonce](std::string_view line) { return !line.starts_with(nonce + " "); });
    for (std::string_view& line : lines) {
        line.remove_prefix(nonce.size() + 1);
        line = text::trimmed(line);
    }
    return lines;
}

std::vector<std::string_view> words_of_line(std::string_view line) {
    auto words = text::split(line, ' ');
    std::erase_if(words, [](std::string_view word) { return word.empty(); });
    return words;
}

std::string_view words_behind(std::string_view line) {
    const std::size_t blank = line.find(' ');
    return blank == std::string_view::npos ? std::string_view() : text::trimmed(line.substr(blank));
}

std::optional<std::uint64_t> count_of(std::string_view text) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || error != std::errc() || end != text.data() + text.size()) {
        return std::nullopt;
    }
    return value;
}

fs::path part_of(const fs::path& file) {
    fs::path part = file;
    part += ".part";
    return part;
}

bool begins_with(const fs::path& file, std::uint64_t bytes, const std::string& digest) {
    const auto opened = open_for_reading(file);
    const auto size = opened ? file_size(opened->get(), file) : Result<std::uint64_t>(0);
    if (bytes == 0 || !size || bytes > *size) {
        return false;
    }
    const auto found = sha256_range(opened->get(), 0, bytes, file);
    return found && hex(*found) == digest;
}

PartialFile partial_file(const fs::path& file) {
    PartialFile partial;
    const auto digest_of_regular = [](const fs::path& name) -> std::optional<Digest> {
        std::error_code error;
        if (!fs::is_regular_file(name, error)) {
            return std::nullopt; // a pipe would be waited for
        }
        const auto digest = sha256_file(name);
        return digest ? std::optional(*digest) : std::nullopt;
    };
    if (const auto digest = digest_of_regular(file)) {
        partial.digest = hex(*digest);
        return partial;
    }
    std::error_code error;
    const fs::path part = part_of(file);
    if (const auto digest = digest_of_regular(part)) {
        partial.part = fs::file_size(part, error);
        partial.part_digest = hex(*digest);
    }
    return partial;
}

std::string reason_of(int saved_errno) {
    return system_error("", saved_errno).faults().front().because;
}

} // namespace cybele::submission
