// SPDX-License-Identifier: Apache-2.0
#include "support/name_beside.hpp"

#include "support/quote.hpp"

#include <climits>
#include <string>

namespace cybele {

std::filesystem::path name_beside(const std::filesystem::path& file, std::string_view ending) {
    std::string name = file.filename().native();
    if (name.size() + ending.size() > NAME_MAX) {
        name.resize(NAME_MAX - ending.size());
        while (!is_utf8(name)) { // not in the middle of a letter
            name.pop_back();
        }
    }
    return file.parent_path() / (name + std::string(ending));
}

} // namespace cybele
