// SPDX-License-Identifier: Apache-2.0
#include "pipeline/unified_diff.hpp"

#include "images/inspection/diff.hpp"

#include <fmt/format.h>

namespace cybele::pipeline {

std::string unified_diff(std::string_view before, std::string_view after, std::string_view name) {
    return before == after
               ? std::string()
               : fmt::format("--- {0}\n+++ {0}\n{1}", name, images::unified_diff(before, after));
}

} // namespace cybele::pipeline
