// SPDX-License-Identifier: Apache-2.0
#include "support/error_pipe.hpp"

#include "support/file.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

namespace cybele {

namespace {

/// The longest text that is sent: a pipe holds 64 KiB.
constexpr std::size_t kLongestText = 16384;

/// The texts of a fault except its context, in the order in which they are sent.
constexpr std::string Fault::*const kTexts[] = {&Fault::message,
                                                &Fault::because,
                                                &Fault::help,
                                                &Fault::id,
                                                &Fault::detail,
                                                &Fault::subject,
                                                &Fault::other};

} // namespace

void send_error(int fd, const Error& error) {
    const Fault& fault = error.faults().front();
    const Place place = fault.where.value_or(Place{});
    std::vector<std::string> parts = {std::to_string(static_cast<int>(fault.code)),
                                      place.file,
                                      std::to_string(place.line),
                                      std::to_string(place.column),
                                      place.text};
    for (const auto text : kTexts) {
        parts.push_back(fault.*text);
    }
    parts.insert(parts.end(), fault.context.begin(), fault.context.end());
    std::string bytes;
    for (const std::string& part : parts) {
        bytes += part.substr(0, kLongestText).c_str(); // up to a NUL, which ends a part
        bytes += '\0';
    }
    (void)write_all(fd, bytes, "pipe");
}

std::optional<Error> receive_error(int fd) {
    std::string bytes;
    std::array<char, 4096> buffer{};
    for (ssize_t count = 1; count > 0 || (count < 0 && errno == EINTR);) {
        count = ::read(fd, buffer.data(), buffer.size());
        bytes.append(buffer.data(), count > 0 ? static_cast<std::size_t>(count) : 0);
    }
    std::vector<std::string> parts;
    for (std::size_t begin = 0; begin < bytes.size();) {
        const std::size_t end = std::min(bytes.find('\0', begin), bytes.size());
        parts.push_back(bytes.substr(begin, end - begin));
        begin = end + 1;
    }
    constexpr std::size_t kPlace = 5; // with the code
    if (parts.size() < kPlace + std::size(kTexts)) {
        return std::nullopt;
    }
    Fault fault;
    fault.code = static_cast<ErrorCode>(std::atoi(parts[0].c_str())); // NOLINT: we wrote it
    if (!parts[1].empty()) {
        fault.where = Place{parts[1], std::stoul(parts[2]), std::stoul(parts[3]), parts[4]};
    }
    auto part = parts.begin() + kPlace;
    for (const auto text : kTexts) {
        fault.*text = *part++;
    }
    fault.context.assign(part, parts.end());
    return Error(std::move(fault));
}

} // namespace cybele
