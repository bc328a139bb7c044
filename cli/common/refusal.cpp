// SPDX-License-Identifier: Apache-2.0
#include "cli/common/refusal.hpp"

#include "support/message.hpp"

#include <algorithm>
#include <optional>

#include <nlohmann/json.hpp>

namespace cybele::cli {

namespace {

/// A fault belongs to the page of the first row whose code and words fit.
struct RefusalRow {
    std::string_view page;
    std::optional<ErrorCode> code;
    std::string_view words; ///< somewhere in the message or its reason; empty: any
};

constexpr RefusalRow kRows[] = {
    {"no-subordinate-ids", ErrorCode::kEnvironment, "/etc/subuid"},
    {"no-subordinate-ids", ErrorCode::kEnvironment, "/etc/subgid"},
    {"no-subordinate-ids", ErrorCode::kEnvironment, "newuidmap"},
    {"no-subordinate-ids", ErrorCode::kEnvironment, "newgidmap"},
    {"no-user-namespaces", ErrorCode::kEnvironment, "user namespace"},
    {"no-user-namespaces", ErrorCode::kEnvironment, "max_user_namespaces"},
    {"no-builder", ErrorCode::kEnvironment, "mmdebstrap is not installed"},
    {"no-builder", ErrorCode::kEnvironment, "package mirror"},
    {"no-space", ErrorCode::kEnvironment, "No space left"},
    {"no-space", ErrorCode::kEnvironment, "Disk quota exceeded"},
    {"no-space", ErrorCode::kEnvironment, "not enough space"},
    {"no-space", ErrorCode::kEnvironment, "no space is left"},
    {"no-own-folder", ErrorCode::kEnvironment, "cannot be kept in"},
    {"mixed-versions", ErrorCode::kEnvironment, "is not of this cybelectl"},
    {"mixed-versions", ErrorCode::kEnvironment, "cybelectl-http is of version"},
    {"newer-version", std::nullopt, "a later one made it"},
    {"newer-version", std::nullopt, "a later one wrote it"},
    {"newer-version", std::nullopt, "was written by another cybelectl"},
    {"no-network", std::nullopt, "the network was not reached"},
    {"no-network", ErrorCode::kEnvironment, "cannot reach "},
    {"no-network", ErrorCode::kEnvironment, "cannot use the network"},
    {"mpi-does-not-fit", ErrorCode::kInput, "in the image aborts"},
    {"mpi-does-not-fit", ErrorCode::kInput, "in the image starts N jobs of one rank"},
    {"stale-lock", ErrorCode::kInput, "the Lock is stale"},
    {"not-verified", ErrorCode::kVerification, ""},
};

bool holds(const Fault& fault, std::string_view words) {
    return fault.message.find(words) != std::string::npos ||
           fault.because.find(words) != std::string::npos;
}

} // namespace

std::string_view page_about(const Fault& fault) {
    if (fault.is_warning) {
        return {};
    }
    const auto* const row =
        std::find_if(std::begin(kRows), std::end(kRows), [&](const RefusalRow& known) {
            return (!known.code || *known.code == fault.code) && holds(fault, known.words);
        });
    return row == std::end(kRows) ? std::string_view() : row->page;
}

std::string shown_faults(const std::vector<Fault>& faults, bool is_coloured) {
    std::string text;
    for (const Fault& fault : faults) {
        text += (text.empty() ? "" : "\n") + format_text(fault, is_coloured);
        if (const std::string_view page = page_about(fault); !page.empty()) {
            text += "more: cybelectl explain " + std::string(page) + "\n";
        }
    }
    return text;
}

std::string shown_faults_json(const std::vector<Fault>& faults) {
    auto document = nlohmann::json::parse(format_json(faults), nullptr, false);
    for (std::size_t at = 0; at < faults.size(); ++at) {
        if (const std::string_view page = page_about(faults[at]); !page.empty()) {
            document["faults"][at]["more"] = "cybelectl explain " + std::string(page);
        }
    }
    return document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

} // namespace cybele::cli
