// SPDX-License-Identifier: Apache-2.0
// The head of each script, read as the batch system reads it, says what the Job asks for.
#include "read_back.hpp"

#include <sstream>

#include <doctest/doctest.h>

namespace cybele::pairs {

Directives directives_of(const Cell& cell, const std::string& script) {
    Directives found;
    std::istringstream lines(script);
    std::string line;
    std::getline(lines, line); // #!
    while (std::getline(lines, line) && line.starts_with("#") && !line.starts_with("# ")) {
        const std::string words = line.substr(line.find(' ') + 1);
        const bool is_named = words.starts_with("-l ") || words.starts_with("-W ");
        const auto end = cell.dialect == "slurm" ? words.find('=')
                         : is_named              ? words.find('=')
                                                 : words.find(' ');
        std::string value = end == std::string::npos ? "" : words.substr(end + 1);
        if (cell.dialect == "slurm" && value.find('"') != std::string::npos) {
            std::string plain; // as sbatch takes quotes away
            for (const char letter : value) {
                plain += letter == '"' ? std::string() : std::string(1, letter);
            }
            value = plain;
        }
        const bool is_new = found.emplace(words.substr(0, end), value).second;
        CHECK_MESSAGE(is_new, line);
    }
    return found;
}

TEST_CASE("the directives of each script are those of its Job, by arithmetic of the test's own") {
    const Cells& cells = job_cells();
    std::size_t count = 0;
    for (std::size_t index = 0; index < cells.rendered.size(); ++index) {
        const Cell& cell = cells.rendered[index];
        const Directives found = directives_of(cell, cells.scripts[index].script);
        const Directives expected = expected_directives(cell);
        INFO(cell.target << "\n" << cell.job_text << cell.site_text);
        for (const auto& [name, value] : expected) {
            const auto own = found.find(name);
            CHECK_MESSAGE((own != found.end() && own->second == value),
                          name << "=" << value << ", the script has "
                               << (own == found.end() ? "none" : own->second));
            ++count;
        }
        for (const auto& [name, value] : found) {
            CHECK_MESSAGE(expected.contains(name), name << "=" << value << " is not asked for");
        }
    }
    MESSAGE("directives " << count);
    CHECK(count > cells.rendered.size() * 5);
}

} // namespace cybele::pairs
