// SPDX-License-Identifier: Apache-2.0
#include "support/file.hpp"
#include "support/passphrase.hpp"

#include <filesystem>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

using namespace cybele;
namespace fs = std::filesystem;

namespace {

struct PassphraseFolder {
    TempDirectory folder = std::move(*TempDirectory::make(fs::temp_directory_path(), "passphrase"));
    [[nodiscard]] PassphraseSource source(std::string_view text, unsigned mode = 0600) const {
        PassphraseSource from;
        from.file = folder.path() / "p";
        REQUIRE(write_file(from.file, text, mode).has_value());
        return from;
    }
};

std::string read(const PassphraseSource& source, PassphraseUse use = PassphraseUse::kOpen) {
    const auto secret = read_passphrase(source, "the key k", use);
    return secret ? std::string(secret->view()) : "refused: " + secret.error().message();
}

} // namespace

TEST_CASE("a passphrase is the first line, without its end") {
    const PassphraseFolder here;
    CHECK(read(here.source("open sesame\n")) == "open sesame");
    CHECK(read(here.source("open sesame")) == "open sesame");
    CHECK(read(here.source(" one \r\ntwo\n")) == " one \r");
    CHECK(read(here.source("\n")).empty());
    CHECK(read(here.source(std::string(4096, 'x') + "\n")).size() == 4096);
    CHECK(read(here.source(std::string(4097, 'x'))).find("holds no passphrase") !=
          std::string::npos);
    CHECK(read(here.source("")).find("holds no passphrase") != std::string::npos);
    CHECK(read(here.source("\n"), PassphraseUse::kChoose).find("is empty") != std::string::npos);
}

TEST_CASE("a descriptor gives a line for each key") {
    const PassphraseFolder here;
    const PassphraseSource file = here.source("first\nsecond\n");
    const UniqueFd fd(::open(file.file.c_str(), O_RDONLY | O_CLOEXEC));
    PassphraseSource source;
    source.descriptor = fd.get();
    CHECK(read(source) == "first");
    CHECK(read(source) == "second");
    CHECK(read(source).find("holds no passphrase") != std::string::npos);
    source.descriptor = 999;
    CHECK(read(source).starts_with("refused: cannot read the passphrase"));
}

TEST_CASE("a file comes before a descriptor, that before a variable; without any it is told") {
    const PassphraseFolder here;
    PassphraseSource source;
    CHECK(read_passphrase(source, "the key k", PassphraseUse::kOpen).error().code() ==
          ErrorCode::kUsage);
    source.variable = "NAME";
    const auto none = read_passphrase(source, "the key k", PassphraseUse::kOpen);
    CHECK(none.error().message() == "no passphrase for the key k");
    CHECK(none.error().faults().front().help.find("NAME") != std::string::npos);
    source.value = "by variable\n";
    CHECK(read(source) == "by variable\n");
    source.file = here.source("by file\n").file;
    CHECK(read(source) == "by file");
    source.file = here.folder.path() / "missing";
    CHECK(read_passphrase(source, "k", PassphraseUse::kOpen).error().code() == ErrorCode::kInput);
}

TEST_CASE("a file that others may read gives a warning") {
    const PassphraseFolder here;
    for (const unsigned mode : {0600U, 0640U, 0604U}) {
        PassphraseSource source = here.source("x\n", mode);
        fs::permissions(source.file, fs::perms{mode});
        int warnings = 0;
        source.on_warning = [&](const Fault& fault) { warnings += fault.is_warning ? 1 : 0; };
        CHECK(read(source) == "x");
        CHECK(warnings == (mode == 0600 ? 0 : 1));
    }
}

TEST_CASE("a secret is wiped where it lay") {
    std::string text = "a secret text that is longer than what lies inside of a string";
    const char* const place = text.data();
    Secret secret(std::move(text));
    CHECK(std::string_view(place, 8) == std::string_view("\0\0\0\0\0\0\0\0", 8));
    CHECK(secret.view().starts_with("a secret"));
    const Secret other(std::move(secret));
    CHECK(other.size() == 62);
    Secret grown;
    for (int i = 0; i < 1000; ++i) {
        grown.append("0123456789");
    }
    CHECK(grown.size() == 10000);
    CHECK(grown.view().substr(9990) == "0123456789");
    const char* const inside = grown.data();
    grown.resize(4);
    CHECK(std::string_view(inside, 8) == std::string_view("0123\0\0\0\0", 8));
}
