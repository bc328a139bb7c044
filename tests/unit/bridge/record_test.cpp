// SPDX-License-Identifier: Apache-2.0
#include "bridge/batch/record_scripts.hpp"
#include "bridge/batch/record_sight.hpp"
#include "submission/backends/shell_host.hpp"
#include "submission/records/process_identity.hpp"
#include "support/file.hpp"
#include "support/text.hpp"

#include <array>
#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>
#include <unistd.h>

using namespace cybele;
namespace fs = std::filesystem;

namespace {

constexpr const char* kRecordUid = "6f0f3b1c-2e14-4c1a-9d2e-0123456789ab";

/// A work folder with the record of one object, worked on by a real shell.
struct RecordPlace {
    TempDirectory folder = TempDirectory::make(fs::temp_directory_path(), "record-").value();
    fs::path record = folder.path() / ".cybelectl" / kRecordUid;
    std::unique_ptr<submission::Host> host = submission::shell_host(
        {{"sh", "-s"}, "this machine", {{"PATH", "/usr/local/bin:/usr/bin:/bin"}}});
    std::unique_ptr<submission::Commands> commands = submission::slurm_commands();

    [[nodiscard]] submission::Call call(std::string_view script,
                                        const std::vector<std::string>& words) const {
        submission::Call made;
        made.argv = {"sh", "-c", std::string(script), "cybelectl"};
        made.argv.insert(made.argv.end(), words.begin(), words.end());
        return made;
    }
    /// Who runs the commands.
    std::string user() {
        submission::Call made;
        made.argv = {"id", "-un"};
        const auto answers = host->exchange({made}, {});
        REQUIRE(answers.has_value());
        return std::string(text::trimmed(answers->outcomes.front().output));
    }
    int hand_over(int attempt, const std::string& script, const std::string& submit) {
        return hand_over(attempt, script, submit, user());
    }
    /// The code of a hand-over whose submission is this shell command.
    int hand_over(int attempt,
                  const std::string& script,
                  const std::string& submit,
                  const std::string& account) {
        const fs::path incoming = record / "incoming-1";
        submission::Call made = call(bridge::kHandOver,
                                     {account,
                                      record.native(),
                                      std::to_string(attempt),
                                      std::to_string(script.size()),
                                      incoming.native(),
                                      "test default/job 7",
                                      "sh",
                                      "-c",
                                      submit});
        made.files = {{incoming, script.ends_with('\n') ? script : script + "\n"}};
        const auto answers = host->exchange({made}, {});
        REQUIRE(answers.has_value());
        return answers->outcomes.front().code;
    }
    bridge::RecordObservation search(bool closes = false) {
        const auto answers =
            host->exchange({call(bridge::kSearchScript,
                                 {folder.path().native(), record.native(), closes ? "yes" : "no"})},
                           {});
        REQUIRE(answers.has_value());
        return bridge::read_record(answers->outcomes.front().output, *commands, kRecordUid);
    }
    void write(const fs::path& name, const std::string& text) const {
        fs::create_directories((record / name).parent_path());
        std::ofstream(record / name) << text;
    }
};

} // namespace

TEST_CASE("a hand-over takes its claim once, and its answer is found") {
    RecordPlace place;
    CHECK(place.search().claims == 0);
    CHECK(place.hand_over(1, "#!/bin/sh\necho 'x'", "echo 77") == 0);
    CHECK(read_file(place.record / "claim-1" / "job.sh").value() == "#!/bin/sh\necho 'x'");
    CHECK(read_file(place.record / "claim-1" / "object").value() == "test default/job 7\n");
    CHECK(place.hand_over(1, "#!/bin/sh\n", "echo 78") == 17);
    const auto sight = place.search();
    CHECK(sight.was_read);
    CHECK(sight.claims == 1);
    CHECK(sight.answer == "77");
    CHECK(sight.is_submitter_gone);
    CHECK(sight.claim_age <= 5);
    CHECK(place.hand_over(2, "#!/bin/sh\n", "echo 79") == 0);
    CHECK_MESSAGE(place.search().answer == "77", "the first answer stays");
    CHECK_FALSE(fs::exists(place.record / "incoming-1"));
}

TEST_CASE("as another user than the account nothing is handed over") {
    RecordPlace place;
    CHECK(place.hand_over(1, "#!/bin/sh\n", "echo 77", "no-such-account") == 18);
    CHECK_FALSE(fs::exists(place.record.parent_path()));
    CHECK(place.search().claims == 0);
    CHECK(place.hand_over(1, "#!/bin/sh\n", "echo 77") == 0);
}

TEST_CASE("what the batch system said is read from the record") {
    const struct {
        const char* submit;
        const char* answer;
        const char* refusal;
        bool is_unreachable;
    } rows[] = {
        {"echo 'sbatch: error: invalid partition specified: x' >&2; exit 1",
         "",
         "sbatch: error: invalid partition specified: x",
         false},
        {"echo 'sbatch: error: Batch job submission failed: Socket timed out' >&2; exit 1",
         "",
         "",
         false},
        {"echo 'sbatch: error: (connect failure)' >&2; exit 1", "", "", true},
        {"exit 127", "", "", true},
        {"echo '80;cluster'; echo 'a note of the site' >&2", "80", "", false},
        {"kill -9 $$", "", "", false},
    };
    for (const auto& row : rows) {
        CAPTURE(row.submit);
        RecordPlace place;
        CHECK(place.hand_over(1, "#!/bin/sh\n", row.submit) == 0);
        const auto sight = place.search();
        CHECK(sight.was_read);
        CHECK(sight.answer == row.answer);
        CHECK(sight.refusal == row.refusal);
        CHECK(sight.unreachable.empty() != row.is_unreachable);
    }
}

TEST_CASE("the words with which a service refused a job are in the record of its last claim") {
    RecordPlace place;
    place.write("claim-1/object", "test default/job 7\n");
    CHECK(place.search().refusal.empty());
    const auto answers = place.host->exchange(
        {place.call(bridge::kNoteRefusal, {place.record.native(), "1", "Invalid 'partition'"})},
        {});
    REQUIRE(answers.has_value());
    CHECK(answers->outcomes.front().ok());
    CHECK(place.search().refusal == "Invalid 'partition'");
    place.write("answer", "77\n");
    CHECK(place.search().refusal.empty());
    fs::remove(place.record / "answer");
    place.write("claim-2/object", "test default/job 8\n");
    CHECK(place.search().refusal.empty());
}

TEST_CASE("a record that is closed lets no hand-over begin, and one that began is seen") {
    RecordPlace place;
    const auto closed = place.search(true);
    CHECK(closed.is_closed);
    CHECK(closed.claims == 0);
    CHECK(place.hand_over(1, "#!/bin/sh\n", "echo 77") == 17);
    CHECK(place.search(true).is_closed);

    RecordPlace begun;
    CHECK(begun.hand_over(1, "#!/bin/sh\n", "echo 77") == 0);
    const auto sight = begun.search(true);
    CHECK(sight.is_closed);
    CHECK(sight.claims == 1);
    CHECK(begun.hand_over(2, "#!/bin/sh\n", "echo 78") == 17);
}

TEST_CASE("a process that may still submit is seen by host, boot, id and start") {
    RecordPlace place;
    const auto self = submission::id_of_process(::getpid());
    std::array<char, 256> host{};
    REQUIRE(::gethostname(host.data(), host.size() - 1) == 0);
    const auto is_gone = [&](const std::string& line) {
        place.write("claim-1/process", line + "\n");
        return place.search().is_submitter_gone;
    };
    const std::string me = std::to_string(self.pid);
    const std::string name = host.data();
    CHECK_FALSE(is_gone(name + " " + self.boot + " " + me + " " + self.start + " 1"));
    CHECK(is_gone(name + " " + self.boot + " " + me + " 12 1"));
    CHECK(is_gone(name + " another-boot " + me + " " + self.start + " 1"));
    CHECK_MESSAGE(is_gone("elsewhere b 1 2 1"), "after ten minutes on another host");
    CHECK(place.search().claim_age > 600);
}

TEST_CASE("one job of each record may be let go, whoever comes second") {
    RecordPlace place;
    place.write("answer", "77\n");
    CHECK(place.search().released.empty());
    const auto may_go = [&place](const std::string& id) {
        const auto answers = place.host->exchange(
            {place.call(bridge::kCommit,
                        {place.record.parent_path().native(), id, kRecordUid, "5", "another"})},
            {});
        REQUIRE(answers.has_value());
        CHECK(answers->outcomes.front().ok());
        return answers->outcomes.front().output;
    };
    CHECK(may_go("91") == "91\n5\n");
    CHECK(may_go("77") == "5\n");
    CHECK(may_go("91") == "91\n5\n");
    CHECK(place.search().released == "91");
    CHECK(place.search().answer == "91");
    fs::remove(place.record / "released");
    fs::create_symlink("../../etc", place.record / "released");
    CHECK(may_go("91") == "5\n");
    CHECK(place.search().released.empty());
}

TEST_CASE("a noted id replaces an answer; an end counts for this object only") {
    RecordPlace place;
    place.write("answer", "77\n");
    const auto answers = place.host->exchange(
        {place.call(bridge::kNoteAnswerScript, {place.record.native(), "91"})}, {});
    REQUIRE(answers.has_value());
    CHECK(place.search().answer == "91");
    place.write("exit.json", R"({"uuid": "another", "state": "done", "code": 0})");
    CHECK_FALSE(place.search().end.has_value());
    place.write("exit.json",
                std::string(R"({"uuid": ")") + kRecordUid + R"(", "state": "failed", "code": 3})");
    const auto end = place.search().end.value_or(bridge::SeenJob());
    CHECK(end.state == submission::State::kFailed);
    CHECK(end.code == 3);
}

TEST_CASE("a folder that cannot be read, or an answer that was cut, proves nothing") {
    RecordPlace place;
    const auto commands = submission::slurm_commands();
    const auto answers = place.host->exchange(
        {place.call(bridge::kSearchScript, {"/nonexistent/work", "/nonexistent/work/x", "no"})},
        {});
    REQUIRE(answers.has_value());
    CHECK(answers->outcomes.front().code == 1);
    const std::string whole = "claims 1\nclosed no\nalive no\nage 70\nanswer 3\n77\n\ncomplete\n";
    CHECK(bridge::read_record(whole, *commands, kRecordUid).answer == "77");
    for (std::size_t length = 0; length < whole.size() - 1; ++length) {
        CHECK_FALSE(bridge::read_record(whole.substr(0, length), *commands, kRecordUid).was_read);
    }
    CHECK_FALSE(bridge::read_record(whole + "more\n", *commands, kRecordUid).was_read);
}
