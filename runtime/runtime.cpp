// SPDX-License-Identifier: Apache-2.0
#include "runtime/runtime.hpp"

#include "images/sif.hpp"
#include "namespaces/privileges.hpp"
#include "namespaces/resolve.hpp"
#include "namespaces/sandbox.hpp"
#include "namespaces/system_calls.hpp"
#include "runtime/action_script.hpp"
#include "runtime/host_files.hpp"
#include "runtime/image_file.hpp"
#include "runtime/locale.hpp"
#include "runtime/mount_image.hpp"
#include "runtime/plan.hpp"
#include "runtime/root_image.hpp"
#include "support/quote.hpp"

#include <cerrno>

#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cybele::runtime {
namespace {

using namespaces::Mount;
using namespaces::Sandbox;

/// All that is known before a namespace is entered.
struct Preparation {
    ImageFile image;
    Home home;
    std::filesystem::path directory; ///< the caller's
    std::vector<Mount> mounts;
    PayloadEnvironment layers;
    Caller caller;
    bool is_root = false;
};

Result<Preparation> prepare(const Request& request, const Environment& environment) {
    Preparation all;
    CYBELE_TRY(all.image, open_image(request.image, images::host_architecture()));
    CYBELE_TRY(all.home, home_of(request, environment));
    std::error_code failed;
    all.directory = std::filesystem::current_path(failed);
    CYBELE_TRY(all.mounts, plan_mounts(request, environment, all.home, all.directory));
    CYBELE_TRY(all.layers, make_environment(request, environment, all.home.target));
    all.caller = this_caller(all.home.target, environment.get_or("USER", ""));
    all.is_root = namespaces::is_privileged_root();
    return all;
}

/// Sources are opened in the new mount namespace and before the stage covers anything.
Result<std::vector<UniqueFd>> open_sources(std::vector<Mount>& mounts) {
    std::vector<UniqueFd> opened;
    std::vector<Mount> found;
    for (Mount& mount : mounts) {
        if (mount.kind == Mount::Kind::kBind) {
            UniqueFd fd(open(mount.source.c_str(), O_PATH | O_CLOEXEC));
            if (!fd.valid() && mount.is_optional) {
                continue;
            }
            if (!fd.valid()) {
                const int saved_errno = errno;
                return fail(ErrorCode::kInput,
                            "cannot bind '" + printable(mount.source.string()) + "'",
                            system_error("", saved_errno).faults().front().because,
                            "check the source of the bind");
            }
            mount.source_fd = fd.get();
            opened.push_back(std::move(fd));
        }
        found.push_back(mount);
    }
    mounts = std::move(found);
    return opened;
}

/// Text of a regular file in the image; nothing for anything else.
std::optional<std::string> read_in_image(int root, const char* path) {
    const auto fd = namespaces::open_in_root(root, path);
    struct stat status = {};
    if (!fd || fstat(fd->get(), &status) != 0 || !S_ISREG(status.st_mode)) {
        return std::nullopt;
    }
    const auto text = read_file(namespaces::descriptor_path(fd->get()));
    return text ? std::optional(*text) : std::nullopt;
}

/// resolv.conf, passwd and group: files of this container only, bound last.
Result<std::vector<UniqueFd>> add_own_files(std::vector<Mount>& mounts,
                                            const Stage& stage,
                                            int image,
                                            const Preparation& all,
                                            const std::optional<std::string>& resolv_conf) {
    std::vector<UniqueFd> opened;
    const auto add = [&](const char* name, const char* target, const std::string& text) {
        auto file = stage.make_file(name, text);
        if (!file) {
            return Result<void>(fail(std::move(file).error()));
        }
        Mount mount;
        mount.source_fd = file->get();
        mount.target = target;
        mount.is_optional = true;
        mount.options = "nosuid,nodev";
        mounts.push_back(std::move(mount));
        opened.push_back(std::move(*file));
        return Result<void>();
    };
    if (resolv_conf) {
        CYBELE_CHECK(add("resolv.conf", "/etc/resolv.conf", *resolv_conf));
    }
    if (const auto passwd = read_in_image(image, "/etc/passwd")) {
        CYBELE_CHECK(
            add("passwd", "/etc/passwd", merge_passwd(*passwd, all.caller, all.home.target)));
    }
    if (const auto group = read_in_image(image, "/etc/group")) {
        CYBELE_CHECK(add("group", "/etc/group", merge_group(*group, all.caller)));
    }
    return opened;
}

bool can_execute(const char* path) {
    return access(path, X_OK) == 0;
}

ImageTraits traits_of_this_root() {
    ImageTraits traits;
    traits.has_metadata = access("/.singularity.d", F_OK) == 0;
    traits.has_sh = can_execute("/bin/sh");
    traits.has_bash = can_execute("/bin/bash");
    traits.has_runscript = can_execute("/.singularity.d/runscript");
    traits.has_test = can_execute("/.singularity.d/test");
    return traits;
}

/// The links that programs expect in a /dev of our own.
void link_small_dev() {
    (void)!symlink("/proc/self/fd", "/dev/fd");
    (void)!symlink("/proc/self/fd/0", "/dev/stdin");
    (void)!symlink("/proc/self/fd/1", "/dev/stdout");
    (void)!symlink("/proc/self/fd/2", "/dev/stderr");
    (void)!symlink("pts/ptmx", "/dev/ptmx");
}

Sandbox make_sandbox(const Request& request, const Preparation& all, const PreparedRoot& root) {
    Sandbox sandbox;
    sandbox.root = all.image.path;
    sandbox.root_fd = root.fd.get();
    sandbox.is_root_read_only = !request.writable_tmpfs;
    sandbox.mounts = all.mounts;
    sandbox.new_pid_namespace = request.pid || request.containall;
    if (!request.directory.empty()) {
        sandbox.directory = request.directory;
    } else {
        sandbox.directory = all.directory.empty() ? "/" : all.directory;
        sandbox.other_directories = {all.home.target, "/"};
    }
    if (!all.is_root) {
        sandbox.drop_privileges = true;
        sandbox.final_ids = Sandbox::Ids{all.caller.uid, all.caller.gid};
    }
    sandbox.before_exec = [&request, layers = all.layers](Sandbox& inside) mutable -> Result<void> {
        if (request.contain || request.containall) {
            link_small_dev();
        }
        fall_back_to_known_locale(layers.host, "/");
        CYBELE_TRY(Program program, make_program(request, layers, traits_of_this_root()));
        inside.argv = std::move(program.argv);
        inside.environment = std::move(program.environment);
        return {};
    };
    return sandbox;
}

} // namespace

Result<int> start(const Request& request, const Environment& environment) {
    CYBELE_TRY(Preparation all, prepare(request, environment));
    const auto resolv_conf = read_file("/etc/resolv.conf");
    using namespaces::IdMap;
    CYBELE_CHECK(namespaces::enter_namespaces(all.is_root ? IdMap::kNone : IdMap::kOwnRoot));
    if (request.containall && unshare(CLONE_NEWIPC) != 0) {
        return fail(system_error("cannot make an ipc namespace", errno));
    }
    CYBELE_TRY(const std::vector<UniqueFd> sources, open_sources(all.mounts));
    MountRequest mount{all.is_root, request.writable_tmpfs, request.is_verbose, {}};
    for (const Mount& bind : all.mounts) {
        if (bind.kind == Mount::Kind::kBind) {
            mount.sources.push_back(bind.source);
        }
    }
    CYBELE_TRY(MountedImage image, mount_image(all.image, mount, environment));
    CYBELE_TRY(const std::vector<UniqueFd> files,
               add_own_files(all.mounts,
                             image.stage,
                             image.root.get(),
                             all,
                             resolv_conf ? std::optional(*resolv_conf) : std::nullopt));
    CYBELE_TRY(const PreparedRoot root,
               prepare_root(image.stage,
                            std::move(image.root),
                            needed_targets(all.mounts),
                            request.writable_tmpfs));
    tell_if(request.is_verbose,
            "the image is mounted by " + image.way + ", its mount points come by " + root.how);
    const auto failure = namespaces::exec_in_sandbox(make_sandbox(request, all, root));
    if (failure.code == 126 || failure.code == 127) {
        // As a shell: a message, and a code of its own that the caller passes on.
        const std::string line = "error: " + failure.error.message() + '\n';
        (void)!write(STDERR_FILENO, line.data(), line.size());
        return failure.code;
    }
    return fail(failure.error);
}

} // namespace cybele::runtime
