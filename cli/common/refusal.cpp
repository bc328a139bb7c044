// SPDX-License-Identifier: Apache-2.0
#include "cli/common/refusal.hpp"

#include "cli/common/apptainer_errors.hpp"
#include "support/json.hpp"
#include "support/message.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <iterator>

namespace cybele::cli {

namespace {

struct PageRow {
    std::string_view id; ///< of the problem
    std::string_view page;
};

constexpr PageRow kPages[] = {
    {"api-server-unreachable", "no-network"},
    {"bootstrap-not-fetched", "no-network"},
    {"build-space", "no-space"},
    {"cache-full", "no-space"},
    {"cache-version", "newer-version"},
    {"client-certificate", "no-network"},
    {"http-helper-missing", "no-network"},
    {"http-helper-version", "mixed-versions"},
    {"id-map-failed", "no-user-namespaces"},
    {"inner-namespace-failed", "no-user-namespaces"},
    {"journal-version", "newer-version"},
    {"local-queue-version", "newer-version"},
    {"lock-stale", "stale-lock"},
    {"mmdebstrap-missing", "no-builder"},
    {"mount-namespace-failed", "no-user-namespaces"},
    {"mpi-host-pair", "mpi-does-not-fit"},
    {"mpi-pair-fails", "mpi-does-not-fit"},
    {"no-space", "no-space"},
    {"packages-without-network", "no-network"},
    {"own-folder-refused", "no-own-folder"},
    {"package-mirror-unknown", "no-builder"},
    {"pull-space", "no-space"},
    {"quota-exceeded", "no-space"},
    {"registry-without-https", "no-network"},
    {"rpm-bootstrap-without-network", "no-network"},
    {"server-timeout", "no-network"},
    {"server-unreachable", "no-network"},
    {"server-untrusted", "no-network"},
    {"service-setting-unknown", "newer-version"},
    {"step-without-network", "no-network"},
    {"step-without-space", "no-space"},
    {"store-index-version", "newer-version"},
    {"store-version", "newer-version"},
    {"subordinate-ids-missing", "no-subordinate-ids"},
    {"subordinate-ids-not-mapped", "no-subordinate-ids"},
    {"user-namespace-failed", "no-user-namespaces"},
    {"user-namespaces-missing", "no-user-namespaces"},
};

/// What callers of Apptainer look for in its errors, in addition to ours.
struct ApptainerWords {
    std::string_view id; ///< of the problem
    std::string_view words;
};

constexpr ApptainerWords kApptainerWords[] = {
    {"sandbox-exists", "use --force if you want to overwrite it"},
    {"image-not-signed", "signature not found"},
    {"image-not-verified", "image not signed by required entities"},
};

/// Nothing where Apptainer's callers look for nothing.
std::string apptainer_words(const Fault& fault) {
    const auto* const row = std::ranges::find(kApptainerWords, fault.id, &ApptainerWords::id);
    if (row == std::end(kApptainerWords) || fault.is_warning) {
        return {};
    }
    return " (" + std::string(row->words) + ")";
}

/// A build step's output, which is part of a reason, keeps its lines.
std::string printable_lines(std::string_view text) {
    std::string shown;
    while (!text.empty()) {
        const auto end = std::min(text.find('\n'), text.size());
        shown += printable(text.substr(0, end));
        text.remove_prefix(end);
        if (text.starts_with('\n')) {
            shown += '\n';
            text.remove_prefix(1);
        }
    }
    return shown;
}

} // namespace

std::string_view page_about(const Fault& fault) {
    if (fault.is_warning) {
        return {};
    }
    const auto* const row = std::ranges::find(kPages, fault.id, &PageRow::id);
    if (row != std::end(kPages)) {
        return row->page;
    }
    return fault.code == ErrorCode::kVerification ? "not-verified" : std::string_view();
}

std::string shown_faults(const std::vector<Fault>& faults, bool is_coloured, bool has_ids) {
    std::string text;
    for (const Fault& fault : faults) {
        text += (text.empty() ? "" : "\n") + format_text(fault, is_coloured, has_ids);
        if (const std::string_view page = page_about(fault); !page.empty()) {
            text += "more: cybelectl explain " + std::string(page) + "\n";
        }
    }
    return text;
}

std::string shown_faults_as_apptainer(const std::vector<Fault>& faults, Verbs verbs) {
    std::string text;
    for (const Fault& fault : faults) {
        if (const auto error = apptainer_error_of(fault, verbs)) {
            text += (error->is_fatal ? "FATAL:   " : "ERROR:   ") + error->words + "\n";
            continue;
        }
        const bool has_place = fault.where && !fault.where->file.empty() && fault.where->line > 0;
        text += (fault.is_warning ? "WARNING: " : "FATAL:   ") +
                (has_place ? printable(fault.where->file) + ", line " +
                                 std::to_string(fault.where->line) + ": "
                           : std::string()) +
                printable(fault.message) +
                (fault.because.empty() ? "" : ": " + printable_lines(fault.because)) +
                (fault.help.empty() ? "" : "; " + printable(fault.help)) +
                printable(apptainer_words(fault)) + "\n";
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
    return json_text(document) + "\n";
}

} // namespace cybele::cli
