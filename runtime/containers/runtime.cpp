// SPDX-License-Identifier: Apache-2.0
#include "runtime/containers/runtime.hpp"

#include "images/sif/sif.hpp"
#include "runtime/containers/action_script.hpp"
#include "runtime/containers/bind_sources.hpp"
#include "runtime/containers/fuse_request.hpp"
#include "runtime/containers/gpu.hpp"
#include "runtime/containers/holder.hpp"
#include "runtime/containers/image_binds.hpp"
#include "runtime/containers/image_file.hpp"
#include "runtime/containers/isolation.hpp"
#include "runtime/containers/join_key.hpp"
#include "runtime/containers/limit_group.hpp"
#include "runtime/containers/locale.hpp"
#include "runtime/containers/mount_image.hpp"
#include "runtime/containers/overlay.hpp"
#include "runtime/containers/own_files.hpp"
#include "runtime/containers/plan.hpp"
#include "runtime/containers/rank.hpp"
#include "runtime/containers/rendezvous.hpp"
#include "runtime/containers/root_image.hpp"
#include "runtime/containers/security.hpp"
#include "runtime/namespaces/instance_process.hpp"
#include "runtime/namespaces/join.hpp"
#include "runtime/namespaces/privileges.hpp"
#include "runtime/namespaces/program.hpp"
#include "runtime/namespaces/resolve.hpp"
#include "runtime/namespaces/sandbox.hpp"
#include "runtime/namespaces/small_devices.hpp"
#include "runtime/namespaces/system_calls.hpp"
#include "support/find.hpp"
#include "support/quote.hpp"

#include <array>
#include <cctype>
#include <cerrno>
#include <functional>
#include <system_error>

#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cybele::runtime {
namespace {

using namespaces::Mount;
using namespaces::Sandbox;

constexpr mode_t kUsualMask = 0022;

/// All that is known before a namespace is entered.
struct Preparation {
    Home home;
    std::filesystem::path directory; ///< the caller's
    std::vector<Mount> mounts;
    PayloadEnvironment layers; ///< last, while others are asked
    bool is_root = false;
    std::optional<std::vector<int>> kept_capabilities;
    std::vector<int> given_capabilities; ///< of a user
    Security security;
    std::vector<FuseRequest> fuse;
};

Result<Preparation> prepare(const Request& request, const Environment& environment) {
    Preparation all;
    CYBELE_TRY(all.home, home_of(request, environment));
    all.directory = caller_directory(environment, request.global.follows_apptainer);
    CYBELE_TRY(MountPlan plan, plan_mounts(request, environment, all.home, all.directory));
    for (std::size_t i = 0; i < plan.warnings.size() && !request.global.is_quiet; ++i) {
        warn(plan.warnings[i]);
    }
    tell_old_names(request, environment);
    all.mounts = std::move(plan.mounts);
    all.is_root = namespaces::is_privileged_root() && !request.isolation.userns;
    CYBELE_CHECK(check_isolation(request, all.is_root));
    if (all.is_root || request.user.fakeroot) {
        CYBELE_TRY(all.kept_capabilities, kept_capabilities(request));
    } else {
        CYBELE_TRY(all.given_capabilities, given_capabilities(request));
    }
    CYBELE_TRY(all.security,
               read_security(request.user.security, request.global.follows_apptainer));
    warn_of_unknown_user(all.security.uid);
    CYBELE_TRY(all.fuse, read_fuse_requests(request.devices.fuse_mounts));
    return all;
}

/// "no such file or directory", as Apptainer writes it.
std::string go_error_text(int number) {
    std::string text = std::generic_category().message(number);
    text.front() = static_cast<char>(std::tolower(static_cast<unsigned char>(text.front())));
    return text;
}

bool can_execute(const std::string& path) {
    return access(path.c_str(), X_OK) == 0;
}

/// Of them only what the action needs: each is a question to the image's server.
ImageTraits traits_of_this_root(Action action, const std::string& app) {
    ImageTraits traits;
    traits.has_metadata = access("/.singularity.d", F_OK) == 0;
    traits.has_environment = !traits.has_metadata && access("/environment", F_OK) == 0;
    traits.has_sh = can_execute("/bin/sh");
    traits.has_bash = action == Action::kShell && can_execute("/bin/bash");
    traits.has_runscript = action == Action::kRun && can_execute("/.singularity.d/runscript");
    traits.has_test = action == Action::kTest && can_execute("/.singularity.d/test");
    traits.has_test_action =
        action == Action::kTest && access("/.singularity.d/actions/test", F_OK) == 0;
    traits.has_nothing_to_start = action == Action::kStart && app.empty() &&
                                  !can_execute("/.singularity.d/startscript") &&
                                  access("/.singularity.d/actions/start", F_OK) == 0;
    traits.has_app = !app.empty() && access(app_folder(app).c_str(), F_OK) == 0;
    traits.has_app_runscript = traits.has_app && can_execute(app_folder(app) + "/scif/runscript");
    traits.has_app_test =
        traits.has_app && action == Action::kTest && can_execute(app_folder(app) + "/scif/test");
    return traits;
}

/// As Apptainer: PWD is where the program starts, whatever the caller's was. A directory that
/// is not the one meant is told.
void set_pwd(Sandbox& inside, bool is_quiet) {
    bool is_there = chdir(inside.directory.c_str()) == 0;
    const std::string why = is_there ? "" : go_error_text(errno);
    for (const auto& other : inside.other_directories) {
        if (!is_there && chdir(other.c_str()) == 0) {
            is_there = true;
            if (!is_quiet) {
                warn("Error changing the container working directory. Using '" + other.native() +
                     "' instead: chdir " + inside.directory.native() + ": " + why);
            }
        }
    }
    std::array<char, 4096> where = {};
    if (is_there && getcwd(where.data(), where.size()) != nullptr && where.front() == '/') {
        inside.environment["PWD"] = where.data();
    }
}

void set_capabilities(Sandbox& sandbox, const Request& request, const Preparation& all) {
    sandbox.kept_capabilities = all.kept_capabilities;
    sandbox.passes_capabilities = request.global.follows_apptainer;
    sandbox.given_capabilities = all.given_capabilities;
    const bool is_wanted = request.user.no_privs || (request.user.fakeroot && !all.is_root);
    sandbox.forbids_new_privileges = request.global.follows_apptainer && is_wanted;
}

/// What every program of the container has, the first as the members that join. It refers to both.
Sandbox make_sandbox(const Request& request, Preparation& all) {
    Sandbox sandbox;
    sandbox.names_by_path = request.global.follows_apptainer;
    sandbox.new_pid_namespace = request.isolation.pid || request.isolation.containall;
    sandbox.is_first_process = request.isolation.no_init;
    sandbox.first_process = request.global.follows_apptainer ? "appinit" : "";
    if (request.instance.when_started) {
        sandbox.new_pid_namespace = true;
        sandbox.is_first_process = true;
        sandbox.before_program = [name = sandbox.first_process] {
            return namespaces::stay_as_first_process(name);
        };
        sandbox.when_started = request.instance.when_started;
    }
    if (!all.security.is_empty()) {
        sandbox.before_program = [&all, next = std::move(sandbox.before_program)] {
            const auto secured = apply_security(all.security, all.is_root);
            return secured && next ? next() : secured;
        };
    }
    set_capabilities(sandbox, request, all);
    if (request.user.no_umask) {
        sandbox.umask = kUsualMask;
    }
    const auto places = start_directories(request, all.home.target, all.directory);
    sandbox.directory = places.front();
    sandbox.other_directories.assign(places.begin() + 1, places.end());
    sandbox.drop_privileges = request.user.fakeroot ? request.user.no_privs : !all.is_root;
    sandbox.before_exec = [&request, &all](Sandbox& inside) -> Result<void> {
        if (request.program.action == Action::kExec && !request.program.arguments.empty()) {
            namespaces::read_ahead(request.program.arguments.front());
        }
        if (!request.global.follows_apptainer) {
            fall_back_to_known_locale(all.layers.host, "/");
        }
        const ImageTraits traits = traits_of_this_root(request.program.action, request.program.app);
        if (request.global.follows_apptainer && request.program.action == Action::kShell &&
            request.program.shell.empty()) { // the one that is started
            all.layers.injected["SHELL"] = traits.has_bash ? "/bin/bash" : "/bin/sh";
        }
        CYBELE_TRY(Program program, make_program(request, all.layers, traits));
        if (program.by_shell) {
            inside.otherwise = [by_shell = std::move(program.by_shell)](Sandbox& again) {
                Program other = by_shell();
                again.argv = std::move(other.argv);
                again.environment = std::move(other.environment);
            };
        }
        inside.argv = std::move(program.argv);
        inside.environment = std::move(program.environment);
        if (request.global.follows_apptainer && !all.layers.injected.contains("PWD")) {
            set_pwd(inside, request.global.is_quiet);
        }
        return {};
    };
    return sandbox;
}

/// The holder, where other ranks may join; without one they make containers of their own.
Result<void>
keep_for_others(int proc, const FirstMember& first_member, bool is_root, bool is_verbose) {
    Watched launcher = Watched::process(getppid());
    CYBELE_TRY(const auto own, namespaces::own_namespaces(proc, !is_root));
    const auto started = start_holder(first_member, own, std::move(launcher));
    tell_if(is_verbose,
            started ? "other ranks of this launch may join this container"
                    : started.error().message());
    return {};
}

/// The host's GPU drivers; asked by the first start only, not by those that join.
void add_gpus(std::vector<Mount>& mounts, const Request& request, const Environment& environment) {
    const auto add = [&](bool is_wanted, GpuMaker maker, const char* option) {
        if (!is_wanted) {
            return;
        }
        const auto found = gpu_mounts(
            maker, request.isolation.contain || request.isolation.containall, environment);
        tell_if((found.empty() && !request.global.follows_apptainer) || request.global.is_verbose,
                request.global.follows_apptainer && found.empty()
                    ? std::string("Could not find any ") + (option + 2) + " files on this host!"
                    : std::string(option) +
                          (found.empty()
                               ? " finds no such driver on this host: no GPU in the container"
                               : " brings in " + std::to_string(found.size()) + " files"));
        mounts.insert(mounts.end(), found.begin(), found.end());
    };
    add(request.devices.nv, GpuMaker::kNvidia, "--nv");
    add(request.devices.rocm, GpuMaker::kAmd, "--rocm");
}

/// What no stage may cover.
std::vector<int> sources_of(const std::vector<Mount>& mounts,
                            const std::vector<Overlay>& overlays) {
    std::vector<int> sources;
    for (const Mount& bind : mounts) {
        if (bind.kind == Mount::Kind::kBind && bind.image_source.empty()) {
            sources.push_back(bind.source_fd);
        }
    }
    for (const Overlay& overlay : overlays) {
        sources.push_back(overlay.file.fd.get());
    }
    return sources;
}

/// The map of ids, by which the caller is itself at the end, or root by --fakeroot.
namespaces::IdMap map_of(const Request& request, bool is_root) {
    using namespaces::IdMap;
    if (is_root) {
        return IdMap::kNone;
    }
    const bool has_range = request.user.fakeroot && !request.user.ignore_subuid &&
                           namespaces::probe_abilities().subordinate_ids;
    return has_range ? IdMap::kSubordinate : IdMap::kOwnRoot;
}

/// What the container's first program has in addition.
Sandbox make_first_sandbox(const Request& request, Preparation& all, const Caller& caller) {
    Sandbox sandbox = make_sandbox(request, all);
    sandbox.mounts = all.mounts;
    if (!all.is_root && !request.user.fakeroot) {
        sandbox.final_ids =
            Sandbox::Ids{all.security.uid.value_or(caller.uid),
                         all.security.gids.empty() ? caller.gid : all.security.gids.front()};
    }
    if (!all.fuse.empty()) {
        sandbox.before_exec = [&all, next = std::move(sandbox.before_exec)](Sandbox& inside) {
            const auto served = serve_inside(all.fuse);
            return served ? next(inside) : served;
        };
    }
    const bool has_small_devices =
        request.isolation.contain || request.isolation.containall || request.site.has_small_devices;
    const auto& left_out = request.files.no_mount;
    if (has_small_devices && !contains(left_out, "dev")) {
        sandbox.before_exec = [next = sandbox.before_exec](Sandbox& inside) {
            namespaces::link_small_devices();
            return next(inside);
        };
    }
    return sandbox;
}

void tell_unpacking(const Request& request, const ImageFile& file) {
    if (request.image.unsquash && request.global.prints_info &&
        file.kind != ImageFile::Kind::kDirectory) {
        constexpr std::string_view kLine = "INFO:    Converting SIF file to temporary sandbox...\n";
        (void)!write(STDERR_FILENO, kLine.data(), kLine.size());
    }
}

/// With what Apptainer says of a mount point that a writable image lacks.
namespaces::ExecFailure exec_with_warning(const Sandbox& sandbox, bool is_image_writable) {
    auto ended = namespaces::exec_in_sandbox(sandbox);
    if (is_image_writable) {
        warn_of_missing_place(ended.error);
    }
    return ended;
}

/// Makes the container in this process.
Result<namespaces::ExecFailure> make_container(const Request& request,
                                               const Environment& environment,
                                               Preparation& all,
                                               const std::optional<FirstMember>& first_member) {
    const ImageDemand* const demand = request.image.demand ? &*request.image.demand : nullptr;
    CYBELE_TRY(const ImageFile file,
               open_image(request.image.file, images::host_architecture(), demand));
    CYBELE_CHECK(check_range_of_root(request));
    add_gpus(all.mounts, request, environment);
    const HostView host = view_of(request, all.home.target, environment);
    tell_unpacking(request, file);
    auto server = request.image.unsquash ? std::nullopt : start_early(file, all.is_root);
    CYBELE_CHECK(namespaces::enter_namespaces(map_of(request, all.is_root)));
    CYBELE_CHECK(isolate(request));
    CYBELE_TRY(const std::vector<UniqueFd> sources, open_sources_for(file, all.mounts));
    CYBELE_TRY(ImageBinds image_binds, ImageBinds::open(all.mounts));
    // Like them: a folder of another mount namespace cannot be bound.
    CYBELE_TRY(std::vector<Overlay> overlays,
               open_overlays(request.image.overlays, request.image.writable_tmpfs, demand));
    CYBELE_CHECK(add_own_overlay(overlays, file, request.image.writable));
    const bool is_image_writable = request.image.writable && !file.extended;
    const Overlay* const kept = writable_overlay(overlays);
    const bool is_writable =
        (request.image.writable_tmpfs && !request.image.writable) || kept != nullptr;
    const MountRequest mount{all.is_root,
                             is_writable,
                             request.global.is_verbose,
                             is_image_writable,
                             request.image.unsquash,
                             sources_of(all.mounts, overlays),
                             server ? &*server : nullptr,
                             request.global.is_quiet,
                             request.global.follows_apptainer ? request.site.memory_size : ""};
    CYBELE_TRY(MountedImage image, mount_image(file, mount, environment));
    CYBELE_CHECK(mount_overlays(image.stage, overlays, all.is_root || request.user.fakeroot));
    CYBELE_CHECK(image_binds.mount(image.stage, image.way, all.mounts));
    CYBELE_TRY(image.root, lay_over(image.stage, std::move(image.root), file, overlays, image.way));
    CYBELE_CHECK(check_all_unchanged(file, overlays));
    CYBELE_TRY(const std::vector<UniqueFd> served, mount_fuse(all.fuse, image.stage, all.mounts));
    CYBELE_TRY(const std::vector<UniqueFd> files,
               add_own_files(all.mounts, image.stage, image.root.get(), all.home.target, host));
    RootNeeds needs{
        {}, is_writable, kept == nullptr ? -1 : kept->folder(), !request.image.underlay};
    if (!is_image_writable) { // what it lacks would be added to it
        needs.targets = needed_targets(all.mounts);
    }
    CYBELE_TRY(const PreparedRoot root, prepare_root(image.stage, std::move(image.root), needs));
    tell_if(request.global.is_verbose,
            "the image is mounted by " + image.way + ", its mount points come by " + root.how);
    Sandbox sandbox = make_first_sandbox(request, all, host.caller);
    sandbox.root = file.path;
    sandbox.root_fd = root.fd.get();
    sandbox.is_root_read_only = !is_writable && !is_image_writable;
    if (first_member) {
        sandbox.when_entered = [&](int proc) {
            return keep_for_others(proc, *first_member, all.is_root, request.global.is_verbose);
        };
    }
    return exec_with_warning(sandbox, is_image_writable);
}

/// Joins, or is the first of those that share a container, or neither. `meanwhile`: see meet().
Result<Rendezvous> find_container(const Request& request,
                                  const Environment& environment,
                                  const Preparation& all,
                                  const std::function<void()>& meanwhile) {
    const Rank rank = read_rank(environment);
    const bool is_own = request.instance.when_started || request.isolation.pid ||
                        request.isolation.containall || request.isolation.net ||
                        request.isolation.uts || request.image.writable || request.user.fakeroot ||
                        !request.isolation.hostname.empty() ||
                        !request.isolation.netns_path.empty() || !request.user.security.empty() ||
                        !request.devices.fuse_mounts.empty();
    if (request.join == Join::kAlways && is_own) {
        return fail(ErrorCode::kUsage,
                    problem("join-own-processes",
                            "a container with process ids of its own cannot be joined"),
                    "--pid and --containall make a new set of processes for each start",
                    "leave out --join always");
    }
    const bool is_wanted = request.join == Join::kAlways ||
                           (request.join == Join::kAuto && rank.is_rank && !rank.is_alone);
    Rendezvous rendezvous;
    if (is_wanted && !is_own) {
        const ContainerPlan plan{
            all.mounts, all.home.target, environment.get_or("USER", ""), rank.launch};
        auto key = join_key(request, plan);
        if (!key) {
            return rendezvous; // open_image() tells it better
        }
        rendezvous = meet(environment, meeting_key(std::move(*key)), meanwhile);
    }
    return rendezvous;
}

} // namespace

namespace {

/// As a shell: a message, and a code of its own that the caller passes on.
Result<int> end_with(const Request& request, const namespaces::ExecFailure& ended) {
    if (request.global.follows_apptainer &&
        ended.error.faults().front().id == "image-without-shell") {
        const std::string line = "ERROR:   " + ended.error.message() + '\n';
        (void)!write(STDERR_FILENO, line.data(), line.size());
        return 1; // as Apptainer
    }
    const bool is_of_program = ended.code == 126 || ended.code == 127;
    if (!is_of_program || request.global.follows_apptainer) {
        return fail(ended.error);
    }
    const std::string line = "error: " + ended.error.message() + '\n';
    (void)!write(STDERR_FILENO, line.data(), line.size());
    return ended.code;
}

} // namespace

Result<int> start_in(pid_t first, const Request& request, const Environment& environment) {
    configure_messages(request.global);
    if (!request.limits.is_empty()) {
        return fail(ErrorCode::kUsage,
                    problem("instance-limits", "a running instance is given no limits"),
                    "its programs share those that it was started with",
                    "give the option to `instance start`");
    }
    CYBELE_CHECK(join_limits_of(first, find_limit_place()));
    CYBELE_TRY(Preparation all, prepare(request, environment));
    CYBELE_TRY(all.layers, make_environment(request, environment, all.home.target));
    return end_with(request, namespaces::exec_in_instance(make_sandbox(request, all), first));
}

namespace {

Result<int> start_here(const Request& request, const Environment& environment) {
    CYBELE_TRY(Preparation all, prepare(request, environment));
    Result<PayloadEnvironment> layers;
    bool has_layers = false;
    const auto prepare_layers = [&] {
        if (!has_layers) {
            layers = make_environment(request, environment, all.home.target);
            has_layers = true;
        }
    };
    CYBELE_TRY(const Rendezvous rendezvous,
               find_container(request, environment, all, prepare_layers));
    prepare_layers();
    CYBELE_TRY(all.layers, std::move(layers));
    if (!rendezvous.because.empty()) {
        tell_if(request.global.is_verbose || rendezvous.is_prevented,
                "in a container of its own, since " + rendezvous.because);
    }
    Result<namespaces::ExecFailure> failure =
        namespaces::ExecFailure{Error(ErrorCode::kInternal, problem("program-not-started", "")), 0};
    if (rendezvous.container) {
        tell_if(request.global.is_verbose, "joined the container of this launch");
        failure = namespaces::exec_in_container(make_sandbox(request, all), *rendezvous.container);
    } else {
        if (!rendezvous.first_member && !all.is_root && read_rank(environment).is_rank) {
            forbid_single_copy(all.layers.host);
        }
        failure = make_container(request, environment, all, rendezvous.first_member);
    }
    CYBELE_TRY(const namespaces::ExecFailure ended, std::move(failure));
    return end_with(request, ended);
}

} // namespace

Result<int> start(const Request& request, const Environment& environment) {
    configure_messages(request.global);
    CYBELE_TRY(const std::vector<LimitSetting> limits, limit_settings(request.limits));
    if (limits.empty()) {
        return start_here(request, environment);
    }
    if (request.join == Join::kAlways) {
        return fail(ErrorCode::kUsage,
                    problem("join-limits", "a container with limits of its own cannot be joined"),
                    "each start has its own cgroup",
                    "leave out --join always");
    }
    Request own = request;
    own.join = Join::kNever;
    return run_limited(limits, [&] { return start_here(own, environment); });
}

} // namespace cybele::runtime
