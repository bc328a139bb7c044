// SPDX-License-Identifier: Apache-2.0
#include "runtime/containers/join_key.hpp"

#include "runtime/namespaces/join.hpp"
#include "support/start_time.hpp"

#include <cerrno>

#include <sys/stat.h>
#include <unistd.h>

namespace cybele::runtime {
namespace {

/// Another form of key, another number: programs of different versions share no container.
constexpr int kVersion = 3;

class Lines {
public:
    template <class... Numbers>
    void add(const char* name, Numbers... numbers) {
        text_ += name;
        ((text_ += ' ' + std::to_string(numbers)), ...);
        text_ += '\n';
    }
    /// With its length, so that no value can look like two.
    void add_text(const char* name, const std::string& value) {
        text_ += std::string(name) + ' ' + std::to_string(value.size()) + ' ' + value + '\n';
    }
    [[nodiscard]] std::string take() {
        return std::move(text_);
    }

private:
    std::string text_;
};

/// What a process sees of the host: another container program's, or a job's, may differ.
void add_view(Lines& key) {
    for (const char* name : {"user", "mnt", "pid"}) {
        key.add_text(name, namespaces::own_namespace(name));
    }
    key.add("ids", geteuid(), getegid());
}

Result<void> add_image(Lines& key, const std::filesystem::path& path) {
    struct stat status = {};
    if (stat(path.c_str(), &status) != 0) {
        return fail(system_error("cannot open the image", errno));
    }
    key.add("image", status.st_dev, status.st_ino);
    if (!S_ISDIR(status.st_mode)) {
        key.add("state",
                status.st_size,
                status.st_mtim.tv_sec,
                status.st_mtim.tv_nsec,
                status.st_ctim.tv_sec,
                status.st_ctim.tv_nsec);
    }
    return {};
}

} // namespace

Result<std::string> join_key(const Request& request, const ContainerPlan& plan) {
    Lines key;
    key.add("version", kVersion);
    add_view(key);
    CYBELE_CHECK(add_image(key, request.image.file));
    key.add("contained",
            request.isolation.contain,
            request.image.writable_tmpfs,
            request.devices.nv,
            request.devices.rocm);
    key.add("as",
            request.user.fakeroot,
            request.image.unsquash,
            request.image.underlay,
            request.isolation.ipc,
            request.isolation.userns);
    key.add_text("servers", request.isolation.dns);
    if (request.image.demand) { // who joins verifies nothing: the image was, for the same signers
        key.add_text("signed", request.image.demand->identity);
    }
    key.add_text("home", plan.home.string());
    key.add_text("user", plan.user);
    key.add_text("launch",
                 plan.launch.empty()
                     ? "parent " + std::to_string(getppid()) + ' ' + start_time(getppid())
                     : plan.launch);
    for (const std::string& overlay : request.image.overlays) {
        key.add_text("overlay", overlay);
    }
    for (const namespaces::Mount& mount : plan.mounts) {
        key.add("mount",
                static_cast<int>(mount.kind),
                mount.is_recursive,
                mount.is_read_only,
                mount.is_optional,
                mount.skip_if_same);
        key.add_text("from", mount.source.string());
        key.add_text("to", mount.target.string());
        key.add_text("as", mount.options);
        key.add_text("of", mount.image_source + " " + std::to_string(mount.image_id));
    }
    return key.take();
}

} // namespace cybele::runtime
