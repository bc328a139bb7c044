// SPDX-License-Identifier: Apache-2.0
#include "images/inspection/checked_facts.hpp"
#include "images/inspection/contents.hpp"
#include "submission/submit/job_input.hpp"

#include <array>
#include <utility>

namespace cybele::submission {

Result<void> find_facts_in_files(JobInput& input) {
    if (!input.facts || !input.facts->mpi.empty()) {
        return {};
    }
    CYBELE_TRY(const auto contents, images::open_contents(input.image_file));
    CYBELE_TRY(const auto root, images::files_of(contents, "the launch is checked against them"));
    CYBELE_TRY(const auto query_result, images::survey_files(root));
    CYBELE_TRY(const auto found, images::check_facts(root, query_result, input.facts->labels));
    const std::array<std::pair<std::string_view, std::string*>, 3> wanted{
        {{"mpi", &input.facts->mpi}, {"pmi", &input.facts->pmi}, {"libc", &input.facts->libc}}};
    for (const images::CheckedFact& fact : found) {
        for (const auto& [name, into] : wanted) {
            // With two MPIs in an image nobody knows which one the program calls.
            if (fact.name == name && into->empty() && fact.found.find(", ") == std::string::npos) {
                *into = fact.found;
            }
        }
    }
    return {};
}

} // namespace cybele::submission
