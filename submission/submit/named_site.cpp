// SPDX-License-Identifier: Apache-2.0
#include "submission/submit/job_input.hpp"
#include "support/file.hpp"

#include <utility>

namespace cybele::submission {

Result<launchers::Site> read_named_site(const std::filesystem::path& file,
                                        const std::string& named_by,
                                        const std::optional<Place>& place) {
    auto text = read_file(file);
    if (text) {
        return launchers::read_site(std::move(*text), file);
    }
    Fault fault = text.error().faults().front();
    if (fault.id == "file-missing" && !named_by.empty()) {
        fault.where = place;
        fault.because = named_by + " names it as the Site";
        fault.help = "correct the path there, or name another Site: --site FILE";
    }
    return fail(Error(std::move(fault)).with_context("reading the Site"));
}

} // namespace cybele::submission
