// SPDX-License-Identifier: Apache-2.0
#include "runtime/containers/isolation.hpp"

#include "runtime/containers/root_image.hpp"
#include "runtime/namespaces/accounts.hpp"
#include "runtime/namespaces/resolve.hpp"
#include "runtime/namespaces/system_calls.hpp"
#include "support/characters.hpp"
#include "support/file.hpp"
#include "support/find.hpp"
#include "support/name.hpp"
#include "support/quote.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string_view>

#include <fcntl.h>
#include <linux/capability.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

namespace cybele::runtime {
namespace {

/// capabilities(7), by number.
constexpr std::string_view kCapabilityNames[] = {"chown",
                                                 "dac_override",
                                                 "dac_read_search",
                                                 "fowner",
                                                 "fsetid",
                                                 "kill",
                                                 "setgid",
                                                 "setuid",
                                                 "setpcap",
                                                 "linux_immutable",
                                                 "net_bind_service",
                                                 "net_broadcast",
                                                 "net_admin",
                                                 "net_raw",
                                                 "ipc_lock",
                                                 "ipc_owner",
                                                 "sys_module",
                                                 "sys_rawio",
                                                 "sys_chroot",
                                                 "sys_ptrace",
                                                 "sys_pacct",
                                                 "sys_admin",
                                                 "sys_boot",
                                                 "sys_nice",
                                                 "sys_resource",
                                                 "sys_time",
                                                 "sys_tty_config",
                                                 "mknod",
                                                 "lease",
                                                 "audit_write",
                                                 "audit_control",
                                                 "setfcap",
                                                 "mac_override",
                                                 "mac_admin",
                                                 "syslog",
                                                 "wake_alarm",
                                                 "block_suspend",
                                                 "audit_read",
                                                 "perfmon",
                                                 "bpf",
                                                 "checkpoint_restore"};

/// "CAP_NET_RAW", "net_raw", several with commas, "all".
Result<std::vector<int>> read_capabilities(const std::string& text, const char* option) {
    std::vector<int> found;
    for (const std::string& word : list_words({text})) {
        std::string name = text::lowered(word);
        if (name.starts_with("cap_")) {
            name.erase(0, 4);
        }
        const auto* const row = std::ranges::find(kCapabilityNames, name);
        if (name == "all") {
            for (int number = 0; number < static_cast<int>(std::size(kCapabilityNames)); ++number) {
                found.push_back(number);
            }
        } else if (row == std::end(kCapabilityNames)) {
            return fail(
                ErrorCode::kUsage,
                problem("capability-unknown", "'" + printable(word) + "' is not a capability"),
                "capabilities(7) lists their names",
                std::string("write ") + option + " CAP_NET_RAW,CAP_CHOWN");
        } else {
            found.push_back(static_cast<int>(row - std::begin(kCapabilityNames)));
        }
    }
    return found;
}

/// "chown" and "cap_chown" are CAP_CHOWN.
std::string capability_name(std::string word) {
    word = text::uppered(word);
    return word.starts_with("CAP_") ? word : "CAP_" + word;
}

struct CapabilityOption {
    const char* name;
    const char* verb;
};
constexpr CapabilityOption kAddCaps{"--add-caps", "add"};
constexpr CapabilityOption kDropCaps{"--drop-caps", "drop"};

/// By Apptainer's name, words that are not capabilities are left out with a warning.
std::string known_capabilities(const Request& request,
                               const std::string& text,
                               const CapabilityOption& option) {
    std::string known;
    for (const std::string& word : list_words({text})) {
        if (read_capabilities(word, "")) {
            known += (known.empty() ? "" : ",") + word;
        } else if (!request.global.is_quiet) {
            warn(request.global.follows_apptainer
                     ? std::string("won't ") + option.verb +
                           " unknown capability: " + printable(capability_name(word))
                     : std::string(option.name) + ": unknown capability '" + printable(word) +
                           "' is ignored");
        }
    }
    return known;
}

Result<std::vector<int>> added_capabilities(const Request& request) {
    const std::string& text = request.user.add_caps;
    return read_capabilities(
        request.global.follows_apptainer ? known_capabilities(request, text, kAddCaps) : text,
        kAddCaps.name);
}

Result<void> drop_capabilities(const Request& request, std::vector<int>& capabilities) {
    const std::string& text = request.user.drop_caps;
    CYBELE_TRY(const std::vector<int> dropped,
               read_capabilities(request.global.follows_apptainer
                                     ? known_capabilities(request, text, kDropCaps)
                                     : text,
                                 kDropCaps.name));
    std::erase_if(capabilities, [&](int number) { return contains(dropped, number); });
    return {};
}

/// Labels of letters, digits and, inside, hyphens, with dots between.
bool is_host_name(std::string_view text) {
    const auto is_plain = [](char c) { return is_alphanumeric(c); };
    while (true) {
        const std::size_t dot = std::min(text.find('.'), text.size());
        const std::string_view label = text.substr(0, dot);
        const bool has_ends = !label.empty() && is_plain(label.front()) && is_plain(label.back());
        if (!has_ends ||
            !std::ranges::all_of(label, [&](char c) { return is_plain(c) || c == '-'; })) {
            return false;
        }
        if (dot == text.size()) {
            return true;
        }
        text.remove_prefix(dot + 1);
    }
}

Result<void> raise_loopback() {
    const UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    ifreq request = {};
    std::memcpy(request.ifr_name, "lo", 3);   // NOLINT(cppcoreguidelines-pro-type-union-access)
    request.ifr_flags = IFF_UP | IFF_RUNNING; // NOLINT(cppcoreguidelines-pro-type-union-access)
    if (!socket.valid() || ioctl(socket.get(), SIOCSIFFLAGS, &request) != 0) {
        return fail(system_error("cannot start the loopback interface", errno));
    }
    return {};
}

Result<void> join_network(const std::string& path) {
    const UniqueFd space(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    const UniqueFd own(open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC));
    if (space.valid() && own.valid() && namespaces::is_same_file(space.get(), own.get())) {
        return {};
    }
    if (!space.valid() || setns(space.get(), CLONE_NEWNET) != 0) {
        return fail(
            system_error("cannot join the network namespace '" + printable(path) + "'", errno));
    }
    return {};
}

/// Interfaces other than loopback are made by programs of the Container Network Interface.
Result<void> check_network(const Request& request) {
    if (!request.isolation.net || request.isolation.network == "none" ||
        !request.isolation.netns_path.empty()) {
        return {};
    }
    return fail(
        ErrorCode::kEnvironment,
        problem("network-not-supported",
                "network '" +
                    (request.isolation.network.empty() ? "bridge"
                                                       : printable(request.isolation.network)) +
                    "' is not supported"),
        "a network with interfaces needs root and CNI plugins; 'none' has loopback only",
        "write `--net --network none`, or leave out --net to use the host's network");
}

} // namespace

std::vector<std::string> list_words(const std::vector<std::string>& lists) {
    std::vector<std::string> words;
    for (const std::string& list : lists) {
        for (std::string_view word : text::split_terminated(list, ',')) {
            word = text::trimmed(word, " ");
            if (!word.empty()) {
                words.emplace_back(word);
            }
        }
    }
    return words;
}

Result<void> check_isolation(const Request& request, bool is_root) {
    CYBELE_CHECK(check_network(request));
    if (!request.isolation.netns_path.empty() && !is_root) {
        return fail(ErrorCode::kEnvironment,
                    problem("network-namespace-root-only", "--netns-path is for root only")
                        .about(request.isolation.netns_path),
                    "a network namespace of the host belongs to root",
                    "leave it out, or write `--net --network none`");
    }
    const std::string& name = request.isolation.hostname;
    if (name.size() > 64 || name.find('\n') != std::string::npos ||
        (request.global.follows_apptainer && !name.empty() && !is_host_name(name))) {
        return fail(
            ErrorCode::kUsage,
            problem("hostname-malformed",
                    "'" + printable(request.isolation.hostname) + "' is not a valid host name")
                .about(request.isolation.hostname),
            "it has at most 64 characters: letters, digits, and hyphens and dots between them",
            "write --hostname NAME");
    }
    if (request.image.writable && request.image.writable_tmpfs &&
        !request.global.follows_apptainer) {
        return fail(ErrorCode::kUsage,
                    problem("writable-twice", "--writable and --writable-tmpfs exclude each other"),
                    "what the program writes goes to the image or to memory",
                    "leave one of them out");
    }
    if (request.image.writable && !request.image.overlays.empty()) {
        return fail(ErrorCode::kUsage,
                    problem("writable-with-overlay", "--writable and --overlay exclude each other"),
                    "what the program writes goes to the image or to an overlay",
                    "leave one of them out");
    }
    if (!request.global
             .follows_apptainer) { // as Apptainer, which warns of names that it does not know
        CYBELE_CHECK(read_capabilities(request.user.add_caps, "--add-caps"));
        CYBELE_CHECK(read_capabilities(request.user.drop_caps, "--drop-caps"));
    }
    if (!request.isolation.dns.empty()) {
        CYBELE_CHECK(resolv_conf_of(request.isolation.dns));
    }
    return {};
}

Result<void> isolate(const Request& request) {
    int spaces = 0;
    spaces |= request.isolation.containall || request.isolation.ipc ? CLONE_NEWIPC : 0;
    spaces |= request.isolation.uts || !request.isolation.hostname.empty() ? CLONE_NEWUTS : 0;
    const bool has_own_network = request.isolation.net && request.isolation.netns_path.empty();
    spaces |= has_own_network ? CLONE_NEWNET : 0;
    if (!request.isolation.netns_path.empty()) {
        CYBELE_CHECK(join_network(request.isolation.netns_path));
    }
    if (spaces != 0 && unshare(spaces) != 0) {
        return fail(system_error("cannot make the namespaces of the container", errno));
    }
    if (has_own_network) {
        CYBELE_CHECK(raise_loopback());
    }
    if (!request.isolation.hostname.empty() &&
        sethostname(request.isolation.hostname.data(), request.isolation.hostname.size()) != 0) {
        return fail(system_error("cannot set the host name of the container", errno));
    }
    return {};
}

Result<std::optional<std::vector<int>>> kept_capabilities(const Request& request) {
    if (!request.global.follows_apptainer && !request.user.no_privs &&
        request.user.drop_caps.empty()) {
        return std::optional<std::vector<int>>();
    }
    CYBELE_TRY(std::vector<int> kept, added_capabilities(request));
    if (!request.user.no_privs) {
        CYBELE_TRY(kept, read_capabilities("all", ""));
    }
    CYBELE_CHECK(drop_capabilities(request, kept));
    return std::optional(kept);
}

Result<std::vector<int>> given_capabilities(const Request& request) {
    if (!request.global.follows_apptainer) {
        return std::vector<int>();
    }
    CYBELE_TRY(std::vector<int> given, added_capabilities(request));
    CYBELE_CHECK(drop_capabilities(request, given));
    return given;
}

Result<std::string> resolv_conf_of(const std::string& servers) {
    std::string text;
    for (const std::string& server : list_words({servers})) {
        if (!is_ip_address(server)) {
            return fail(ErrorCode::kUsage,
                        problem("name-server-malformed",
                                "'" + printable(server) + "' is not an address of a name server")
                            .about(server),
                        "--dns accepts IPv4 and IPv6 addresses, separated by commas",
                        "write --dns 192.0.2.1,192.0.2.2");
        }
        text += "nameserver " + server + "\n";
    }
    return text;
}

Result<void> check_range_of_root(const Request& request) {
    constexpr unsigned long kNeeded = 65536;
    if (!request.global.follows_apptainer || !request.user.fakeroot || ::geteuid() != 0) {
        return {};
    }
    std::ifstream map("/proc/self/uid_map");
    unsigned long inside = 0;
    unsigned long outside = 0;
    if (!(map >> inside >> outside) || inside != 0 || outside != 0 ||
        namespaces::subordinate_range("/etc/subuid", 0, kNeeded)) {
        return {};
    }
    return fail(ErrorCode::kEnvironment,
                problem("fakeroot-without-range", "no mapping entry found in /etc/subuid for root"),
                "root is root already",
                "leave out --fakeroot");
}

void warn_of_unknown_user(const std::optional<uid_t>& uid) {
    if (!uid || ::geteuid() != 0 || namespaces::passwd_line(*uid)) {
        return;
    }
    for (int i = 0; i < 2; ++i) { // it looks for the user twice
        warn_as_apptainer("user: unknown userid " + std::to_string(*uid));
    }
}

namespace {

void warn_of_missing_source(const Error& error,
                            const std::vector<namespaces::Mount>& mounts,
                            const ImageFile& image) {
    constexpr std::string_view kUsual[] = {"/bin",
                                           "/etc",
                                           "/home",
                                           "/lib",
                                           "/media",
                                           "/mnt",
                                           "/opt",
                                           "/root",
                                           "/run",
                                           "/sbin",
                                           "/srv",
                                           "/tmp",
                                           "/usr",
                                           "/var"};
    const Fault& fault = error.faults().front();
    const bool is_folder = image.kind == ImageFile::Kind::kDirectory;
    const bool is_there = is_folder
                              ? namespaces::open_in_root(image.fd.get(), fault.subject).has_value()
                              : contains(kUsual, fault.subject);
    const auto missing = std::ranges::find_if(mounts, [&](const namespaces::Mount& mount) {
        return mount.kind == namespaces::Mount::Kind::kBind && mount.image_source.empty() &&
               !mount.is_optional && mount.source_fd < 0 && mount.target == fault.subject;
    });
    if (fault.id == "bind-source-missing" && missing != mounts.end() && !is_there) {
        const std::string source = printable(missing->source.native());
        warn_as_apptainer("skipping mount of " + source + ": stat " + source +
                          ": no such file or directory");
    }
}

} // namespace

Result<std::vector<UniqueFd>> open_sources_for(const ImageFile& file,
                                               std::vector<namespaces::Mount>& mounts) {
    auto opened = open_sources(mounts);
    if (!opened) {
        warn_of_missing_source(opened.error(), mounts, file);
    }
    return opened;
}

void warn_of_missing_place(const Error& error) {
    const Fault& fault = error.faults().front();
    if (fault.id == "container-path-missing") {
        warn_as_apptainer("By using --writable, Apptainer can't create " + fault.detail +
                          " destination automatically without overlay or underlay");
    }
}

} // namespace cybele::runtime
