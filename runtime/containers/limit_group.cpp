// SPDX-License-Identifier: Apache-2.0
#include "runtime/containers/limit_group.hpp"

#include "runtime/namespaces/children.hpp"
#include "support/control_group.hpp"
#include "support/error_pipe.hpp"
#include "support/file.hpp"
#include "support/find.hpp"
#include "support/quote.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

namespace cybele::runtime {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kGroupPrefix = "cybelectl-";
constexpr std::string_view kCallers = "cybelectl-callers";
constexpr std::string_view kSlice = "cybelectl";
constexpr std::size_t kMostGroupText = std::size_t{1} << 20U;
constexpr int kMostRounds = 20; // of processes that start others meanwhile

/// The kernel's own files: written by one write(), which shows what is wrong with it.
int write_group_file(const fs::path& file, std::string_view text) {
    const UniqueFd fd(open(file.c_str(), O_WRONLY | O_CLOEXEC));
    if (!fd.valid()) {
        return errno;
    }
    const ssize_t size = write(fd.get(), text.data(), text.size());
    return size == static_cast<ssize_t>(text.size()) ? 0 : errno;
}

/// Nothing of a file that cannot be read.
std::string group_text(const fs::path& file) {
    return read_file(file, kMostGroupText).value_or("");
}

std::vector<std::string> group_words(const fs::path& file) {
    std::vector<std::string> words;
    const std::string text = group_text(file);
    for (const std::string_view line : text::split_terminated(text, '\n')) {
        for (const std::string_view word : text::split_terminated(line, ' ')) {
            words.emplace_back(word);
        }
    }
    return words;
}

bool is_directory_here(const fs::path& path) {
    struct stat status = {};
    return lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

tl::unexpected<Error> refuse_group(const LimitSetting& setting, std::string because, bool is_root) {
    return fail(ErrorCode::kEnvironment,
                problem("limits-not-delegated", setting.option + " is not supported here"),
                std::move(because),
                is_root ? "let the batch system limit the job, or use a host with cgroup version 2"
                        : "start it in a delegated cgroup: `systemd-run --user --scope -p "
                          "Delegate=yes PROGRAM`");
}

std::string error_text(int number) {
    return system_error("", number).faults().front().because;
}

/// systemd marks what it has delegated.
bool is_delegated(const fs::path& group) {
    char value = 0;
    return getxattr(group.c_str(), "trusted.delegate", &value, 1) == 1 ||
           getxattr(group.c_str(), "user.delegate", &value, 1) == 1;
}

/// The cgroup below which those of containers are made, and is it the top's slice?
struct Base {
    fs::path path;
    bool is_slice = false;
};

Base base_of(const LimitPlace& place) {
    fs::path own = place.top / fs::path(place.own).relative_path();
    if (own.filename().empty()) {
        own = own.parent_path();
    }
    if (own.filename() == kCallers) {
        return {own.parent_path(), false};
    }
    if (!place.is_root || is_delegated(own)) {
        return {own, false};
    }
    return {place.top / kSlice, true};
}

/// All processes of the cgroup, into a leaf of it.
int move_to_leaf(const fs::path& group) {
    const fs::path leaf = group / kCallers;
    if (mkdir(leaf.c_str(), 0755) != 0 && errno != EEXIST) {
        return errno;
    }
    for (int round = 0; round < kMostRounds; ++round) {
        const auto processes = group_words(group / "cgroup.procs");
        if (processes.empty()) {
            return 0;
        }
        for (const std::string& process : processes) {
            const int failed = write_group_file(leaf / "cgroup.procs", process);
            if (failed != 0 && failed != ESRCH) {
                return failed;
            }
        }
    }
    return EBUSY;
}

/// The controllers that the settings need, for the cgroups below `group`.
Result<void>
enable_controllers(const fs::path& group, const std::vector<LimitSetting>& settings, bool is_root) {
    const auto offered = group_words(group / "cgroup.controllers");
    const auto enabled = group_words(group / "cgroup.subtree_control");
    const auto has = [](const std::vector<std::string>& words, const std::string& word) {
        return contains(words, word);
    };
    for (const LimitSetting& one : settings) {
        if (has(enabled, one.controller)) {
            continue;
        }
        if (!has(offered, one.controller)) {
            return refuse_group(one,
                                "the cgroup '" + printable(group.native()) +
                                    "' has no controller '" + printable(one.controller) + "'",
                                is_root);
        }
        const fs::path file = group / "cgroup.subtree_control";
        int failed = write_group_file(file, "+" + one.controller);
        if (failed == EBUSY) { // there are processes in it
            failed = move_to_leaf(group);
            failed = failed != 0 ? failed : write_group_file(file, "+" + one.controller);
        }
        if (failed != 0) {
            return refuse_group(one,
                                "the controller '" + one.controller + "' cannot be given on by '" +
                                    printable(group.native()) + "': " + error_text(failed),
                                is_root);
        }
    }
    return {};
}

/// What starts that were killed have left.
void remove_dead_groups(const fs::path& base) {
    std::error_code failed;
    std::vector<fs::path> found;
    for (auto at = fs::directory_iterator(base, failed); !failed && at != fs::directory_iterator();
         at.increment(failed)) {
        const std::string name = at->path().filename();
        const std::string number = name.substr(std::min(name.size(), kGroupPrefix.size()));
        const bool is_ours = name.starts_with(kGroupPrefix) && !number.empty() &&
                             number.find_first_not_of("0123456789") == std::string::npos;
        if (is_ours && access(("/proc/" + number).c_str(), F_OK) != 0) {
            found.push_back(at->path());
        }
    }
    for (const fs::path& one : found) {
        (void)rmdir(one.c_str()); // the kernel keeps those with processes
    }
}

/// One setting of a cgroup that has been made.
Result<void> set_limit_here(const fs::path& group, const LimitSetting& one, bool is_root) {
    const bool is_other =
        !one.other_file.empty() && access((group / one.other_file).c_str(), F_OK) == 0;
    const std::string& file = is_other ? one.other_file : one.file;
    const std::string& text = is_other ? one.other_text : one.text;
    const int failed = write_group_file(group / file, text);
    if (failed == 0) {
        return {};
    }
    if (failed != EINVAL && failed != ERANGE && failed != EOPNOTSUPP) {
        return refuse_group(one,
                            "the kernel does not let '" + printable(file) +
                                "' be set: " + error_text(failed),
                            is_root);
    }
    return fail(ErrorCode::kInput,
                problem("limit-refused-by-kernel",
                        one.option + ": the kernel refuses '" + printable(text) + "'"),
                "it is not a value of '" + printable(file) + "' on this host",
                "choose a value that this host has");
}

} // namespace

LimitPlace find_limit_place() {
    LimitPlace place;
    place.is_root = geteuid() == 0;
    if (const auto mount = control_group_mount("/proc/self")) {
        place.top = mount->point;
    }
    place.own = control_group("/proc/self").value_or(std::string());
    return place;
}

Result<LimitGroup>
LimitGroup::make(const LimitPlace& place, const std::vector<LimitSetting>& settings, pid_t name) {
    const LimitSetting& first = settings.front();
    if (place.top.empty() || place.own.empty()) {
        return refuse_group(first, "cgroup version 2 is not mounted on this host", place.is_root);
    }
    const Base base = base_of(place);
    if (base.is_slice) {
        CYBELE_CHECK(enable_controllers(place.top, settings, place.is_root));
        if (mkdir(base.path.c_str(), 0755) != 0 && errno != EEXIST) {
            return refuse_group(first, error_text(errno), place.is_root);
        }
    } else if (access(base.path.c_str(), W_OK) != 0 ||
               access((base.path / "cgroup.procs").c_str(), W_OK) != 0) {
        return refuse_group(first,
                            "the cgroup '" + printable(base.path.native()) +
                                "' is not delegated to this user",
                            place.is_root);
    }
    remove_dead_groups(base.path);
    CYBELE_CHECK(enable_controllers(base.path, settings, place.is_root));
    LimitGroup group;
    const fs::path path = base.path / (std::string(kGroupPrefix) + std::to_string(name));
    if (mkdir(path.c_str(), 0755) != 0 && (errno != EEXIST || !is_directory_here(path))) {
        return refuse_group(first, error_text(errno), place.is_root);
    }
    group.path_ = path;
    for (const LimitSetting& one : settings) {
        CYBELE_CHECK(set_limit_here(path, one, place.is_root));
    }
    return group;
}

LimitGroup::~LimitGroup() {
    if (path_.empty()) {
        return;
    }
    constexpr useconds_t kPause = 1000;
    for (int round = 0; rmdir(path_.c_str()) != 0 && errno == EBUSY && round < kMostRounds;
         ++round) {
        (void)usleep(kPause); // a process that has just ended
    }
    if (path_.parent_path().filename() == kSlice) {
        (void)rmdir(path_.parent_path().c_str()); // the last one
    }
}

Result<void> LimitGroup::join() const {
    if (const int failed = write_group_file(path_ / "cgroup.procs", "0"); failed != 0) {
        return fail(
            system_error("cannot enter the cgroup '" + printable(path_.native()) + "'", failed));
    }
    return {};
}

namespace {

/// The cgroup with limits that a process is in; empty: none.
std::string limits_of_process(pid_t process) {
    std::string group = control_group("/proc/" + std::to_string(process)).value_or(std::string());
    const std::string name = fs::path(group).filename();
    return name.starts_with(kGroupPrefix) && name != kCallers ? group : std::string();
}

/// The number after a key in a flat keyed file; without a key, the only number of the file.
std::uint64_t group_number(const fs::path& file, std::string_view word = {}) {
    const std::string text = group_text(file);
    std::uint64_t sum = 0;
    for (std::string_view line : text::split_terminated(text, '\n')) {
        if (word.empty()) {
            (void)std::from_chars(line.data(), line.data() + line.size(), sum);
            return sum;
        }
        const std::size_t at = line.find(word);
        if (at != std::string_view::npos && (at == 0 || line[at - 1] == ' ')) {
            line.remove_prefix(at + word.size());
            std::uint64_t one = 0;
            (void)std::from_chars(line.data(), line.data() + line.size(), one);
            sum += one;
        }
    }
    return sum;
}

} // namespace

Result<void> join_limits_of(pid_t other, const LimitPlace& place) {
    const std::string group = limits_of_process(other);
    if (group.empty() || group == place.own) {
        return {};
    }
    const fs::path path = place.top / fs::path(group).relative_path();
    if (const int failed = write_group_file(path / "cgroup.procs", "0"); failed != 0) {
        return fail(ErrorCode::kEnvironment,
                    problem("instance-limits-not-joined",
                            "the limits of the instance cannot be applied to this program"),
                    "the cgroup '" + printable(path.native()) +
                        "' cannot be entered: " + error_text(failed),
                    "start it in the scope in which the instance was started");
    }
    return {};
}

std::optional<LimitUsage> limit_usage(pid_t process, const LimitPlace& place) {
    const std::string group = limits_of_process(process);
    if (group.empty() || place.top.empty()) {
        return std::nullopt;
    }
    const fs::path path = place.top / fs::path(group).relative_path();
    LimitUsage usage;
    usage.cpu = group_number(path / "cpu.stat", "usage_usec ");
    usage.memory = group_number(path / "memory.current");
    usage.memory_limit = group_number(path / "memory.max");
    if (usage.memory_limit == 0) {
        constexpr std::uint64_t kKilo = 1024;
        std::string text = group_text("/proc/meminfo");
        text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
        const std::size_t at = text.find("MemTotal:");
        if (at != std::string::npos) {
            (void)std::from_chars(text.data() + at + std::string_view("MemTotal:").size(),
                                  text.data() + text.size(),
                                  usage.memory_limit);
        }
        usage.memory_limit *= kKilo;
    }
    usage.read = group_number(path / "io.stat", "rbytes=");
    usage.written = group_number(path / "io.stat", "wbytes=");
    usage.processes = group_words(path / "cgroup.procs").size();
    return usage;
}

Result<int> run_limited(const std::vector<LimitSetting>& settings,
                        const std::function<Result<int>()>& body) {
    CYBELE_TRY(const LimitGroup group, LimitGroup::make(find_limit_place(), settings, getpid()));
    CYBELE_TRY(namespaces::Pipe report, namespaces::make_pipe());
    const pid_t parent = getpid();
    const pid_t child = fork();
    if (child < 0) {
        return fail(system_error("cannot start a process", errno));
    }
    if (child == 0) {
        namespaces::die_with_parent(parent);
        report.read.reset();
        const auto ended = [&]() -> Result<int> {
            CYBELE_CHECK(group.join());
            return body();
        }();
        if (!ended) {
            send_error(report.write.get(), ended.error());
        }
        _exit(ended ? *ended : 255); // the group is the parent's to remove
    }
    report.write.reset();
    const int code = namespaces::wait_passing_signals(child);
    if (auto error = receive_error(report.read.get())) {
        return fail(std::move(*error));
    }
    return code;
}

} // namespace cybele::runtime
