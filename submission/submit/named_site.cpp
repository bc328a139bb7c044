// SPDX-License-Identifier: Apache-2.0
#include "submission/submit/job_input.hpp"
#include "support/file.hpp"

#include <utility>

namespace cybele::submission {

Result<launchers::Site> read_named_site(const JobRequest& request) {
    auto text = read_file(request.site);
    if (text) {
        return launchers::read_site(std::move(*text), request.site);
    }
    Fault fault = text.error().faults().front();
    if (fault.id == "file-missing" && !request.site_from.empty()) {
        fault.where = request.site_place;
        fault.because = request.site_from + " names it as the Site";
        fault.help = "correct the path there, or name another Site: --site FILE";
    }
    return fail(Error(std::move(fault)).with_context("reading the Site"));
}

} // namespace cybele::submission
