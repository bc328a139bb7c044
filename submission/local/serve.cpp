// SPDX-License-Identifier: Apache-2.0
#include "submission/local/serve.hpp"

#include "submission/local/job_group.hpp"
#include "submission/local/local_job.hpp"
#include "submission/local/start_files.hpp"
#include "submission/local/supervisor.hpp"
#include "submission/records/output_pattern.hpp"
#include "submission/records/process_identity.hpp"
#include "submission/records/record_folder.hpp"
#include "support/file.hpp"
#include "support/machine.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <cerrno>
#include <ctime>

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace cybele::submission {

namespace fs = std::filesystem;

namespace {

constexpr int kServerLockPatience = 600'000; ///< milliseconds for the queue's lock

/// Nothing of the process that was forked stays open, a test's or a terminal's least of all.
void close_inherited() {
    const UniqueFd nowhere(::open("/dev/null", O_RDWR | O_CLOEXEC));
    for (const int stream : {0, 1, 2}) {
        ::dup2(nowhere.get(), stream);
    }
    constexpr unsigned kFirst = 3;
    if (::syscall(SYS_close_range, kFirst, ~0U, 0U) == 0) {
        return;
    }
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    constexpr rlim_t kMost = 65536;
    for (int fd = kFirst; fd < static_cast<int>(std::min<rlim_t>(limit.rlim_cur, kMost)); ++fd) {
        ::close(fd);
    }
}

/// A file of an element of an array: as in Slurm, where each has a number of its own, no two of
/// them write into one.
fs::path output_of(const std::string& pattern, const SupervisorTask& task) {
    const std::string number = std::to_string(task.part.number);
    if (task.part.index < 0) {
        return expand_pattern(pattern, task.spec.name, number);
    }
    const std::string index = std::to_string(task.part.index);
    const bool has_index = pattern.find("%a") != std::string::npos;
    return expand_pattern(
        pattern, task.spec.name, has_index ? number : number + "_" + index, index);
}

LocalJob job_of(const SupervisorTask& task) {
    const LocalSpec& spec = task.spec;
    const LocalPart& part = task.part;
    LocalJob job;
    job.uuid = spec.uuid;
    job.name = spec.name;
    job.workdir = spec.workdir;
    job.record = part.record(spec);
    job.script_record = fs::path(spec.record) / "script";
    job.id = std::to_string(part.number);
    job.index = part.index;
    job.attempt = part.attempt;
    job.cpus = parse_cpu_list(part.cpus).value_or(std::vector<int>{});
    job.gpus = parse_cpu_list(part.gpus).value_or(std::vector<int>{});
    job.memory = spec.demand.memory;
    if (spec.demand.seconds != 0) {
        job.time = std::chrono::seconds(spec.demand.seconds);
    }
    job.standard_output = job.workdir / output_of(spec.output, task);
    job.standard_error = job.workdir / output_of(spec.errors, task);
    return job;
}

/// While the job waits and runs, who shares its workdir can put another folder in the place of the
/// record: from here on that is its descriptor's.
Result<ExitRecord> run(LocalJob job,
                       const RecordFolder& record,
                       const SupervisorTask& task,
                       const fs::path& folder,
                       const std::string& cpus) {
    CYBELE_TRY(StartFiles start, kept_start(folder, task.spec));
    job.script = start.script;
    job.command = start.command;
    EnvironmentMap& environment = start.environment;
    environment[kMachineCpus] = cpus;
    environment[kMachineGroup] = own_control_group("/").value_or(fs::path()).native();
    CYBELE_CHECK(make_directories(job.record, 0700));
    // Where the script writes how it ended; made by it, a process each would do it.
    const fs::path written = record.place() / "script";
    CYBELE_CHECK(
        make_directories(job.index < 0 ? written : written / std::to_string(job.index), 0700));
    return run_local(job, environment);
}

/// Runs the job; one that cannot even begin has failed, with the reason in its record.
ExitRecord
run_to_record(const SupervisorTask& task, const fs::path& folder, const std::string& cpus) {
    LocalJob job = job_of(task);
    const auto place = RecordFolder::make(task.spec.record);
    if (place) {
        job.record = part_folder(*place, task.part.index);
    }
    auto record = place ? run(job, *place, task, folder, cpus)
                        : Result<ExitRecord>(tl::unexpected(place.error()));
    if (record) {
        return std::move(*record);
    }
    ExitRecord failed;
    failed.uuid = job.uuid;
    failed.state = "failed";
    failed.code = static_cast<int>(record.error().code());
    failed.start = failed.end = std::time(nullptr);
    const Fault& fault = record.error().faults().front();
    failed.reason = fault.message + (fault.because.empty() ? "" : ": " + fault.because);
    if (place) { // else the queue alone knows
        (void)write_exit_record(job.record, failed);
    }
    return failed;
}

/// Ends this process, since who waits for the job waits for it, and goes on in another one, when
/// the first is gone; false: it is the same still, or does not go.
bool hand_on() {
    constexpr int kMilliseconds = 10'000;
    const ProcessIdentity self = id_of_process(::getpid());
    const pid_t pid = ::fork();
    if (pid > 0) {
        ::_exit(0);
    }
    for (int waited = 0; pid == 0 && waited < kMilliseconds; ++waited) {
        if (!self.is_alive()) {
            return true;
        }
        ::poll(nullptr, 0, 1);
    }
    return false;
}

/// Whether the job's end can be read by everybody.
bool is_written(const SupervisorTask& task) {
    const auto record = read_exit_record(task.part.record(task.spec));
    return record && record->value_or(ExitRecord()).uuid == task.spec.uuid;
}

/// Ends the part in the queue, unless somebody thought this process dead and did.
void enter_end(LocalDraft& draft, const SupervisorTask& task, const ExitRecord& record) {
    for (std::size_t at = 0; at < draft.state.parts.size(); ++at) {
        const LocalPart& part = draft.state.parts[at];
        if (part.number == task.part.number && part.index == task.part.index &&
            part.attempt == task.part.attempt && part.phase == LocalPart::Phase::kRunning) {
            draft.end(at, record.state, record.reason);
        }
    }
}

} // namespace

void serve(SupervisorTask task, const LocalScheduler& forked_by) {
    ::prctl(PR_SET_NAME, kSupervisorName);
    const fs::path& folder = forked_by.folder();
    const std::string cpus = cpu_list(forked_by.allowed());
    (void)run_on(forked_by.allowed()); // a job that submitted it had fewer
    const Environment environment(EnvironmentMap{{kMachineCpus, cpus}});
    for (;;) {
        close_inherited();
        const ExitRecord record = run_to_record(task, folder, cpus);
        if (task.part.index < 0) { // the elements of an array share it to the last one's end
            forget_start(folder, task.spec);
        }
        const bool is_gone = hand_on();
        std::optional<QueueLock> place = QueueLock::stand_next(folder);
        if (!place && is_gone && is_written(task)) {
            ::_exit(0); // who stands there finds this job's end, as of one whose supervisor died
        }
        const LocalScheduler scheduler(folder, environment);
        const auto turn = scheduler.turn(
            [&](LocalDraft& draft) {
                enter_end(draft, task, record);
                return Result<void>();
            },
            kServerLockPatience,
            std::move(place));
        std::optional<SupervisorTask> next = turn ? turn->task : std::nullopt;
        if (!next) {
            ::_exit(0);
        }
        task = std::move(*next);
    }
}

} // namespace cybele::submission
