// SPDX-License-Identifier: Apache-2.0
// What logs of failed jobs show (docs/failures.md).
#include "bench.hpp"
#include "schedulers/reading/symptoms.hpp"

#include <algorithm>
#include <map>
#include <sstream>

#include <doctest/doctest.h>
#include <fmt/format.h>

namespace cybele::schedulers {
namespace {

/// The sections of docs/failures.md: a symptom, and the messages that show it.
std::map<std::string, std::string> messages_of_failures() {
    const auto page = read_file(CYBELE_SOURCE_DIR "/docs/failures.md");
    REQUIRE(page);
    constexpr std::string_view kName = "Symptom: `";
    constexpr std::string_view kBlock = "```text\n";
    std::map<std::string, std::string> messages;
    for (std::size_t at = page->find(kName); at != std::string::npos; at = page->find(kName, at)) {
        at += kName.size();
        const std::string name = page->substr(at, page->find('`', at) - at);
        const std::size_t begin = page->find(kBlock, at) + kBlock.size();
        messages[name] = page->substr(begin, page->find("```", begin) - begin);
    }
    return messages;
}

/// The names of the symptoms that a log shows.
std::string symptoms_in(std::string_view log) {
    std::string names;
    for (const Finding& finding : find_symptoms(log)) {
        names += std::string(finding.symptom->id) + " ";
    }
    return names;
}

} // namespace

TEST_CASE("each symptom has a section in docs/failures.md, and is found by each of its messages") {
    const auto messages = messages_of_failures();
    CHECK(messages.size() == symptoms().size());
    for (const Symptom& symptom : symptoms()) {
        CAPTURE(symptom.id);
        const auto section = messages.find(std::string(symptom.id));
        REQUIRE(section != messages.end());
        std::istringstream lines(section->second);
        const bool needs_all = symptom.id == "singletons"; // one such line is an ordinary one
        for (std::string line; std::getline(lines, line);) {
            CAPTURE(line);
            const auto findings = find_symptoms(needs_all ? section->second : line + "\n");
            CHECK(std::any_of(findings.begin(), findings.end(), [&](const Finding& finding) {
                return finding.symptom->id == symptom.id;
            }));
        }
    }
}

TEST_CASE("an image whose squashfs cannot be mounted is not reported as a wrong bind") {
    CHECK(symptoms_in("FATAL: container creation failed: mount x error: kernel reported a bad "
                      "superblock for squashfs image partition\n") == "image-incomplete ");
    CHECK(symptoms_in("FATAL: container creation failed: mount /data->/data error\n") ==
          "mount-failed ");
}

TEST_CASE("an exit code is found in each form that batch systems and launchers write") {
    CHECK(symptoms_in("job 7 exited with code 137\n") == "exit-137 ");
    CHECK(symptoms_in("  Exit code:    139\n") == "exit-139 ");
    CHECK(symptoms_in("Exit_status=143\n") == "exit-143 ");
    CHECK(symptoms_in("JobState=FAILED ExitCode=126:0\n") == "exit-126 ");
    CHECK(symptoms_in("it ended with code 127 after 9 s\n") == "exit-126 ");
    CHECK(symptoms_in("exit status 124\n") == "exit-124 ");
    CHECK(symptoms_in("exit code 125") == "exit-124 ");
    CHECK(symptoms_in("exit code 1375\nexit code 13\nexit code 0 after 137 s\n137\n").empty());
}

TEST_CASE(
    "singleton ranks are found by each greeting, and are not ranks of a number that begins so") {
    CHECK(symptoms_in("Hello from rank 0 out of 1\nHello from rank 0 out of 1\n") == "singletons ");
    CHECK(symptoms_in("rank 0 of 1\nrank 0 of 1\n") == "singletons ");
    CHECK(symptoms_in("rank 0/1\nrank 0/1\n") == "singletons ");
    CHECK(symptoms_in("rank 0 of 16: step 1\nrank 0 of 16: step 2\n").empty());
    CHECK(symptoms_in("rank 0 out of 128\nrank 0 out of 128\nrank 0/12\nrank 0/12\n").empty());
}

TEST_CASE("of two symptoms in one line the one that fits more closely is named") {
    CHECK(symptoms_in("bash: solver: command not found\n") == "command-not-found ");
    CHECK(symptoms_in("job.sh: line 2: $'\\r': command not found\n") == "carriage-return ");
    CHECK(symptoms_in("job.sh: line 2: module: command not found\n") == "module-unknown ");
    CHECK(symptoms_in("sh: 53: exec: solver: not found\n") == "not-in-path ");
    CHECK(symptoms_in("torch.cuda.OutOfMemoryError: CUDA out of memory.\n") == "gpu-memory-full ");
    CHECK(symptoms_in("ImportError: libcuda.so.1: cannot open shared object file\n") == "no-gpu ");
    CHECK(symptoms_in("exited on signal 11 (Segmentation fault).\n") == "exit-139 ");
    CHECK(symptoms_in(
              "FATAL: container creation failed: mount error: failed to find loop device\n") ==
          "no-loop-device ");
    CHECK(symptoms_in("a.sh: line 3: 1234 Killed                  ./solver\n") == "exit-137 ");
    CHECK(symptoms_in("Killed 3 of 4 workers; the process exited on signal 110\n").empty());
}

TEST_CASE("a traceback is named by its last line, and not where that line has a name of its own") {
    const std::string head =
        "step 1\nTraceback (most recent call last):\n  File \"a.py\", line 3\n";
    const auto findings = find_symptoms(head + "    x\nValueError: no x\nbye\n");
    REQUIRE(findings.size() == 1);
    CHECK(findings.front().symptom->id == "python-traceback");
    CHECK(findings.front().line == 5);
    CHECK(findings.front().text == "ValueError: no x");
    CHECK(symptoms_in(head + "ModuleNotFoundError: No module named 'x'\n") ==
          "python-module-missing ");
    CHECK(symptoms_in(head) == "python-traceback ");
    const auto ranks = find_symptoms("[rank0]: Traceback (most recent call last):\n"
                                     "[rank0]:   File \"a.py\", line 3\n"
                                     "[rank0]: KeyError: 1\n");
    REQUIRE(ranks.size() == 1);
    CHECK(ranks.front().text == "[rank0]: KeyError: 1");
    // Interrupted before its last line, it is named by its first.
    for (const std::string rest : {"",
                                   "\n",
                                   "[rank0]:",
                                   "[rank0]: ",
                                   "[rank1]: KeyError: 1\n",
                                   "bye\n",
                                   "[rank0]:   File \"a.py\", line 3\n[rank1]: KeyError: 1\n",
                                   "[rank0]:   File \"a.py\", line 3\n\n[rank0]: KeyError: 1\n"}) {
        CAPTURE(rest);
        const auto cut = find_symptoms("[rank0]: Traceback (most recent call last):\n" + rest);
        REQUIRE(cut.size() == 1);
        CHECK(cut.front().line == 1);
    }
}

TEST_CASE("a message alone shows what only several lines of a log show") {
    CHECK(find_symptoms("Hello from rank 0 of 1").empty());
    const auto findings = find_symptoms("Hello from rank 0 of 1", LogPart::kOneMessage);
    REQUIRE(findings.size() == 1);
    CHECK(findings.front().symptom->id == "singletons");
    CHECK(symptoms_in("rank: 0 size: 1\nrank: 0 size: 1\n") == "singletons ");
    CHECK(symptoms_in("rank: 0 size: 16\nrank: 0 size: 16\n").empty());
    CHECK(symptoms_in("Killed\n") == "exit-137 ");
    CHECK(symptoms_in("sh: 1: [[: not found\n") == "bash-in-sh ");
}

TEST_CASE("missing subordinate ids are found in a short message, too") {
    CHECK(symptoms_in("FATAL: no subuid\n") == "no-subid-range ");
    CHECK(symptoms_in("no subgid ranges found for group \"alice\" in /etc/subgid\n") ==
          "no-subid-range ");
}

TEST_CASE("what a log shows otherwise is no symptom") {
    CHECK(find_symptoms("rank 0 of 1: a job of one rank\nall good\n").empty());
    CHECK(find_symptoms("").empty());
    CHECK(find_symptoms("wrote 12 files to /dev/shm\nversion 2.34 found\n").empty());
}

} // namespace cybele::schedulers
