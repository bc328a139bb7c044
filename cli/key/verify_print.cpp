// SPDX-License-Identifier: Apache-2.0
#include "cli/key/verify_print.hpp"

#include "support/json.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace cybele::cli {

namespace {

using images::SignatureState;

/// "1-3, 5"
std::string ranges(const std::vector<std::uint32_t>& ids) {
    std::string text;
    for (std::size_t i = 0; i < ids.size();) {
        std::size_t last = i;
        while (last + 1 < ids.size() && ids[last + 1] == ids[last] + 1) {
            ++last;
        }
        text += text.empty() ? "" : ",";
        text += last == i ? fmt::format("{}", ids[i]) : fmt::format("{}-{}", ids[i], ids[last]);
        i = last + 1;
    }
    return text.empty() ? "-" : text;
}

using SignatureRow = std::array<std::string, 6>;

bool is_by_other_key(images::SignerGap gap) {
    return gap == images::SignerGap::kAnyPemKey || gap == images::SignerGap::kOtherPemKey;
}

SignatureRow signature_row(const SignatureState& state) {
    return {fmt::format("{}", state.object),
            std::string(images::name_of(state.kind)),
            state.group == 0 ? "-" : fmt::format("{}", state.group),
            ranges(state.covers),
            state.is_valid               ? "valid"
            : is_by_other_key(state.gap) ? "other key"
                                         : "NOT VALID",
            state.is_valid ? images::signer_text(state) : printable(state.because)};
}

template <class T>
void put(nlohmann::json& entry, const char* name, const T& value) {
    if (!value.empty()) {
        entry[name] = value;
    }
}

nlohmann::json signature_json(const SignatureState& state) {
    nlohmann::json entry{{"object", state.object},
                         {"group", state.group},
                         {"kind", images::name_of(state.kind)},
                         {"covers", state.covers},
                         {"valid", state.is_valid}};
    put(entry, "key", state.key);
    put(entry, "key-file", state.key_file);
    put(entry, "claimed-key", state.claimed_key);
    put(entry, "user-id", state.user_id);
    put(entry, "subject", state.subject);
    put(entry, "root", state.root);
    put(entry, "because", state.because);
    put(entry, "warnings", state.warnings);
    if (state.stamped) {
        entry["stamped"] = *state.stamped;
    }
    return entry;
}

} // namespace

std::string verification_text(const images::Verification& verification, const std::string& image) {
    std::vector<SignatureRow> rows = {
        {"ID", "KIND", "GROUP", "OBJECTS", "STATE", "BY, OR WHY NOT"}};
    for (const SignatureState& state : verification.signatures) {
        rows.push_back(signature_row(state));
    }
    std::array<std::size_t, 5> widths{};
    for (const SignatureRow& row : rows) {
        for (std::size_t i = 0; i < widths.size(); ++i) {
            widths[i] = std::max(widths[i], row[i].size());
        }
    }
    std::string text;
    for (const SignatureRow& row : rows) {
        for (std::size_t i = 0; i < widths.size(); ++i) {
            text += fmt::format("{:<{}}  ", row[i], widths[i]);
        }
        text += row.back() + "\n";
    }
    if (verification.signatures.empty()) {
        text = "no signatures\n";
    }
    for (const images::GroupState& group : verification.groups) {
        if (!group.unsigned_objects.empty()) {
            text += fmt::format("without a valid signature: objects {} of group {}\n",
                                ranges(group.unsigned_objects),
                                group.group);
        }
    }
    if (!verification.without_group.empty()) {
        text += fmt::format("without a group: objects {}\n", ranges(verification.without_group));
    }
    if (!verification.orphans.empty()) {
        text +=
            fmt::format("signatures of objects that are gone: {}\n", ranges(verification.orphans));
    }
    if (verification.is_verified) {
        text += fmt::format("verified {}\n", printable(image));
    }
    return text;
}

std::string verification_json(const images::Verification& verification,
                              const std::string& image,
                              const std::string& require) {
    nlohmann::json signatures = nlohmann::json::array();
    for (const SignatureState& state : verification.signatures) {
        signatures.push_back(signature_json(state));
    }
    nlohmann::json groups = nlohmann::json::array();
    for (const images::GroupState& group : verification.groups) {
        nlohmann::json entry{{"group", group.group},
                             {"objects", group.objects},
                             {"unsigned", group.unsigned_objects},
                             {"signers", group.signers},
                             {"verified", group.is_verified}};
        put(entry, "because", group.because);
        groups.push_back(std::move(entry));
    }
    nlohmann::json document{{"format", 1},
                            {"image", image},
                            {"verified", verification.is_verified},
                            {"require", require},
                            {"signatures", std::move(signatures)},
                            {"groups", std::move(groups)},
                            {"without-group", verification.without_group},
                            {"orphans", verification.orphans}};
    put(document, "because", verification.because);
    return json_text(document) + "\n";
}

} // namespace cybele::cli
