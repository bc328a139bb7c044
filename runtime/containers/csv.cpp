// SPDX-License-Identifier: Apache-2.0
#include "runtime/containers/csv.hpp"

namespace cybele::runtime {

std::vector<std::string> csv_fields(std::string_view line) {
    std::vector<std::string> fields(1);
    bool is_quoted = false;
    for (std::size_t i = 0; i < line.size(); ++i) {
        const bool is_double = is_quoted && line.substr(i).starts_with("\"\"");
        if (is_double) {
            fields.back() += line[i++];
        } else if (line[i] == '"') {
            is_quoted = !is_quoted;
        } else if (line[i] == ',' && !is_quoted) {
            fields.emplace_back();
        } else {
            fields.back() += line[i];
        }
    }
    return fields;
}

} // namespace cybele::runtime
