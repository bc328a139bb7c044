// SPDX-License-Identifier: Apache-2.0
#include "submission/staging/results.hpp"
#include "submission/submit/stage.hpp"
#include "support/digest.hpp"
#include "support/encoding.hpp"
#include "support/file.hpp"

#include <csignal>
#include <cstdio>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace cybele;
namespace fs = std::filesystem;

namespace {

/// A login whose ssh is a shell of this machine; `cut` bytes of what goes there (or comes back)
/// pass, then the connection is gone.
struct Far {
    TempDirectory directory = TempDirectory::make("/tmp", "cybele-test").value();
    fs::path here = directory.path() / "here";
    fs::path there = directory.path() / "it's there";
    Environment environment;

    Far() {
        const bool is_ignored = std::signal(SIGPIPE, SIG_IGN) != SIG_ERR; // as main() does
        REQUIRE(is_ignored);
        REQUIRE(make_directories(here / "in/deep").has_value());
        REQUIRE(make_directories(here / "in/nothing").has_value());
        put("big", std::string(150'000, 'x') + "end");
        put("in/deep/it's \\two", "two\n");
        put("in/ blank ", "");
        put("in/tool", "#!/bin/sh\n");
        ::chmod((here / "in/tool").c_str(), 0755);
        connect("cat", "cat");
    }
    void put(const std::string& name, const std::string& text) const {
        REQUIRE(write_file(here / name, text).has_value());
    }
    void connect(const std::string& there_by, const std::string& back_by) {
        const fs::path folder = directory.path() / "bin";
        REQUIRE(make_directories(folder).has_value());
        REQUIRE(write_file(folder / "ssh",
                           "#!/bin/bash\nfor last; do :; done\necho 'Welcome!'\n" + there_by +
                               " | sh -c \"$last\" | " + back_by + "\n",
                           0755)
                    .has_value());
        environment.set("PATH", folder.native() + ":/usr/bin:/bin");
    }
    [[nodiscard]] submission::SshLogin login() const {
        return {"login.example", {}, environment};
    }
    [[nodiscard]] launchers::Job job(const std::string& fields) const {
        auto read =
            launchers::read_job("kind: Job\nname: run\ncommand: [x]\n" + fields, here / "job.yaml");
        REQUIRE_MESSAGE(read.has_value(), read.error().message());
        return *read;
    }
    [[nodiscard]] submission::TransferSet transfers(const launchers::Job& job) const {
        auto staged_files = submission::read_manifest(job, environment);
        REQUIRE_MESSAGE(staged_files.has_value(), staged_files.error().message());
        return {std::move(*staged_files), there, {}};
    }
    [[nodiscard]] Result<submission::TransferResult> bring(const launchers::Job& job) const {
        const auto destination = submission::destination_there(login(), there);
        return submission::bring_to(*destination, transfers(job), job);
    }
    [[nodiscard]] Result<std::vector<submission::ResultFile>>
    fetch(const std::vector<std::string>& names) const {
        const auto results = submission::results_there(
            login(), submission::behind_ssh("login.example", {}, environment), there);
        return results->fetch(names, here / "home");
    }
};

const char* const kInputs = "stage-in: [{from: big, to: data/}, {from: in, to: in}]\n";

std::string bytes_of(const fs::path& file) {
    return read_file(file).value_or("(not there)");
}

} // namespace

TEST_CASE("a manifest: each file once, by its target; every fault at once") {
    const Far place;
    const auto staged_files = place.transfers(place.job(kInputs)).staged_files;
    std::vector<std::string> targets;
    targets.reserve(staged_files.size());
    for (const auto& staged : staged_files) {
        targets.push_back(staged.target);
    }
    CHECK(targets == std::vector<std::string>{
                         "data/big", "in/ blank ", "in/deep/it's \\two", "in/nothing", "in/tool"});
    CHECK(staged_files[0].size == 150'003);
    CHECK(staged_files[0].digest == hex(sha256_file(place.here / "big").value()));
    CHECK(staged_files[3].digest.empty());
    CHECK(staged_files[4].is_executable);
    CHECK(place.transfers(place.job("stage-in: [{from: in, to: .}]\n")).staged_files.size() == 4);
    fs::create_symlink("big", place.here / "link");
    CHECK(place.transfers(place.job("stage-in: [{from: link, to: a}]\n")).staged_files[0].size ==
          150'003);

    const auto bad = submission::read_manifest(
        place.job(
            "stage-in:\n- {from: none, to: a}\n- {from: big, to: ../a}\n- {from: big, to: /a}\n"
            "- {from: big, to: a/../../b}\n- {from: big, to: ~/a}\n- {from: big, to: .cybelectl}\n"
            "- {from: big, to: x}\n- {from: in, to: x}\n- {from: /dev/null, to: y}\n"),
        place.environment);
    REQUIRE_FALSE(bad.has_value());
    CHECK(bad.error().code() == ErrorCode::kInput);
    CHECK(bad.error().faults().size() == 8);
    for (const auto& fault : bad.error().faults()) {
        CHECK(fault.where.has_value());
        CHECK_FALSE(fault.help.empty());
    }
    place.put("in/two\nlines", "");
    CHECK_FALSE(submission::read_manifest(place.job(kInputs), place.environment).has_value());
}

TEST_CASE("files go through a shell as they are, once") {
    const Far place;
    const auto job = place.job(kInputs);
    const auto first = place.bring(job);
    REQUIRE_MESSAGE(first.has_value(), first.error().message());
    CHECK(first->files == 4);
    CHECK(first->sent == 4);
    CHECK(bytes_of(place.there / "data/big") == bytes_of(place.here / "big"));
    CHECK(bytes_of(place.there / "in/deep/it's \\two") == "two\n");
    CHECK(bytes_of(place.there / "in/ blank ").empty());
    CHECK(fs::is_directory(place.there / "in/nothing"));
    CHECK((fs::status(place.there / "in/tool").permissions() & fs::perms::owner_exec) !=
          fs::perms::none);
    const auto again = place.bring(job);
    REQUIRE(again.has_value());
    CHECK(again->sent == 0);
    CHECK(again->bytes == 0);
    place.put("in/tool", "#!/bin/bash\n");
    CHECK(place.bring(job)->sent == 1);
    fs::remove(place.there / "in/tool");
    fs::create_directory(place.there / "in/tool");
    CHECK(place.bring(job).error().code() == ErrorCode::kInput);
}

TEST_CASE("a connection that breaks anywhere leaves no half file, and the next one goes on") {
    Far place;
    const auto job = place.job(kInputs);
    const std::string big = bytes_of(place.here / "big");
    std::uint64_t resumed = 0;
    for (const std::size_t cut : {1U, 500U, 1500U, 3000U, 70'000U, 120'000U, 153'000U}) {
        CAPTURE(cut);
        place.connect("head -c " + std::to_string(cut), "cat");
        const auto broken = place.bring(job);
        if (broken) {
            resumed += broken->resumed;
        } else {
            CHECK(broken.error().code() == ErrorCode::kEnvironment);
        }
        const std::string there = bytes_of(place.there / "data/big");
        CHECK((there == "(not there)" || there == big));
    }
    place.connect("cat", "cat");
    const auto done = place.bring(job);
    REQUIRE_MESSAGE(done.has_value(), done.error().message());
    CHECK(resumed + done->resumed > 0);
    CHECK(bytes_of(place.there / "data/big") == big);
    // What lies there and is no beginning of the file is not gone on with.
    fs::rename(place.there / "data/big", place.there / "data/big.part");
    place.put("big", "another" + big);
    const auto other = place.bring(job);
    REQUIRE(other.has_value());
    CHECK(other->resumed == 0);
    CHECK(bytes_of(place.there / "data/big") == "another" + big);
    fs::remove(place.there / "data/big");
    REQUIRE(write_file(place.there / "data/big.part", "anoth").has_value());
    CHECK(place.bring(job)->resumed == 5);
    CHECK(bytes_of(place.there / "data/big") == "another" + big);
}

TEST_CASE("a copy on this machine that was cut off goes on where it ended") {
    const Far place;
    const auto job = place.job("stage-in: [{from: big, to: data/}]\n");
    REQUIRE(make_directories(place.there / "data").has_value());
    REQUIRE(write_file(place.there / "data/big.part", "xxxxx").has_value());
    const auto here = submission::destination_here(place.there);
    const auto done = submission::bring_to(*here, place.transfers(job), job);
    REQUIRE_MESSAGE(done.has_value(), done.error().message());
    CHECK(done->resumed == 5);
    CHECK(done->bytes == 149'998);
    CHECK(bytes_of(place.there / "data/big") == bytes_of(place.here / "big"));
    CHECK_FALSE(fs::exists(place.there / "data/big.part"));
}

TEST_CASE("what cannot be written there is told by its reason") {
    Far place;
    REQUIRE(write_file(place.there, "a file").has_value());
    const auto refused = place.bring(place.job(kInputs));
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().message().starts_with("cannot write login.example:"));
    place.connect("true", "true");
    const auto gone = place.bring(place.job(kInputs));
    REQUIRE_FALSE(gone.has_value());
    CHECK(gone.error().message().find("broke while") != std::string::npos);
}

TEST_CASE("what another user planted where files are copied to leads to no file of the user") {
    Far place;
    const auto job = place.job(kInputs);
    const fs::path victim = place.directory.path() / "victim";
    REQUIRE(write_file(victim, "precious").has_value());
    REQUIRE(make_directories(place.there / "data").has_value());
    REQUIRE(make_directories(place.there / "in").has_value());
    fs::create_symlink(victim, place.there / "data/big.part");
    fs::create_hard_link(victim, place.there / "in/tool.part");
    fs::create_symlink("none", place.there / "in/ blank .part");
    const auto done = place.bring(job);
    REQUIRE_MESSAGE(done.has_value(), done.error().message());
    CHECK(bytes_of(victim) == "precious");
    CHECK(bytes_of(place.there / "data/big") == bytes_of(place.here / "big"));
    CHECK(bytes_of(place.there / "in/tool") == bytes_of(place.here / "in/tool"));
    // Nor is it continued, where it is a beginning of the file.
    fs::remove(place.there / "data/big");
    REQUIRE(write_file(victim, "xxxx").has_value());
    fs::create_symlink(victim, place.there / "data/big.part");
    const auto again = place.bring(job);
    REQUIRE_MESSAGE(again.has_value(), again.error().message());
    CHECK(again->resumed == 0);
    CHECK(bytes_of(victim) == "xxxx");
    // A folder: by the user's own link, not by another user's.
    fs::remove_all(place.there / "data");
    REQUIRE(make_directories(place.directory.path() / "mine").has_value());
    fs::create_directory_symlink(place.directory.path() / "mine", place.there / "data");
    REQUIRE(place.bring(job).has_value());
    CHECK(bytes_of(place.directory.path() / "mine/big") == bytes_of(place.here / "big"));
    fs::remove(place.directory.path() / "mine/big");
    if (::lchown((place.there / "data").c_str(), 2102, 2102) == 0) { // as root
        const auto refused = place.bring(job);
        REQUIRE_FALSE(refused.has_value());
        CHECK(refused.error().faults().front().because.ends_with("is a link of another user"));
        CHECK(fs::is_empty(place.directory.path() / "mine"));
    }
}

TEST_CASE("a file that becomes shorter while it is sent is named, and is not there") {
    for (const std::string name : {"big", "in/tool"}) {
        CAPTURE(name);
        Far place;
        place.connect("{ : >'" + (place.here / name).native() + "'; cat; }", "cat");
        const auto changed = place.bring(place.job(kInputs));
        REQUIRE_FALSE(changed.has_value());
        const Fault& fault = changed.error().faults().front();
        CHECK(fault.message.find(fs::path(name).filename().native()) != std::string::npos);
        CHECK_FALSE(fs::exists(place.there / (name == "big" ? "data/big" : name)));
    }
}

TEST_CASE("results come back as they are; a break leaves no half file") {
    Far place;
    REQUIRE(place.bring(place.job(kInputs)).has_value());
    const std::vector<std::string> names{"data/big", "in/ blank ", "in/deep/it's \\two", "in/tool"};
    const std::string big = bytes_of(place.here / "big");
    for (const std::size_t cut : {1U, 100U, 300U, 70'000U}) {
        CAPTURE(cut);
        place.connect("cat", "head -c " + std::to_string(cut));
        CHECK_FALSE(place.fetch(names).has_value());
        const std::string here = bytes_of(place.here / "home/data/big");
        CHECK((here == "(not there)" || here == big));
    }
    place.connect("cat", "cat");
    const auto files = place.fetch(names);
    REQUIRE_MESSAGE(files.has_value(), files.error().message());
    REQUIRE(files->size() == 4);
    CHECK(files->front().digest == "sha256:" + hex(sha256(big)));
    for (const auto& name : names) {
        CHECK(bytes_of(place.here / "home" / name) == bytes_of(place.there / name));
    }
    CHECK((fs::status(place.here / "home/in/tool").permissions() & fs::perms::owner_exec) !=
          fs::perms::none);
    CHECK_FALSE(place.fetch({"data/none"}).has_value());
    const auto results = submission::results_there(
        place.login(), submission::behind_ssh("login.example", {}, place.environment), place.there);
    const auto found = results->list({"in", "data/*", "*.none", "in/*/*"});
    REQUIRE(found.has_value());
    CHECK((*found)[0] == std::vector<std::string>{"in/ blank ", "in/deep/it's \\two", "in/tool"});
    CHECK((*found)[1] == std::vector<std::string>{"data/big"});
    CHECK((*found)[2].empty());
    CHECK((*found)[3] == std::vector<std::string>{"in/deep/it's \\two"});
}

TEST_CASE("a result that another user exchanges after it was listed is not fetched") {
    Far place;
    for (const char* folder : {"out", "secret", "mine"}) {
        REQUIRE(make_directories(place.there / folder).has_value());
        REQUIRE(write_file(place.there / folder / "a", folder).has_value());
    }
    REQUIRE(place.fetch({"out/a"}).has_value());
    CHECK(bytes_of(place.here / "home/out/a") == "out");
    // The user's own link.
    fs::create_symlink(place.there / "mine/a", place.there / "out/own");
    REQUIRE(place.fetch({"out/own"}).has_value());
    CHECK(bytes_of(place.here / "home/out/own") == "mine");
    // A folder on the way became a link.
    fs::rename(place.there / "out", place.there / "was");
    fs::create_directory_symlink("secret", place.there / "out");
    fs::remove_all(place.here / "home");
    CHECK_FALSE(place.fetch({"out/a"}).has_value());
    CHECK(bytes_of(place.here / "home/out/a") == "(not there)");
    // The file itself became a folder, a pipe, or another user's link.
    fs::remove(place.there / "out");
    fs::rename(place.there / "was", place.there / "out");
    fs::remove(place.there / "out/a");
    fs::create_directory(place.there / "out/a");
    CHECK_FALSE(place.fetch({"out/a"}).has_value());
    fs::remove(place.there / "out/a");
    REQUIRE(::mkfifo((place.there / "out/a").c_str(), 0600) == 0);
    CHECK_FALSE(place.fetch({"out/a"}).has_value());
    fs::remove(place.there / "out/a");
    fs::create_symlink(place.there / "secret/a", place.there / "out/a");
    if (::lchown((place.there / "out/a").c_str(), 2102, 2102) == 0) { // as root
        CHECK_FALSE(place.fetch({"out/a"}).has_value());
        CHECK(bytes_of(place.here / "home/out/a") == "(not there)");
    }
}

TEST_CASE("the user's own link is followed by links of the user or of root alone, each of them") {
    Far place;
    for (const char* folder : {"out", "secret", "mine", "shared"}) {
        REQUIRE(make_directories(place.there / folder).has_value());
        REQUIRE(write_file(place.there / folder / "a", folder).has_value());
    }
    fs::create_symlink("../mine", place.there / "out/relative");
    fs::create_symlink("relative/../mine/a", place.there / "out/chain"); // of links, by `..`
    fs::create_symlink("chain", place.there / "out/own");
    fs::create_directory_symlink(place.there / "secret", place.there / "shared/way");
    fs::create_symlink(place.there / "shared/way/a", place.there / "out/through");
    ::sleep(2); // NOLINT(concurrency-mt-unsafe): one thread
    for (const char* name : {"out/own", "out/through"}) {
        CAPTURE(name);
        REQUIRE(place.fetch({name}).has_value());
    }
    CHECK(bytes_of(place.here / "home/out/own") == "mine");
    // Another user owns a link in the middle of the way, and chose where it leads.
    fs::remove_all(place.here / "home");
    if (::lchown((place.there / "shared/way").c_str(), 2102, 2102) == 0) { // as root
        CHECK_FALSE(place.fetch({"out/through"}).has_value());
        CHECK(bytes_of(place.here / "home/out/through") == "(not there)");
        REQUIRE(::lchown((place.there / "shared/way").c_str(), 0, 0) == 0);
    }
    // A loop of the user's own links ends.
    fs::create_symlink("b", place.there / "out/c");
    fs::create_symlink("c", place.there / "out/b");
    CHECK_FALSE(place.fetch({"out/b"}).has_value());
}

TEST_CASE(
    "a user's own link that is exchanged all the time for another user's leads to no secret") {
    if (::geteuid() != 0) {
        return; // two users
    }
    Far place;
    for (const char* folder : {"out", "secret", "mine"}) {
        REQUIRE(make_directories(place.there / folder).has_value());
        REQUIRE(write_file(place.there / folder / "a", folder).has_value());
    }
    const fs::path own = place.there / "out/own";
    const fs::path evil = place.there / "out/evil";
    fs::create_symlink(place.there / "mine/a", own);
    fs::create_symlink(place.there / "secret/a", evil);
    REQUIRE(::lchown(evil.c_str(), 2102, 2102) == 0);
    const pid_t attacker = ::fork();
    REQUIRE(attacker >= 0);
    if (attacker == 0) {
        (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
    }
    while (attacker == 0) { // NOLINT(bugprone-infinite-loop): until it is killed
        (void)::renameat2(AT_FDCWD, own.c_str(), AT_FDCWD, evil.c_str(), RENAME_EXCHANGE);
        ::usleep(300);
    }
    for (int turn = 0; turn < 3; ++turn) {
        (void)place.fetch({"out/own"});
        CHECK(bytes_of(place.here / "home/out/own") != "secret");
        fs::remove_all(place.here / "home");
    }
    ::kill(attacker, SIGKILL);
    REQUIRE(::waitpid(attacker, nullptr, 0) == attacker);
}
