// SPDX-License-Identifier: Apache-2.0
#include "images/signatures/sign.hpp"
#include "images/signatures/verify.hpp"
#include "signature_sample.hpp"

using namespace sample;

namespace {

/// An image of two groups, and three people.
struct People {
    TempDirectory place = directory();
    fs::path path = place.path() / "a.sif";
    const std::vector<std::string> names = {"alice", "bob", "eve"};

    People() {
        for (const std::string& name : names) {
            REQUIRE(new_key(place.path() / (name + ".pem"), "ed25519").has_value());
        }
        NewImage wanted = image();
        wanted.objects.push_back(definition());
        wanted.objects[2].group = 2;
        write(path, wanted);
    }
    [[nodiscard]] Signers signers(const std::vector<std::string>& of) const {
        Signers signers;
        for (const std::string& name : of) {
            auto key = PrivateKey::read(place.path() / (name + ".pem"));
            REQUIRE(key.has_value());
            signers.keys.push_back({std::move(*key), {}});
        }
        return signers;
    }
    SignReport sign(const std::vector<std::string>& of, const Selection& selection = {}) const {
        SignOptions options;
        options.selection = selection;
        options.now = 1700000100;
        auto done = sign_image(path, signers(of), options);
        REQUIRE_MESSAGE(done.has_value(), (done ? "" : words(done.error())));
        return std::move(*done);
    }
    [[nodiscard]] Verification verify(const std::vector<std::string>& of,
                                      const std::string& require,
                                      const Selection& selection = {}) const {
        Trust trust;
        trust.require = require;
        for (const std::string& name : of) {
            auto key = PublicKey::read(place.path() / (name + ".pub"));
            REQUIRE(key.has_value());
            trust.keys.push_back(std::move(*key));
        }
        const auto image = Image::open(path);
        REQUIRE(image.has_value());
        auto verification = verify_signatures(*image, trust, selection);
        REQUIRE_MESSAGE(verification.has_value(),
                        (verification ? "" : words(verification.error())));
        return std::move(*verification);
    }
};

using Ids = std::vector<std::uint32_t>;

} // namespace

TEST_CASE("several signers make one envelope a group, and k of n is counted") {
    const People people;
    CHECK(people.sign({"alice", "bob", "alice"}).groups == Ids{1, 2});
    const auto opened = Image::open(people.path);
    CHECK(opened->descriptors().size() == 5);
    const auto both = people.verify({"alice", "bob", "eve"}, "any");
    CHECK(both.is_verified);
    CHECK(both.signatures.size() == 4);
    CHECK(both.groups.at(0).signers.size() == 2);
    CHECK(people.verify({"alice", "bob", "eve"}, "2").is_verified);
    CHECK(people.verify({"alice", "bob"}, "all").is_verified);
    CHECK(people.verify({"eve", "bob"}, "1").is_verified);
    const auto three = people.verify({"alice", "bob", "eve"}, "3");
    CHECK_FALSE(three.is_verified);
    CHECK(three.because.starts_with("group 1: 2 of 3 required signers signed it"));
    const auto all = people.verify({"alice", "bob", "eve"}, "all");
    CHECK_FALSE(all.is_verified);
    CHECK(all.because.find("eve.pub is missing") != std::string::npos);
    CHECK_FALSE(people.verify({"eve"}, "any").is_verified);
    // The same key twice is one signer.
    CHECK_FALSE(people.verify({"alice", "alice"}, "2").is_verified);
    CHECK_FALSE(people.verify({"alice"}, "many").is_verified);
    CHECK_FALSE(people.verify({"alice"}, "0").is_verified);
}

TEST_CASE("each object needs its signers: a group by each of two people is not signed by both") {
    const People people;
    people.sign({"alice"}, {1, {}});
    CHECK_FALSE(people.verify({"alice", "bob"}, "any").is_verified);
    CHECK(people.verify({"alice"}, "any", {1, {}}).is_verified);
    people.sign({"bob"}, {2, {}});
    CHECK(people.verify({"alice", "bob"}, "any").is_verified);
    CHECK_FALSE(people.verify({"alice", "bob"}, "all").is_verified);
    CHECK_FALSE(people.verify({"alice", "bob"}, "2").is_verified);
    people.sign({"alice"}, {2, {}});
    people.sign({"bob"}, {1, {}});
    CHECK(people.verify({"alice", "bob"}, "all").is_verified);
}

TEST_CASE("one object can be signed and asked for alone") {
    const People people;
    people.sign({"alice"}, {std::nullopt, {2}});
    CHECK(people.verify({"alice"}, "any", {std::nullopt, {2}}).is_verified);
    const auto one = people.verify({"alice"}, "any", {std::nullopt, {1}});
    CHECK(one.because == "object 1 of group 1 is not signed");
    const auto whole = people.verify({"alice"}, "any");
    CHECK(whole.because == "object 1 of group 1 is not signed; group 2 is not signed");
    CHECK(whole.signatures.at(0).covers == Ids{2});
    people.sign({"bob"}, {std::nullopt, {1}});
    CHECK(people.verify({"alice", "bob"}, "any", {1, {}}).is_verified); // each object by somebody
    const auto opened = Image::open(people.path);
    for (const Selection& wrong :
         {Selection{7, {}}, Selection{std::nullopt, {99}}, Selection{std::nullopt, {4}}}) {
        CHECK(wrong.check(*opened).error().code() == ErrorCode::kInput);
    }
}

TEST_CASE("what a signer has signed already is left alone") {
    const People people;
    people.sign({"alice"});
    const std::string before = content(people.path);
    const SignReport again = people.sign({"alice"});
    CHECK(again.groups.empty());
    CHECK(again.already_signed == Ids{1, 2});
    CHECK(content(people.path) == before);
    CHECK(people.sign({"alice", "bob"}).groups == Ids{1, 2}); // bob's alone
    CHECK(people.verify({"alice", "bob"}, "all").signatures.size() == 4);
}

TEST_CASE("the data is read once, however many signatures and hashes there are") {
    const People people;
    for (int i = 0; i < 10; ++i) {
        REQUIRE(new_key(people.place.path() / ("k" + std::to_string(i) + ".pem"), "ed25519"));
        people.sign({"k" + std::to_string(i)});
    }
    const auto opened = Image::open(people.path);
    Trust trust;
    for (int i = 0; i < 10; ++i) {
        trust.keys.push_back(
            *PublicKey::read(people.place.path() / ("k" + std::to_string(i) + ".pub")));
    }
    std::uint64_t read = 0;
    std::uint64_t expected = 0;
    const auto verification =
        verify_signatures(*opened, trust, {}, [&](std::uint64_t done, std::uint64_t total) {
            read = done;
            expected = total;
        });
    REQUIRE(verification.has_value());
    CHECK(verification->is_verified);
    CHECK(verification->signatures.size() == 20);
    CHECK(read == 19 + 5000 + 19);
    CHECK(expected == read);

    ObjectDigests digests(*opened); // two hashes in one reading
    const Descriptor& object = opened->descriptors()[1];
    digests.expect(object, "sha256");
    digests.expect(object, "sha512");
    CHECK(digests.of(object, "sha256")->size() == 7 + 64);
    CHECK(digests.of(object, "sha512")->size() == 7 + 128);
    CHECK(digests.bytes_read() == 5000);
}

TEST_CASE("signers may sign while an image is written, before it appears") {
    const People people;
    const fs::path path = people.place.path() / "new.sif";
    NewImage wanted = image();
    const Signers signers = people.signers({"alice", "bob"});
    SignOptions options;
    SignReport done;
    wanted.finish = [&](const Image& unfinished) {
        CHECK_FALSE(fs::exists(path));
        return make_signatures(unfinished, signers, options, done);
    };
    write(path, wanted);
    CHECK(done.groups == Ids{1});
    CHECK(verify_image(path, {people.place.path() / "bob.pub"})->is_verified);
    wanted.finish = [&](const Image& unfinished) {
        return make_signatures(unfinished, Signers{}, options, done);
    };
    CHECK(write_image(people.place.path() / "none.sif", wanted).error().code() ==
          ErrorCode::kUsage);
    CHECK_FALSE(fs::exists(people.place.path() / "none.sif"));
}
