// SPDX-License-Identifier: Apache-2.0
#include "builder/bases/header.hpp"

#include "definitions/grammar/grammar.hpp"
#include "images/openpgp/keyring.hpp"
#include "support/quote.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

namespace cybele::builder {
namespace {

using definitions::header_spelling;
using definitions::Stage;

constexpr std::size_t kFingerprintDigits = 40;

/// A key that decides whether the base is the one that was meant, for agents that cannot obey it.
struct Deciding {
    std::string_view key;
    std::string_view because;
    std::string_view help;
};
constexpr std::array kDeciding = {
    Deciding{"fingerprints",
             "only a SIF carries OpenPGP signatures, so this base could not be verified",
             "use a SIF as the base ('localimage', 'library', 'oras'), or remove the line"},
    Deciding{"registry",
             "it is for 'Bootstrap: docker', so a different image than intended could be used",
             "write the complete name into From, and remove the line"},
    Deciding{"namespace",
             "it is for 'Bootstrap: docker', so a different image than intended could be used",
             "write the complete name into From, and remove the line"},
};

} // namespace

std::vector<std::string>
check_header_keys(const Stage& stage, std::string_view file, Faults& faults) {
    std::vector<std::string> warnings;
    std::set<std::string> seen;
    const std::string agent = stage.header_value("bootstrap");
    for (const auto& [key, value] : stage.header) {
        if (value.empty() || definitions::agent_reads(agent, key) || !seen.insert(key).second) {
            continue;
        }
        const auto* const deciding = std::ranges::find(kDeciding, key, &Deciding::key);
        Fault fault = stage.fault_at_header(file, key);
        fault.set(problem("header-key-without-effect",
                          fmt::format("'{}' has no effect with 'Bootstrap: {}'",
                                      header_spelling(key),
                                      printable(agent))));
        if (deciding == kDeciding.end()) {
            warnings.push_back(
                fmt::format("warning: {}{}",
                            fault.where ? fmt::format("line {}: ", fault.where->line) : "",
                            fault.message));
            continue;
        }
        fault.code = ErrorCode::kInput;
        fault.because = deciding->because;
        fault.help = deciding->help;
        faults.add(std::move(fault));
    }
    return warnings;
}

std::string base_image(const Stage& stage) {
    std::string image = stage.header_value("from");
    if (stage.header_value("bootstrap") != "docker") {
        return image;
    }
    for (const char* key : {"namespace", "registry"}) {
        std::string before = stage.header_value(key);
        while (before.ends_with('/')) {
            before.pop_back();
        }
        if (!before.empty()) {
            image.insert(0, before.append("/"));
        }
    }
    return image;
}

Result<std::vector<std::string>> base_signers(const Stage& stage, std::string_view file) {
    const std::string list = stage.header_value("fingerprints");
    std::vector<std::string> signers;
    for (const std::string_view word : text::split_terminated(list, ',')) {
        if (definitions::trim(word).empty()) {
            continue;
        }
        signers.push_back(images::openpgp::normal_key_id(word));
        if (signers.back().size() != kFingerprintDigits) {
            Fault fault = stage.fault_at_header(file, "fingerprints");
            fault.code = ErrorCode::kInput;
            fault.message =
                fmt::format("'{}' is not a fingerprint", printable(definitions::trim(word)));
            fault.because = "an OpenPGP key's fingerprint has 40 hexadecimal digits";
            fault.help = "write those that `cybelectl key list` shows, with commas between them";
            return fail(std::move(fault));
        }
    }
    return signers;
}

} // namespace cybele::builder
