// SPDX-License-Identifier: Apache-2.0
#include "submission/submit/verification.hpp"

#include "images/signatures/trust.hpp"
#include "schedulers/scripts/verification.hpp"
#include "submission/submit/own_site.hpp"
#include "support/document_view.hpp"
#include "support/file.hpp"
#include "support/presence.hpp"
#include "support/quote.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace cybele::submission {
namespace {

namespace fs = std::filesystem;

Result<images::Trust>
trust_of(const schedulers::Demand& demand, const Environment& environment, std::int64_t now) {
    images::TrustRequest request;
    request.now = now;
    request.require = demand.require;
    for (const auto& key : demand.keys) {
        request.keys.push_back(verification_place(key, demand.folder, environment.home()));
    }
    std::vector<fs::path> files;
    if (!demand.policy.empty()) {
        const fs::path file = verification_place(demand.policy, demand.folder, environment.home());
        files.push_back(file);
        CYBELE_TRY(std::string text,
                   read_file(file).map_error(during("reading the Policy of the Site")));
        CYBELE_TRY(const images::Policy policy, images::read_policy(std::move(text), file));
        CYBELE_CHECK(images::add_policy(policy, request));
    }
    for (const auto* list :
         {&request.keys, &request.authorities.roots, &request.authorities.intermediates}) {
        files.insert(files.end(), list->begin(), list->end());
    }
    if (demand.who != "job") { // a Site's; of one in settings more was checked (own_site.hpp)
        std::erase_if(files, [](const fs::path& file) { return !is_open_to_all(file); });
        Faults foreign = find_foreign_files(files, {.group_above = true});
        if (foreign.has_errors()) {
            return fail(foreign.take());
        }
    }
    return images::load_trust(request, environment);
}

/// What a demand names that is not there, at its place in the Job or the Site.
class Missing {
public:
    Missing(const JobInput& input, const Environment& environment)
        : input_(input), environment_(environment) {}

    void look(const schedulers::Demand& demand) {
        for (std::size_t i = 0; i < demand.keys.size(); ++i) {
            look(demand, "verify.keys[" + std::to_string(i) + "]", demand.keys[i]);
        }
        if (!demand.policy.empty()) {
            look(demand, "verify", demand.policy);
        }
    }
    [[nodiscard]] Result<void> told() {
        return faults_.has_errors() ? Result<void>(fail(faults_.take())) : Result<void>();
    }

private:
    void look(const schedulers::Demand& demand, const std::string& field, const std::string& path) {
        const fs::path place = verification_place(path, demand.folder, environment_.home());
        const bool is_of_site = demand.who != "job" && input_.site.has_value();
        Fault fault = document::fault_at(
            is_of_site ? input_.site->source : input_.job.source,
            document::mark_of(is_of_site ? input_.site->marks : input_.job.marks, field),
            problem("verification-file-missing", "'" + printable(path) + "' is not there"),
            "it would be " + printable(place.native()),
            "correct the path, or put the file there");
        if (auto absent = why_absent(place, path, std::move(fault))) {
            faults_.add(std::move(*absent));
        }
    }

    const JobInput& input_;
    const Environment& environment_;
    Faults faults_;
};

/// "hall-a.yaml:7 requires the keys a.pub and b.pub", so that it can be corrected.
std::string demanded(const JobInput& input, const schedulers::Demand& demand) {
    const launchers::Site* site = input.site && demand.who != "job" ? &input.site.value() : nullptr;
    const auto& source = site == nullptr ? input.job.source : site->source;
    const auto& marks = site == nullptr ? input.job.marks : site->marks;
    std::string keys;
    for (std::size_t at = 0; at < demand.keys.size(); ++at) {
        keys += (at == 0 ? "" : " and ") + printable(demand.keys[at]);
    }
    const std::string number = demand.require == "any" ? "one" : demand.require;
    return fmt::format("{}:{} requires {}",
                       printable(source.file()),
                       document::mark_of(marks, "verify").line,
                       !demand.policy.empty()    ? "the Policy " + printable(demand.policy)
                       : demand.keys.size() == 1 ? "a signature by " + keys
                                                 : "signatures by " + number + " of " + keys);
}

/// A key that is not named, or an image without a signature, is the user's or the site's to
/// correct.
std::string help_of(const images::Verification& verification, const JobInput& input) {
    const auto& states = verification.signatures;
    if (std::ranges::any_of(states, [](const images::SignatureState& state) {
            return !state.is_valid && !state.help.empty();
        })) {
        return std::string(images::remedy_of(verification));
    }
    const bool is_by_others = std::ranges::none_of(states, [](const images::SignatureState& state) {
        return state.is_valid || state.is_of_other_bytes;
    });
    if (!is_by_others || verification.groups.empty() || !verification.without_group.empty()) {
        return std::string(images::remedy_of(verification));
    }
    const std::string sign =
        fmt::format("sign it with a key that is named there: `cybelectl sign {} --key KEY`",
                    shell_quote(input.image));
    return states.empty() ? sign : sign + ", or name the public key of its signer there";
}

} // namespace

bool lies_elsewhere(const JobInput& input, const Connection& connection) {
    std::error_code error;
    if (input.job.image && !input.job.image->expanded.empty()) {
        return true; // a file of the node, which its script verifies
    }
    return !connection.is_here() && !input.made && !input.is_stored &&
           input.image.starts_with('/') && !fs::exists(input.image_file, error);
}

Result<void>
check_signers(const JobInput& input, const Environment& environment, std::int64_t now) {
    const auto* site = input.site ? &*input.site : nullptr;
    const auto demands = schedulers::verification_demands(input.job, site);
    Missing missing(input, environment);
    for (const auto& demand : demands) {
        missing.look(demand);
    }
    CYBELE_CHECK(missing.told());
    for (const auto& demand : demands) {
        CYBELE_CHECK(trust_of(demand, environment, now));
    }
    return {};
}

Result<void> verify_image(const JobInput& input,
                          const Environment& environment,
                          const Connection& connection,
                          std::int64_t now) {
    return lies_elsewhere(input, connection)
               ? Result<void>()
               : verify_file(input, input.image_file, environment, now);
}

std::vector<Fault> verification_notes(const JobInput& input,
                                      const Environment& environment,
                                      const Connection& connection,
                                      std::int64_t now) {
    std::error_code error;
    if (!fs::is_regular_file(input.image_file, error)) {
        return {};
    }
    const auto verified = verify_image(input, environment, connection, now);
    if (verified || verified.error().code() != ErrorCode::kVerification) {
        return {};
    }
    std::vector<Fault> notes = verified.error().faults();
    for (Fault& note : notes) {
        note.is_warning = true;
        note.message = "`cybelectl submit` refuses this Job: " + note.message;
    }
    return notes;
}

Result<void> verify_file(const JobInput& input,
                         const fs::path& file,
                         const Environment& environment,
                         std::int64_t now) {
    const auto* site = input.site ? &*input.site : nullptr;
    for (const auto& demand : schedulers::verification_demands(input.job, site)) {
        CYBELE_TRY(const images::Trust trust, trust_of(demand, environment, now));
        CYBELE_TRY(const images::Image image, images::Image::open(file));
        CYBELE_TRY(const images::Verification verification,
                   images::verify_signatures(image, trust, {}));
        if (!verification.is_verified) {
            Fault fault =
                input.job.fault_at("image",
                                   problem("job-image-not-verified",
                                           printable(input.image) + " is not verified, and the " +
                                               demand.who + " requires it"),
                                   verification.because + "; " + demanded(input, demand),
                                   help_of(verification, input));
            fault.code = ErrorCode::kVerification;
            return fail(std::move(fault));
        }
    }
    return {};
}

} // namespace cybele::submission
