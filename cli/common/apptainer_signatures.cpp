// SPDX-License-Identifier: Apache-2.0
#include "cli/common/apptainer_signatures.hpp"

#include "images/sif/sif.hpp"
#include "images/signatures/signed.hpp"
#include "images/signatures/trust.hpp"
#include "images/signatures/verify.hpp"
#include "support/find.hpp"
#include "support/quote.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace cybele::cli {

std::string apptainer_reason(const images::Verification& verification) {
    const auto lacks = [&verification](images::SignerGap gap) {
        return contains(verification.groups, gap, &images::GroupState::gap);
    };
    if (lacks(images::SignerGap::kAnyPemKey)) {
        return std::string(kApptainerLacksKey);
    }
    if (lacks(images::SignerGap::kIssuer)) {
        return std::string(kApptainerLacksIssuer);
    }
    for (const images::SignatureState& state : verification.signatures) {
        if (!state.is_valid && state.gap == images::SignerGap::kPgpKey) {
            return fmt::format("signature object {} not valid: openpgp: signature made by unknown "
                               "entity",
                               state.object);
        }
        if (!state.is_valid && state.gap == images::SignerGap::kOtherPemKey) {
            return fmt::format("signature object {} not valid: dsse: verify envelope failed: "
                               "accepted signatures do not match threshold, Found: 0, Expected 1",
                               state.object);
        }
    }
    if (!verification.without_group.empty()) {
        return std::string(kApptainerWithoutGroup);
    }
    for (const images::GroupState& group : verification.groups) {
        const bool is_signed = std::ranges::any_of(
            verification.signatures, [&group](const images::SignatureState& state) {
                return state.is_valid && state.group == group.group;
            });
        if (is_signed && !group.unsigned_objects.empty()) {
            return fmt::format("object {}: {}", group.unsigned_objects.front(), kApptainerUnsigned);
        }
    }
    return printable(verification.because);
}

void warn_of_signatures(const Session& session, const std::filesystem::path& base) {
    const auto image = images::Image::open(base);
    if (!image || !images::is_signed(*image)) {
        return;
    }
    images::TrustRequest request;
    request.now = Session::clock();
    request.use_default_keyrings = true;
    const auto trust = images::load_trust(request, session.environment);
    std::string reason(kApptainerLacksKey);
    if (trust) {
        const auto found = images::verify_signatures(*image, *trust, images::Selection(), {});
        if (found && found->is_verified) {
            return;
        }
        reason = found ? apptainer_reason(*found) : found.error().faults().front().message;
    }
    session.warn_as_apptainer("integrity: " + reason);
    session.warn_as_apptainer("Bootstrap image could not be verified, but build will continue.");
}

} // namespace cybele::cli
