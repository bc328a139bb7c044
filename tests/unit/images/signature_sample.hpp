// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/signatures/signature.hpp"
#include "sif_sample.hpp"

namespace sample {

/// A folder with a signed image and the keys of two people.
struct Signed {
    TempDirectory place = directory();
    fs::path path = place.path() / "a.sif";
    fs::path secret = place.path() / "ours.pem";
    fs::path open = place.path() / "ours.pub";
    fs::path other_secret = place.path() / "other.pem";
    fs::path other = place.path() / "other.pub";

    explicit Signed(const NewImage& wanted = image(), const std::string& algorithm = "ed25519") {
        REQUIRE(new_key(secret, algorithm).has_value());
        REQUIRE(new_key(other_secret, "ed25519").has_value());
        write(path, wanted);
        sign(secret);
    }
    void sign(const fs::path& key) const {
        const auto done = sign_image(path, key, 1700000100);
        REQUIRE_MESSAGE(done.has_value(), (done ? "" : words(done.error())));
    }
    [[nodiscard]] Verification verify(const std::vector<fs::path>& keys) const {
        auto verification = verify_image(path, keys);
        REQUIRE_MESSAGE(verification.has_value(),
                        (verification ? "" : words(verification.error())));
        return std::move(*verification);
    }
    [[nodiscard]] Verification verify() const {
        return verify({open});
    }
};

} // namespace sample
