// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "golden_case.hpp"
#include "images/inspection/facts.hpp"
#include "support/environment.hpp"
#include "support/file.hpp"
#include "support/process.hpp"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <future>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace cybele::schedulers {

namespace fs = std::filesystem;

inline constexpr const char* kUuid = "0b2f8a4e-5c3d-4e6f-8a9b-1c2d3e4f5a6b";

/// A private directory with a blank in its name, in which scripts run as jobs.
struct Bench {
    TempDirectory folder;
    fs::path work;
    EnvironmentMap variables;
    images::ImageFacts facts;
    bool has_facts = false;

    Bench() : folder(TempDirectory::make("/tmp", "cybele-run").value()) {
        work = folder.path() / "a b";
        REQUIRE(make_directories(work / "bin").has_value());
        REQUIRE(make_directories(elsewhere()).has_value());
        const auto own = Environment::of_this_process();
        variables = {{"PATH", (work / "bin").native() + ":" + own.get_or("PATH", "/usr/bin:/bin")},
                     {"HOME", work.native()},
                     {"CYBELE_SUBMIT_DIR", work.native()},
                     {"CYBELE_JOB", kUuid}};
    }

    /// Where a script is started: not where it runs, and what a broken one leaves there is removed.
    [[nodiscard]] fs::path elsewhere() const {
        return folder.path() / "elsewhere";
    }
    void program(const std::string& name, const std::string& text) const {
        REQUIRE(write_file(work / "bin" / name, "#!/bin/bash\n" + text, 0755).has_value());
    }
    void file(const std::string& name, const std::string& text) const {
        REQUIRE(write_file(work / name, text).has_value());
    }

    [[nodiscard]] Command command(const std::string& fields, const std::string& dialect) const {
        return text_command(script(fields, dialect));
    }
    /// A script as it is, started as schedulers start it: no signal is ignored, whatever this
    /// program's parent ignores.
    [[nodiscard]] Command text_command(const std::string& text) const {
        file("job.sh", text);
        Command bash;
        bash.argv = {"/usr/bin/env", "--default-signal", "/bin/bash", (work / "job.sh").native()};
        bash.environment = variables;
        bash.directory = elsewhere();
        bash.limit = std::chrono::seconds(90);
        return bash;
    }
    [[nodiscard]] std::string script(const std::string& fields, const std::string& dialect) const {
        const launchers::Job job = job_of("kind: Job\nname: run\n" + fields);
        RenderInput input;
        input.job = &job;
        input.dialect = dialect;
        input.facts = has_facts ? &facts : nullptr;
        input.image = job.image ? job.image->reference : "";
        const auto rendered = render_script(input);
        REQUIRE_MESSAGE(rendered.has_value(), rendered.error().message());
        return rendered->text;
    }
    [[nodiscard]] Outcome run(const std::string& fields,
                              const std::string& dialect = "local") const {
        return run_process(command(fields, dialect)).value();
    }
    [[nodiscard]] nlohmann::json record() const {
        const auto text = read_file(work / ".cybelectl" / kUuid / "exit.json");
        REQUIRE(text.has_value());
        return nlohmann::json::parse(*text, nullptr, false);
    }
};

/// Calls `each` for every row, four at a time: jobs that wait do so together. A check that fails is
/// the test's own.
template <typename Rows, typename Each>
void for_each_at_once(const Rows& rows, const Each& each) {
    constexpr int kWorkers = 4;
    std::atomic<std::size_t> next = 0;
    std::vector<std::future<void>> workers;
    for (int worker = 0; worker < kWorkers; ++worker) {
        workers.push_back(std::async(std::launch::async, [&] {
            for (std::size_t at = next++; at < rows.size(); at = next++) {
                each(rows[at]);
            }
        }));
    }
    for (auto& worker : workers) {
        worker.get();
    }
}

/// A stand-in for a runtime: the "container" is the host. `options` are dropped up to the image.
inline constexpr const char* kHostRuntime = "printf '%s\\n' \"$@\" >>\"$HOME/runtime.log\"\n"
                                            "until [[ $1 == *.sif ]]; do shift; done\n"
                                            "shift\nexec \"$@\"\n";

} // namespace cybele::schedulers
