// SPDX-License-Identifier: Apache-2.0
// What a Recipe's folder gives to an image: counts, what is left out, and what looks secret.
#include "builder/survey.hpp"
#include "images/sif/sif.hpp"
#include "temporary.hpp"

#include <memory>

using namespace cybele;
using namespace cybele::builder;
namespace fs = std::filesystem;

namespace {

Survey survey_of(const fs::path& folder,
                 const std::string& from,
                 BuildContext::Rules rules = BuildContext::Rules::kRecipe) {
    auto context = BuildContext::open(rules, folder, folder / "out.sif");
    REQUIRE(context);
    auto copy = find_sources({from, "/x/", 0, {}}, {"/", folder, false}, {}, {});
    REQUIRE(copy);
    copy->context = std::make_shared<const BuildContext>(std::move(*context));
    return survey(*copy);
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
    const Survey found = survey_of(folder.path(), ".");
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
    const Survey all = survey_of(here, ".");
    CHECK(all.files == 3);
    CHECK(all.bytes == 16);
    CHECK(names(all.left_out) ==
          ".cybelectl-build.xyz=a folder of a build;.cybelectl.yaml=a file of cybelectl;"
          ".git=the history;b/.git=the history;image.sif=an image;link=the output of this build;"
          "out.sif=the output of this build;");
    // a pattern gives names of its own; what the line itself names is taken, but for the output
    CHECK(names(survey_of(here, "b*").left_out) == "b/.git=the history;");
    CHECK(survey_of(here, "image.sif").files == 1);
    CHECK(survey_of(here, "out.sif").files == 0);
    CHECK(survey_of(here, ".", BuildContext::Rules::kDefinition).files == 9);
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
    CHECK(secret("npmrc", "//r.example/:_authToken=abcdefgh12") == "a token");
    CHECK(secret("config.json", R"({"auths": {"r": {"auth": "dXNlcjpwYXNz"}}})") == "logins");
    CHECK(secret("ci.yaml", "token: ghp_" + std::string(36, 'x')) == "a token");
    // what speaks of them is none
    CHECK(secret("key.pub", "-----BEGIN PUBLIC KEY-----\n" + kDigits + "\n").empty());
    CHECK(secret("x.c", "puts(\"-----BEGIN PRIVATE KEY-----\\n\");").empty());
    CHECK(secret("notes", "tokens begin with ghp_, keys with AKIA").empty());
    CHECK(secret("large", std::string(70000, 'x') + "ghp_" + std::string(36, 'x')).empty());
}
