// SPDX-License-Identifier: Apache-2.0
#include "registry/cache/trusted.hpp"

#include "images/sif/sif.hpp"
#include "support/file.hpp"
#include "support/http.hpp"
#include "support/quote.hpp"

#include <algorithm>

namespace cybele::registry {

Result<images::Trust> trust_from(const std::filesystem::path& key_or_policy,
                                 const Environment& environment,
                                 std::int64_t now) {
    constexpr std::size_t kMaximum = std::size_t{1} << 20U;
    CYBELE_TRY(std::string text, read_file(key_or_policy, kMaximum));
    images::TrustRequest request;
    request.now = now;
    request.authorities.system_pool = system_certificates(environment);
    if (text.starts_with("-----BEGIN")) {
        CYBELE_TRY(images::PublicKey key, images::PublicKey::parse(text, key_or_policy));
        request.read_keys.push_back(std::move(key));
    } else {
        CYBELE_TRY(const images::Policy policy,
                   images::read_policy(std::move(text), key_or_policy.native()));
        CYBELE_CHECK(images::add_policy(policy, request));
    }
    return images::load_trust(request, environment);
}

Result<images::Verification> verify_sif(const std::filesystem::path& file,
                                        const images::Trust& trust,
                                        const std::string& name,
                                        const std::string& help) {
    CYBELE_TRY(const images::Image image, images::Image::open(file));
    return verify_sif(image, trust, name, help);
}

Result<images::Verification> verify_sif(const images::Image& image,
                                        const images::Trust& trust,
                                        const std::string& name,
                                        const std::string& help) {
    CYBELE_TRY(auto verification,
               images::verify_signatures(image, trust, {})
                   .map_error(during("verifying the image that is a base")));
    if (!verification.is_verified) {
        const auto& all = verification.signatures;
        const auto unknown = std::ranges::find_if(all, [](const images::SignatureState& state) {
            return !state.is_valid && state.gap == images::SignerGap::kPgpKey;
        });
        const bool is_unknown = unknown != all.end();
        return fail(ErrorCode::kVerification,
                    problem(all.empty() ? "image-not-signed" : "image-not-verified",
                            name,
                            is_unknown ? "key-unknown" : "")
                        .about(is_unknown ? std::to_string(unknown->object) : ""),
                    verification.because,
                    help);
    }
    return verification;
}

} // namespace cybele::registry
