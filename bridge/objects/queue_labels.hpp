// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launchers/documents/bridge.hpp"
#include "launchers/documents/site.hpp"

#include <map>
#include <string>

namespace cybele::bridge {

/// The name of the node that stands for a queue: of lower-case letters, digits, dots and hyphens,
/// whatever the queue's name has.
[[nodiscard]] std::string node_name(const std::string& prefix, const std::string& queue);

/// The labels of the node that stands for a queue: those of wlm-operator's virtual nodes, of which
/// `containers` was set by hand there, and those that the Bridge adds.
[[nodiscard]] std::map<std::string, std::string> queue_labels(const launchers::Bridge& document,
                                                              const launchers::SiteQueue& queue);
/// What a `nodeSelector` may ask for, whether the Bridge shows nodes or not: these labels, and the
/// name of the node. The node itself has no such label: DaemonSets must not select it. Of a queue
/// without a name these are the labels that each queue has.
[[nodiscard]] std::map<std::string, std::string>
selectable_labels(const launchers::Bridge& document, const launchers::SiteQueue& queue);

} // namespace cybele::bridge
