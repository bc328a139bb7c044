// SPDX-License-Identifier: Apache-2.0
#include "submission/backends/framed.hpp"
#include "support/file.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

using namespace cybele;

namespace {

const std::string kNonce = "cybelectl-0a1b";

/// What a login node's shell makes of a script; `greeting` is what its start-up files print.
std::string run_script(const std::string& script, const std::string& greeting = "") {
    Command command;
    command.argv = {"/bin/sh", "-s"};
    command.input = script;
    return greeting + run_process(command).value().output;
}

submission::Call call(std::vector<std::string> argv) {
    submission::Call made;
    made.argv = std::move(argv);
    return made;
}

} // namespace

TEST_CASE("calls and files come back as they are, whatever they hold and the login shell greets") {
    const TempDirectory place = TempDirectory::make("/tmp", "cybele-test").value();
    const auto file = place.path() / "it's a $log";
    REQUIRE(write_file(file, "one\ntwo" + kNonce + " end\n").has_value());
    submission::Call words = call({"printf", "%s|", "a b", "it's", "$HOME", "`id`", ""});
    words.set = {{"X", "y'z"}};
    words.directory = place.path();
    submission::Call code = call({"/bin/sh", "-c", "echo \"$X\" >&2; pwd; exit 7"});
    code.set = {{"X", "y'z"}};
    code.directory = place.path();
    submission::Call file_first = call({"cat", (place.path() / "new" / "script").native()});
    file_first.files = {{place.path() / "new" / "script", "#!/bin/sh\necho '$x'\n"}};
    const std::string script =
        submission::framed_script({words, code, file_first, call({"no-such-program"})},
                                  {{file, 4, 3}, {place.path() / "none", 0, 10}, {file, 0, 1000}},
                                  kNonce);
    const std::string output = run_script(script, "Welcome!\n" + kNonce + "\n");
    const auto answers = submission::read_frames(output, 4, 3, kNonce);
    REQUIRE(answers.has_value());
    CHECK(answers->outcomes[0].output == "a b|it's|$HOME|`id`||");
    CHECK(answers->outcomes[1].code == 7);
    CHECK(answers->outcomes[1].errors == "y'z\n");
    CHECK(answers->outcomes[1].output == place.path().native() + "\n");
    CHECK(answers->outcomes[2].output == "#!/bin/sh\necho '$x'\n");
    CHECK(answers->outcomes[3].code == 127);
    CHECK(answers->files[0].bytes == "two");
    CHECK(answers->files[0].size == file_size(open_for_reading(file)->get(), file).value());
    CHECK(answers->files[0].inode == submission::read_piece({file, 0, 1}).inode);
    CHECK(answers->files[0].inode != 0);
    CHECK_FALSE(answers->files[1].exists);
    CHECK(answers->files[2].bytes.ends_with(" end\n"));
    for (std::size_t cut = 1; cut < 200 && cut < output.size(); cut += 7) {
        CAPTURE(cut);
        CHECK_FALSE(submission::read_frames(output.substr(0, output.size() - cut), 4, 3, kNonce)
                        .has_value());
    }
    CHECK_FALSE(submission::read_frames(output, 4, 3, "cybelectl-other").has_value());
    CHECK_FALSE(submission::read_frames("", 0, 0, kNonce).has_value());
}

TEST_CASE("files arrive byte by byte, with and without a last line feed, or nothing is called") {
    const TempDirectory place = TempDirectory::make("/tmp", "cybele-test").value();
    const std::vector<std::string> texts{
        "#!/bin/sh\nhostname", "", "\n", "one\n\n", "a\\b $x `id`", kNonce + " file\tx"};
    submission::Call all = call({"true"});
    for (std::size_t at = 0; at < texts.size(); ++at) {
        all.files.push_back({place.path() / "new" / std::to_string(at), texts[at]});
    }
    const std::string script = submission::framed_script({all}, {}, kNonce);
    const auto answers = submission::read_frames(run_script(script), 1, 0, kNonce);
    REQUIRE(answers.has_value());
    CHECK(answers->outcomes[0].ok());
    for (const submission::NewFile& file : all.files) {
        CHECK(read_file(file.path).value() == file.bytes);
    }

    submission::Call without = call({"touch", (place.path() / "called").native()});
    without.files = {{place.path() / "new/0/job.sh", "x\n"}}; // below a file
    submission::Call incomplete = without;
    incomplete.files = {{place.path() / "nul", std::string("a\0b\n", 4)}};
    const auto refused = submission::read_frames(
        run_script(submission::framed_script({without, incomplete, call({"true"})}, {}, kNonce)),
        3,
        0,
        kNonce);
    REQUIRE(refused.has_value());
    CHECK(refused->outcomes[0].code == 125);
    CHECK(refused->outcomes[0].errors.starts_with("cannot write " + place.path().native()));
    CHECK(refused->outcomes[1].code == 125);
    CHECK(refused->outcomes[2].ok());
    CHECK_FALSE(exists(place.path() / "called"));
}

TEST_CASE("files go into the user's own folders, not where a link leads that took their place") {
    const TempDirectory place = TempDirectory::make("/tmp", "cybele-test").value();
    const auto record = place.path() / ".cybelectl" / "0a-1b";
    REQUIRE(make_directories(place.path() / "other" / "0a-1b").has_value());
    submission::Call with = call({"touch", (place.path() / "called").native()});
    with.files = {{record / "job.sh", "x\n"}};
    const auto refused = [&] {
        const auto answers = submission::read_frames(
            run_script(submission::framed_script({with}, {}, kNonce)), 1, 0, kNonce);
        return answers.value().outcomes.front().errors;
    };
    std::filesystem::create_directory_symlink("other", place.path() / ".cybelectl");
    CHECK(refused().find("/.cybelectl belongs to another user") != std::string::npos);
    std::filesystem::remove(place.path() / ".cybelectl");
    REQUIRE(make_directories(place.path() / ".cybelectl").has_value());
    std::filesystem::create_directory_symlink("../other/0a-1b", record);
    CHECK(refused().find("/0a-1b belongs to another user") != std::string::npos);
    CHECK(std::filesystem::is_empty(place.path() / "other" / "0a-1b"));
    std::filesystem::remove(record);
    if (::chown((place.path() / ".cybelectl").c_str(), 2102, 2102) == 0) { // as root
        CHECK(refused().find("/.cybelectl belongs to another user") != std::string::npos);
        REQUIRE(::chown((place.path() / ".cybelectl").c_str(), 0, 0) == 0);
    }
    CHECK_FALSE(exists(place.path() / "called"));
    CHECK(refused().empty());
    CHECK(exists(place.path() / "called"));
}

TEST_CASE("a login shell is asked for its PATH only while what is kept of it does not do") {
    const TempDirectory place = TempDirectory::make("/tmp", "cybele-test").value();
    const auto folder = place.path() / "odd 'folder";
    REQUIRE(make_directories(folder).has_value());
    REQUIRE(write_file(folder / "only-here", "#!/bin/sh\necho found\n", 0755).has_value());
    REQUIRE(write_file(place.path() / ".profile",
                       "echo asked >>" + (place.path() / "asked").native() + "\nPATH=$PATH:\"" +
                           folder.native() + "\"\n")
                .has_value());
    const std::string there = "HOME=" + place.path().native() + "; SHELL=/bin/sh; export HOME\n";
    const auto ask = [&](const std::string& program, const std::string& kept) {
        const std::string script = submission::framed_script({call({program})}, {}, kNonce, kept);
        return submission::read_frames(run_script(there + script), 1, 0, kNonce).value();
    };
    const auto asked = [&] { return read_file(place.path() / "asked").value_or(""); };
    CHECK(ask("true", "").login_path.empty());
    CHECK(asked().empty());
    const auto first = ask("only-here", "");
    CHECK(first.outcomes[0].output == "found\n");
    CHECK(first.login_path.ends_with(folder.native()));
    CHECK(asked() == "asked\n");
    const auto second = ask("only-here", first.login_path);
    CHECK(second.outcomes[0].output == "found\n");
    CHECK(second.login_path.empty());
    CHECK(asked() == "asked\n");
    const auto moved = ask("only-here", "/nowhere"); // what is kept has become wrong
    CHECK(moved.outcomes[0].output == "found\n");
    CHECK(moved.login_path == first.login_path);
    const auto none = ask("no-such-program", first.login_path);
    CHECK(none.outcomes[0].code == 127);
    CHECK(none.outcomes[0].errors.find("is not in the PATH of any shell on") != std::string::npos);
}
