// SPDX-License-Identifier: Apache-2.0
#include "runtime/containers/site_directives.hpp"

#include "support/find.hpp"
#include "support/text.hpp"

namespace cybele::runtime {

bool SiteDirective::accepts(std::string_view value) const {
    if (kind == Kind::kNumber) {
        return !value.empty() && value.find_first_not_of("0123456789") == std::string_view::npos;
    }
    const auto allowed = text::split_terminated(choices, ' ');
    return kind == Kind::kList || kind == Kind::kText || contains(allowed, value);
}

} // namespace cybele::runtime
