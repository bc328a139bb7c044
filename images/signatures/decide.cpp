// SPDX-License-Identifier: Apache-2.0
#include "images/signatures/message.hpp"
#include "images/signatures/signer.hpp"
#include "images/signatures/verify.hpp"
#include "support/counted.hpp"
#include "support/find.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace cybele::images {

namespace {

/// Somebody who counts, and how a state by him is known.
struct Expected {
    std::string shown;
    std::function<bool(const SignatureState&)> made;
};

std::vector<Expected> expected_signers(const Trust& trust) {
    std::vector<Expected> signers;
    std::set<std::string> seen;
    const auto by_key = [&](std::string shown, const std::string& key) {
        if (seen.insert(key).second) {
            signers.push_back(
                {std::move(shown), [key](const auto& state) { return state.key == key; }});
        }
    };
    for (const PublicKey& key : trust.keys) {
        by_key(key.path().native(), key.fingerprint());
    }
    for (const std::string& fingerprint : trust.pgp) {
        by_key(fingerprint, fingerprint);
    }
    for (const NamedCertificate& leaf : trust.certificates) {
        by_key("the certificate " + leaf.fingerprint, leaf.key);
    }
    for (const NamedRoot& root : trust.roots) {
        signers.push_back({"a signer certified by " + root.subject,
                           [identity = root.identity](const auto& state) {
                               return state.root_identity == identity;
                           }});
    }
    return signers;
}

/// Whose valid signatures cover an object.
std::vector<const SignatureState*> covering(const Verification& verification, std::uint32_t id) {
    std::vector<const SignatureState*> found;
    for (const SignatureState& state : verification.signatures) {
        if (state.is_valid && contains(state.covers, id)) {
            found.push_back(&state);
        }
    }
    return found;
}

/// Who made them, by public key: a key is one signer, by whatever name it is known.
std::map<std::string, std::string> signers_of(const std::vector<const SignatureState*>& states) {
    std::map<std::string, std::string> signers;
    for (const SignatureState* const state : states) {
        signers.emplace(state->key, state->signer);
    }
    return signers;
}

/// Why too few of those that count have signed an object; empty: enough have.
std::string lacking(const std::vector<const SignatureState*>& states, const Trust& trust) {
    if (trust.require == "all") {
        std::vector<std::string> missing;
        for (const Expected& signer : expected_signers(trust)) {
            if (std::ranges::none_of(
                    states, [&](const SignatureState* state) { return signer.made(*state); })) {
                missing.push_back(signer.shown);
            }
        }
        return missing.empty()
                   ? ""
                   : fmt::format("the signature of {} is missing", fmt::join(missing, " and of "));
    }
    std::size_t wanted = 1;
    const std::string& text = trust.require;
    if (text != "any") {
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), wanted);
        if (error != std::errc{} || end != text.data() + text.size() || wanted == 0) {
            return fmt::format("'{}' is not a number of signers", text);
        }
    }
    const std::size_t found = signers_of(states).size();
    return found >= wanted
               ? ""
               : fmt::format("{} of {} signed it", found, counted(wanted, "required signer"));
}

/// The state that tells best why a group is not verified: of somebody known, else the first.
const SignatureState* telling(const Verification& verification, std::uint32_t group) {
    const SignatureState* first = nullptr;
    for (const SignatureState& state : verification.signatures) {
        if (state.group != group || state.is_valid) {
            continue;
        }
        if (!state.signer.empty()) {
            return &state;
        }
        first = first == nullptr ? &state : first;
    }
    return first;
}

bool has_valid(const Verification& verification, std::uint32_t group) {
    return std::ranges::any_of(verification.signatures, [&](const SignatureState& state) {
        return state.group == group && state.is_valid && !state.covers.empty();
    });
}

/// Why the group is not verified.
void explain_group(const Verification& verification, const std::string& lacks, GroupState& state) {
    if (!state.unsigned_objects.empty() && has_valid(verification, state.group)) {
        const bool is_one = state.unsigned_objects.size() == 1;
        state.because = fmt::format("{} {} of group {} {} not signed",
                                    is_one ? "object" : "objects",
                                    fmt::join(state.unsigned_objects, ", "),
                                    state.group,
                                    is_one ? "is" : "are");
        return;
    }
    const SignatureState* const told = telling(verification, state.group);
    const std::string detail =
        told == nullptr ? "" : fmt::format("signature {}: {}", told->object, told->because);
    state.gap = told == nullptr ? SignerGap::kNone : told->gap;
    if (state.unsigned_objects.empty()) {
        state.because = fmt::format("group {}: {}{}",
                                    state.group,
                                    lacks,
                                    detail.empty() ? "" : fmt::format(" ({})", detail));
    } else {
        state.because =
            told == nullptr ? fmt::format("group {} is not signed", state.group) : detail;
    }
}

GroupState judge_group(const Verification& verification,
                       const Trust& trust,
                       std::uint32_t group,
                       const std::vector<std::uint32_t>& objects) {
    GroupState state;
    state.group = group;
    state.objects = objects;
    std::string lacks;
    bool is_first = true;
    std::map<std::string, std::string> common;
    for (const std::uint32_t id : objects) {
        const auto states = covering(verification, id);
        if (states.empty()) {
            state.unsigned_objects.push_back(id);
        }
        if (std::string why = lacking(states, trust); !why.empty() && lacks.empty()) {
            lacks = std::move(why);
        }
        const auto own = signers_of(states);
        if (is_first) {
            common = own;
        } else {
            std::erase_if(common, [&](const auto& signer) { return own.count(signer.first) == 0; });
        }
        is_first = false;
    }
    for (const auto& [key, signer] : common) {
        state.signers.push_back(signer);
    }
    std::sort(state.signers.begin(), state.signers.end());
    state.is_verified = lacks.empty() && state.unsigned_objects.empty();
    if (!state.is_verified) {
        explain_group(verification, lacks, state);
    }
    return state;
}

tl::unexpected<Error> not_there(Problem problem, std::string because) {
    return fail(ErrorCode::kInput,
                std::move(problem),
                std::move(because),
                "`cybelectl sif list IMAGE` shows the existing ones");
}

} // namespace

std::string lacking_signers(const std::vector<SignatureState>& states, const Trust& trust) {
    std::vector<const SignatureState*> valid;
    for (const SignatureState& state : states) {
        if (state.is_valid) {
            valid.push_back(&state);
        }
    }
    return lacking(valid, trust);
}

Result<void> Selection::check(const Image& image) const {
    const std::vector<std::uint32_t> groups = signable_groups(image);
    if (group && !std::binary_search(groups.begin(), groups.end(), *group)) {
        return not_there(problem("sif-group-missing", fmt::format("there is no group {}", *group))
                             .about(std::to_string(*group)),
                         groups.empty() ? "the image has none"
                                        : fmt::format("the image has {}", fmt::join(groups, ", ")));
    }
    for (const std::uint32_t id : objects) {
        const auto& all = image.descriptors();
        const auto found = std::ranges::find(all, id, &Descriptor::id);
        if (found == all.end()) {
            return not_there(problem("sif-object-missing", fmt::format("there is no object {}", id))
                                 .about(std::to_string(id)),
                             "the image has no such id");
        }
        if (found->type == DataType::kSignature || found->group == 0) {
            return not_there(problem("sif-object-unsigned",
                                     fmt::format("object {} has no signature of its own", id)),
                             found->group == 0 ? "it belongs to no group, so none can cover it"
                                               : "it is a signature");
        }
    }
    return {};
}

bool Selection::has(const Descriptor& descriptor) const {
    if (descriptor.type == DataType::kSignature || descriptor.group == 0) {
        return false;
    }
    return (!group || *group == descriptor.group) &&
           (objects.empty() || contains(objects, descriptor.id));
}

void decide(const Image& image,
            const Trust& trust,
            const Selection& selection,
            Verification& verification) {
    std::vector<std::string> reasons;
    const std::vector<std::uint32_t> groups = signable_groups(image);
    for (const Descriptor& descriptor : image.descriptors()) {
        if (descriptor.group == 0 && descriptor.type != DataType::kSignature) {
            verification.without_group.push_back(descriptor.id);
            reasons.push_back(fmt::format(
                "object {} belongs to no group, so no signature covers it", descriptor.id));
        }
    }
    for (const SignatureState& state : verification.signatures) {
        if (!std::binary_search(groups.begin(), groups.end(), state.group)) {
            verification.orphans.push_back(state.object);
            reasons.push_back(fmt::format("signature {}: {}", state.object, state.because));
        }
    }
    if (!selection.is_whole()) {
        reasons.clear();
    }
    std::vector<std::string> of_groups;
    for (const std::uint32_t group : groups) {
        std::vector<std::uint32_t> objects;
        for (const Descriptor& descriptor : image.descriptors()) {
            if (descriptor.group == group && selection.has(descriptor)) {
                objects.push_back(descriptor.id);
            }
        }
        if (!objects.empty()) {
            verification.groups.push_back(judge_group(verification, trust, group, objects));
            if (!verification.groups.back().is_verified) {
                of_groups.push_back(verification.groups.back().because);
            }
        }
    }
    if (verification.signatures.empty()) {
        of_groups = {"the image is not signed"};
    }
    reasons.insert(verification.signatures.empty() ? reasons.begin() : reasons.end(),
                   of_groups.begin(),
                   of_groups.end());
    verification.is_verified = reasons.empty();
    verification.because = fmt::format("{}", fmt::join(reasons, "; "));
}

std::string signer_text(const SignatureState& state) {
    if (!state.subject.empty()) {
        return printable(state.subject);
    }
    if (!state.user_id.empty()) {
        return fmt::format("{} ({})", printable(state.user_id), state.key);
    }
    return fmt::format("{} ({})", printable(state.key_file), state.key);
}

std::string_view remedy_of(const Verification& verification) {
    const auto& states = verification.signatures;
    const auto& ungrouped = verification.without_group;
    if (states.empty() && !ungrouped.empty()) {
        return "`cybelectl sif del` what has no group, `cybelectl sif add --groupid 1` it again, "
               "then sign the image; or get a signed one";
    }
    if (states.empty() && verification.groups.empty()) {
        return "build the image again: it holds nothing that could be signed";
    }
    if (states.empty()) {
        return "sign it, if it is yours: cybelectl sign IMAGE --key KEY; else get a signed one";
    }
    const auto is_changed = [](const SignatureState& state) { return state.is_of_other_bytes; };
    const auto& groups = verification.groups;
    if (std::ranges::any_of(states, is_changed) ||
        std::ranges::any_of(groups, [&](const GroupState& state) {
            return !state.unsigned_objects.empty() && has_valid(verification, state.group);
        })) {
        return "get the image again, and do not run this one";
    }
    if (!ungrouped.empty() &&
        std::ranges::all_of(groups, [](const auto& state) { return state.is_verified; })) {
        return "delete what has no group, which no signature covers: cybelectl sif del ID IMAGE";
    }
    const bool has_some = std::ranges::any_of(
        groups, [&](const GroupState& state) { return has_valid(verification, state.group); });
    if (has_some) {
        return "ask the missing signers to sign it: cybelectl sign IMAGE --key KEY";
    }
    const auto helped = std::ranges::find_if(
        states, [](const SignatureState& state) { return !state.is_valid && !state.help.empty(); });
    return helped != states.end() ? std::string_view(helped->help)
                                  : "name the public key of its signer; its publisher has it";
}

} // namespace cybele::images
