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

/// The objects that valid signatures cover; of these, where some are asked about.
std::vector<Descriptor> covered_objects(const images::Verification& verification,
                                        const images::Image& image,
                                        const std::vector<std::uint32_t>& asked) {
    std::set<std::uint32_t> ids;
    for (const SignatureState& state : verification.signatures) {
        if (state.is_valid) {
            ids.insert(state.covers.begin(), state.covers.end());
        }
    }
    std::vector<Descriptor> objects;
    for (const Descriptor& one : image.descriptors()) {
        const bool is_asked = asked.empty() || contains(asked, one.id);
        if (is_asked && ids.contains(one.id)) {
            objects.push_back(one);
        }
    }
    return objects;
}

const SignatureState* signer_of(const images::Verification& verification, std::uint32_t object) {
    for (const SignatureState& state : verification.signatures) {
        const auto& covers = state.covers;
        if (state.is_valid && contains(covers, object)) {
            return &state;
        }
    }
    return nullptr;
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
        (reason == kApptainerLacksKey || reason == kApptainerLacksIssuer)) {
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
    }
    if (!verification.is_verified) {
        const bool is_of_signature = std::ranges::any_of(
            verification.signatures, [](const SignatureState& state) { return !state.is_valid; });
        return is_of_signature
                   ? text + "\nError encountered during signature verification: " + reason + "\n"
                   : text;
    }
    text += "Objects verified:\nID  |GROUP   |LINK    |TYPE\n" + std::string(48, '-') + "\n";
    for (const Descriptor& object : covered_objects(verification, image, asked)) {
        text += object_row(object);
    }
    return text;
}

std::string apptainer_json(const images::Verification& verification,
                           const images::Image* image,
                           const std::vector<std::uint32_t>& asked) {
    std::set<std::uint32_t> signatures;
    for (const SignatureState& state : verification.signatures) {
        signatures.insert(state.object);
    }
    auto signers = nlohmann::ordered_json::array();
    const auto covered =
        image == nullptr ? std::vector<Descriptor>() : covered_objects(verification, *image, asked);
    for (const Descriptor& object : covered) {
        const SignatureState* const state = signer_of(verification, object.id);
        const bool is_pgp = state != nullptr && is_of_pgp(*state);
        std::string fingerprint = is_pgp ? state->key : "";
        fingerprint = text::lowered(fingerprint);
        signers.push_back({{"Signer",
                            {{"Partition", images::data_type_name(object.type)},
                             {"Name", is_pgp ? state->user_id : "unknown"},
                             {"Fingerprint", fingerprint},
                             {"KeyLocal", is_pgp},
                             {"KeyCheck", is_pgp},
                             {"DataCheck", true}}}});
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
    if (first.id == "sif-object-missing") {
        first.set(problem("signed-object-missing", begin + "integrity: object not found"));
    } else if (first.id == "sif-group-missing") {
        first.set(problem("signed-group-missing", begin + "integrity: group not found"));
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
