// SPDX-License-Identifier: Apache-2.0
#include "jobs/backends/framed.hpp"
#include "support/file.hpp"

#include <doctest/doctest.h>

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

jobs::Call call(std::vector<std::string> argv) {
    jobs::Call made;
    made.argv = std::move(argv);
    return made;
}

} // namespace

TEST_CASE("calls and files come back as they are, whatever they hold and the login shell greets") {
    const TempDirectory place = TempDirectory::make("/tmp", "cybele-test").value();
    const auto file = place.path() / "it's a $log";
    REQUIRE(write_file(file, "one\ntwo" + kNonce + " end\n").has_value());
    jobs::Call words = call({"printf", "%s|", "a b", "it's", "$HOME", "`id`", ""});
    words.set = {{"X", "y'z"}};
    words.directory = place.path();
    jobs::Call code = call({"/bin/sh", "-c", "echo \"$X\" >&2; pwd; exit 7"});
    code.set = {{"X", "y'z"}};
    code.directory = place.path();
    jobs::Call file_first = call({"cat", (place.path() / "new" / "script").native()});
    file_first.files = {{place.path() / "new" / "script", "#!/bin/sh\necho '$x'\n"}};
    const std::string script =
        jobs::framed_script({words, code, file_first, call({"no-such-program"})},
                            {{file, 4, 3}, {place.path() / "none", 0, 10}, {file, 0, 1000}},
                            kNonce);
    const std::string output = run_script(script, "Welcome!\n" + kNonce + "\n");
    const auto answers = jobs::read_frames(output, 4, 3, kNonce);
    REQUIRE(answers.has_value());
    CHECK(answers->outcomes[0].output == "a b|it's|$HOME|`id`||");
    CHECK(answers->outcomes[1].code == 7);
    CHECK(answers->outcomes[1].errors == "y'z\n");
    CHECK(answers->outcomes[1].output == place.path().native() + "\n");
    CHECK(answers->outcomes[2].output == "#!/bin/sh\necho '$x'\n");
    CHECK(answers->outcomes[3].code == 127);
    CHECK(answers->files[0].bytes == "two");
    CHECK(answers->files[0].size == file_size(open_for_reading(file)->get(), file).value());
    CHECK(answers->files[0].inode == jobs::read_piece({file, 0, 1}).inode);
    CHECK(answers->files[0].inode != 0);
    CHECK_FALSE(answers->files[1].exists);
    CHECK(answers->files[2].bytes.ends_with(" end\n"));
    for (std::size_t cut = 1; cut < 200 && cut < output.size(); cut += 7) {
        CAPTURE(cut);
        CHECK_FALSE(
            jobs::read_frames(output.substr(0, output.size() - cut), 4, 3, kNonce).has_value());
    }
    CHECK_FALSE(jobs::read_frames(output, 4, 3, "cybelectl-other").has_value());
    CHECK_FALSE(jobs::read_frames("", 0, 0, kNonce).has_value());
}
