// SPDX-License-Identifier: Apache-2.0
#include "jobs/local.hpp"

#include "jobs/prepare.hpp"
#include "jobs/supervisor.hpp"
#include "support/file.hpp"
#include "support/quote.hpp"
#include "support/signals.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <vector>

#include <fcntl.h>
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
    CYBELE_TRY(Submission prepared, prepare_job({&job, script, "local", {}}));
    LocalJob local;
    static_cast<Submission&>(local) = std::move(prepared);
    local.id = local_id(local.uuid);
    place_outputs(job, local.id, local);
    return local;
}

std::string local_id(const std::string& uuid) {
    return uuid.substr(0, 8);
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

namespace {

/// In the process that follows the job: tells that it is there, and does its work.
void supervise_job(const LocalJob& job,
                   const Environment& environment,
                   const fs::path& program_folder,
                   UniqueFd ready) {
    if (const SignalWatch* const watch = SignalWatch::current()) {
        ::sigprocmask(SIG_SETMASK, &watch->before(), nullptr);
    }
    const auto known =
        write_file(job.record / "supervisor", text_of(id_of_process(::getpid())), 0600);
    if (!known || ::write(ready.get(), "1", 1) != 1) {
        return;
    }
    ready.reset();
    const UniqueFd nowhere(::open("/dev/null", O_RDWR | O_CLOEXEC));
    for (const int stream : {0, 1, 2}) {
        ::dup2(nowhere.get(), stream);
    }
    const auto record = run_local(job, environment, program_folder);
    if (!record) {
        ExitRecord failed;
        failed.uuid = job.uuid;
        failed.state = "failed";
        failed.code = static_cast<int>(record.error().code());
        const Fault& fault = record.error().faults().front();
        failed.reason = fault.message + (fault.because.empty() ? "" : ": " + fault.because);
        (void)write_exit_record(job.record, failed);
    }
}

} // namespace

Result<void>
start_local(const LocalJob& job, const Environment& environment, const fs::path& program_folder) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
        return fail(system_error("cannot make a pipe", errno));
    }
    const UniqueFd told(ends[0]);
    UniqueFd ready(ends[1]);
    const pid_t first = ::fork();
    if (first < 0) {
        return fail(system_error("cannot start the job's supervisor", errno));
    }
    if (first == 0) {
        ::setsid();
        const pid_t second = ::fork();
        if (second == 0) {
            supervise_job(job, environment, program_folder, std::move(ready));
        }
        ::_exit(second < 0 ? 1 : 0);
    }
    ready.reset();
    char mark = 0;
    if (wait_for(first) != 0 || ::read(told.get(), &mark, 1) != 1) {
        return fail(ErrorCode::kEnvironment,
                    "cannot start the job's supervisor",
                    "it could not write " + printable((job.record / "supervisor").native()),
                    "look for space on the disk (df), and try again");
    }
    return {};
}

} // namespace cybele::jobs
