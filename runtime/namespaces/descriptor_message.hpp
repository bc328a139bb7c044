// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/file.hpp"

#include <array>
#include <cstddef>
#include <span>

#include <sys/types.h>

namespace cybele::namespaces {

constexpr std::size_t kMostDescriptors = 2;

/// What goes through a Unix socket between two processes of ours: a word and descriptors.
struct DescriptorMessage {
    char word = 0;
    std::array<UniqueFd, kMostDescriptors> descriptors; ///< in their order, close-on-exec
};

/// False with errno. `descriptors`: at most kMostDescriptors.
[[nodiscard]] bool send_message(int socket, char word, std::span<const int> descriptors);

/// As recv(2): 1, 0 where the other end is closed, -1 with errno. Waits on through signals.
[[nodiscard]] ssize_t receive_message(int socket, DescriptorMessage& message);

} // namespace cybele::namespaces
