// SPDX-License-Identifier: Apache-2.0
#include "builder/processes/fault_pipe.hpp"

#include "support/error_pipe.hpp"

#include <exception>
#include <utility>

#include <fmt/format.h>

namespace cybele::builder {

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

Result<void> end_of_child(int fd, int code) {
    if (auto error = receive_error(fd)) {
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
