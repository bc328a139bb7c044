// SPDX-License-Identifier: Apache-2.0
// What reaches a REST service, and how often.
#include "submission/backends/services.hpp"
#include "support/file.hpp"
#include "support/text.hpp"
#include "tests/unit/server_process.hpp"

#include <algorithm>

using namespace cybele;
using submission::Connection;
using submission::Receipt;

namespace {

/// slurmrestd, as far as a test writes its answers.
struct Rest {
    TempDirectory folder = TempDirectory::make("/tmp", "cybele-test").value();
    ServerProcess server{{"rest-answers", folder.path().native()}};

    Rest() {
        answers("GET_openapi_v3", R"(200
{"paths": {"/slurm/v0.0.41/jobs/": 1}})");
        answers("GET_slurm_v0.0.41_ping", "200\n{}");
    }
    void answers(const std::string& request, const std::string& answer) const {
        REQUIRE(write_file(folder.path() / request, answer).has_value());
    }
    [[nodiscard]] std::ptrdiff_t count(const std::string& request) const {
        const std::string all = read_file(folder.path() / "requests").value_or("");
        const auto lines = text::split(all, '\n');
        return std::count(lines.begin(), lines.end(), request);
    }
    [[nodiscard]] std::unique_ptr<submission::Backend> backend() const {
        submission::BackendRequest request;
        request.environment =
            Environment(EnvironmentMap{{"PATH", "/usr/bin:/bin"}, {"no_proxy", "*"}});
        request.program = std::filesystem::read_symlink("/proc/self/exe");
        request.clock = [] { return std::int64_t{1'795'330'982}; };
        return submission::slurmrestd_backend(
            {Connection::Kind::kSlurmrestd, server.url(), "", "printf abc"}, request);
    }
};

submission::Submission rest_submission() {
    submission::Submission made;
    made.uuid = "0a-1b";
    made.name = "demo";
    made.workdir = "/shared/demo";
    made.record = "/shared/demo/.cybelectl/0a-1b";
    made.script = made.record / "job.sh";
    made.files = {{made.script, "#!/bin/bash\ntrue\n"}};
    return made;
}

} // namespace

TEST_CASE("a submission is sent once, whatever the answer says of the token") {
    Rest rest;
    for (const char* answer : {"500\n{}",
                               R"(500
{"errors": [{"error_number": -1, "error": "Unspecified error"}]})",
                               R"(500
{"errors": [{"error_number": 1007, "error": "Protocol authentication error"}]})"}) {
        CAPTURE(answer);
        const auto before = rest.count("POST /slurm/v0.0.41/job/submit");
        rest.answers("POST_slurm_v0.0.41_job_submit", answer);
        CHECK(rest.backend()->submit(rest_submission()).kind == Receipt::Kind::kUnclear);
        CHECK(rest.count("POST /slurm/v0.0.41/job/submit") == before + 1);
    }
    // With a refused token nothing was done; and what changes nothing is asked again.
    const auto before = rest.count("POST /slurm/v0.0.41/job/submit");
    rest.answers("POST_slurm_v0.0.41_job_submit", "401\n{}");
    CHECK(rest.backend()->submit(rest_submission()).kind == Receipt::Kind::kUnclear);
    CHECK(rest.count("POST /slurm/v0.0.41/job/submit") == before + 2);
    rest.answers("GET_slurm_v0.0.41_jobs", "500\n{}");
    CHECK(rest.backend()->look({}, {}).failure.has_value());
    CHECK(rest.count("GET /slurm/v0.0.41/jobs") == 2);
}

TEST_CASE("rimrock gets the variables behind all directives") {
    const std::string head = "#SBATCH --comment=cybelectl:0a-1b\n#SBATCH --no-requeue\n";
    const std::string variables =
        "export CYBELE_JOB=0a-1b CYBELE_JOB_DIR=/shared/demo/.cybelectl/0a-1b\n";
    struct Case {
        bool is_slurm;
        std::string shebang;
        std::string directives;
        std::string rest;
    };
    const std::vector<Case> cases{
        {true,
         "#!/bin/bash\n",
         "\n# of the year\n  \n#SBATCH --time=1\n\n",
         "a\n#SBATCH --mem=1\n"},
        {true, "#!/bin/bash\n", "#SBATCH --time=1\n", ":\n#SBATCH --mem=1\n"},
        {false, "#!/bin/bash\n", "\n: x\n#PBS -l nodes=2\n", "a\nb\n"},
        {true, "#!/bin/bash\n", "", "a\n"},
        {true, "#!/bin/bash\n", "", ""},
        {true, "", "#SBATCH --time=1\n", "a\n"},
        {true, "", "", "a\n"}};
    for (const Case& one : cases) {
        const std::string script = one.shebang + one.directives + one.rest;
        CAPTURE(script);
        std::string sent = one.shebang;
        sent.append(head).append(one.directives).append(variables).append(one.rest);
        CHECK(submission::rimrock_script(rest_submission(), script, one.is_slurm) == sent);
        CHECK(submission::rimrock_script(
                  rest_submission(), script.substr(0, script.size() - 1), one.is_slurm) == sent);
    }
}
