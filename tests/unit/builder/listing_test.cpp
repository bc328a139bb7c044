// SPDX-License-Identifier: Apache-2.0
// What a Recipe's folder gives to an image: counts, what is left out, what looks secret, and that
// what is copied is what was listed.
#include "builder/files/copy.hpp"
#include "builder/files/listing.hpp"
#include "images/sif/sif.hpp"
#include "temporary.hpp"

#include <memory>
#include <optional>
#include <vector>

#include <sys/stat.h>
#include <unistd.h>

using namespace cybele;
using namespace cybele::builder;
namespace fs = std::filesystem;

namespace {

using Rules = BuildContext::Rules;

BuildContext rules_in(const fs::path& folder, Rules rules) {
    auto context = BuildContext::open(rules, folder, folder / "out.sif");
    REQUIRE(context);
    return std::move(*context);
}

/// A copy with what it takes.
Copy listed(const fs::path& folder,
            const std::string& from,
            Rules rules = Rules::kRecipe,
            std::optional<Rules> inputs = {}) {
    ContextFiles files(rules_in(folder, rules),
                       inputs ? std::optional(rules_in(folder, *inputs)) : std::nullopt,
                       ContextFiles::Reads::kAll,
                       registry::KnownFiles::none());
    auto copy = find_sources({from, "/x/", 0, {}}, {"/", folder, false}, {}, {});
    REQUIRE(copy);
    copy->listing = files.list(*copy);
    CHECK(files.list(*copy) == copy->listing); // once
    return std::move(*copy);
}

TakenFiles
survey_of(const fs::path& folder, const std::string& from, Rules rules = Rules::kRecipe) {
    return listed(folder, from, rules).listing->taken;
}

std::string names(const std::vector<NamedFile>& files) {
    std::string all;
    for (const NamedFile& file : files) {
        all += file.name + "=" + file.what + ";";
    }
    return all;
}

/// What a file of this name and text is taken for; empty: nothing.
std::string secret(const std::string& name, const std::string& text) {
    const TempDirectory folder = temporary();
    put(folder.path() / name, text);
    const TakenFiles found = survey_of(folder.path(), ".");
    return found.secrets.empty() ? "" : found.secrets.front().what;
}

const std::string kDigits(64, 'A');

} // namespace

TEST_CASE("files and bytes are counted; what is no input is left out, once for a folder") {
    const TempDirectory folder = temporary();
    const fs::path& here = folder.path();
    put(here / "a", "12345");
    put(here / "b/c", "123");
    put(here / "b/.git/x", "1");
    put(here / ".git", "gitdir: elsewhere");
    put(here / ".cybelectl.yaml", "1");
    put(here / ".cybelectl-build.xyz/tree", "1");
    put(here / "out.sif", "1");
    put(here / "other.sif", "no image");
    REQUIRE(images::write_image(here / "image.sif", {}));
    fs::create_symlink("out.sif", here / "link");
    fs::copy_file(here / "image.sif", here / "other name");
    const TakenFiles all = survey_of(here, ".");
    CHECK(all.files == 3);
    CHECK(all.bytes == 16);
    CHECK(names(all.left_out) ==
          ".cybelectl-build.xyz=a folder of a build;.cybelectl.yaml=a file of cybelectl;"
          ".git=the history;b/.git=the history;image.sif=an image;link=the output of this build;"
          "other name=an image;out.sif=the output of this build;");
    // a pattern gives names of its own; what the line itself names is taken, but for the output
    CHECK(names(survey_of(here, "b*").left_out) == "b/.git=the history;");
    CHECK(survey_of(here, "image.sif").files == 1);
    CHECK(survey_of(here, "out.sif").files == 0);
    CHECK(survey_of(here, ".", Rules::kDefinition).files == 10);
}

TEST_CASE("private keys, tokens and settings are found by name and by content") {
    CHECK(secret(".env", "A=1") == "settings with secrets");
    CHECK(secret("x/.env.production", "A=1") == "settings with secrets");
    CHECK(secret(".env.example", "A=").empty());
    CHECK(secret("env", "A=1").empty());
    CHECK(secret(".netrc", "") == "logins");
    CHECK(secret("deploy.token", "x") == "a token");
    CHECK(secret("store.p12", "x") == "a store of keys");
    CHECK(secret("id", "-----BEGIN OPENSSH PRIVATE KEY-----\n" + kDigits + "\n") ==
          "a private key");
    CHECK(secret("id", "x\r\n-----BEGIN ENCRYPTED PRIVATE KEY-----\r\n" + kDigits) ==
          "a private key");
    CHECK(secret("id", "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n") ==
          "a private key");
    CHECK(secret("a.json", R"({"private_key": "-----BEGIN PRIVATE KEY-----\n)" + kDigits + "\"}") ==
          "a private key");
    CHECK(secret("k", "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\nx") == "a private key");
    CHECK(secret("chain.pem",
                 std::string(9000, 'x') + "\n-----BEGIN PRIVATE KEY-----\n" + kDigits + "\n") ==
          "a private key");
    CHECK(secret("npmrc", "//r.example/:_authToken=abcdefgh12") == "a token");
    CHECK(secret("config.json", R"({"auths": {"r": {"auth": "dXNlcjpwYXNz"}}})") == "logins");
    CHECK(secret("ci.yaml", "token: ghp_" + std::string(36, 'x')) == "a token");
    CHECK(secret("key.der", std::string("\x30\x2e\x02\x01\x00\x30\x05", 7) + "x") ==
          "a private key");
    CHECK(secret("key.der", std::string("\x30\x82\x04\xa3\x02\x01\x00\x02\x82", 9)) ==
          "a private key");
    CHECK(secret("ec.der", std::string("\x30\x77\x02\x01\x01\x04\x20", 7)) == "a private key");
    CHECK(secret(".ssh/id_ed25519", "") == "a private key");
    CHECK(secret("credentials", "aws_secret_access_key = " + std::string(40, 'x')) == "a token");
    CHECK(secret("slack", "xoxb-123456789012-123456789012-abcdef") == "a token");
    CHECK(secret("cert.der", std::string("\x30\x82\x01\x10\x30\x82\x01\x02", 8)).empty());
    CHECK(secret("sk/pgp-secret", "x") == "a private key");
    CHECK(secret(".gnupg/private-keys-v1.d/0A.key", "(private-key)") == "a private key");
    CHECK(secret("home/.kube/config", "a: b") == "logins");
    CHECK(secret(".cargo/credentials.toml", "x") == "a token");
    CHECK(secret("auth.json", R"({"auths":{"r":{"auth":"dXNlcjpwYXNz"}}})") == "logins");
    CHECK(secret("hosts.yml", "oauth_token: gho_" + std::string(36, 'x')) == "a token");
    CHECK(secret("admin.conf", "client-key-data: " + std::string(60, 'x')) == "a private key");
    CHECK(secret("etc/pip.conf", "index-url = https://me:pass@r.example/simple\n") == "logins");
    // what speaks of them is none
    CHECK(secret("etc/pip.conf", "index-url = https://$USER:$PASS@r.example/simple\n").empty());
    CHECK(secret("pip.conf", "index-url = https://r.example:8080/simple\n# a@b\n").empty());
    CHECK(secret("x.kube/config", "a: b").empty());
    CHECK(secret("config", "a: b").empty());
    CHECK(secret("key.pub", "-----BEGIN PUBLIC KEY-----\n" + kDigits + "\n").empty());
    CHECK(secret("x.c", "puts(\"-----BEGIN PRIVATE KEY-----\\n\");").empty());
    CHECK(secret("notes", "tokens begin with ghp_, keys with AKIA").empty());
    CHECK(secret("large", std::string(70000, 'x') + "ghp_" + std::string(36, 'x')).empty());
}

TEST_CASE("one pass lists what a definition copies, and what a Recipe would take of it") {
    const TempDirectory folder = temporary();
    const fs::path& here = folder.path();
    put(here / "a", "12345");
    put(here / ".git/x", "1");
    put(here / ".env", "A=1");
    const Copy copy = listed(here, ".", Rules::kDefinition, Rules::kInputs);
    CHECK(copy.listing->taken.files == 3);
    CHECK(copy.listing->taken.left_out.empty());
    CHECK(names(copy.listing->taken.secrets) == ".env=settings with secrets;");
    CHECK(copy.listing->inputs.files == 2);
    CHECK(names(copy.listing->inputs.left_out) == ".git=the history;");
    CHECK(names(copy.listing->inputs.secrets) == ".env=settings with secrets;");
    for (const CopiedFile& file : copy.listing->files) {
        CAPTURE(file.path);
        const bool is_history = file.path.native().find("/.git") != std::string::npos;
        CHECK(file.is_input == !is_history);
        CHECK(file.content.empty() == S_ISDIR(file.mode));
    }
}

TEST_CASE("links that lead back into their folder end a listing, and the copy refuses them") {
    const TempDirectory folder = temporary();
    put(folder.path() / "in/a", "1");
    for (const char* name : {"one", "two", "three"}) { // 3 to the power of the depth without an end
        fs::create_symlink(".", folder.path() / "in" / name);
    }
    const Copy copy = listed(folder.path(), "in");
    CHECK(copy.listing->files.size() == 5);
    fs::create_directory(folder.path() / "root");
    const auto refused = copy_files(copy, {}, folder.path() / "root");
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code() == ErrorCode::kInput);
}

TEST_CASE(
    "what is copied is what was listed: a change in between is refused, a new file left out") {
    const struct {
        const char* what;
        void (*change)(const fs::path& in);
        bool is_refused;
    } cases[] = {
        {"nothing", [](const fs::path&) {}, false},
        {"a new file", [](const fs::path& in) { put(in / "new/.env", "SECRET=1"); }, false},
        {"new times", [](const fs::path& in) { fs::last_write_time(in / "a", {}); }, false},
        {"another name of it",
         [](const fs::path& in) { fs::create_hard_link(in / "a", in.parent_path() / "b"); },
         false},
        {"the same bytes, written again",
         [](const fs::path& in) { put(in / "a", "12345"); },
         false},
        {"other bytes, of the same length",
         [](const fs::path& in) { put(in / "a", "54321"); },
         true},
        {"other bytes, and the old time",
         [](const fs::path& in) {
             const auto time = fs::last_write_time(in / "a");
             put(in / "a", "54321");
             fs::last_write_time(in / "a", time);
         },
         true},
        {"another file in its place",
         [](const fs::path& in) {
             put(in.parent_path() / "other", "54321");
             fs::rename(in.parent_path() / "other", in / "a");
         },
         true},
        {"a link in its place, to a secret",
         [](const fs::path& in) {
             put(in.parent_path() / "key", "SECRET");
             fs::remove(in / "a");
             fs::create_symlink("../key", in / "a");
         },
         true},
        {"a folder in its place",
         [](const fs::path& in) {
             fs::remove(in / "a");
             fs::create_directory(in / "a");
         },
         true},
        {"gone", [](const fs::path& in) { fs::remove(in / "a"); }, true},
        {"another mode",
         [](const fs::path& in) { fs::permissions(in / "a", fs::perms::owner_all); },
         true},
        {"its folder is another one",
         [](const fs::path& in) {
             fs::rename(in / "deep", in.parent_path() / "was");
             put(in / "deep/c", "other");
         },
         true},
    };
    for (const bool is_settled : {false, true}) {
        std::vector<TempDirectory> folders;
        for (std::size_t i = 0; i < std::size(cases); ++i) {
            folders.push_back(temporary());
            put(folders.back().path() / "in/a", "12345");
            put(folders.back().path() / "in/deep/c", "c");
        }
        if (is_settled) { // as files that nobody wrote to for a while
            ::usleep(2'100'000);
        }
        for (std::size_t i = 0; i < std::size(cases); ++i) {
            CAPTURE(cases[i].what);
            CAPTURE(is_settled);
            const fs::path& folder = folders[i].path();
            const Copy copy = listed(folder, "in");
            CHECK(copy.listing->files[1].stamp.has_value() == is_settled);
            cases[i].change(folder / "in");
            fs::create_directory(folder / "root");
            const auto copied = copy_files(copy, {}, folder / "root");
            CHECK(copied.has_value() != cases[i].is_refused);
            if (!copied) {
                CHECK(copied.error().code() == ErrorCode::kEnvironment);
                CHECK(copied.error().faults().front().id == "copy-source-changed");
            } else {
                CHECK(content(folder / "root/x/in/a") == "12345");
                CHECK_FALSE(fs::exists(folder / "root/x/in/new"));
            }
        }
    }
}
