// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launchers/documents/bridge.hpp"
#include "launchers/documents/site.hpp"

#include <map>
#include <string>

namespace cybele::bridge {

/// The labels of the node that stands for a queue. A `nodeSelector` asks for some of them, whether
/// the Bridge shows nodes or not.
[[nodiscard]] std::map<std::string, std::string> queue_labels(const launchers::Bridge& document,
                                                              const launchers::SiteQueue& queue);

} // namespace cybele::bridge
