// SPDX-License-Identifier: Apache-2.0
// `image-copy`: the image is started from a copy on each node. Once for a job, whatever its rows.
#include "bench.hpp"
#include "support/text.hpp"

#include <string>

#include <doctest/doctest.h>

namespace cybele::schedulers {
namespace {

namespace fs = std::filesystem;

/// Folders of copies that are left.
std::size_t copies_in(const fs::path& folder) {
    std::size_t count = 0;
    for (const auto& entry : fs::directory_iterator(folder)) {
        count += entry.path().filename().native().starts_with("cybelectl-image.") ? 1U : 0U;
    }
    return count;
}

std::size_t count_of(const std::string& text, const std::string& part) {
    std::size_t count = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
        ++count;
    }
    return count;
}

} // namespace

TEST_CASE("the rows of a packed sweep start the image from one copy, which is removed") {
    const Bench bench;
    bench.program("cybelectl", kHostRuntime);
    bench.file("a.sif", "image");
    fs::create_directory(bench.work / "fast");
    const auto outcome = bench.run("image: a.sif\nimage-copy: fast\ncommand: [echo, 'row @{x}']\n"
                                   "sweep: {x: [1, 2, 3], pack: all, at-once: 2}\n");
    CHECK_MESSAGE(outcome.ok(), outcome.errors);
    CHECK(copies_in(bench.work / "fast") == 0);
    const std::string log = read_file(bench.work / "runtime.log").value();
    std::string image;
    std::size_t starts = 0;
    for (const std::string_view line : text::split(log, '\n')) {
        if (line.find("/cybelectl-image.") != std::string_view::npos && line.ends_with(".sif")) {
            image = image.empty() ? std::string(line) : image;
            CHECK(line == image);
            ++starts;
        }
    }
    CHECK(starts == 3);
}

TEST_CASE("the signal before the end of a packed sweep is counted from the job's start") {
    const Bench bench;
    const std::string fields = "command: [x]\nresources: {time: 1 h}\n"
                               "signal: {name: USR1, before: 5 min}\n";
    for (const char* sweep : {"", "sweep: {x: [1, 2, 3], pack: all}\n"}) {
        CAPTURE(sweep);
        const std::string text = bench.script(fields + sweep, "local");
        CHECK(count_of(text, "    send_signal_after ") == 1);
        const auto call = text.find("    send_signal_after ");
        const auto rows = text.find("\nrun_row() {");
        CHECK(text.find("\nmain() {") < call);
        CHECK((rows == std::string::npos || call < rows));
    }
}

TEST_CASE("a folder for the copy that names a row is refused where rows share a job") {
    const auto id_of = [](const std::string& sweep) {
        const launchers::Job job = job_of(
            "kind: Job\nname: run\nimage: a.sif\nimage-copy: 'fast/@{x}'\ncommand: [x]\n" + sweep);
        RenderInput input;
        input.job = &job;
        input.dialect = "local";
        input.image = "a.sif";
        const auto rendered = render_script(input);
        return rendered ? std::string() : rendered.error().faults().front().id;
    };
    CHECK(id_of("sweep: {x: [1, 2], pack: all}\n") == "image-copy-of-row");
    CHECK(id_of("sweep: {x: [1, 2]}\n").empty());
}

TEST_CASE("a folder of somebody else on another node gets no image") {
    Bench bench;
    bench.program("cybelectl", kHostRuntime);
    bench.file("a.sif", "image");
    fs::create_directory(bench.work / "fast");
    fs::create_directory(bench.work / "foreign");
    bench.variables["SLURM_JOB_ID"] = "7";
    bench.variables["SLURM_JOB_NUM_NODES"] = "2";
    bench.variables["SLURM_SUBMIT_DIR"] = bench.work.native();
    const std::string run_words = "while [[ $1 == --* ]]; do shift; done\n";
    const std::string fields = "image: a.sif\nimage-copy: fast\ncommand: [echo, ran]\n"
                               "launch: {kind: mpi, launcher: srun, guard: false}\n"
                               "resources: {nodes: 2}\n";
    // The other node has a link of this name.
    bench.program("srun",
                  run_words + "if [[ $3 == *mkdir* ]]; then\n"
                              "    rm -rf \"${@: -1}\" && ln -s \"$HOME/foreign\" \"${@: -1}\"\n"
                              "fi\nexec \"$@\"\n");
    const auto refused = bench.run(fields, "slurm");
    CHECK_FALSE(refused.ok());
    CHECK(refused.output.empty());
    CHECK_MESSAGE(refused.errors.find("is not yours") != std::string::npos, refused.errors);
    CHECK(fs::is_empty(bench.work / "foreign"));
    // There it is not yet, or was made by this job.
    bench.program("srun", run_words + "exec \"$@\"\n");
    const auto copied = bench.run(fields, "slurm");
    CHECK_MESSAGE(copied.ok(), copied.errors);
    CHECK(copied.output.find("ran\n") != std::string::npos);
    CHECK(copies_in(bench.work / "fast") == 0);
}

TEST_CASE("elements of an array on one machine do not share what is named by the job") {
    Bench bench;
    const std::string fields = "launch: torch\nimage: a.sif\ncommand: [train.py]\n";
    CHECK(bench.script(fields, "local").find("${CYBELE_JOB:-$$}-$array_index") ==
          std::string::npos);
    CHECK(bench.script(fields + "array: '0-3'\n", "local").find("${CYBELE_JOB:-$$}-$array_index") !=
          std::string::npos);
}

} // namespace cybele::schedulers
