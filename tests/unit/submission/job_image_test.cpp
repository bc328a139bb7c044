// SPDX-License-Identifier: Apache-2.0
// The image of a job before it is submitted: whether it is there, what it is known by, and whose
// signatures it has.
#include "images/sif/sif.hpp"
#include "images/signatures/signature.hpp"
#include "submission/submit/image.hpp"
#include "submission/submit/verification.hpp"
#include "support/digest.hpp"
#include "support/encoding.hpp"
#include "support/file.hpp"

#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace cybele::submission {
namespace {

namespace fs = std::filesystem;

const Connection kLoginNode{Connection::Kind::kSsh, "login.example", "", ""};
const Connection kRestService{Connection::Kind::kSlurmrestd, "https://s.example", "", ""};
constexpr std::int64_t kSignedAt = 1800000000;

/// Jobs with the image app.sif, which two people can sign, and a Site.
struct ImageDesk {
    TempDirectory directory = TempDirectory::make("/var/tmp", "cybele-test").value();
    fs::path image = directory.path() / "app.sif";
    Environment environment{
        EnvironmentMap{{"CYBELE_STATE_DIR", (directory.path() / "state").native()},
                       {"CYBELE_CACHE_DIR", (directory.path() / "cache").native()}}};

    ImageDesk() {
        for (const char* const name : {"alice", "bob"}) {
            REQUIRE(images::new_key(directory.path() / (std::string(name) + ".pem"), "ed25519"));
        }
    }
    [[nodiscard]] JobInput input(const std::string& fields, const std::string& site = "") const {
        fs::remove(image); // its facts are not the subject
        JobRequest request;
        request.file = directory.path() / "job.yaml";
        REQUIRE(write_file(request.file, "kind: Job\nname: run\ncommand: [x]\n" + fields));
        request.scheduler = "slurm";
        if (!site.empty()) {
            request.site = directory.path() / "site.yaml";
            REQUIRE(write_file(request.site, "kind: Site\nname: hall\nscheduler: slurm\n" + site));
        }
        auto read = read_job_input(request);
        REQUIRE_MESSAGE(read.has_value(), read.error().message());
        return std::move(*read);
    }
    void write_image(const std::vector<std::string>& signers) const {
        images::NewImage made;
        images::NewObject object;
        object.type = images::DataType::kGeneric;
        object.bytes = "text";
        made.objects.push_back(object);
        REQUIRE(images::write_image(image, made));
        for (const std::string& name : signers) {
            REQUIRE(images::sign_image(image, directory.path() / (name + ".pem"), kSignedAt));
        }
    }
    /// "" where the image is verified, else why it is not.
    [[nodiscard]] std::string refusal(const JobInput& input,
                                      const Connection& connection = {}) const {
        const auto done = verify_image(input, environment, connection, kSignedAt);
        if (done) {
            return {};
        }
        CHECK(done.error().code() == ErrorCode::kVerification);
        const Fault& fault = done.error().faults().front();
        return fault.message + ": " + fault.because + "; " + fault.help;
    }
};

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

std::string id_of(const std::optional<Fault>& fault) {
    return fault ? fault->id : "";
}

template <class T>
std::string id_of(const Result<T>& done) {
    return done ? "" : done.error().faults().front().id;
}

} // namespace

TEST_CASE("job image: a file that is not there is an error where this machine has to have it") {
    const ImageDesk desk;
    const JobInput relative = desk.input("image: app.sif\n");
    const auto fault = missing_image(relative, {});
    REQUIRE(fault);
    CHECK(fault->id == "image-missing");
    CHECK(fault->where->line == 4);
    CHECK(contains(fault->help, "cybelectl build RECIPE -o "));
    CHECK(id_of(missing_image(relative, kLoginNode)) == "image-missing"); // it is sent from here
    const JobInput absolute = desk.input("image: " + desk.image.native() + "\n");
    CHECK(id_of(missing_image(absolute, {})) == "image-missing");
    CHECK(id_of(missing_image(absolute, kLoginNode)) == ""); // of that machine
    CHECK(id_of(missing_image(desk.input(""), {})) == "");
    CHECK(id_of(missing_image(desk.input("image: oras://r.example/app:1\n"), {})) == "");
    desk.write_image({});
    CHECK(id_of(missing_image(relative, {})) == "");
    CHECK(id_of(missing_image(absolute, {})) == "");
}

TEST_CASE("job image: of a registry it is pulled, an OCI image is not started") {
    const ImageDesk desk;
    JobInput oci = desk.input("image: docker://debian:12\n");
    CHECK(id_of(unstartable_image(oci)) == "oci-image-not-started");
    CHECK(id_of(provide_image(oci, {}, desk.environment, {})) == "oci-image-not-started");
    for (const char* const name : {"oras://r.example/app:1", "library://a/b/c:1"}) {
        CAPTURE(name);
        JobInput remote = desk.input("image: " + std::string(name) + "\n");
        CHECK(id_of(unstartable_image(remote)) == "");
        CHECK(id_of(provide_image(remote, {}, desk.environment, {})) == "");
        CHECK(id_of(provide_image(remote, {}, desk.environment, kLoginNode)) == "");
        CHECK(id_of(provide_image(remote, {}, desk.environment, kRestService)) ==
              "image-not-pulled-there");
    }
    JobInput file = desk.input("image: app.sif\n");
    CHECK(id_of(unstartable_image(file)) == "");
    CHECK(id_of(provide_image(file, {}, desk.environment, {})) == "image-missing");
    JobInput none = desk.input("");
    CHECK(id_of(provide_image(none, {}, desk.environment, {})) == "");
    desk.write_image({});
    CHECK(id_of(provide_image(file, {}, desk.environment, {})) == "");
}

TEST_CASE("job image: the record has the digest that is named, else that of the file") {
    const ImageDesk desk;
    const std::string named = "sha256:" + std::string(64, 'a');
    const auto digest = [&](JobInput input, const Connection& connection = {}) {
        input.file_digest = "stale";
        REQUIRE(find_image_digest(input, desk.environment, connection));
        return input.file_digest;
    };
    const JobInput relative = desk.input("image: app.sif\n");
    const JobInput absolute = desk.input("image: " + desk.image.native() + "\n");
    const JobInput with_digest = desk.input("image: app.sif@" + named + "\n");
    CHECK(digest(relative) == "");
    desk.write_image({});
    const std::string own = "sha256:" + hex(*sha256_file(desk.image));
    CHECK(digest(relative) == own);
    CHECK(digest(relative, kLoginNode) == own);
    CHECK(digest(absolute) == own);
    CHECK(digest(absolute, kLoginNode) == ""); // another file has that name there
    CHECK(digest(with_digest) == named);
    fs::remove(desk.image);
    fs::create_directory(desk.image);
    CHECK(digest(relative) == "");
    fs::remove(desk.image);
}

TEST_CASE("job image: it lies elsewhere where only that machine has it") {
    const ImageDesk desk;
    JobInput absolute = desk.input("image: " + desk.image.native() + "\n");
    const JobInput relative = desk.input("image: app.sif\n");
    CHECK(lies_elsewhere(absolute, kLoginNode));
    CHECK(lies_elsewhere(absolute, kRestService));
    CHECK_FALSE(lies_elsewhere(absolute, {}));
    CHECK_FALSE(lies_elsewhere(relative, kLoginNode));
    absolute.is_stored = true; // of this machine's store
    CHECK_FALSE(lies_elsewhere(absolute, kLoginNode));
    absolute.is_stored = false;
    desk.write_image({});
    CHECK_FALSE(lies_elsewhere(absolute, kLoginNode)); // the folder is shared
}

TEST_CASE("job image: it has the signatures that the Job and its Site require") {
    const ImageDesk desk;
    const JobInput plain = desk.input("image: app.sif\n");
    const JobInput alice = desk.input("image: app.sif\nverify: {keys: [alice.pub]}\n");
    const JobInput both =
        desk.input("image: app.sif\nverify: {keys: [alice.pub, bob.pub], require: 2}\n");
    const JobInput either = desk.input("image: app.sif\nverify: {keys: [alice.pub, bob.pub]}\n");
    const std::string key = (desk.directory.path() / "bob.pub").native();
    const JobInput site = desk.input("image: app.sif\n", "verify: {keys: [" + key + "]}\n");
    const JobInput all = desk.input("image: app.sif\nverify: {keys: [alice.pub]}\n",
                                    "verify: {keys: [" + key + "], require: all}\n");
    REQUIRE(write_file(desk.directory.path() / "policy.yaml", "kind: Policy\nkeys: [bob.pub]\n"));
    const JobInput policy = desk.input("image: app.sif\nverify: policy.yaml\n");

    desk.write_image({});
    CHECK(desk.refusal(plain) == "");
    const std::string unsigned_image = desk.refusal(alice);
    CHECK(contains(unsigned_image, "app.sif is not verified, and the job requires it"));
    CHECK(contains(unsigned_image, "the image is not signed"));
    CHECK(contains(unsigned_image, "job.yaml:5 requires a signature by alice.pub"));
    CHECK(unsigned_image.ends_with("`cybelectl sign app.sif --key KEY`"));
    CHECK(contains(desk.refusal(site), "the site hall requires it"));
    CHECK(contains(desk.refusal(site), "site.yaml:4 requires a signature by " + key));
    CHECK(contains(desk.refusal(both), "requires signatures by 2 of alice.pub and bob.pub"));
    CHECK(contains(desk.refusal(either), "requires signatures by one of alice.pub and bob.pub"));
    CHECK(contains(desk.refusal(policy), "requires the Policy policy.yaml"));

    desk.write_image({"alice"});
    CHECK(desk.refusal(alice) == "");
    CHECK(desk.refusal(either) == "");
    CHECK(contains(desk.refusal(both), "1 of 2 required signers"));
    const std::string other = desk.refusal(site);
    CHECK(contains(other, "made with another key"));
    CHECK(other.ends_with(", or name the public key of its signer there"));
    CHECK_FALSE(desk.refusal(all) == ""); // the Site requires another one
    CHECK_FALSE(desk.refusal(policy) == "");
    desk.write_image({"bob", "alice"});
    CHECK(desk.refusal(both) == "");
    CHECK(desk.refusal(all) == "");
    CHECK(desk.refusal(policy) == "");

    std::string bytes = *read_file(desk.image);
    bytes[bytes.find("text")] = 'T';
    REQUIRE(write_file(desk.image, bytes));
    CHECK(contains(desk.refusal(alice), "get the image again"));
    CHECK(desk.refusal(
              desk.input("image: " + desk.image.native() + "\nverify: {keys: [alice.pub]}\n"),
              kLoginNode) == ""); // the script verifies it there
}

TEST_CASE("job image: who only renders is warned of an image that a submission refuses") {
    const ImageDesk desk;
    const JobInput alice = desk.input("image: app.sif\nverify: {keys: [alice.pub]}\n");
    const auto notes = [&] { return verification_notes(alice, desk.environment, {}, kSignedAt); };
    CHECK(notes().empty()); // it is not there yet
    desk.write_image({});
    REQUIRE(notes().size() == 1);
    CHECK(notes()[0].is_warning);
    CHECK(notes()[0].message.starts_with("`cybelectl submit` refuses this Job: app.sif is not"));
    desk.write_image({"alice"});
    CHECK(notes().empty());
    fs::remove(desk.directory.path() / "alice.pub"); // which check_signers() reports
    CHECK(notes().empty());
}

TEST_CASE("job image: keys and Policies that are missing are reported at once, each at its place") {
    const ImageDesk desk;
    const auto faults = [&](const JobInput& input) {
        const auto done = check_signers(input, desk.environment, kSignedAt);
        std::string text;
        if (!done) {
            for (const Fault& fault : done.error().faults()) {
                text += fault.id + ":" +
                        (fault.where ? fs::path(fault.where->file).filename().native() + ":" +
                                           std::to_string(fault.where->line)
                                     : "") +
                        " ";
            }
        }
        return text;
    };
    CHECK(faults(desk.input("image: app.sif\nverify: {keys: [alice.pub, bob.pub]}\n")) == "");
    CHECK(faults(desk.input("image: app.sif\nverify:\n  keys:\n    - a.pub\n    - alice.pub\n"
                            "    - b.pub\n",
                            "verify: /none/policy.yaml\n")) ==
          "verification-file-missing:job.yaml:7 verification-file-missing:job.yaml:9 "
          "verification-file-missing:site.yaml:4 ");
    CHECK(faults(desk.input("image: app.sif\nverify: none.yaml\n")) ==
          "verification-file-missing:job.yaml:5 ");
    REQUIRE(write_file(desk.directory.path() / "text.pub", "no key\n"));
    CHECK_FALSE(faults(desk.input("image: app.sif\nverify: {keys: [text.pub]}\n")) == "");
    CHECK(faults(desk.input("image: app.sif\n")) == "");
}

} // namespace cybele::submission
