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
class Aside {
public:
    [[nodiscard]] static Result<Aside> start(const std::function<Result<void>()>& work);

    Aside(Aside&& other) noexcept;
    Aside& operator=(Aside&& other) = delete;
    Aside(const Aside&) = delete;
    Aside& operator=(const Aside&) = delete;
    ~Aside();

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
    Aside(pid_t child, UniqueFd errors) : child_(child), errors_(std::move(errors)) {}
    pid_t child_;
    UniqueFd errors_;
};

} // namespace cybele::builder
