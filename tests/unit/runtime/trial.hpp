// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/sif/sif.hpp"
#include "runtime/containers/runtime.hpp"
#include "tests/unit/namespaces/tiny_root.hpp"

#include <string>
#include <vector>

#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

/// Containers of a tiny image, started as root and as the user nobody.
namespace trial {

using cybele::EnvironmentMap;
using cybele::runtime::Request;

struct Image {
    cybele::TempDirectory folder = tiny::make_folder();
    std::filesystem::path root = folder.path() / "root";
    std::filesystem::path sif = folder.path() / "tiny.sif";
    std::filesystem::path squashfs = folder.path() / "tiny.squashfs";

    Image() {
        tiny::make_root(root);
        tiny::write(root / ".singularity.d/env/10-docker2singularity.sh",
                    "export FROM_DOCKER=\"${FROM_DOCKER:-image}\"\nexport PATH=/opt/bin:/bin\n");
        tiny::write(root / ".singularity.d/env/90-environment.sh",
                    "export FROM_IMAGE=image BOTH=image EMPTY=\n");
        tiny::write(
            root / ".singularity.d/env/99-base.sh",
            "PS1='Apptainer> '\nexport PS1\n"
            "LD_LIBRARY_PATH=\"${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}/.singularity.d/libs\"\n"
            "export LD_LIBRARY_PATH\n");
        tiny::write(root / ".singularity.d/runscript", "#!/bin/sh\necho run \"$@\"\n", 0755);
        tiny::write(root / ".singularity.d/test", "#!/bin/sh\necho test; exit 6\n", 0755);
        tiny::write(root / "etc/hosts", "image\n");
        tiny::write(root / "etc/not-a-program", "", 0644);
        for (const char* name : {"home", "out"}) {
            std::filesystem::create_directory(folder.path() / name);
            std::filesystem::permissions(folder.path() / name, std::filesystem::perms(0777));
        }
        make_caches();
    }

    /// Root's, and in it the user's: a cache that others can write would be refused.
    void make_caches() const {
        const auto user = folder.path() / "cache/user";
        std::filesystem::create_directories(user);
        std::filesystem::permissions(user.parent_path(), std::filesystem::perms(0755));
        std::filesystem::permissions(user, std::filesystem::perms(0700));
        if (geteuid() == 0) {
            REQUIRE(chown(user.c_str(), tiny::kUser, tiny::kUser) == 0);
        }
    }

    enum class Owners { kRoot, kKept };
    void pack(Owners owners = Owners::kRoot) const {
        cybele::Command command;
        command.argv = {"mksquashfs",
                        root.string(),
                        squashfs.string(),
                        "-noappend",
                        "-no-progress",
                        owners == Owners::kRoot ? "-all-root" : "-no-xattrs",
                        "-comp",
                        "zstd",
                        "-Xcompression-level",
                        "3",
                        "-quiet"};
        REQUIRE(cybele::run_process(command)->ok());
        using namespace cybele::images;
        write_sif(sif, host_architecture());
    }

    void write_sif(const std::filesystem::path& path, const std::string& arch) const {
        using namespace cybele::images;
        NewImage image;
        NewObject definition;
        definition.type = DataType::kDefinition;
        definition.name = "tiny.def";
        definition.bytes = "Bootstrap: scratch\n";
        NewObject partition;
        partition.type = DataType::kPartition;
        partition.name = "tiny.squashfs";
        partition.alignment = 4096;
        partition.extra = partition_extra(FsType::kSquashfs, PartType::kPrimary, arch);
        partition.bytes = tiny::read(squashfs);
        image.objects = {definition, partition};
        REQUIRE(write_image(path, image));
    }
};

/// How one container ended and what it printed.
struct Ended {
    int code = -1;
    std::string text;
};

/// A user may open /dev/fuse, may not, or as this host has it.
enum class As { kRoot, kUser, kUserWithFuse, kUserHere };

/// A /dev/fuse for everybody or for root alone, in this process's mount namespace only.
inline void give_fuse(const std::filesystem::path& folder, bool is_for_all) {
    const mode_t mode = is_for_all ? 0666 : 0600;
    const std::string node = folder / ("fuse-" + std::to_string(getpid()));
    (void)unlink(node.c_str());
    if (unshare(CLONE_NEWNS) != 0 ||
        mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mknod(node.c_str(), S_IFCHR | mode, makedev(10, 229)) != 0 ||
        chmod(node.c_str(), mode) != 0 ||
        mount(node.c_str(), "/dev/fuse", nullptr, MS_BIND, nullptr) != 0) {
        _exit(95);
    }
}

inline EnvironmentMap environment_of(const Image& image) {
    return {{"PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
            {"HOME", (image.folder.path() / "home").string()},
            {"USER", "nobody"},
            {"CYBELE_CACHE_DIR", (image.folder.path() / "cache").string()}};
}

/// Starts the container in place of a child of this process.
[[noreturn]] inline void
become(const Image& image, const Request& request, EnvironmentMap environment, As as) {
    if (as == As::kUser || as == As::kUserWithFuse) {
        give_fuse(image.folder.path(), as == As::kUserWithFuse);
    }
    if (as != As::kRoot) {
        tiny::become_user();
        environment["CYBELE_CACHE_DIR"] += "/user";
    }
    const auto started = cybele::runtime::start(request, cybele::Environment(environment));
    if (!started) {
        const auto& fault = started.error().faults().front();
        const std::string text = fault.message + ": " + fault.because + '\n';
        (void)!::write(2, text.data(), text.size());
        _exit(255);
    }
    _exit(*started);
}

inline Ended run(const Image& image,
                 const Request& request,
                 const EnvironmentMap& environment,
                 As as = As::kRoot) {
    const std::string log = image.folder.path() / "log";
    Ended ended;
    ended.code = tiny::in_child([&]() -> int {
        const int fd = open(log.c_str(), O_CREAT | O_RDWR | O_TRUNC | O_CLOEXEC, 0666);
        (void)fchmod(fd, 0666);
        dup2(fd, 1);
        dup2(fd, 2);
        become(image, request, environment, as);
    });
    ended.text = tiny::read(log);
    return ended;
}

inline Request exec(const Image& image, const std::string& script) {
    Request request;
    request.image.file = image.sif;
    request.program.arguments = {"sh", "-c", script};
    return request;
}

inline constexpr As kAll[] = {As::kRoot, As::kUser, As::kUserWithFuse};

/// One image for all cases that do not change it.
inline const Image& tiny_image() {
    static const Image image = [] {
        Image made;
        made.pack();
        return made;
    }();
    return image;
}

inline Ended sh(const std::string& script, As as, const EnvironmentMap& more = {}) {
    EnvironmentMap environment = environment_of(tiny_image());
    for (const auto& [name, value] : more) {
        environment[name] = value;
    }
    return run(tiny_image(), exec(tiny_image(), script), environment, as);
}

/// The files behind all loop devices.
inline std::string loop_files() {
    std::string files;
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator("/sys/block", ignored)) {
        files += cybele::read_file(entry.path() / "loop/backing_file").value_or("");
    }
    return files;
}

/// Whether no loop device serves the image any more: a container ends with its last process, and
/// one that ranks share stays a second longer.
inline bool is_let_go(const std::string& image) {
    for (int i = 0; i < 250 && loop_files().find(image) != std::string::npos; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return loop_files().find(image) == std::string::npos;
}

} // namespace trial
