// SPDX-License-Identifier: Apache-2.0
#include "builder/processes/fault_pipe.hpp"

#include "support/file.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <exception>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

namespace cybele::builder {
namespace {

/// The longest reason that is told: a pipe holds 64 KiB.
constexpr std::size_t kLongestText = 16384;

std::optional<Error> receive_fault(int fd) {
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
    constexpr std::size_t kFixed = 9;
    if (parts.size() < kFixed) {
        return std::nullopt;
    }
    Fault fault;
    fault.code = static_cast<ErrorCode>(std::atoi(parts[0].c_str())); // NOLINT: we wrote it
    fault.message = parts[1];
    fault.because = parts[2];
    fault.help = parts[3];
    if (!parts[4].empty()) {
        fault.where = Place{parts[4], std::stoul(parts[5]), std::stoul(parts[6]), parts[7]};
    }
    fault.id = parts[8];
    fault.context.assign(parts.begin() + kFixed, parts.end());
    return Error(std::move(fault));
}

} // namespace

Result<void> guarded(const std::function<Result<void>()>& work) {
    try {
        return work();
    } catch (const std::exception& exception) {
        return fail(ErrorCode::kInternal,
                    problem("build-process-fault", "the building process has a fault of its own"),
                    exception.what(),
                    "report it with the command that you gave");
    }
}

/// Every part of the first fault, its place and its context; parts end with a NUL.
void send_fault(int fd, const Error& error) {
    const Fault& fault = error.faults().front();
    const Place place = fault.where.value_or(Place{});
    std::string bytes;
    std::vector<std::string> parts = {std::to_string(static_cast<int>(fault.code)),
                                      fault.message,
                                      fault.because,
                                      fault.help,
                                      place.file,
                                      std::to_string(place.line),
                                      std::to_string(place.column),
                                      place.text,
                                      fault.id};
    parts.insert(parts.end(), fault.context.begin(), fault.context.end());
    for (const std::string& part : parts) {
        bytes += part.substr(0, kLongestText).c_str();
        bytes += '\0';
    }
    (void)write_all(fd, bytes, "errors");
}

Result<void> end_of_child(int fd, int code) {
    if (auto error = receive_fault(fd)) {
        return fail(std::move(*error));
    }
    if (code != 0) {
        return fail(ErrorCode::kExecution,
                    problem("build-process-ended", "the building process ended unexpectedly"),
                    code > 128 ? fmt::format("signal {}", code - 128)
                               : fmt::format("exit code {}", code),
                    "look for 'out of memory' in the kernel's log");
    }
    return {};
}

} // namespace cybele::builder
