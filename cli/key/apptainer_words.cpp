// SPDX-License-Identifier: Apache-2.0
#include "cli/key/apptainer_words.hpp"

#include "cli/common/apptainer_signatures.hpp"
#include "images/sif/types.hpp"
#include "support/find.hpp"
#include "support/json.hpp"
#include "support/quote.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <cstdio>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace cybele::cli {

namespace {

using images::Descriptor;
using images::SignatureKind;
using images::SignatureState;

/// The objects that a valid signature covers; of these, where some are asked about. Those of an
/// envelope come with the first of its signatures.
std::vector<Descriptor> covered_objects(const images::Verification& verification,
                                        const SignatureState& state,
                                        const images::Image& image,
                                        const std::vector<std::uint32_t>& asked) {
    const auto first = std::ranges::find_if(verification.signatures, [&](const auto& one) {
        return one.is_valid && one.object == state.object;
    });
    std::vector<Descriptor> objects;
    if (first == verification.signatures.end() || &*first != &state ||
        !contains(verification.groups, state.group, &images::GroupState::group)) {
        return objects;
    }
    for (const Descriptor& one : image.descriptors()) {
        const bool is_asked = asked.empty() || contains(asked, one.id);
        if (is_asked && contains(state.covers, one.id)) {
            objects.push_back(one);
        }
    }
    return objects;
}

bool is_of_pgp(const SignatureState& state) {
    return state.kind == SignatureKind::kPgp || state.kind == SignatureKind::kLegacy;
}

std::string object_row(const Descriptor& object) {
    const std::uint32_t link = object.linked_object().value_or(0);
    return fmt::format("{:<4}|{:<8}|{:<8}|{}\n",
                       object.id,
                       object.group == 0 ? "NONE" : std::to_string(object.group),
                       link == 0 ? "NONE" : std::to_string(link),
                       images::data_type_name(object.type));
}

} // namespace

std::string key_material(const std::vector<std::string>& keys,
                         const std::vector<std::string>& certificates) {
    if (!certificates.empty()) {
        return "key material from certificate '" + printable(certificates.front()) + "'";
    }
    return keys.empty() ? "PGP key material"
                        : "key material from '" + printable(keys.front()) + "'";
}

std::string apptainer_text(const images::Verification& verification,
                           const images::Image& image,
                           const std::vector<std::uint32_t>& asked) {
    const std::string reason = apptainer_reason(verification);
    if (!verification.is_verified &&
        (reason == kApptainerLacksKey || reason == kApptainerLacksIssuer ||
         reason == kApptainerWithoutGroup)) {
        return {};
    }
    std::string text;
    for (const SignatureState& state : verification.signatures) {
        if (state.is_valid && is_of_pgp(state)) {
            text += fmt::format("{:<18} Signing entity: {}\n{:<18} Fingerprint: {}\n",
                                "[LOCAL]",
                                printable(state.user_id),
                                "[LOCAL]",
                                state.key);
        }
        const auto objects = covered_objects(verification, state, image, asked);
        if (verification.is_verified && !objects.empty()) {
            text +=
                "Objects verified:\nID  |GROUP   |LINK    |TYPE\n" + std::string(48, '-') + "\n";
            for (const Descriptor& object : objects) {
                text += object_row(object);
            }
        }
    }
    const bool is_of_signature = std::ranges::any_of(
        verification.signatures, [](const SignatureState& state) { return !state.is_valid; });
    if (!verification.is_verified && (is_of_signature || reason.ends_with(kApptainerUnsigned))) {
        text += "\nError encountered during signature verification: " + reason + "\n";
    }
    return text;
}

std::string apptainer_json(const images::Verification& verification,
                           const images::Image* image,
                           const std::vector<std::uint32_t>& asked) {
    std::set<std::uint32_t> signatures;
    for (const SignatureState& state : verification.signatures) {
        if (contains(verification.groups, state.group, &images::GroupState::group)) {
            signatures.insert(state.object);
        }
    }
    auto signers = nlohmann::ordered_json::array();
    for (const SignatureState& state : verification.signatures) {
        const auto covered = image == nullptr ? std::vector<Descriptor>()
                                              : covered_objects(verification, state, *image, asked);
        for (const Descriptor& object : covered) {
            const bool is_pgp = is_of_pgp(state);
            signers.push_back({{"Signer",
                                {{"Partition", images::data_type_name(object.type)},
                                 {"Name", is_pgp ? state.user_id : "unknown"},
                                 {"Fingerprint", is_pgp ? text::lowered(state.key) : ""},
                                 {"KeyLocal", is_pgp},
                                 {"KeyCheck", is_pgp},
                                 {"DataCheck", true}}}});
        }
    }
    nlohmann::ordered_json all = {{"Signatures", signatures.size()}, {"SignerKeys", nullptr}};
    if (!signers.empty()) {
        all["SignerKeys"] = std::move(signers);
    }
    std::string text;
    for (const char letter : json_text(all) + "\n") {
        const bool is_escaped = letter == '<' || letter == '>' || letter == '&';
        text += is_escaped ? fmt::format("\\u{:04x}", static_cast<unsigned>(letter))
                           : std::string(1, letter);
    }
    return text;
}

Error apptainer_error(std::string_view failed, const Error& error) {
    std::vector<Fault> faults = error.faults();
    Fault& first = faults.front();
    const std::string begin = std::string(failed) + ": ";
    const bool is_zero = first.subject == "0";
    if (first.id == "sif-object-missing" && !is_zero) {
        first.set(problem("signed-object-missing", begin + "integrity: object not found"));
    } else if (first.id == "sif-object-missing") {
        first.set(problem("signed-object-missing", begin + "integrity: invalid object ID"));
    } else if (first.id == "sif-group-missing" && !is_zero) {
        first.set(problem("signed-group-missing", begin + "integrity: group not found"));
    } else if (first.id == "sif-group-missing") {
        first.set(problem("signed-group-missing", begin + "integrity: invalid group ID"));
    } else if (first.id == "file-missing") {
        first.set(
            problem("signed-image-missing",
                    begin + "open " + printable(first.subject) + ": no such file or directory"));
    } else if (first.id == "not-a-sif" && first.detail == "directory") {
        const std::string file = printable(first.subject);
        first.set(problem("signed-image-malformed",
                          begin +
                              (failed.find("sign") != std::string_view::npos
                                   ? "open "
                                   : "reading global header: read ") +
                              file + ": is a directory"));
    } else if (first.id == "text-not-a-sif") {
        first.set(
            problem("signed-image-malformed", begin + "reading global header: unexpected EOF"));
    } else {
        first.message = begin + first.message;
    }
    return Error(std::move(faults));
}

} // namespace cybele::cli
