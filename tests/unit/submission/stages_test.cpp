// SPDX-License-Identifier: Apache-2.0
// The six stages of a submission, each from a value of the one before, without the others.
#include "submission/submit/job_json.hpp"
#include "submission/submit/submit.hpp"
#include "support/file.hpp"

#include <string>
#include <utility>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace cybele;
using submission::Connection;
namespace fs = std::filesystem;
using Json = nlohmann::json;

namespace {

struct StageBench {
    TempDirectory directory = TempDirectory::make("/tmp", "cybele-test").value();
    Environment environment{
        EnvironmentMap{{"CYBELE_STATE_DIR", (directory.path() / "state").native()},
                       {"CYBELE_CACHE_DIR", (directory.path() / "cache").native()},
                       {"PATH", "/usr/bin:/bin"}}};

    [[nodiscard]] submission::JobInput read(const std::string& fields,
                                            const std::string& scheduler = "slurm",
                                            const std::string& site = "") const {
        submission::JobRequest request;
        request.file = directory.path() / "job.yaml";
        REQUIRE(write_file(request.file, "kind: Job\nname: run\n" + fields).has_value());
        request.scheduler = scheduler;
        if (!site.empty()) {
            request.site = directory.path() / "site.yaml";
            REQUIRE(write_file(request.site, "kind: Site\nname: hall\n" + site).has_value());
        }
        auto input = submission::read_job_input(request);
        REQUIRE_MESSAGE(input.has_value(), input.error().message());
        return *input;
    }
    [[nodiscard]] submission::ResolvedJob resolved(const std::string& fields,
                                                   const std::string& scheduler,
                                                   const Connection& connection = {}) const {
        return {read(fields, scheduler), connection};
    }
};

/// The name of the first fault and what was being done; empty: there is none.
template <class T>
std::string failure(const Result<T>& done) {
    if (done) {
        return {};
    }
    const Fault& fault = done.error().faults().front();
    return fault.id + (fault.context.empty() ? "" : " while " + fault.context.back());
}

const Connection kLogin{Connection::Kind::kSsh, "alice@login.example", "", ""};

} // namespace

TEST_CASE("resolve: the command line names the connection, else the Site, else this machine") {
    const StageBench bench;
    struct Row {
        std::string site;
        submission::ConnectionChoice choice;
        std::string connection;
        std::string fault;
    };
    const std::string ssh = "scheduler: {dialect: slurm, through: {ssh: login.hall}}\n";
    const std::string rest =
        "scheduler: {dialect: slurm, through: {slurmrestd: 'https://s.hall'}}\n";
    const Row rows[] = {
        {"", {}, "", ""},
        {ssh, {}, "login.hall", ""},
        {ssh, {"other", ""}, "other", ""},
        {rest, {}, "slurmrestd+https://s.hall", ""},
        {rest, {"", "cat t"}, "slurmrestd+https://s.hall#token-command=cat%20t", ""},
        {ssh, {"", "cat t"}, "", "token-command-unused"},
        {"", {"rimrock+https://r.hall#host=h", ""}, "rimrock+https://r.hall#host=h", ""},
        {"", {"rimrock+https://r.hall#colour=red", ""}, "", "service-setting-unknown"}};
    for (const auto& [site, choice, connection, fault] : rows) {
        CAPTURE(site);
        CAPTURE(choice.host);
        const auto resolved =
            submission::resolve_job(bench.read("command: [x]\n", "", site), choice, {});
        CHECK(failure(resolved) ==
              (fault.empty() ? "" : fault + " while finding how the batch system is reached"));
        if (resolved) {
            CHECK(text_of(resolved->connection) == connection);
            CHECK(resolved->input.job.name == "run");
        }
    }
}

TEST_CASE("read: rows that run again are rows of the sweep, each once and in their order") {
    const StageBench bench;
    const auto with_rows = [&](const std::string& rows) {
        submission::JobRequest request;
        request.file = bench.directory.path() / "job.yaml";
        REQUIRE(write_file(request.file,
                           "kind: Job\nname: run\nscript: 'true'\n"
                           "sweep: {x: [1, 2, 3, 4], pack: all, at-once: 1}\n")
                    .has_value());
        request.scheduler = "slurm";
        request.overrides.rows = rows;
        return submission::read_job_input(request);
    };
    const auto good = with_rows("0,3");
    REQUIRE_MESSAGE(good.has_value(), good.error().message());
    CHECK(good->job.sweep->numbers == std::vector<std::uint32_t>{0, 3});
    CHECK(good->job.sweep->rows.size() == 2);
    for (const char* rows : {"0,0", "3,0", "9,0", "4", "x", "0,", "-1", "0,4294967299"}) {
        CAPTURE(rows);
        CHECK(failure(with_rows(rows)) == "sweep-rows-missing");
    }
}

TEST_CASE("check: what cannot work is found before anything is built, copied or written") {
    const StageBench bench;
    struct Row {
        std::string fields;
        std::string scheduler;
        Connection connection;
        std::string failure;
    };
    const std::string elsewhere = "workdir: /shared/run\n";
    const Row rows[] = {
        {"", "local", {}, ""},
        {"", "local", kLogin, "local-scheduler-elsewhere while choosing the scheduler"},
        {"workdir: gone\n", "slurm", {}, "workdir-missing while checking the folders of the job"},
        {"", "slurm", kLogin, "job-without-remote-folder"},
        {elsewhere, "slurm", kLogin, ""},
        {elsewhere,
         "slurm",
         {Connection::Kind::kSsh, "-oProxyCommand=x", "", ""},
         "host-malformed"},
        {elsewhere,
         "slurm",
         {Connection::Kind::kSlurmrestd, "http://s.hall", "", ""},
         "token-over-http while choosing the scheduler"}};
    for (const auto& [fields, scheduler, connection, expected] : rows) {
        CAPTURE(fields);
        CAPTURE(text_of(connection));
        const auto checked =
            submission::check_job(bench.resolved("command: [sh]\n" + fields, scheduler, connection),
                                  bench.environment,
                                  1000);
        CHECK(failure(checked) == expected);
    }
    CHECK_FALSE(fs::exists(bench.directory.path() / "state"));
}

TEST_CASE("build: an image that is not there is refused, one that is there gets its digest") {
    const StageBench bench;
    const auto build = [&](const Connection& connection) {
        submission::ImageRequest request;
        request.build.settings.environment = bench.environment;
        return submission::build_job(
            {bench.read("command: [x]\nimage: own.sif\nworkdir: /tmp\n", "slurm"), connection},
            request,
            bench.environment);
    };
    CHECK(failure(build({})) == "image-missing while providing the image of the job");
    const fs::path tree = bench.directory.path() / "own.sif";
    fs::create_directories(tree / "bin"); // an image may be a folder, which has no digest
    const auto folder = build({});
    REQUIRE_MESSAGE(folder.has_value(), folder.error().message());
    CHECK(folder->input.file_digest.empty());
    CHECK(folder->transfers.staged_files.empty());
    CHECK(failure(build(kLogin)) == "staged-image-is-folder");
}

TEST_CASE("plan: of a job that is not built the script is known, and nothing is looked for") {
    const StageBench bench;
    const auto planned = submission::plan_job(
        bench.resolved("command: [x]\nimage: gone.sif\nworkdir: gone\n", "slurm"),
        bench.environment);
    REQUIRE(planned.has_value());
    CHECK(planned->input.image == "gone.sif");
    CHECK(failure(submission::plan_job(
                      bench.resolved("command: [x]\nstage-in: [{from: gone, to: a}]\n", "slurm"),
                      bench.environment))
              .starts_with("input-missing"));
}

TEST_CASE("render: the same job gives the same bytes, and a fault names what was being done") {
    const StageBench bench;
    submission::BuiltJob built;
    built.input = bench.read("command: [x]\nqueue: long\n", "slurm");
    built.notes.emplace_back().id = "of-the-image";
    const auto once = submission::render_job(built);
    const auto twice = submission::render_job(built);
    REQUIRE(once.has_value());
    REQUIRE(twice.has_value());
    CHECK(once->script == twice->script);
    CHECK(once->script.find("#SBATCH --partition=long") != std::string::npos);
    CHECK(once->notes.front().id == "of-the-image");
    built.input.dialect = "lsf";
    CHECK(failure(submission::render_job(built)).ends_with("while rendering the batch script"));
}

TEST_CASE("hand over: inputs are copied to the job's folder, with a line about it") {
    const StageBench bench;
    REQUIRE(write_file(bench.directory.path() / "in.txt", "wheat\n").has_value());
    fs::create_directories(bench.directory.path() / "work");
    auto built = submission::plan_job(
        bench.resolved("command: [x]\nworkdir: work\nstage-in: [{from: in.txt, to: d/in.txt}]\n",
                       "slurm"),
        bench.environment);
    REQUIRE_MESSAGE(built.has_value(), built.error().message());
    const auto rendered = submission::render_job(std::move(*built));
    REQUIRE(rendered.has_value());
    std::string words;
    const auto brought = submission::bring_inputs(
        *rendered, [&words](const std::string& word) { words += word; }, bench.environment);
    CHECK(failure(brought).empty());
    CHECK(words == "inputs: 1 file, 1 sent (6 bytes)");
    CHECK(read_file(bench.directory.path() / "work/d/in.txt").value_or("") == "wheat\n");
}

TEST_CASE("each stage's value is one line of JSON that holds what the stage before knew") {
    const StageBench bench;
    REQUIRE(write_file(bench.directory.path() / "in.txt", "wheat\n").has_value());
    const submission::JobInput input =
        bench.read("command: [x]\nworkdir: /shared\nafter: [{job: '7', when: any}]\n"
                   "stage-in: [{from: in.txt, to: in.txt}]\n");
    const submission::ConnectionChoice choice{"slurmrestd+https://s.hall", "cat secret"};
    auto resolved = submission::resolve_job(input, choice, bench.environment);
    REQUIRE_MESSAGE(resolved.has_value(), resolved.error().message());
    const submission::CheckedJob checked{resolved->input, resolved->connection};
    submission::BuiltJob built{resolved->input, kLogin, {}, {}};
    built.transfers.staged_files = {{"/in.txt", "in.txt", 6, "d1", false, "stage-in[0]"}};
    built.notes.emplace_back().id = "image-unlocked";
    const submission::RenderedJob rendered{built.input,
                                           built.connection,
                                           built.transfers,
                                           "#!/bin/sh\n",
                                           submission::OwnScript{"a.sh", "slurm", {"sh"}, {}, ""},
                                           built.notes};
    const std::string lines[] = {submission::print_json(input),
                                 submission::print_json(*resolved),
                                 submission::print_json(checked),
                                 submission::print_json(built),
                                 submission::print_json(rendered)};
    Json before = Json::object();
    for (const std::string& line : lines) {
        CAPTURE(line);
        CHECK(line.find('\n') == std::string::npos);
        CHECK(line.find("cat secret") == std::string::npos);
        const Json value = Json::parse(line);
        for (const auto& [name, part] : before.items()) {
            CHECK(value.contains(name));
        }
        before = value;
    }
    CHECK(Json::parse(lines[0])["job"]["after"][0]["when"] == "any");
    CHECK(Json::parse(lines[1])["connection"] == "slurmrestd+https://s.hall");
    CHECK(Json::parse(lines[2]) == Json::parse(lines[1]));
    CHECK(Json::parse(lines[3])["transfers"][0]["bytes"] == 6);
    CHECK(Json::parse(lines[3])["notes"][0] == "image-unlocked");
    CHECK(Json::parse(lines[4])["script"] == "#!/bin/sh\n");
    CHECK(Json::parse(lines[4])["own"]["name"] == "a.sh");
}
