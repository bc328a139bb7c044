// SPDX-License-Identifier: Apache-2.0
#include "jobs/local.hpp"

#include <cerrno>
#include <csignal>

#include <sys/syscall.h>
#include <unistd.h>

namespace cybele::jobs {
namespace {

/// This machine itself: every job has a process that follows it, and outlives the client.
class LocalBackend : public Backend {
public:
    explicit LocalBackend(const Environment& environment) : environment_(environment) {}

    Receipt submit(const Submission& submission) override {
        LocalJob job;
        static_cast<Submission&>(job) = submission;
        job.id = local_id(job.uuid);
        Environment environment = environment_;
        environment.set("PATH", submission.search_path);
        const auto started = start_local(job, environment, {});
        if (!started) {
            const Fault& fault = started.error().faults().front();
            return {Receipt::Kind::kRefused, {}, fault.message + ": " + fault.because};
        }
        return {Receipt::Kind::kAccepted, job.id, {}};
    }

    Survey look(const std::vector<JobRef>& jobs, const std::vector<Reading>& files) override {
        Survey survey;
        for (const JobRef& job : jobs) {
            // Its supervisor first, its record after it: one that ends in between has written it.
            const auto supervisor = supervisor_of(job.record);
            if (supervisor && supervisor->is_alive()) {
                Sighting seen;
                seen.id = job.id;
                seen.uuid = job.uuid;
                seen.native = "running";
                survey.seen.push_back(std::move(seen));
            }
        }
        for (const Reading& reading : files) {
            survey.files.push_back(read_piece(reading));
        }
        return survey;
    }

    Survey inquire(const std::vector<JobRef>& jobs) override {
        Survey survey;
        for (const JobRef& job : jobs) {
            const auto supervisor = supervisor_of(job.record);
            const auto record = read_exit_record(job.record);
            if (!(supervisor && supervisor->is_alive()) && record && !*record) {
                Sighting seen;
                seen.id = job.id;
                seen.state = State::kLost;
                seen.native = "gone";
                seen.reason = "its supervisor was killed, or the machine stopped";
                survey.seen.push_back(std::move(seen));
            }
        }
        return survey;
    }

    Result<std::optional<std::string>> find(const JobRef& job) override {
        return supervisor_of(job.record) ? std::optional(local_id(job.uuid)) : std::nullopt;
    }

    Result<void> cancel(const std::vector<JobRef>& jobs) override {
        for (const JobRef& job : jobs) {
            const auto supervisor = supervisor_of(job.record);
            if (supervisor && supervisor->is_alive() && ::kill(supervisor->pid, SIGTERM) != 0 &&
                errno != ESRCH) {
                return fail(system_error("cannot end job " + job.id, errno));
            }
        }
        return {};
    }

    UniqueFd end_of(const JobRef& job) override {
        const auto supervisor = supervisor_of(job.record);
        if (!supervisor || !supervisor->is_alive()) {
            return {};
        }
        // Older kernels have no such descriptors: then the follower looks now and then.
        return UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, supervisor->pid, 0)));
    }

private:
    Environment environment_;
};

} // namespace

std::unique_ptr<Backend> local_backend(const Environment& environment) {
    return std::make_unique<LocalBackend>(environment);
}

} // namespace cybele::jobs
