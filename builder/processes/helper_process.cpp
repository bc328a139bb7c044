// SPDX-License-Identifier: Apache-2.0
#include "builder/processes/helper_process.hpp"

#include "builder/processes/fault_pipe.hpp"
#include "runtime/namespaces/children.hpp"
#include "support/error_pipe.hpp"
#include "support/process.hpp"

#include <cerrno>
#include <csignal>
#include <utility>

#include <unistd.h>

namespace cybele::builder {

Result<HelperProcess> HelperProcess::start(const std::function<Result<void>()>& work) {
    CYBELE_TRY(namespaces::Pipe errors, namespaces::make_pipe());
    const pid_t parent = ::getpid();
    const pid_t child = ::fork();
    if (child < 0) {
        return fail(system_error("cannot start a process", errno));
    }
    if (child == 0) {
        namespaces::die_with_parent(parent);
        const Result<void> result = guarded(work);
        if (!result) {
            send_error(errors.write.get(), result.error());
        }
        ::_exit(result ? 0 : 1);
    }
    return HelperProcess(child, std::move(errors.read));
}

HelperProcess::HelperProcess(HelperProcess&& other) noexcept
    : child_(std::exchange(other.child_, -1)), errors_(std::move(other.errors_)) {}

HelperProcess::~HelperProcess() {
    if (child_ >= 0) {
        ::kill(child_, SIGKILL);
        (void)wait_for(child_);
    }
}

Result<void> HelperProcess::wait() {
    if (has_ended()) {
        return {};
    }
    const int code = wait_for(std::exchange(child_, -1));
    return end_of_child(errors_.get(), code);
}

} // namespace cybele::builder
