// SPDX-License-Identifier: Apache-2.0
#include "jobs/local.hpp"

#include "jobs/supervisor.hpp"
#include "support/digest.hpp"
#include "support/file.hpp"
#include "support/quote.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <vector>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/prctl.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cybele::jobs {

namespace fs = std::filesystem;

std::string
expand_pattern(const std::string& pattern, const std::string& name, const std::string& id) {
    std::string out;
    for (std::size_t at = 0; at < pattern.size(); ++at) {
        const char next = at + 1 < pattern.size() ? pattern[at + 1] : '\0';
        if (pattern[at] != '%' || (next != 'x' && next != 'j' && next != '%')) {
            out += pattern[at];
            continue;
        }
        out += next == 'x' ? name : next == 'j' ? id : "%";
        ++at;
    }
    return out;
}

Result<LocalJob> prepare_local(const launchers::Job& job, const std::string& script) {
    std::error_code error;
    LocalJob local;
    local.uuid = random_uuid();
    local.id = local.uuid.substr(0, 8);
    local.workdir = fs::absolute(job.folder / job.workdir, error).lexically_normal();
    local.time = job.resources.time;
    if (!fs::is_directory(local.workdir, error)) {
        return fail(Error(job.fault_at("workdir",
                                       "the working directory does not exist",
                                       printable(local.workdir.native()) + " is no directory",
                                       "make it with mkdir -p")));
    }
    CYBELE_CHECK(make_directories(local.workdir / ".cybelectl", 0700));
    local.record = local.workdir / ".cybelectl" / local.uuid;
    CYBELE_CHECK(make_directories(local.record, 0700));
    local.script = local.record / "job.sh";
    CYBELE_CHECK(write_file(local.script, script, 0700));
    const auto file = [&](const std::string& pattern) {
        return local.workdir / expand_pattern(pattern, job.name, local.id);
    };
    local.standard_output = file(job.output.standard_output);
    local.standard_error = file(job.output.standard_error);
    const nlohmann::json document{{"uuid", local.uuid},
                                  {"id", local.id},
                                  {"name", job.name},
                                  {"scheduler", "local"},
                                  {"job", "sha256:" + job.digest},
                                  {"script", "sha256:" + hex(sha256(script))},
                                  {"resources",
                                   {{"nodes", job.resources.nodes},
                                    {"tasks", job.resources.tasks},
                                    {"cpus-per-task", job.resources.cpus_per_task}}}};
    CYBELE_CHECK(write_file(local.record / "job.json", document.dump(2) + "\n", 0600));
    return local;
}

namespace {

std::string host_name() {
    utsname names{};
    return ::uname(&names) == 0 ? names.nodename : "unknown";
}

/// The variables that the script reads (launchers' contract for `local`), over those of this
/// process.
std::vector<std::string>
job_variables(const LocalJob& job, const Environment& environment, const fs::path& program_folder) {
    EnvironmentMap variables = environment.all();
    const std::string path = environment.get_or("PATH", "/usr/local/bin:/usr/bin:/bin");
    variables["PATH"] = program_folder.empty() ? path : program_folder.native() + ":" + path;
    variables["CYBELE_JOB"] = job.uuid;
    variables["CYBELE_SUBMIT_DIR"] = job.workdir.native();
    variables["CYBELE_JOB_DIR"] = job.record.native();
    std::vector<std::string> list;
    for (const auto& [name, value] : variables) {
        list.push_back(name + "=" + value);
    }
    return list;
}

Result<UniqueFd> open_output(const fs::path& path) {
    UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644));
    if (!fd.valid()) {
        return fail(
            system_error("cannot write the job's output " + printable(path.native()), errno));
    }
    return fd;
}

} // namespace

Result<ExitRecord>
run_local(const LocalJob& job, const Environment& environment, const fs::path& program_folder) {
    CYBELE_TRY(const UniqueFd output, open_output(job.standard_output));
    UniqueFd errors;
    if (job.standard_error != job.standard_output) {
        CYBELE_TRY(errors, open_output(job.standard_error));
    }
    Supervised supervised;
    supervised.argv = {"/bin/bash", job.script.native()};
    supervised.variables = job_variables(job, environment, program_folder);
    supervised.directory = job.workdir.native();
    supervised.output = output.get();
    supervised.errors = errors.valid() ? errors.get() : output.get();
    supervised.time = job.time;
    ExitRecord record;
    record.uuid = job.uuid;
    record.host = host_name();
    record.start = std::time(nullptr);
    CYBELE_TRY(const SupervisedEnd end, supervise(supervised));
    record.end = std::time(nullptr);
    record.code = end.code;
    record.signal = end.signal;
    if (end.why == SupervisedEnd::Why::kTimeLimit) {
        record.state = "timeout";
    } else if (end.why == SupervisedEnd::Why::kCancelled) {
        record.state = "cancelled";
    } else {
        record.state = end.code == 0 && end.signal == 0 ? "done" : "failed";
    }
    CYBELE_CHECK(write_exit_record(job.record, record));
    return record;
}

Result<void>
start_local(const LocalJob& job, const Environment& environment, const fs::path& program_folder) {
    const pid_t first = ::fork();
    if (first < 0) {
        return fail(system_error("cannot start the job's supervisor", errno));
    }
    if (first == 0) {
        ::setsid();
        const pid_t second = ::fork();
        if (second != 0) {
            ::_exit(second < 0 ? 1 : 0);
        }
        const UniqueFd nowhere(::open("/dev/null", O_RDWR | O_CLOEXEC));
        for (const int stream : {0, 1, 2}) {
            ::dup2(nowhere.get(), stream);
        }
        const auto record = run_local(job, environment, program_folder);
        if (!record) {
            ExitRecord lost;
            lost.uuid = job.uuid;
            lost.state = "failed";
            lost.code = static_cast<int>(record.error().code());
            (void)write_exit_record(job.record, lost);
        }
        ::_exit(0);
    }
    if (wait_for(first) != 0) {
        return fail(ErrorCode::kEnvironment, "cannot start the job's supervisor");
    }
    return {};
}

} // namespace cybele::jobs
