// SPDX-License-Identifier: Apache-2.0
#include "cli/help/linking.hpp"

namespace cybele::cli {

std::string_view linking() {
    return CYBELE_LINKING;
}

} // namespace cybele::cli
