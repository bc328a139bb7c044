// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/environment.hpp"
#include "support/error.hpp"
#include "support/file.hpp"

#include <string>

namespace cybele::runtime {

/// The private folder in which the starts of one user on this node find each other:
/// $XDG_RUNTIME_DIR/cybelectl, else /tmp/cybelectl-UID. It holds one socket a container.
class StateFolder {
public:
    /// Opens it, and makes it where it is missing. kVerification for one that is a link, belongs to
    /// another user or is open to others: whoever may write in it could be joined.
    [[nodiscard]] static Result<StateFolder> open(const Environment& environment);

    [[nodiscard]] int fd() const {
        return fd_.get();
    }
    [[nodiscard]] int parent() const {
        return parent_.get();
    }
    /// Waits for the folder's lock; false where the folder was removed meanwhile.
    [[nodiscard]] bool lock() const;
    void unlock() const;
    /// Removes it if it is empty. The lock is held.
    void remove_if_empty() const;

    /// Connects to a socket in it; invalid with errno where nobody listens.
    [[nodiscard]] UniqueFd connect(const std::string& name) const;
    /// A new listening socket with this name, which is free. The lock is held.
    [[nodiscard]] Result<UniqueFd> listen(const std::string& name) const;
    /// Removes the sockets on which nobody listens any more: of killed processes. The lock is held.
    void sweep() const;

private:
    StateFolder(UniqueFd parent, UniqueFd fd, std::string name)
        : parent_(std::move(parent)), fd_(std::move(fd)), name_(std::move(name)) {}
    [[nodiscard]] static Result<StateFolder> open_in(const std::string& parent, std::string name);

    UniqueFd parent_;
    UniqueFd fd_;
    std::string name_;
};

} // namespace cybele::runtime
