// SPDX-License-Identifier: Apache-2.0
#include "diagnostics/doctor.hpp"

#include "diagnostics/examine.hpp"

#include <algorithm>
#include <utility>

namespace cybele::diagnostics {

Finding works(std::string subject, std::string what) {
    Finding finding;
    finding.subject = std::move(subject);
    finding.what = std::move(what);
    return finding;
}

Finding lacks(std::string subject, std::string what, std::string follows, std::string help) {
    Finding finding = works(std::move(subject), std::move(what));
    finding.state = Finding::State::kNote;
    finding.follows = std::move(follows);
    finding.help = std::move(help);
    return finding;
}

Finding fails(std::string subject, std::string what, std::string follows, std::string help) {
    Finding finding =
        lacks(std::move(subject), std::move(what), std::move(follows), std::move(help));
    finding.state = Finding::State::kMissing;
    finding.is_needed = true;
    return finding;
}

std::vector<Finding> examine_host(const DoctorInput& input) {
    Findings findings;
    examine_kernel(input, findings);
    examine_programs(findings);
    examine_launch(input, findings);
    examine_network(input, findings);
    examine_places(input, findings);
    return findings;
}

bool can_do_main_job(const std::vector<Finding>& findings) {
    return std::ranges::none_of(findings, [](const Finding& finding) {
        return finding.is_needed && finding.state == Finding::State::kMissing;
    });
}

} // namespace cybele::diagnostics
