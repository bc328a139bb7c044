// SPDX-License-Identifier: Apache-2.0
#include "submission/local/local_job.hpp"

#include "submission/local/job_group.hpp"
#include "submission/local/session.hpp"
#include "submission/local/supervisor.hpp"
#include "support/file.hpp"
#include "support/own_links.hpp"
#include "support/quote.hpp"

#include <array>
#include <cerrno>
#include <climits>
#include <ctime>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

namespace cybele::submission {

namespace fs = std::filesystem;

namespace {

std::string host_name() {
    utsname names{};
    return ::uname(&names) == 0 ? names.nodename : "unknown";
}

std::string joined(const std::vector<int>& numbers) {
    std::string text;
    for (const int number : numbers) {
        text += (text.empty() ? "" : ",") + std::to_string(number);
    }
    return text;
}

/// What batch systems set for a script of the user's own: by which of the variables that were set
/// when it was submitted (own_variables.hpp) its batch system is known, the names of the id, and
/// of an element's index.
struct OwnNames {
    const char* known_by;
    const char* id;
    const char* id_of_array;
    const char* index;
};
constexpr OwnNames kOwnNames[] = {
    {"SLURM_SUBMIT_DIR", "SLURM_JOB_ID", "SLURM_ARRAY_JOB_ID", "SLURM_ARRAY_TASK_ID"},
    {"PBS_O_WORKDIR", "PBS_JOBID", "PBS_ARRAY_ID", "PBS_ARRAYID"},
    {"PBS_O_WORKDIR", "PBS_JOBID", "PBS_ARRAY_ID", "PBS_ARRAY_INDEX"}};

void set_own(const LocalJob& job, EnvironmentMap& variables) {
    for (const OwnNames& names : kOwnNames) {
        if (!variables.contains(names.known_by)) {
            continue;
        }
        variables[names.id] = job.id;
        variables.erase(names.id_of_array);
        variables.erase(names.index);
        if (job.index >= 0) {
            variables[names.id_of_array] = job.id;
            variables[names.index] = std::to_string(job.index);
        }
    }
}

/// The variables that the script reads (launchers' contract for `local`), over those of who
/// submitted it.
std::vector<std::string> job_variables(const LocalJob& job, EnvironmentMap variables) {
    variables["CYBELE_JOB"] = job.uuid;
    variables["CYBELE_JOB_ID"] = job.id;
    variables["CYBELE_SUBMIT_DIR"] = job.workdir.native();
    variables["CYBELE_JOB_DIR"] = job.script_record.native();
    variables.erase("CYBELE_ARRAY_INDEX");
    if (job.index >= 0) {
        variables["CYBELE_ARRAY_INDEX"] = std::to_string(job.index);
    }
    if (!job.command.empty()) {
        set_own(job, variables);
    }
    if (!job.gpus.empty()) {
        for (const char* const name :
             {"CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "ZE_AFFINITY_MASK"}) {
            variables[name] = joined(job.gpus);
        }
    }
    std::vector<std::string> list;
    list.reserve(variables.size());
    for (const auto& [name, value] : variables) {
        list.push_back(name);
        list.back().append("=").append(value);
    }
    return list;
}

/// Processor time of all that this process has waited for; the memory of the largest of them goes
/// into the record.
std::int64_t used_milliseconds(ExitRecord& record) {
    constexpr std::int64_t kThousand = 1000;
    rusage used{};
    if (::getrusage(RUSAGE_CHILDREN, &used) != 0) {
        return 0;
    }
    record.memory_bytes = static_cast<std::uint64_t>(used.ru_maxrss) << 10U;
    return (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * kThousand +
           (used.ru_utime.tv_usec + used.ru_stime.tv_usec) / kThousand;
}

tl::unexpected<Error> output_refused(const fs::path& path, const std::string& because) {
    return fail(
        ErrorCode::kEnvironment,
        problem("job-output-refused", "cannot write the job's output " + printable(path.native())),
        because,
        "remove it, or name another file: output: {stdout: FILE}");
}

/// Where a link leads that belongs to the user or to root.
Result<fs::path> follow_own_link(const UniqueFd& folder, const fs::path& path) {
    const UniqueFd link(
        ::openat(folder.get(), path.filename().c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    struct stat status {};
    std::array<char, PATH_MAX> target{};
    if (!link.valid() || ::fstat(link.get(), &status) != 0 ||
        ::readlinkat(link.get(), "", target.data(), target.size() - 1) <= 0) {
        return fail(
            system_error("cannot write the job's output " + printable(path.native()), errno));
    }
    if (status.st_uid != ::geteuid() && status.st_uid != 0) {
        return output_refused(path,
                              fmt::format("it is a link of user {}, which could lead to what you "
                                          "alone may write",
                                          status.st_uid));
    }
    return path.parent_path() / target.data();
}

/// Follows no link of another user, and writes to no file that has a second name: a folder that
/// users share may hold what another one put there.
Result<UniqueFd> open_output(const fs::path& path, int links = 0) {
    constexpr int kMostOutputLinks = 40;
    constexpr int kFlags = O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC;
    constexpr mode_t kOutputMode = 0644;
    const auto folder = open_folder_past_own_links(path.parent_path());
    if (!folder) {
        const Fault& fault = folder.error().faults().front();
        return output_refused(path, fault.because.empty() ? fault.message : fault.because);
    }
    const std::string name = path.filename();
    UniqueFd fd(::openat(folder->get(), name.c_str(), kFlags, kOutputMode));
    if (!fd.valid() && errno == ELOOP && links < kMostOutputLinks) {
        CYBELE_TRY(const fs::path target, follow_own_link(*folder, path));
        return open_output(target, links + 1);
    }
    struct stat status {};
    if (fd.valid() && ::fstat(fd.get(), &status) == 0 && S_ISREG(status.st_mode)) {
        if (status.st_nlink > 1 && ::unlinkat(folder->get(), name.c_str(), 0) == 0) {
            fd.reset(::openat(folder->get(), name.c_str(), kFlags | O_EXCL, kOutputMode));
        } else if (::ftruncate(fd.get(), 0) != 0) {
            fd.reset();
        }
    }
    if (!fd.valid()) {
        return fail(
            system_error("cannot write the job's output " + printable(path.native()), errno));
    }
    return fd;
}

/// The outputs are this job's from now on (follow/begun.hpp). As batch scripts, it writes its id.
Result<void> mark_begin(const LocalJob& job) {
    const fs::path folder = job.record / "started";
    CYBELE_CHECK(make_directories(folder, 0700));
    const fs::path path = folder / "id";
    const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (!fd.valid()) {
        return fail(system_error("cannot write " + printable(path.native()), errno));
    }
    return write_all(fd.get(), job.id + "\n", path);
}

} // namespace

Result<ExitRecord> run_local(const LocalJob& job, const EnvironmentMap& environment) {
    CYBELE_TRY(const UniqueFd output, open_output(job.standard_output));
    UniqueFd errors;
    if (job.standard_error != job.standard_output) {
        CYBELE_TRY(errors, open_output(job.standard_error));
    }
    CYBELE_CHECK(mark_begin(job));
    Supervised supervised;
    supervised.argv = job.command.empty()
                          ? std::vector<std::string>{"/bin/bash", job.script.native()}
                          : job.command;
    supervised.variables = job_variables(job, environment);
    supervised.directory = job.workdir.native();
    supervised.output = output.get();
    supervised.errors = errors.valid() ? errors.get() : output.get();
    supervised.time = job.time;
    supervised.cpus = job.cpus;
    supervised.attempt = attempt_file(job.record, job.attempt);
    const std::string part = job.index < 0 ? "" : "-" + std::to_string(job.index);
    const JobGroup group = JobGroup::make(job.record, job.uuid + part, job.memory);
    supervised.group = group.fd();
    ExitRecord record;
    record.uuid = job.uuid;
    record.host = host_name();
    record.start = std::time(nullptr);
    const std::int64_t used = used_milliseconds(record);
    const auto ended = supervise(supervised);
    if (group.ended_for_memory() != 0) {
        record.reason = "OUT_OF_MEMORY: the kernel ended processes of it at its memory-per-node";
    }
    end_group(job.record);
    CYBELE_TRY(const SupervisedEnd end, ended);
    record.end = std::time(nullptr);
    record.cpu_milliseconds = used_milliseconds(record) - used;
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

} // namespace cybele::submission
