// SPDX-License-Identifier: Apache-2.0
#include "runtime/containers/plan.hpp"

#include "runtime/containers/bind_option.hpp"
#include "runtime/containers/isolation.hpp"
#include "runtime/containers/own_folders.hpp"
#include "runtime/containers/site_settings.hpp"
#include "runtime/namespaces/resolve.hpp"
#include "runtime/namespaces/small_devices.hpp"
#include "support/file.hpp"
#include "support/find.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cybele::runtime {
namespace {

using namespaces::Mount;

/// Working directories that belong to the operating system: the image's are meant.
constexpr std::array<std::string_view, 10> kSystemFolders = {
    "/", "/etc", "/bin", "/mnt", "/usr", "/var", "/opt", "/sbin", "/lib", "/lib64"};
constexpr std::array<std::string_view, 3> kSystemTrees = {"/sys", "/proc", "/dev"};
constexpr std::array<std::string_view, 2> kUsualFiles = {"/etc/localtime", "/etc/hosts"};
constexpr std::size_t kUsualMounts = 16; // no limit
const std::filesystem::path kLibraries = "/.singularity.d/libs";

bool is_usual_file(std::string_view path) {
    return contains(kUsualFiles, path);
}

/// What every container shows of the host: the paths of apptainer.conf, else the usual files. With
/// --contain only these.
std::vector<std::pair<std::filesystem::path, std::filesystem::path>>
host_files(const Request& request, bool is_contained) {
    std::vector<std::pair<std::filesystem::path, std::filesystem::path>> files;
    const std::vector<std::string> usual(kUsualFiles.begin(), kUsualFiles.end());
    for (const std::string& word : request.site.bind_paths ? *request.site.bind_paths : usual) {
        const std::size_t colon = word.find(':');
        const std::string source = word.substr(0, colon);
        if (!is_contained || is_usual_file(source)) {
            files.emplace_back(source,
                               colon == std::string::npos ? source : word.substr(colon + 1));
        }
    }
    return files;
}

void add_system(std::vector<Mount>& mounts, const Request& request) {
    const bool is_contained = request.isolation.contain || request.isolation.containall;
    if (is_contained || request.site.has_small_devices) {
        namespaces::add_small_devices(mounts, namespaces::Terminal::kShared);
        if (request.global.follows_apptainer) { // Apptainer lacks it
            std::erase_if(mounts, [](const Mount& one) { return one.target == "/dev/full"; });
        }
        if (is_contained && (request.isolation.ipc || request.isolation.containall)) {
            mounts.push_back(fresh(Mount::Kind::kMqueue, "/dev/mqueue", ""));
            mounts.back().is_optional = true; // a kernel without such queues
        }
    } else {
        mounts.push_back(bind("/dev", "/dev"));
    }
    for (const auto& [source, target] : host_files(request, is_contained)) {
        mounts.push_back(bind(source, target));
        mounts.back().is_host_file = true;
        mounts.back().is_optional = is_usual_file(source.native());
    }
    if (request.isolation.pid || request.isolation.containall || request.instance.when_started) {
        mounts.push_back(fresh(Mount::Kind::kProc, "/proc", ""));
    } else {
        mounts.push_back(bind("/proc", "/proc"));
    }
    mounts.push_back(bind("/sys", "/sys"));
}

/// `path`: as the kernel tells it.
bool is_system_folder(std::string_view path) {
    return contains(kSystemFolders, path) ||
           std::ranges::any_of(kSystemTrees, [&](std::string_view tree) {
               return path.starts_with(tree) &&
                      (path.size() == tree.size() || path[tree.size()] == '/');
           });
}

/// --no-mount: by the names of apptainer.conf, or by the target of one of its bind paths.
void leave_out(std::vector<Mount>& mounts,
               const std::vector<std::string>& words,
               const std::filesystem::path& home) {
    const auto has = [&](std::string_view word) { return contains(words, word); };
    std::erase_if(mounts, [&](const Mount& mount) {
        const std::string target = mount.target.lexically_normal().native();
        const bool is_temporary = target == "/tmp" || target == "/var/tmp";
        const bool is_dev = target == "/dev" || target.starts_with("/dev/");
        return (has("proc") && target == "/proc") || (has("sys") && target == "/sys") ||
               (has("dev") && is_dev) || (has("devpts") && target == "/dev/pts") ||
               (has("tmp") && is_temporary) || (has("cwd") && mount.skip_if_same) ||
               (has("home") && mount.target == home && !mount.skip_if_same) ||
               (mount.is_host_file && (has("bind-paths") || has(target)));
    });
}

/// The image of --writable gets no mount points: where it lacks that of the home, a directory of
/// memory hides the one at the root in which that would be made.
void add_writable_place(std::vector<Mount>& mounts, const Request& request, const Home& home) {
    std::error_code ignored;
    const std::filesystem::path below_root = home.target.lexically_normal().relative_path();
    const std::filesystem::path top = "/" / *below_root.begin();
    if (!request.image.writable || top == home.target || top == "/tmp" || top == "/var" ||
        !std::filesystem::is_directory(request.image.file, ignored) ||
        std::filesystem::exists(request.image.file / below_root, ignored)) {
        return;
    }
    mounts.push_back(fresh(Mount::Kind::kTmpfs, top, memory_options(request, "0755")));
    mounts.back().is_optional = true;
}

/// The home directory comes after /tmp, below which it may lie.
Result<void> add_user_folders(std::vector<Mount>& mounts,
                              const Request& request,
                              const Home& home,
                              const std::filesystem::path& directory) {
    const bool is_contained = request.isolation.contain || request.isolation.containall;
    const bool has_home = !request.files.no_home && home.target != "/";
    if (is_contained) {
        const auto open_to_all = std::filesystem::perms(01777);
        CYBELE_TRY(mounts.emplace_back(), own_folder(request, "/tmp", "tmp", open_to_all));
        CYBELE_TRY(mounts.emplace_back(), own_folder(request, "/var/tmp", "var_tmp", open_to_all));
        if (!has_home) {
            return {};
        }
        add_writable_place(mounts, request, home);
        const bool is_bound = !request.files.home.empty() && !home.is_missing;
        if (!is_bound || request.files.workdir.empty()) {
            CYBELE_TRY(mounts.emplace_back(),
                       own_folder(request, home.target, "home", std::filesystem::perms(0700)));
            mounts.back().is_named = true;
        }
        if (is_bound) { // named by the user: meant to be there
            mounts.push_back(bind(home.source, home.target));
            mounts.back().options = kUserFlags;
            mounts.back().is_optional = false;
            mounts.back().is_named = true;
        }
        return {};
    }
    mounts.push_back(bind("/tmp", "/tmp"));
    mounts.push_back(bind("/var/tmp", "/var/tmp"));
    if (has_home) {
        add_writable_place(mounts, request, home);
    }
    if (has_home && !home.is_missing) {
        mounts.push_back(bind(home.source, home.target));
        mounts.back().is_optional = request.files.home.empty();
        mounts.back().is_named = !request.files.home.empty();
    }
    // A home directory that the user names is not undone by the real one, where the caller is in
    // it. As in Apptainer, a directory below the place of another one comes back.
    const bool is_covered = request.global.follows_apptainer && home.source != home.target;
    const bool is_below_home = lies_in(directory, home.target) && directory != home.target;
    const bool is_in_named_home = has_home && !request.files.home.empty() &&
                                  (directory == home.target || (is_below_home && !is_covered));
    if (!is_system_folder(directory.native()) && directory.is_absolute() && !is_in_named_home) {
        mounts.push_back(bind(directory, directory));
        mounts.back().skip_if_same = true;
        mounts.back().is_named = has_home && is_covered && is_below_home;
    }
    if (has_home && home.is_missing) { // behind the working directory, in which it may be made
        mounts.push_back(fresh(Mount::Kind::kTmpfs, home.target, memory_options(request, "0755")));
        mounts.back().is_optional = request.files.home.empty();
        mounts.back().is_named = !request.files.home.empty();
    }
    for (Mount& mount : mounts) {
        const std::string& target = mount.target.native();
        const bool is_users = target == home.target.native() || target == "/tmp" ||
                              target == "/var/tmp" || mount.skip_if_same;
        if (is_users && mount.kind == Mount::Kind::kBind) {
            mount.options = kUserFlags;
        }
    }
    return {};
}

/// Whether --scratch hides /tmp or /var/tmp, and this directory with it. Apptainer brings back
/// no such directory.
bool is_hidden_temporary(const std::filesystem::path& directory,
                         const std::vector<std::string>& scratch) {
    return std::ranges::any_of(scratch, [&](const std::string& word) {
        const auto hidden = (std::filesystem::path("/") / word / "").lexically_normal().native();
        return (lies_in(directory, "/tmp") && std::string_view("/tmp/").starts_with(hidden)) ||
               (lies_in(directory, "/var/tmp") &&
                std::string_view("/var/tmp/").starts_with(hidden));
    });
}

/// The binds that the user asks for; of two with one target the first one counts.
class UserBinds {
public:
    UserBinds(const std::filesystem::path& directory,
              bool follows_apptainer,
              std::vector<std::string>& warnings)
        : directory_(directory), follows_apptainer_(follows_apptainer), warnings_(warnings) {}

    Result<void> add(const BindOption& one) {
        const std::filesystem::path target = one.target.lexically_normal();
        if (one.target == "/" && follows_apptainer_) { // as Apptainer, whose own root hides it
            return {};
        }
        CYBELE_CHECK(check_libraries(one, target));
        if (target == "/") {
            return fail(ErrorCode::kUsage,
                        problem("bind-to-root",
                                "cannot bind '" + printable(one.source.string()) + "' to /"),
                        "the root of the container is the image",
                        "choose a folder in it");
        }
        const std::pair what(one.source, one.is_read_only);
        const auto [known, is_new] = targets_.emplace(target / "", what);
        if (!is_new && known->second == what) {
            return {}; // said twice
        }
        if (!is_new) {
            warnings_.push_back("'" + printable(one.source.string()) + "' is not bound to '" +
                                printable(target.string()) + "', to which something else is");
            return {};
        }
        Mount mount = bind(one.source, one.target);
        mount.is_optional = false;
        mount.is_named = true;
        mount.is_read_only = one.is_read_only;
        mount.image_source = one.image_source;
        mount.image_id = one.image_id;
        if (mount.image_id != 0 && mount.image_source.empty()) {
            mount.image_source = "/";
        }
        mount.options = kUserFlags;
        mounts_.push_back(std::move(mount));
        return {};
    }
    Result<void> add(std::string_view text) {
        CYBELE_TRY(const std::vector<BindOption> binds,
                   read_binds(text, directory_, follows_apptainer_));
        for (const BindOption& one : binds) {
            CYBELE_CHECK(add(one));
        }
        return {};
    }
    /// As Apptainer, where a bind or --scratch lies over a directory above the working
    /// directory: that comes back, unless the home directory shows it. The place of the home
    /// directory is made.
    void uncover(std::vector<Mount>& planned,
                 const std::vector<std::string>& scratch,
                 const Home& home,
                 bool has_home,
                 bool has_place) {
        const auto is_above = [](const std::filesystem::path& target,
                                 const std::filesystem::path& path) {
            return lies_in(path, target.lexically_normal()) && path != target.lexically_normal();
        };
        const auto covers = [&](const std::filesystem::path& path) {
            return std::ranges::any_of(
                mounts_, [&](const Mount& one) { return is_above(one.target, path); });
        };
        const bool is_in_scratch = std::ranges::any_of(scratch, [&](const std::string& word) {
            return is_above(std::filesystem::path("/") / word, directory_);
        });
        if (!follows_apptainer_) {
            return;
        }
        if (has_place && covers(home.target)) {
            place_ = bind(home.source, home.target);
        }
        const bool is_shown = (has_home && lies_in(directory_, home.target)) ||
                              is_hidden_temporary(directory_, scratch);
        const auto found =
            std::ranges::find_if(planned, [](const Mount& one) { return one.skip_if_same; });
        // The home itself is empty below a scratch directory.
        const bool is_home = has_home && directory_ == home.target;
        if (found != planned.end() && !is_shown &&
            (covers(directory_) || (is_in_scratch && !is_home)) &&
            !targets_.contains(directory_ / "")) {
            found->is_named = true;
            mounts_.push_back(std::move(*found));
            planned.erase(found);
        }
    }
    /// What lies below another one comes behind it.
    std::vector<Mount> take() {
        const auto depth = [](const Mount& mount) {
            const auto target = mount.target.lexically_normal();
            return std::distance(target.begin(), target.end());
        };
        std::stable_sort(mounts_.begin(), mounts_.end(), [&](const Mount& a, const Mount& b) {
            return depth(a) < depth(b);
        });
        make_inner_targets();
        return std::move(mounts_);
    }

private:
    /// As Apptainer, which binds single files there only.
    [[nodiscard]] Result<void> check_libraries(const BindOption& one,
                                               const std::filesystem::path& target) const {
        std::error_code failed;
        const bool is_there = target == kLibraries || lies_in(target, kLibraries);
        if (!follows_apptainer_ || !is_there ||
            !std::filesystem::is_directory(one.source, failed)) {
            return {};
        }
        return fail(ErrorCode::kInput,
                    problem("bind-below-libraries",
                            "cannot bind the directory '" + printable(one.source.string()) +
                                "' to '" + printable(target.string()) + "'"),
                    "this directory holds the libraries of the host, which are files",
                    "bind it elsewhere, and set LD_LIBRARY_PATH by --env");
    }
    /// As Apptainer, which makes the place for a bind in a directory of the host that is bound
    /// read-only. What cannot be made is reported when it is mounted.
    void make_inner_targets() const {
        for (const Mount& outer : mounts_) {
            if (place_ && outer.image_source.empty() && !outer.skip_if_same &&
                lies_in(place_->target, outer.target)) {
                const UniqueFd root(open(outer.source.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
                make_inner_target(root.get(), outer, *place_);
            }
            if (!follows_apptainer_ || !outer.is_read_only || !outer.image_source.empty()) {
                continue;
            }
            const UniqueFd root(open(outer.source.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
            for (const Mount& inner : mounts_) {
                if (root.valid() && lies_in(inner.target, outer.target)) {
                    make_inner_target(root.get(), outer, inner);
                }
            }
        }
    }
    /// Links of that directory lead nowhere else: another user may have written them.
    static void make_inner_target(int root, const Mount& outer, const Mount& inner) {
        std::error_code failed;
        namespaces::Making making;
        making.is_directory = std::filesystem::is_directory(inner.source, failed);
        if (std::filesystem::exists(inner.source, failed)) {
            (void)namespaces::make_in_root(
                root, inner.target.lexically_relative(outer.target.lexically_normal()), making);
        }
    }

    const std::filesystem::path& directory_;
    bool follows_apptainer_;
    std::vector<std::string>& warnings_;
    std::optional<Mount> place_; ///< of the home directory, below a bind
    std::map<std::filesystem::path, std::pair<std::filesystem::path, bool>> targets_;
    std::vector<Mount> mounts_;
};

/// Libraries and devices of the host, and what holds for all mounts.
void finish(std::vector<Mount>& mounts,
            const Request& request,
            const std::filesystem::path& directory) {
    for (const std::string& file : list_words(request.files.libraries)) {
        const std::filesystem::path path = directory / file;
        mounts.push_back(bind(path, kLibraries / path.filename()));
        mounts.back().is_optional = false;
    }
    for (const DeviceBind& device : request.devices.binds) {
        mounts.push_back(bind(device.source, device.target));
        mounts.back().is_optional = false;
        mounts.back().is_read_only = device.is_read_only;
        mounts.back().options = device.is_node ? "nosuid" : kUserFlags;
    }
    for (Mount& mount : mounts) {
        mount.may_hold_targets = mount.options == kUserFlags;
        mount.make_target =
            !request.image.writable; // the image is the user's own, and stays as it is
    }
}

} // namespace

Result<MountPlan> plan_mounts(const Request& request,
                              const Environment& environment,
                              const Home& home,
                              const std::filesystem::path& directory) {
    MountPlan plan;
    plan.mounts.reserve(kUsualMounts);
    add_system(plan.mounts, request);
    CYBELE_CHECK(add_user_folders(plan.mounts, request, home, directory));
    leave_out(plan.mounts, list_words(request.files.no_mount), home.target);
    CYBELE_CHECK(add_scratch(plan.mounts, request, home));
    UserBinds binds(directory, request.global.follows_apptainer, plan.warnings);
    if (request.site.forbids_binds) {
        plan.warnings = forbidden_binds(request);
        finish(plan.mounts, request, directory);
        return plan;
    }
    for (const std::string& text : request.files.binds) {
        CYBELE_CHECK(binds.add(text));
    }
    for (const std::string& text : request.files.mounts) {
        CYBELE_TRY(const BindOption one,
                   read_mount(text, directory, request.global.follows_apptainer));
        CYBELE_CHECK(binds.add(one));
    }
    for (const std::string& text : binds_of_variables(environment)) {
        CYBELE_CHECK(binds.add(text));
    }
    const bool is_contained = request.isolation.contain || request.isolation.containall;
    const bool has_place = !request.files.no_home && home.target != "/";
    const bool has_home = has_place && !is_contained;
    if (request.global.follows_apptainer && home.target == "/" && !request.files.no_home) {
        plan.warnings.emplace_back("Skipping impossible home directory mount to '/'");
    }
    binds.uncover(plan.mounts, list_words(request.files.scratch), home, has_home, has_place);
    for (Mount& mount : binds.take()) {
        plan.mounts.push_back(std::move(mount));
    }
    finish(plan.mounts, request, directory);
    if (request.global.follows_apptainer && !contains(plan.mounts, "/proc", &Mount::target)) {
        plan.warnings.emplace_back("Error getting executable path, using default: readlink "
                                   "/proc/self/exe: no such file or directory");
    }
    return plan;
}

} // namespace cybele::runtime
