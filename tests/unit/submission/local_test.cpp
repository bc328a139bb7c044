// SPDX-License-Identifier: Apache-2.0
#include "submission/local/job_group.hpp"
#include "submission/local/local_job.hpp"
#include "submission/local/session.hpp"
#include "submission/local/supervisor.hpp"
#include "submission/records/output_pattern.hpp"
#include "submission/records/record_folder.hpp"
#include "submission/submit/prepare.hpp"
#include "support/file.hpp"
#include "support/machine.hpp"

#include <chrono>
#include <csignal>
#include <filesystem>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace cybele;
namespace fs = std::filesystem;

namespace {

struct Trial {
    TempDirectory directory = TempDirectory::make("/tmp", "cybele-test").value();
    launchers::Job job;

    Trial() {
        job.name = "demo";
        job.folder = directory.path();
    }
    [[nodiscard]] submission::LocalJob prepare(const std::string& script) const {
        submission::LocalJob local;
        static_cast<submission::Submission&>(local) =
            submission::prepare_job({&job, "#!/bin/bash\n" + script, "local", true, {}}).value();
        local.id = "1";
        local.script_record = local.record / "script";
        local.standard_output = local.workdir / submission::expand_pattern(
                                                    job.output.standard_output, job.name, local.id);
        local.standard_error = local.workdir / submission::expand_pattern(
                                                   job.output.standard_error, job.name, local.id);
        return local;
    }
};

EnvironmentMap environment() {
    return {{"PATH", "/usr/local/bin:/usr/bin:/bin"}, {"CYBELE_ARRAY_INDEX", "9"}};
}

/// Seconds for `sleep` that no other run of this test names.
std::string own_seconds(int seconds) {
    return std::to_string(seconds) + "." + std::to_string(::getpid());
}

/// Whether a process with these seconds is left.
bool is_running(int seconds) {
    const std::string mark = own_seconds(seconds);
    for (const auto& entry : fs::directory_iterator("/proc")) {
        const auto text = read_file(entry.path() / "cmdline");
        if (text && text->find(mark) != std::string::npos) {
            return true;
        }
    }
    return false;
}

} // namespace

TEST_CASE("a record that is exchanged while the job runs is written where it was") {
    const Trial place;
    auto job = place.prepare("mv .cybelectl was; ln -s victim .cybelectl\n");
    const fs::path victim = place.directory.path() / "victim" / job.uuid;
    REQUIRE(make_directories(victim).has_value());
    REQUIRE(write_file(victim / "exit.json", "precious").has_value());
    const auto record = submission::RecordFolder::open(job.record);
    REQUIRE(record.has_value());
    job.record = submission::part_folder(*record, -1);
    const auto end = submission::run_local(job, environment());
    REQUIRE_MESSAGE(end.has_value(), end.error().message());
    CHECK(end->state == "done");
    CHECK(read_file(victim / "exit.json").value() == "precious");
    CHECK(std::distance(fs::directory_iterator(victim), fs::directory_iterator()) == 1);
    const fs::path was = place.directory.path() / "was" / job.uuid;
    CHECK(submission::read_exit_record(was).value().value().uuid == job.uuid);
    CHECK(read_file(was / "started/id").value() == "1\n");
}

TEST_CASE("a job runs in its directory, writes its files and leaves its record") {
    const Trial place;
    const auto job = place.prepare("echo \"out $CYBELE_JOB\"; echo err >&2; pwd; exit 3\n");
    const auto end = submission::run_local(job, environment());
    REQUIRE(end.has_value());
    CHECK(end->state == "failed");
    CHECK(end->shell_code() == 3);
    CHECK(read_file(job.standard_output).value() ==
          "out " + job.uuid + "\n" + place.directory.path().native() + "\n");
    CHECK(read_file(job.standard_error).value() == "err\n");
    CHECK(job.standard_output.filename() == "demo-" + job.id + ".out");
    const auto record = submission::read_exit_record(job.record);
    REQUIRE(record.has_value());
    REQUIRE(record->has_value());
    CHECK((*record)->uuid == job.uuid);
    CHECK((*record)->code == 3);
    CHECK((*record)->cpu_milliseconds.value_or(-1) >= 0);
    CHECK((*record)->memory_bytes.value_or(0) > 100'000);
    CHECK((*record)->end >= (*record)->start);
    CHECK((fs::status(job.record).permissions() & fs::perms::mask) == fs::perms::owner_all);
}

TEST_CASE("a script that dies by a signal counts as a shell does") {
    const Trial place;
    const auto end = submission::run_local(place.prepare("kill -SEGV $$\n"), environment());
    REQUIRE(end.has_value());
    CHECK(end->shell_code() == 139);
    CHECK(end->state == "failed");
}

TEST_CASE("a job that is cancelled before its process has a session of its own ends at once") {
    const Trial place;
    const auto job = place.prepare("sleep 60\n");
    sigset_t term{};
    sigset_t before{};
    ::sigemptyset(&term);
    ::sigaddset(&term, SIGTERM);
    ::pthread_sigmask(SIG_BLOCK, &term, &before);
    REQUIRE(::raise(SIGTERM) == 0); // it waits for the one who follows the job
    const auto begin = std::chrono::steady_clock::now();
    const auto end = submission::run_local(job, environment());
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    REQUIRE(end.has_value());
    CHECK(end->state == "cancelled");
    CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(8));
}

TEST_CASE("the time limit ends a job with all that it started") {
    Trial place;
    place.job.resources.time = std::chrono::seconds(1);
    const auto job = place.prepare("sleep " + own_seconds(86391) + " & setsid sleep " +
                                   own_seconds(86392) + " & wait\n");
    const auto begin = std::chrono::steady_clock::now();
    const auto end = submission::run_local(job, environment());
    REQUIRE(end.has_value());
    CHECK(end->state == "timeout");
    CHECK(end->shell_code() == 124);
    CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(30));
    CHECK_FALSE(is_running(86391));
    CHECK_FALSE(is_running(86392));
}

TEST_CASE("what a job leaves in the background is ended") {
    const Trial place;
    const auto end = submission::run_local(place.prepare("setsid sh -c 'trap \"\" TERM; sleep " +
                                                         own_seconds(86393) + "' & sleep 0.2\n"),
                                           environment());
    REQUIRE(end.has_value());
    CHECK(end->state == "done");
    CHECK_FALSE(is_running(86393));
}

TEST_CASE("what follows another job is left alone, whatever else the job leaves is ended") {
    const Trial place;
    fs::copy_file("/bin/sleep", place.directory.path() / submission::kSupervisorName);
    const UniqueFd nowhere(::open("/dev/null", O_RDWR | O_CLOEXEC));
    submission::Supervised job;
    job.argv = {"/bin/bash",
                "-c",
                "setsid ./" + std::string(submission::kSupervisorName) + " " + own_seconds(86395) +
                    " & echo $! >pid; setsid sleep " + own_seconds(86396) + " & sleep 0.2"};
    job.variables = {"PATH=/usr/bin:/bin"};
    job.directory = place.directory.path().native();
    job.output = nowhere.get();
    job.errors = nowhere.get();
    const auto end = submission::supervise(job);
    REQUIRE(end.has_value());
    CHECK(end->code == 0);
    CHECK(is_running(86395));
    CHECK_FALSE(is_running(86396));
    const pid_t pid = std::stoi(read_file(place.directory.path() / "pid").value());
    ::kill(pid, SIGKILL);
    (void)::waitpid(pid, nullptr, 0); // it was adopted
    CHECK_FALSE(is_running(86395));
}

TEST_CASE("TERM to the scheduler cancels the job, whose trap still runs") {
    const Trial place;
    const auto job = place.prepare("trap 'echo cleaned; exit 7' TERM; sleep " + own_seconds(86394) +
                                   " & wait $!\n");
    const pid_t pid = ::fork();
    if (pid == 0) {
        const auto end = submission::run_local(job, environment());
        ::_exit(end && end->state == "cancelled" && end->code == 7 ? 0 : 1);
    }
    for (int i = 0; i < 1500 && !is_running(86394); ++i) {
        ::usleep(20'000);
    }
    ::kill(pid, SIGTERM);
    int status = 0;
    REQUIRE(::waitpid(pid, &status, 0) == pid);
    CHECK(status == 0);
    CHECK(read_file(job.standard_output).value() == "cleaned\n");
    CHECK_FALSE(is_running(86394));
}

TEST_CASE("a job ignores no signal, whatever its submitter ignores") {
    const Trial place;
    const auto job = place.prepare("sed -n 's/^Sig\\(Ign\\|Blk\\):\\s*//p' /proc/self/status\n");
    const auto interrupt = std::signal(SIGINT, SIG_IGN); // as nohup and & do
    const auto hangup = std::signal(SIGHUP, SIG_IGN);
    const auto end = submission::run_local(job, environment());
    (void)std::signal(SIGINT, interrupt);
    (void)std::signal(SIGHUP, hangup);
    REQUIRE(end.has_value());
    CHECK(read_file(job.standard_output).value() == "0000000000000000\n0000000000000000\n");
}

TEST_CASE("a job is pinned to its cores, and told its GPUs and its index") {
    const Trial place;
    auto job = place.prepare("nproc; echo \"$CUDA_VISIBLE_DEVICES ${CYBELE_ARRAY_INDEX:-none}\"; "
                             "cat \"$CYBELE_JOB_DIR\"/../attempt-3\n");
    const int cpu = allowed_cpus().back();
    job.cpus = {cpu};
    job.gpus = {1, 3};
    job.attempt = 3;
    REQUIRE(submission::run_local(job, environment()).has_value());
    const std::string output = read_file(job.standard_output).value();
    CHECK(output.starts_with("1\n1,3 none\n"));
    CHECK(allowed_cpus().size() >= 1);
    job.index = 4;
    job.attempt = 4;
    job.script_record = job.record;
    REQUIRE(
        write_file(job.script, "#!/bin/bash\necho \"$CYBELE_ARRAY_INDEX\"\n", 0700).has_value());
    REQUIRE(submission::run_local(job, environment()).has_value());
    CHECK(read_file(job.standard_output).value() == "4\n");
}

TEST_CASE("an attempt is taken once: a second script does not begin") {
    const Trial place;
    const auto job = place.prepare("echo began\n");
    REQUIRE(submission::take_attempt(submission::attempt_file(job.record, 1)));
    CHECK_FALSE(submission::take_attempt(submission::attempt_file(job.record, 1)));
    const auto end = submission::run_local(job, environment());
    REQUIRE(end.has_value());
    CHECK(end->shell_code() == 126);
    CHECK(read_file(job.standard_output).value().empty());
}

TEST_CASE("output patterns are sbatch's") {
    CHECK(submission::expand_pattern("%x-%j.out", "n", "12") == "n-12.out");
    CHECK(submission::expand_pattern("100%%-%q%", "n", "12") == "100%-%q%");
    CHECK(submission::expand_pattern("%j_%a-%%a", "n", "12", "3") == "12_3-%a");
    CHECK(submission::expand_pattern("%j_%a", "n", "12") == "12_%a");
}

TEST_CASE("a damaged record is told, not believed") {
    const Trial place;
    REQUIRE(write_file(place.directory.path() / "exit.json", "{\"code\":").has_value());
    CHECK_FALSE(submission::read_exit_record(place.directory.path()).has_value());
    REQUIRE(write_file(place.directory.path() / "exit.json", "{\"code\":\"x\"}").has_value());
    CHECK_FALSE(submission::read_exit_record(place.directory.path()).has_value());
}

TEST_CASE("the place of a job's control group, by the files of a machine") {
    const auto made = TempDirectory::make("/tmp", "cybele-test");
    REQUIRE(made.has_value());
    const std::filesystem::path root = made->path();
    const auto write = [&root](const std::string& file, const std::string& text) {
        REQUIRE(make_directories((root / file).parent_path()).has_value());
        REQUIRE(write_file(root / file, text).has_value());
    };
    CHECK_FALSE(submission::own_control_group(root).has_value());
    write("proc/self/cgroup", "4:memory:/process\n0::/user.slice/app.slice/terminal.scope\n");
    CHECK_FALSE(submission::own_control_group(root).has_value());
    write("proc/self/mountinfo",
          "30 25 0:26 / /sys rw - sysfs sysfs rw\n"
          "41 31 0:38 / /sys/fs/cgroup rw,relatime shared:9 - cgroup2 cgroup2 rw\n");
    const auto slice = root / "sys/fs/cgroup/user.slice/app.slice";
    CHECK(submission::own_control_group(root) == slice / "terminal.scope");
    // Beside the own group where that place is this user's, which has its file of processes.
    CHECK(submission::group_places(slice / "terminal.scope").empty());
    write("sys/fs/cgroup/user.slice/app.slice/terminal.scope/cgroup.procs", "");
    CHECK(submission::group_places(slice / "terminal.scope") ==
          std::vector<std::filesystem::path>{slice / "terminal.scope"});
    write("sys/fs/cgroup/user.slice/app.slice/cgroup.procs", "");
    CHECK(submission::group_places(slice / "terminal.scope") ==
          std::vector<std::filesystem::path>{slice, slice / "terminal.scope"});
    // A container sees a part of the hierarchy as its whole.
    write("proc/self/mountinfo", "41 31 0:38 /docker/1 /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    write("proc/self/cgroup", "0::/docker/1/inner\n");
    CHECK(submission::own_control_group(root) == root / "sys/fs/cgroup/inner");
    write("proc/self/cgroup", "0::/\n");
    CHECK(submission::own_control_group(root) == root / "sys/fs/cgroup/");
}

TEST_CASE("a record's word alone ends no group that is none of ours") {
    const auto made = TempDirectory::make("/tmp", "cybele-test");
    REQUIRE(made.has_value());
    const std::filesystem::path foreign = made->path() / "cybelectl-not";
    REQUIRE(make_directories(foreign).has_value());
    REQUIRE(write_file(made->path() / "group", foreign.native()).has_value());
    submission::end_group(made->path());
    CHECK(std::filesystem::exists(foreign)); // no cgroup.procs in it: no group at all
    CHECK_FALSE(std::filesystem::exists(made->path() / "group"));
    submission::end_group(made->path());
}
