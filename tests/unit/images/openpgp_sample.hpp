// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/openpgp/clear_sign.hpp"
#include "images/openpgp/key_directory.hpp"
#include "support/file.hpp"
#include "support/process.hpp"

#include <ctime>
#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

/// GnuPG with a home of its own, which ends with its agent.
class GnuPg {
public:
    /// Few rounds for its passphrases: else its agent measures for seconds how many there may be.
    GnuPg() : home_(make_home()) {
        REQUIRE(cybele::write_file(home_.path() / "gpg-agent.conf", "s2k-count 65536\n", 0600));
    }
    GnuPg(const GnuPg&) = delete;
    GnuPg& operator=(const GnuPg&) = delete;
    ~GnuPg() {
        cybele::Command command;
        command.argv = {"gpgconf", "--homedir", home_.path().native(), "--kill", "all"};
        (void)cybele::run_process(command);
    }

    [[nodiscard]] cybele::Outcome run(std::vector<std::string> words,
                                      const std::string& input = {}) const {
        cybele::Command command;
        command.argv = {"gpg",
                        "--homedir",
                        home_.path().native(),
                        "--batch",
                        "--yes",
                        "--no-tty",
                        "--pinentry-mode",
                        "loopback",
                        "--passphrase",
                        passphrase,
                        "--trust-model",
                        "always"};
        command.argv.insert(command.argv.end(), words.begin(), words.end());
        command.input = input;
        auto outcome = cybele::run_process(command);
        REQUIRE(outcome);
        return *outcome;
    }
    /// Standard output of a run that must succeed.
    [[nodiscard]] std::string must(std::vector<std::string> words,
                                   const std::string& input = {}) const {
        const auto outcome = run(std::move(words), input);
        REQUIRE_MESSAGE(outcome.ok(), outcome.errors);
        return outcome.output;
    }
    [[nodiscard]] const std::filesystem::path& home() const {
        return home_.path();
    }

    std::string passphrase;

private:
    /// Short, since the agent's socket lies in it.
    static cybele::TempDirectory make_home() {
        auto made = cybele::TempDirectory::make("/tmp", "pgp-");
        REQUIRE(made);
        return std::move(*made);
    }
    cybele::TempDirectory home_;
};

inline cybele::Secret secret_of(std::string text) {
    return cybele::Secret(std::move(text));
}

inline cybele::images::openpgp::Keyring keyring_of(const std::string& bytes) {
    auto ring = cybele::images::openpgp::Keyring::parse(bytes, "test");
    REQUIRE_MESSAGE(ring, ring.error().faults().front().because);
    return std::move(*ring);
}

inline std::int64_t time_now() {
    return std::time(nullptr);
}
