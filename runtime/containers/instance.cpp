// SPDX-License-Identifier: Apache-2.0
#include "runtime/containers/instance.hpp"

#include "runtime/containers/plan.hpp"
#include "runtime/namespaces/children.hpp"
#include "runtime/namespaces/descriptors.hpp"
#include "support/directory.hpp"
#include "support/error_pipe.hpp"
#include "support/file.hpp"
#include "support/json.hpp"
#include "support/quote.hpp"
#include "support/start_time.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <fnmatch.h>
#include <pwd.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cybele::runtime {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kScheme = "instance://";
constexpr std::size_t kMostRecord = std::size_t{64} << 10U;
constexpr std::size_t kMostName = 200;
constexpr std::chrono::milliseconds kLookAgain{10};

bool is_valid_name(const std::string& name) {
    constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                          "0123456789._-";
    return !name.empty() && name.size() <= kMostName && name != "." && name != ".." &&
           name.find_first_not_of(kLetters) == std::string::npos;
}

fs::path record_of(const Environment& environment, const std::string& name) {
    return instance_folders(environment).records / (name + ".json");
}

std::string to_json(const Instance& one) {
    const nlohmann::json record = {{"name", one.name},
                                   {"pid", one.pid},
                                   {"keeper", one.keeper},
                                   {"start", one.start},
                                   {"image", one.image},
                                   {"home", one.home},
                                   {"fakeroot", one.fakeroot},
                                   {"noPrivs", one.no_privs},
                                   {"addCaps", one.add_caps},
                                   {"dropCaps", one.drop_caps},
                                   {"logOutPath", one.log_out},
                                   {"logErrPath", one.log_err}};
    return json_text(record, -1) + "\n";
}

pid_t number_in(const nlohmann::json& record, const char* name) {
    const auto found = record.find(name);
    return found != record.end() && found->is_number_integer() ? found->get<pid_t>() : 0;
}

bool is_set_in(const nlohmann::json& record, const char* name) {
    const auto found = record.find(name);
    return found != record.end() && found->is_boolean() && found->get<bool>();
}

/// Nothing where the file is no record.
std::optional<Instance> read_record(const fs::path& file) {
    const auto text = read_file(file, kMostRecord);
    const nlohmann::json record = text ? parse_json(*text) : nlohmann::json();
    if (!record.is_object()) {
        return std::nullopt;
    }
    Instance one;
    one.name = member_text(record, "name");
    one.pid = number_in(record, "pid");
    one.keeper = number_in(record, "keeper");
    one.start = member_text(record, "start");
    one.image = member_text(record, "image");
    one.home = member_text(record, "home");
    one.fakeroot = is_set_in(record, "fakeroot");
    one.no_privs = is_set_in(record, "noPrivs");
    one.add_caps = member_text(record, "addCaps");
    one.drop_caps = member_text(record, "dropCaps");
    one.log_out = member_text(record, "logOutPath");
    one.log_err = member_text(record, "logErrPath");
    return one;
}

bool is_alive(const Instance& one) {
    return one.pid > 1 && !one.start.empty() && start_time(one.pid) == one.start;
}

std::string user_name() {
    const passwd* const entry = getpwuid(geteuid()); // NOLINT(concurrency-mt-unsafe)
    return entry != nullptr ? entry->pw_name : std::to_string(geteuid());
}

Result<UniqueFd> open_log(const std::string& path) {
    UniqueFd log(open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0644));
    if (!log.valid()) {
        return fail(system_error("cannot write '" + printable(path) + "'", errno));
    }
    return log;
}

Result<void> make_private(const fs::path& folder) {
    std::error_code failed;
    fs::create_directories(folder, failed);
    if (failed) {
        return fail(
            system_error("cannot make '" + printable(folder.string()) + "'", failed.value()));
    }
    (void)chmod(folder.c_str(), S_IRWXU);
    return {};
}

/// Who a program is that joins is decided by the start of the instance; lists are both.
void take_user_options(UserOptions& user, const Instance& one) {
    const auto join = [](std::string& list, const std::string& other) {
        list += (list.empty() || other.empty() ? "" : ",") + other;
    };
    user.fakeroot = one.fakeroot;
    user.no_privs = user.no_privs || one.no_privs;
    join(user.add_caps, one.add_caps);
    join(user.drop_caps, one.drop_caps);
}

/// What the process that keeps the container is given.
struct Streams {
    UniqueFd out;
    UniqueFd err;
};

/// Of an image that only this process has: "/proc/self/fd/7" is 7, which must stay open; else -1.
int descriptor_of(const fs::path& image) {
    constexpr std::string_view kOwn = "/proc/self/fd/";
    const std::string_view text = image.native();
    int number = -1;
    if (text.starts_with(kOwn)) {
        (void)std::from_chars(text.data() + kOwn.size(), text.data() + text.size(), number);
    }
    return number;
}

/// In a child: makes the container, tells process 1 through the pipe, and stays.
[[noreturn]] void be_keeper(Request request,
                            const Environment& environment,
                            const Streams& streams,
                            const UniqueFd& report) {
    setsid();
    namespaces::keep_only(
        {streams.out.get(), streams.err.get(), report.get(), descriptor_of(request.image.file)});
    dup2(streams.out.get(), STDOUT_FILENO);
    dup2(streams.err.get(), STDERR_FILENO);
    const int told = report.get();
    request.instance.when_started = [told](pid_t first) {
        (void)!write(told, &first, sizeof first);
        close(told);
    };
    const auto ended = start(request, environment);
    if (!ended) { // before the container was there
        const pid_t none = 0;
        (void)!write(told, &none, sizeof none);
        send_error(told, ended.error());
    }
    _exit(255);
}

/// Process 1, or why there is none.
Result<pid_t> wait_for_first(const UniqueFd& report, pid_t keeper) {
    pid_t first = 0;
    ssize_t size = 0;
    do {
        size = read(report.get(), &first, sizeof first);
    } while (size < 0 && errno == EINTR);
    if (size == sizeof first && first > 0) {
        return first;
    }
    auto error = receive_error(report.get());
    (void)waitpid(keeper, nullptr, 0);
    if (error) {
        return fail(std::move(*error));
    }
    return fail(ErrorCode::kInternal,
                problem("instance-not-started", "the instance could not be started"),
                "the process that keeps it ended");
}

/// Starts of one user take their names one after the other. Without locks (an old NFS) they do not.
UniqueFd lock_records(const fs::path& folder) {
    UniqueFd lock(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (lock.valid()) {
        while (flock(lock.get(), LOCK_EX) != 0 && errno == EINTR) {
        }
    }
    return lock;
}

Result<void> check_name(const Environment& environment, const std::string& name) {
    if (!is_valid_name(name)) {
        return fail(
            ErrorCode::kInput,
            problem("instance-name", "'" + printable(name) + "' is not a valid name").about(name),
            "the name of an instance has letters, digits, '.', '_' and '-'",
            "choose another name");
    }
    if (!list_instances(environment, name).empty()) {
        return fail(ErrorCode::kInput,
                    problem("instance-exists", "instance " + name + " already exists"),
                    "a name is used once at a time",
                    "`apptainer instance stop " + name + "` ends it");
    }
    return {};
}

} // namespace

InstanceFolders instance_folders(const Environment& environment) {
    std::array<char, 256> host = {};
    (void)gethostname(host.data(), host.size() - 1);
    const fs::path top = environment.get_absolute("APPTAINER_CONFIGDIR")
                             .value_or(environment.home() / ".apptainer") /
                         "instances";
    return {top / "cybelectl" / host.data() / user_name(),
            top / "logs" / host.data() / user_name()};
}

std::vector<Instance> list_instances(const Environment& environment, const std::string& pattern) {
    const fs::path folder = instance_folders(environment).records;
    std::vector<Instance> found;
    std::error_code failed;
    for (auto at = fs::directory_iterator(folder, failed);
         !failed && at != fs::directory_iterator();
         at.increment(failed)) {
        if (at->path().extension() != ".json") {
            continue;
        }
        auto one = read_record(at->path());
        if (!one || one->name != at->path().stem().native() || !is_alive(*one)) {
            std::error_code ignored;
            fs::remove(at->path(), ignored);
        } else if (pattern.empty() || fnmatch(pattern.c_str(), one->name.c_str(), 0) == 0) {
            found.push_back(std::move(*one));
        }
    }
    std::ranges::sort(found, {}, &Instance::name);
    return found;
}

bool is_instance(std::string_view image) {
    return image.starts_with(kScheme);
}

Result<Instance>
start_instance(const Request& request, const Environment& environment, const std::string& name) {
    const InstanceFolders folders = instance_folders(environment);
    CYBELE_CHECK(make_private(folders.records));
    const UniqueFd lock = lock_records(folders.records);
    CYBELE_CHECK(check_name(environment, name));
    CYBELE_CHECK(make_private(folders.logs));
    Instance one;
    one.name = name;
    const fs::path image = fs::absolute(request.image.file).lexically_normal();
    one.image = (image.has_filename() ? image : image.parent_path()).native();
    if (!request.files.home.empty()) {
        CYBELE_TRY(const Home home, home_of(request, environment));
        one.home = home.target.native();
    }
    one.fakeroot = request.user.fakeroot;
    one.no_privs = request.user.no_privs;
    one.add_caps = request.user.add_caps;
    one.drop_caps = request.user.drop_caps;
    one.log_out = (folders.logs / (name + ".out")).native();
    one.log_err = (folders.logs / (name + ".err")).native();
    Streams streams;
    CYBELE_TRY(streams.out, open_log(one.log_out));
    CYBELE_TRY(streams.err, open_log(one.log_err));
    CYBELE_TRY(namespaces::Pipe report, namespaces::make_pipe());
    one.keeper = fork();
    if (one.keeper < 0) {
        return fail(system_error("cannot start a process", errno));
    }
    if (one.keeper == 0) {
        report.read.reset();
        Request kept = request;
        kept.instance.name = name;
        be_keeper(std::move(kept), environment, streams, report.write);
    }
    report.write.reset();
    CYBELE_TRY(one.pid, wait_for_first(report.read, one.keeper));
    one.start = start_time(one.pid);
    if (auto written = write_file(record_of(environment, name), to_json(one), 0600); !written) {
        (void)kill(one.pid, SIGKILL);
        return fail(std::move(written).error());
    }
    return one;
}

Result<int> start_in_instance(const Request& request, const Environment& environment) {
    const std::string name = request.image.file.native().substr(kScheme.size());
    const auto found =
        is_valid_name(name) ? list_instances(environment, name) : std::vector<Instance>();
    if (found.size() != 1) {
        return fail(ErrorCode::kInput,
                    problem("instance-missing",
                            is_valid_name(name)
                                ? "no instance found with name " + printable(name)
                                : printable(name) + " is not a valid instance name"),
                    "this user has started none on this host, or it has ended",
                    "`apptainer instance list` shows those that run");
    }
    Request inside = request;
    inside.image.file = found.front().image;
    inside.instance.name = name;
    if (inside.global.follows_apptainer) {
        inside.files.home.clear(); // the home was chosen by the start of the instance
    }
    if (inside.files.home.empty() && !found.front().home.empty()) {
        inside.files.home = found.front().home + ":" + found.front().home;
    }
    take_user_options(inside.user, found.front());
    if (request.user.fakeroot && request.global.prints_info) {
        constexpr std::string_view kLine = "INFO:    --fakeroot ignored when joining instance\n";
        (void)!write(STDERR_FILENO, kLine.data(), kLine.size());
    }
    return start_in(found.front().pid, inside, environment);
}

namespace {

/// Whether it ends within this time.
bool ends_within(const Instance& instance, std::chrono::duration<double> time) {
    const auto limit = std::chrono::steady_clock::now() + time;
    while (is_alive(instance)) {
        if (std::chrono::steady_clock::now() >= limit) {
            return false;
        }
        std::this_thread::sleep_for(kLookAgain);
    }
    return true;
}

} // namespace

Result<bool> stop_instance(const Environment& environment,
                           const Instance& instance,
                           int signal,
                           double seconds) {
    constexpr std::chrono::seconds kToBeKilled{10};
    (void)kill(instance.pid, signal);
    const bool is_killed = !ends_within(instance, std::chrono::duration<double>(seconds));
    if (is_killed) {
        (void)kill(instance.pid, SIGKILL);
        if (!ends_within(instance, kToBeKilled)) {
            return fail(ErrorCode::kEnvironment,
                        problem("instance-not-ended",
                                "instance " + printable(instance.name) + " does not end"),
                        "process " + std::to_string(instance.pid) +
                            " was killed and still exists, as one that waits for a file system "
                            "without an answer",
                        "look at it with `ps -o stat,wchan:32,cmd " + std::to_string(instance.pid) +
                            "`, and stop the instance again");
        }
    }
    std::error_code ignored;
    fs::remove(record_of(environment, instance.name), ignored);
    return is_killed;
}

} // namespace cybele::runtime
