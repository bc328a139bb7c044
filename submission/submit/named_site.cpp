// SPDX-License-Identifier: Apache-2.0
#include "submission/submit/job_input.hpp"
#include "submission/submit/own_site.hpp"
#include "support/file.hpp"

#include <utility>

namespace cybele::submission {

Result<launchers::Site> read_named_site(const std::filesystem::path& file,
                                        const std::string& named_by,
                                        const std::optional<Place>& place,
                                        const std::filesystem::path& home) {
    auto text = read_file(file);
    if (text) {
        CYBELE_TRY(launchers::Site site, launchers::read_site(std::move(*text), file));
        if (place) {
            CYBELE_CHECK(check_site_of_settings(site, home, *place));
        }
        return site;
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
