// SPDX-License-Identifier: Apache-2.0
#include "cli/run/start_verification.hpp"

#include "cli/common/progress.hpp"
#include "images/signatures/trust.hpp"
#include "support/file.hpp"
#include "support/http.hpp"
#include "support/quote.hpp"

#include <fmt/format.h>

namespace cybele::cli {

namespace {

/// Whom the options name, as files.
Result<images::TrustRequest> trust_request_of(const StartOptions& options,
                                              const Environment& environment) {
    images::TrustRequest request;
    request.now = Session::clock();
    if (!options.policy.empty()) {
        CYBELE_TRY(std::string text,
                   read_file(options.policy).map_error(during("reading the Policy")));
        CYBELE_TRY(const images::Policy policy,
                   images::read_policy(std::move(text), options.policy));
        CYBELE_CHECK(images::add_policy(policy, request));
    }
    for (const std::string& file : options.verify_keys) { // once: it may be a pipe
        CYBELE_TRY(images::PublicKey key, images::PublicKey::read(file));
        request.read_keys.push_back(std::move(key));
    }
    request.authorities.system_pool = system_certificates(environment);
    if (!options.require.empty()) {
        request.require = options.require;
    }
    if (request.is_empty()) {
        return fail(ErrorCode::kUsage,
                    problem("require-without-signers", "--require without signers"),
                    "it counts those that --verify-key or --policy names",
                    "name a public key: --verify-key FILE");
    }
    return request;
}

/// kVerification, unless the image carries the signatures.
Result<void>
verify_start(const Session& session, const images::Image& image, images::TrustRequest request) {
    const Environment& environment = session.environment;
    const HttpClient network = HttpClient::find(environment, session.program);
    request.authorities.network = &network;
    CYBELE_TRY(const images::Trust trust, images::load_trust(request, environment));
    const auto verified =
        images::verify_signatures(image, trust, {}, progress(session, "verifying"));
    session.doing({}); // a start needs a process with one thread
    CYBELE_TRY(const images::Verification found,
               verified.map_error(during("verifying the image before it is started")));
    if (found.is_verified) {
        return {};
    }
    return fail(ErrorCode::kVerification,
                problem(found.signatures.empty() ? "image-not-signed" : "image-not-verified",
                        printable(image.path().native()) + " is not verified"),
                printable(found.because),
                std::string(images::remedy_of(found)));
}

} // namespace

Result<void> demand_signatures(const Session& session, StartOptions& options) {
    CYBELE_TRY(const images::TrustRequest request, trust_request_of(options, session.environment));
    runtime::ImageDemand demand;
    CYBELE_TRY(demand.identity, images::identity_of(request, session.environment));
    demand.scratch = session.environment.temporary_directory();
    demand.verify = [request, &session](const images::Image& image) {
        return verify_start(session, image, request);
    };
    options.request.image.demand = std::move(demand);
    return {};
}

} // namespace cybele::cli
