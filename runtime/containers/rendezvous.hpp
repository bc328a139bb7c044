// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/containers/state_folder.hpp"
#include "runtime/namespaces/join.hpp"
#include "support/environment.hpp"
#include "support/error.hpp"
#include "support/file.hpp"

#include <functional>
#include <optional>
#include <string>

/// How the starts of one container find each other: the first one listens on a socket in the
/// StateFolder, the others ask there for the namespaces.
namespace cybele::runtime {

/// Equal for the starts that share a container, see join_key().
struct RendezvousKey {
    std::string text;
    std::string name; ///< of the socket
};
[[nodiscard]] RendezvousKey meeting_key(std::string text);

/// What the first start has: it makes the container and hands this to the holder.
struct FirstMember {
    StateFolder folder;
    UniqueFd listener;
    RendezvousKey key;
};

/// One of the two, or neither with the reason.
struct Rendezvous {
    std::optional<namespaces::ContainerNamespaces> container; ///< runs; this process is a member
    std::optional<FirstMember> first_member;                  ///< this process is the first
    std::string because;
    bool is_prevented = false; ///< the folder is another user's, or open to others
};
/// Waits while the first start makes the container; where it ends before that, the next one is the
/// first. `meanwhile`, unless unset, is called each time that somebody was asked, before the answer
/// is waited for: what it does costs nothing.
[[nodiscard]] Rendezvous meet(const Environment& environment,
                              RendezvousKey key,
                              const std::function<void()>& meanwhile = {});

/// The holder's side: takes one request and answers it. Gives the member's process id, or 0 where
/// it was none (another user, another key, gone).
[[nodiscard]] pid_t admit(const FirstMember& first_member,
                          const namespaces::ContainerNamespaces& container,
                          const UniqueFd& connection);

} // namespace cybele::runtime
