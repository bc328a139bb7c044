// SPDX-License-Identifier: Apache-2.0
#include "runtime/containers/fuse_request.hpp"

#include "runtime/namespaces/children.hpp"
#include "runtime/namespaces/fuse_program.hpp"
#include "support/file_size_signal.hpp"
#include "support/process.hpp"
#include "support/quote.hpp"
#include "support/text.hpp"

#include <array>
#include <cerrno>
#include <string_view>

#include <fcntl.h>
#include <sys/mount.h>
#include <unistd.h>

namespace cybele::runtime {
namespace {

namespace fs = std::filesystem;

constexpr const char* kUsualPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
constexpr int kDeviceInside = 3; // as the programs know it from Apptainer

Error wrong_fuse_request(const std::string& text, std::string because, std::string detail = {}) {
    return Error(ErrorCode::kUsage,
                 problem("fusemount-malformed",
                         "--fusemount: '" + printable(text) + "' is not valid",
                         std::move(detail))
                     .about(text),
                 std::move(because),
                 "write --fusemount 'host:PROGRAM ARGUMENTS /TARGET'");
}

Result<FuseRequest> read_fuse_request(const std::string& text) {
    struct Row {
        std::string_view word;
        bool is_inside;
        bool is_daemon;
    };
    constexpr Row kRows[] = {{"host", false, false},
                             {"host-daemon", false, true},
                             {"container", true, false},
                             {"container-daemon", true, true}};
    std::vector<std::string> words;
    for (const std::string_view word : text::split_terminated(text, ' ')) {
        if (!word.empty()) {
            words.emplace_back(word);
        }
    }
    const std::size_t colon = words.empty() ? std::string::npos : words.front().find(':');
    if (words.size() < 2 || colon == std::string::npos || colon + 1 == words.front().size()) {
        return fail(
            wrong_fuse_request(text, "it is TYPE:PROGRAM, its arguments and a target", "words"));
    }
    const std::string type = words.front().substr(0, colon);
    FuseRequest request;
    request.target = words.back();
    words.pop_back();
    words.front().erase(0, colon + 1);
    request.argv = std::move(words);
    for (const Row& row : kRows) {
        if (row.word == type) {
            request.is_inside = row.is_inside;
            request.is_daemon = row.is_daemon;
            if (!request.target.is_absolute()) {
                return fail(wrong_fuse_request(text, "the target is not an absolute path"));
            }
            return request;
        }
    }
    return fail(
        wrong_fuse_request(text, "the type is host, host-daemon, container or container-daemon"));
}

/// The host's, by the usual PATH.
Result<std::string> find_host_program(const std::string& name) {
    std::vector<std::string> candidates{name};
    if (name.find('/') == std::string::npos) {
        candidates.clear();
        for (const std::string_view folder : text::split_terminated(kUsualPath, ':')) {
            candidates.push_back((fs::path(folder) / name).native());
        }
    }
    for (const std::string& path : candidates) {
        if (::access(path.c_str(), X_OK) == 0) {
            return fs::absolute(path).native();
        }
    }
    return fail(ErrorCode::kEnvironment,
                problem("fuse-program-missing",
                        "the program '" + printable(name) + "' of --fusemount is not here",
                        "fusemount")
                    .about(name),
                "it is looked for on this host, in " + std::string(kUsualPath),
                "install it, or write container:" + printable(name) + " if the image has it");
}

namespaces::Mount fuse_target(const fs::path& target) {
    namespaces::Mount mount;
    mount.target = target;
    mount.is_named = true;
    return mount;
}

/// The child: the device is its descriptor 3; an error goes to `report`.
[[noreturn]] void become_server(const FuseRequest& request, int report) {
    std::vector<std::string> words = request.argv;
    words.push_back("/dev/fd/" + std::to_string(kDeviceInside));
    if (!request.is_daemon) {
        words.emplace_back("-f");
    }
    std::vector<char*> argv;
    argv.reserve(words.size() + 1);
    for (std::string& word : words) {
        argv.push_back(word.data());
    }
    argv.push_back(nullptr);
    const int kept = ::fcntl(report, F_DUPFD_CLOEXEC, kDeviceInside + 1);
    const int device = ::fcntl(request.device.get(), F_DUPFD_CLOEXEC, kDeviceInside + 1);
    (void)::dup2(device, kDeviceInside);
    std::string path = std::string("PATH=") + kUsualPath;
    std::array<char*, 2> variables = {path.data(), nullptr};
    restore_file_size_signal();
    (void)::execvpe(argv.front(), argv.data(), variables.data());
    const int saved_errno = errno;
    (void)!::write(kept, &saved_errno, sizeof saved_errno);
    ::_exit(127);
}

Result<void> serve(const FuseRequest& request) {
    const std::string options = "fd=" + std::to_string(request.device.get()) +
                                ",rootmode=40000,user_id=" + std::to_string(::geteuid()) +
                                ",group_id=" + std::to_string(::getegid()) + ",allow_other";
    if (::mount("fuse", request.target.c_str(), "fuse", MS_NOSUID | MS_NODEV, options.c_str()) !=
        0) {
        return fail(system_error(
            "cannot mount by FUSE on '" + printable(request.target.native()) + "'", errno));
    }
    CYBELE_TRY(namespaces::Pipe report, namespaces::make_pipe());
    const pid_t server = ::fork();
    if (server == 0) {
        become_server(request, report.write.get());
    }
    report.write.reset();
    int error = 0;
    const bool has_failed =
        server < 0 || ::read(report.read.get(), &error, sizeof error) == sizeof error;
    const bool is_ready = !has_failed && (!request.is_daemon || wait_for(server) == 0);
    if (is_ready) {
        return {};
    }
    const Fault cause = system_error("", error).faults().front();
    return fail(ErrorCode::kEnvironment,
                problem("fuse-server-failed",
                        "the program '" + printable(request.argv.front()) +
                            "' of --fusemount did not start",
                        cause.id)
                    .about(request.argv.front()),
                has_failed ? cause.because : "it ended with an error",
                "try it by hand in the container");
}

} // namespace

Result<std::vector<FuseRequest>> read_fuse_requests(const std::vector<std::string>& words) {
    std::vector<FuseRequest> requests;
    for (const std::string& word : words) {
        CYBELE_TRY(FuseRequest request, read_fuse_request(word));
        if (!request.is_inside) {
            CYBELE_TRY(request.argv.front(), find_host_program(request.argv.front()));
        }
        requests.push_back(std::move(request));
    }
    return requests;
}

Result<std::vector<UniqueFd>> mount_fuse(std::vector<FuseRequest>& requests,
                                         const Stage& stage,
                                         std::vector<namespaces::Mount>& mounts) {
    std::vector<UniqueFd> opened;
    for (std::size_t i = 0; i < requests.size(); ++i) {
        FuseRequest& request = requests[i];
        namespaces::Mount mount = fuse_target(request.target);
        if (request.is_inside) {
            // Opened now: the image need not have the device.
            request.device.reset(::open("/dev/fuse", O_RDWR | O_CLOEXEC));
            if (!request.device.valid()) {
                return fail(system_error("cannot open /dev/fuse", errno));
            }
            mount.kind = namespaces::Mount::Kind::kTmpfs;
            mounts.push_back(std::move(mount));
            continue;
        }
        const std::string name = "fuse-" + std::to_string(i);
        CYBELE_CHECK(stage.make_directory(name.c_str()));
        namespaces::FuseProgram program{request.argv, {}};
        if (!request.is_daemon) {
            program.argv.emplace_back("-f");
        }
        CYBELE_TRY(UniqueFd root, namespaces::mount_by_program(program, stage.fd(), name.c_str()));
        mount.source_fd = root.get();
        mounts.push_back(std::move(mount));
        opened.push_back(std::move(root));
    }
    return opened;
}

Result<void> serve_inside(const std::vector<FuseRequest>& requests) {
    for (const FuseRequest& request : requests) {
        if (request.is_inside) {
            CYBELE_CHECK(serve(request));
        }
    }
    return {};
}

} // namespace cybele::runtime
