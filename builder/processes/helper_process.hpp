// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"
#include "support/file.hpp"

#include <functional>
#include <utility>

#include <sys/types.h>

/// Work beside this process's own.
namespace cybele::builder {

/// A child that shares this process's namespaces: what it mounts is seen here, and stays when it
/// ended. It is killed where nobody waited for it, and dies with this process.
class HelperProcess {
public:
    [[nodiscard]] static Result<HelperProcess> start(const std::function<Result<void>()>& work);

    HelperProcess(HelperProcess&& other) noexcept;
    HelperProcess& operator=(HelperProcess&& other) = delete;
    HelperProcess(const HelperProcess&) = delete;
    HelperProcess& operator=(const HelperProcess&) = delete;
    ~HelperProcess();

    /// Waits for its end; gives the work's error, the first time.
    [[nodiscard]] Result<void> wait();
    [[nodiscard]] bool has_ended() const {
        return child_ < 0;
    }
    /// -1 when it was waited for.
    [[nodiscard]] pid_t process() const {
        return child_;
    }

private:
    HelperProcess(pid_t child, UniqueFd errors) : child_(child), errors_(std::move(errors)) {}
    pid_t child_;
    UniqueFd errors_;
};

} // namespace cybele::builder
