// SPDX-License-Identifier: Apache-2.0
// The options of exec, run, shell and test: Apptainer's with their variables, and ours. Parsing,
// help, completion, docs/reference/apptainer-options.md and the name `apptainer` read this table.
#include "cli/run/start_options.hpp"
#include "support/quote.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <charconv>

namespace cybele::cli {

namespace {

using runtime::LimitRequest;
using runtime::Request;

/// What a flag or a list does with a value, for the member that it belongs to.
template <auto kGroup, auto kMember>
std::string set_flag(StartOptions& options, std::string_view /*none*/) {
    (options.request.*kGroup).*kMember = true;
    return {};
}

template <auto kGroup, auto kMember>
std::string set_text(StartOptions& options, std::string_view value) {
    (options.request.*kGroup).*kMember = value;
    return {};
}

template <auto kGroup, auto kMember>
std::string add_text(StartOptions& options, std::string_view value) {
    ((options.request.*kGroup).*kMember).emplace_back(value);
    return {};
}

/// Several, one on a line.
std::string add_mounts(StartOptions& options, std::string_view value) {
    for (const std::string_view line : text::split_terminated(value, '\n')) {
        if (!line.empty()) {
            options.request.files.mounts.emplace_back(line);
        }
    }
    return value.empty() ? "it is empty" : "";
}

template <auto kMember>
std::string set_own_flag(StartOptions& options, std::string_view /*none*/) {
    options.*kMember = true;
    return {};
}

template <auto kMember>
std::string set_own_text(StartOptions& options, std::string_view value) {
    options.*kMember = value;
    return {};
}

template <auto kMember>
std::string add_own_text(StartOptions& options, std::string_view value) {
    (options.*kMember).emplace_back(value);
    return {};
}

template <auto kMember>
std::string set_limit(StartOptions& options, std::string_view value) {
    options.request.limits.*kMember = value;
    return {};
}

/// An integer, which may be negative.
template <auto kMember>
std::string set_count(StartOptions& options, std::string_view value) {
    const char* const last = value.data() + value.size();
    const auto [end, failed] = std::from_chars(value.data(), last, options.request.limits.*kMember);
    return std::string(failed == std::errc() && end == last ? "" : kNotAnInteger);
}

std::string add_device_weight(StartOptions& options, std::string_view value) {
    options.request.limits.device_weights.emplace_back(value);
    return {};
}

/// For what is so already, whatever the option says.
std::string nothing_to_do(StartOptions& /*options*/, std::string_view /*value*/) {
    return {};
}

std::string set_policy(StartOptions& options, std::string_view file) {
    options.policy = file;
    return file.empty() ? "the name of the file is empty" : "";
}

std::string set_require(StartOptions& options, std::string_view count) {
    options.require = count;
    return count.empty() ? "the number is empty" : "";
}

std::string set_app(StartOptions& options, std::string_view name) {
    if (name.find('/') != std::string_view::npos || name == "." || name == "..") {
        return "an application's name has no '/'";
    }
    options.request.program.app = name;
    return {};
}

std::string set_network(StartOptions& options, std::string_view name) {
    options.request.isolation.network = name;
    options.request.isolation.net = true;
    return {};
}

std::string set_compat(StartOptions& options, std::string_view /*none*/) {
    Request& request = options.request;
    request.isolation.containall = true;
    request.isolation.no_init = true;
    request.user.no_umask = true;
    request.variables.no_eval = true;
    request.image.writable_tmpfs = true;
    return {};
}

template <auto kGroup, auto kMember>
std::string unset_flag(StartOptions& options, std::string_view /*none*/) {
    (options.request.*kGroup).*kMember = false;
    return {};
}

std::string set_join(StartOptions& options, std::string_view word) {
    struct Row {
        std::string_view word;
        runtime::Join join;
    };
    constexpr Row kJoins[] = {{"auto", runtime::Join::kAuto},
                              {"always", runtime::Join::kAlways},
                              {"never", runtime::Join::kNever}};
    for (const Row& row : kJoins) {
        if (row.word == word) {
            options.request.join = row.join;
            return {};
        }
    }
    return printable(word) + " not in {auto,always,never}";
}

/// Programs that serve a file system inside end with the process ids of the container.
std::string add_fuse_mount(StartOptions& options, std::string_view text) {
    options.request.devices.fuse_mounts.emplace_back(text);
    options.request.isolation.pid = true;
    return {};
}

std::string set_sharens(StartOptions& options, std::string_view /*none*/) {
    return set_join(options, "always");
}

constexpr bool kOfShell = true;
constexpr bool kOurs = true;
constexpr bool kOfInstance = true;
constexpr bool kUsual = true;
// clang-format off
constexpr StartOption kOptions[] = {
    {"-B,--bind", "SPEC", "BIND BINDPATH", Use::kEach,
     "SRC[:DST[:OPTIONS]], made visible inside; options: ro, rw, image-src=PATH, id=N", add_text<&Request::files, &runtime::FileOptions::binds>, false, false, kUsual},
    {"--mount", "SPEC", "MOUNT", Use::kEach,
     "bind, written as type=bind,source=SRC,destination=DST[,ro]", add_mounts, false, false, kUsual},
    {"--nv", "", "NV", Use::kFlag, "add the host's NVIDIA driver", set_flag<&Request::devices, &runtime::DeviceOptions::nv>, false, false, kUsual},
    {"--rocm", "", "ROCM", Use::kFlag, "add the host's ROCm", set_flag<&Request::devices, &runtime::DeviceOptions::rocm>, false, false, kUsual},
    {"--env", "NAME=VALUE", "", Use::kEach, "variables of the container: NAME=VALUE[,NAME=VALUE]",
     add_own_text<&StartOptions::variables>, false, false, kUsual},
    {"--env-file", "FILE", "ENV_FILE", Use::kList, "file of NAME=VALUE lines",
     add_text<&Request::variables, &runtime::VariableOptions::environment_files>, false, false, kUsual},
    {"--no-env", "NAMES", "NOENV", Use::kList, "variables of the host that stay outside, separated by commas",
     add_text<&Request::variables, &runtime::VariableOptions::no_env>},
    {"--no-eval", "", "NO_EVAL", Use::kFlag, "use the values of variables as they are (the default of cybelectl)",
     set_flag<&Request::variables, &runtime::VariableOptions::no_eval>},
    {"--app", "NAME", "APP APPNAME", Use::kOnce, "SCIF application of the image that is started", set_app, false, false, kUsual},
    {"--cwd,--pwd", "DIR", "CWD TARGET_CWD PWD TARGET_PWD", Use::kOnce, "directory where the program starts",
     set_text<&Request::program, &runtime::ProgramOptions::directory>, false, false, kUsual},
    {"-H,--home", "SPEC", "HOME", Use::kOnce, "home directory: SRC[:DST]", set_text<&Request::files, &runtime::FileOptions::home>, false, false, kUsual},
    {"-e,--cleanenv", "", "CLEANENV", Use::kFlag, "remove the variables of the host", set_flag<&Request::variables, &runtime::VariableOptions::cleanenv>, false, false, kUsual},
    {"-c,--contain", "", "CONTAIN", Use::kFlag, "use a separate /dev, /tmp and home", set_flag<&Request::isolation, &runtime::IsolationOptions::contain>, false, false, kUsual},
    {"-C,--containall", "", "CONTAINALL", Use::kFlag, "--contain, --pid and --cleanenv",
     set_flag<&Request::isolation, &runtime::IsolationOptions::containall>, false, false, kUsual},
    {"--compat", "", "COMPAT", Use::kFlag,
     "like Docker: --containall, --no-init, --no-umask, --no-eval and --writable-tmpfs", set_compat},
    {"--no-home", "", "NO_HOME", Use::kFlag, "do not bind the home directory", set_flag<&Request::files, &runtime::FileOptions::no_home>, false, false, kUsual},
    {"--no-mount", "NAMES", "NO_MOUNT", Use::kList,
     "mounts to leave out: proc, sys, dev, devpts, home, tmp, cwd, bind-paths or a path", add_text<&Request::files, &runtime::FileOptions::no_mount>},
    {"-S,--scratch", "DIR", "SCRATCH SCRATCHDIR", Use::kList, "an empty directory that lasts as long as the container",
     add_text<&Request::files, &runtime::FileOptions::scratch>},
    {"-W,--workdir", "DIR", "WORKDIR", Use::kOnce, "hold /tmp and the home of --contain, and --scratch, in DIR",
     set_text<&Request::files, &runtime::FileOptions::workdir>},
    {"-p,--pid", "", "PID UNSHARE_PID", Use::kFlag, "use separate process ids", set_flag<&Request::isolation, &runtime::IsolationOptions::pid>, false, false, kUsual},
    {"--no-pid", "", "NO_PID", Use::kFlag, "the host's process ids", unset_flag<&Request::isolation, &runtime::IsolationOptions::pid>},
    {"--no-init", "", "NOSHIMINIT", Use::kFlag, "with --pid: the program is process 1 itself", set_flag<&Request::isolation, &runtime::IsolationOptions::no_init>},
    {"-i,--ipc", "", "IPC UNSHARE_IPC", Use::kFlag, "own System V IPC and message queues", set_flag<&Request::isolation, &runtime::IsolationOptions::ipc>},
    {"-u,--userns", "", "USERNS UNSHARE_USERNS", Use::kFlag, "a user namespace for root, too", set_flag<&Request::isolation, &runtime::IsolationOptions::userns>},
    {"--uts", "", "UTS UNSHARE_UTS", Use::kFlag, "an own host name", set_flag<&Request::isolation, &runtime::IsolationOptions::uts>},
    {"--hostname", "NAME", "HOSTNAME", Use::kOnce, "the host name inside", set_text<&Request::isolation, &runtime::IsolationOptions::hostname>},
    {"-n,--net", "", "NET UNSHARE_NET", Use::kFlag, "an own network; with --network none", set_flag<&Request::isolation, &runtime::IsolationOptions::net>},
    {"--network", "NAME", "NETWORK", Use::kOnce, "none: loopback only; it makes an own network", set_network},
    {"--netns-path", "FILE", "NETNS_PATH", Use::kOnce, "join this network namespace (root only)",
     set_text<&Request::isolation, &runtime::IsolationOptions::netns_path>},
    {"--dns", "ADDRESSES", "DNS", Use::kOnce, "name servers, separated by commas", set_text<&Request::isolation, &runtime::IsolationOptions::dns>},
    {"--no-umask", "", "NO_UMASK", Use::kFlag, "umask 0022 inside", set_flag<&Request::user, &runtime::UserOptions::no_umask>},
    {"-f,--fakeroot", "", "FAKEROOT", Use::kFlag, "become root in the container", set_flag<&Request::user, &runtime::UserOptions::fakeroot>, false, false, kUsual},
    {"--ignore-subuid", "", "IGNORE_SUBUID", Use::kFlag, "with --fakeroot: do not use /etc/subuid",
     set_flag<&Request::user, &runtime::UserOptions::ignore_subuid>},
    {"--ignore-fakeroot-command", "", "IGNORE_FAKEROOT_COMMAND", Use::kFlag,
     "no effect: the program `fakeroot` is never used", nothing_to_do},
    {"--ignore-userns", "", "IGNORE_USERNS", Use::kFlag, "no effect for users, who always need a user namespace",
     nothing_to_do},
    {"--join", "auto|always|never", "", Use::kOnce, "share the container of the node's other ranks",
     set_join, false, kOurs, kUsual},
    {"--sharens", "", "SHARENS", Use::kFlag, "the same as --join always", set_sharens, false, false, kUsual},
    {"-o,--overlay", "PATH", "OVERLAY OVERLAYIMAGE", Use::kList,
     "PATH[:ro], laid over the image: a directory or an ext3 file, which receive what is written, a "
     "squashfs file or a SIF", add_text<&Request::image, &runtime::ImageOptions::overlays>, false, false, kUsual},
    {"-w,--writable", "", "WRITABLE", Use::kFlag, "write changes to the image, which must be a directory",
     set_flag<&Request::image, &runtime::ImageOptions::writable>, false, false, kUsual},
    {"--writable-tmpfs", "", "WRITABLE_TMPFS", Use::kFlag, "write changes to memory; they are lost at the end",
     set_flag<&Request::image, &runtime::ImageOptions::writable_tmpfs>, false, false, kUsual},
    {"--underlay", "", "UNDERLAY", Use::kFlag, "make missing mount points without an overlay", set_flag<&Request::image, &runtime::ImageOptions::underlay>},
    {"--unsquash", "", "UNSQUASH", Use::kFlag, "unpack the image instead of mounting it", set_flag<&Request::image, &runtime::ImageOptions::unsquash>},
    {"--device", "NAME", "DEVICE", Use::kList,
     "vendor.com/class=name: a device by the Container Device Interface", add_own_text<&StartOptions::devices>},
    {"--cdi-dirs", "DIRS", "CDI_DIRS", Use::kList, "directories with the files of such devices (/etc/cdi, /var/run/cdi)",
     add_own_text<&StartOptions::device_folders>},
    {"--fusemount", "SPEC", "FUSESPEC", Use::kEach,
     "'TYPE:PROGRAM ARGUMENTS DIR': a FUSE file system at DIR; TYPE: host, container, or one of them with -daemon",
     add_fuse_mount},
    {"--containlibs", "FILES", "CONTAINLIBS", Use::kList, "libraries of the host for /.singularity.d/libs",
     add_text<&Request::files, &runtime::FileOptions::libraries>},
    {"--no-nv", "", "NV_OFF NO_NV", Use::kFlag, "no NVIDIA driver, whatever a variable says", unset_flag<&Request::devices, &runtime::DeviceOptions::nv>},
    {"--no-rocm", "", "ROCM_OFF NO_ROCM", Use::kFlag, "no ROCm, whatever a variable says", unset_flag<&Request::devices, &runtime::DeviceOptions::rocm>},
    {"--keep-privs", "", "KEEP_PRIVS", Use::kFlag, "root keeps its capabilities (the default)",
     unset_flag<&Request::user, &runtime::UserOptions::no_privs>},
    {"--no-privs", "", "NO_PRIVS", Use::kFlag, "root gives up its capabilities", set_flag<&Request::user, &runtime::UserOptions::no_privs>},
    {"--add-caps", "NAMES", "ADD_CAPS", Use::kOnce, "capabilities that root keeps despite --no-privs, or that a user has in the container",
     set_text<&Request::user, &runtime::UserOptions::add_caps>},
    {"--drop-caps", "NAMES", "DROP_CAPS", Use::kOnce, "capabilities that root gives up", set_text<&Request::user, &runtime::UserOptions::drop_caps>},
    {"--security", "SPEC", "SECURITY", Use::kList,
     "uid:N or gid:N inside, or seccomp:FILE, a profile of the OCI runtime specification",
     add_text<&Request::user, &runtime::UserOptions::security>},
    {"--disable-cache", "", "DISABLE_CACHE", Use::kFlag, "do not store an image that comes from a registry",
     set_own_flag<&StartOptions::has_no_cache>},
    {"--no-https,--nohttps", "", "NOHTTPS NO_HTTPS", Use::kFlag, "use plain HTTP with registries",
     set_own_flag<&StartOptions::has_plain_http>},
    {"--plain-http", "", "", Use::kFlag, "use plain HTTP with registries: no encryption, no server authentication",
     set_own_flag<&StartOptions::has_plain_http>, false, kOurs, kUsual},
    {"--ca-file", "FILE", "", Use::kOnce, "CA certificates for the registry", set_own_text<&StartOptions::ca_file>, false, kOurs, kUsual},
    {"--authfile", "FILE", "AUTH_FILE AUTHFILE", Use::kOnce, "registry credentials file", set_own_text<&StartOptions::authfile>},
    {"--docker-username", "NAME", "DOCKER_USERNAME", Use::kOnce, "user name for the registry", set_own_text<&StartOptions::user>},
    {"--docker-password", "WORD", "DOCKER_PASSWORD", Use::kOnce, "password for the registry; a variable is safer",
     set_own_text<&StartOptions::password>},
    {"--tmpdir", "DIR", "TMPDIR", Use::kOnce, "where an image of a registry is converted",
     set_own_text<&StartOptions::temporary>},
    {"--runscript-timeout", "TIME", "RUNSCRIPT_TIMEOUT", Use::kOnce,
     "no effect: a runscript runs as long as it needs", nothing_to_do},
    {"--memory", "SIZE", "MEMORY", Use::kOnce, "memory limit: bytes, or a number with K, M, G or T",
     set_limit<&LimitRequest::memory>, false, false, kUsual},
    {"--memory-reservation", "SIZE", "MEMORY_RESERVATION", Use::kOnce, "memory that others are made to leave to it",
     set_limit<&LimitRequest::memory_reservation>},
    {"--memory-swap", "SIZE", "MEMORY_SWAP", Use::kOnce, "limit of memory and swap together; -1: no limit of swap",
     set_limit<&LimitRequest::memory_swap>},
    {"--cpus", "N", "CPUS", Use::kOnce, "CPU limit, as a number of CPUs, e.g. 0.5", set_limit<&LimitRequest::cpus>,
     false, false, kUsual},
    {"--cpu-shares", "N", "CPU_SHARES", Use::kOnce, "share of CPU time where that is scarce; 1024 is the usual one",
     set_count<&LimitRequest::cpu_shares>},
    {"--cpuset-cpus", "LIST", "CPUSET_CPUS", Use::kOnce, "the CPUs that it may use: 0-3,8",
     set_limit<&LimitRequest::cpuset_cpus>},
    {"--cpuset-mems", "LIST", "CPUSET_MEMS", Use::kOnce, "the memory nodes that it may use: 0,1",
     set_limit<&LimitRequest::cpuset_mems>},
    {"--pids-limit", "N", "PIDS_LIMIT", Use::kOnce, "limit of processes; -1: none", set_count<&LimitRequest::pids>,
     false, false, kUsual},
    {"--blkio-weight", "N", "BLKIO_WEIGHT", Use::kOnce, "share of block I/O, 10 to 1000", set_count<&LimitRequest::weight>},
    {"--blkio-weight-device", "SPEC", "BLKIO_WEIGHT_DEVICE", Use::kList, "DEVICE:N, the share of one block device",
     add_device_weight},
    {"--apply-cgroups", "FILE", "APPLY_CGROUPS", Use::kOnce, "TOML file with limits: cpu, memory, pids, blockIO, unified",
     set_limit<&LimitRequest::file>},
    {"--verify-key", "FILE", "", Use::kEach, "start only what the holder of this public PEM key has signed",
     add_own_text<&StartOptions::verify_keys>, false, kOurs, kUsual},
    {"--policy", "FILE", "", Use::kOnce, "start only what a Policy's signers have signed", set_policy, false, kOurs, kUsual},
    {"--require", "N", "", Use::kOnce, "any (default), all, or a number of these signers", set_require, false, kOurs, kUsual},
    {"-s,--shell", "PATH", "SHELL", Use::kOnce, "shell to start (default: the image's)", set_text<&Request::program, &runtime::ProgramOptions::shell>, kOfShell, false, kUsual},
    {"--pid-file", "FILE", "PID_FILE", Use::kOnce, "write the process id of the instance to FILE",
     set_own_text<&StartOptions::pid_file>, false, false, false, kOfInstance},
    {"--oom-kill-disable", "", "OOM_KILL_DISABLE", Use::kRefused,
     "cgroup version 2 cannot switch off the OOM killer; give it more memory by --memory"},
    {"--allow-setuid", "", "ALLOW_SETUID", Use::kRefused,
     "images are always mounted without setuid programs; run as root what needs root"},
    {"--boot", "", "BOOT", Use::kRefused, "a container runs a program, not an init system; use a virtual machine"},
    {"--compat32", "", "COMPAT32", Use::kRefused, "32-bit driver libraries are not supported; bind them with --bind"},
    {"--dmtcp-launch", "NAME", "DMTCP_LAUNCH", Use::kRefused,
     "checkpoints are not supported; start dmtcp_launch inside the container"},
    {"--dmtcp-restart", "NAME", "DMTCP_RESTART", Use::kRefused,
     "checkpoints are not supported; start dmtcp_restart inside the container"},
    {"--docker-host", "URL", "DOCKER_HOST", Use::kOnce,
     "no effect: images of a Docker daemon are not read; save one by `docker save` and build from docker-archive:FILE", nothing_to_do},
    {"--docker-login", "", "DOCKER_LOGIN", Use::kFlag,
     "refused for an image of a registry, as no password is asked for here; run `cybelectl image login` once",
     set_own_flag<&StartOptions::asks_for_login>},
    {"--intel-hpu", "", "INTEL_HPU", Use::kRefused, "Gaudi devices are not known; use --bind /dev/accel"},
    {"--network-args", "ARGS", "NETWORK_ARGS", Use::kEach,
     "no effect: CNI plugins are not used; the networks are the host's and `--network none`", nothing_to_do},
    {"--nvccli", "", "NVCCLI", Use::kRefused, "nvidia-container-cli is not used; write --nv"},
    {"--passphrase", "", "PASSPHRASE", Use::kRefused, "encrypted images are not supported; use an image that is not encrypted"},
    {"--pem-path", "FILE", "PEM_PATH", Use::kRefused, "encrypted images are not supported; use an image that is not encrypted"},
};
// clang-format on

} // namespace

std::span<const StartOption> start_options() {
    return kOptions;
}

bool StartOption::has_name(std::string_view name) const {
    std::string_view rest = names;
    while (!rest.empty()) {
        const std::size_t comma = std::min(rest.find(','), rest.size());
        if (rest.substr(0, comma) == name) {
            return true;
        }
        rest.remove_prefix(std::min(comma + 1, rest.size()));
    }
    return false;
}

std::string_view StartOption::long_name() const {
    const std::string_view from = names.substr(names.find("--"));
    return from.substr(0, from.find(','));
}

std::string give(const StartOption& option, StartOptions& options, std::string_view value) {
    return option.use == Use::kRefused ? std::string(option.description)
                                       : option.take(options, value);
}

} // namespace cybele::cli
