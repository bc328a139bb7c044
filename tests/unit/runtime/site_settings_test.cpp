// SPDX-License-Identifier: Apache-2.0
// What the apptainer.conf of a host allows, changes and forbids.
#include "runtime/containers/site_settings.hpp"
#include "support/file.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cybele::runtime {
namespace {

namespace fs = std::filesystem;

/// A request that the settings of `text` were laid over.
struct Applied {
    Request request;
    std::vector<std::string> warnings;
    std::string id; ///< of the problem; empty: allowed

    explicit Applied(const std::string& text, Request asked = {}) : request(std::move(asked)) {
        const auto done = apply_site_settings(read_site_settings(text), request, warnings);
        id = done ? std::string() : done.error().faults().front().id;
    }
};

/// The problem of a file with this text.
std::string problem_of(const std::string& text) {
    const TempDirectory folder = TempDirectory::make("/tmp", "cybele-test").value();
    const fs::path file = folder.path() / "own.conf";
    REQUIRE(write_file(file, text));
    const auto found = find_site_settings(file);
    return found ? std::string() : found.error().faults().front().id;
}

bool is_superuser() {
    return ::geteuid() == 0;
}

} // namespace

TEST_CASE("settings: words and values of a file, several of one word in order") {
    const SiteSettings settings = read_site_settings("# a comment = no\n"
                                                     "  mount tmp =  no  \n"
                                                     "bind path = /etc/localtime\n"
                                                     "bind path = /data:/data\n"
                                                     "empty =\n"
                                                     "no equals\n"
                                                     "user_bind-Control=yes=no\n"
                                                     "odd! = x\n"
                                                     " = x\n"
                                                     "last = one");
    CHECK(settings == SiteSettings{{"bind path", {"/etc/localtime", "/data:/data"}},
                                   {"last", {"one"}},
                                   {"mount tmp", {"no"}},
                                   {"user_bind-Control", {"yes=no"}}});
}

TEST_CASE("settings: each word has values of its own; words that are not known are skipped") {
    for (const char* word : {"allow ipc ns",
                             "allow pid ns",
                             "allow user ns",
                             "allow uts ns",
                             "config passwd",
                             "config group",
                             "config resolv_conf",
                             "mount proc",
                             "mount sys",
                             "mount dev",
                             "mount devpts",
                             "mount home",
                             "mount tmp",
                             "mount hostfs",
                             "user bind control",
                             "enable fusemount",
                             "enable overlay",
                             "allow container sif",
                             "allow container squashfs",
                             "allow container extfs",
                             "allow container dir",
                             "always use nv",
                             "always use rocm",
                             "allow setuid",
                             "allow monitoring",
                             "allow container encrypted",
                             "allow setuid-mount encrypted",
                             "allow setuid-mount extfs",
                             "enable underlay",
                             "mount slave",
                             "shared loop devices",
                             "systemd cgroups",
                             "use nvidia-container-cli"}) {
        CAPTURE(word);
        CHECK(problem_of(std::string(word) + " = yes\n") == "");
        CHECK(problem_of(std::string(word) + " = no\n") == "");
        CHECK(problem_of(std::string(word) + " = ye\n") == "site-setting-invalid");
        CHECK(problem_of(std::string(word) + " = Yes\n") == "site-setting-invalid");
    }
    for (const char* good : {"mount dev = minimal",
                             "enable overlay = try",
                             "enable overlay = driver",
                             "enable underlay = preferred",
                             "allow setuid-mount squashfs = iflimited",
                             "memory fs type = tmpfs",
                             "memory fs type = ramfs",
                             "root default capabilities = full",
                             "root default capabilities = file",
                             "root default capabilities = no",
                             "max loop devices = 256",
                             "sessiondir max size = 0",
                             "mksquashfs procs = 0",
                             "download concurrency = 3",
                             "download part size = 5242880",
                             "download buffer size = 32768",
                             "unknown word = x"}) {
        CHECK_MESSAGE(problem_of(good) == "", good);
    }
    for (const char* bad : {"mount tmp = minimal",
                            "allow setuid-mount squashfs = sometimes",
                            "memory fs type = yes",
                            "root default capabilities = yes",
                            "max loop devices = many",
                            "sessiondir max size = 64m",
                            "mksquashfs procs = -1",
                            "download concurrency = 1.5",
                            "download part size = x",
                            "download buffer size = x"}) {
        CHECK_MESSAGE(problem_of(bad) == "site-setting-invalid", bad);
    }
    CHECK_FALSE(find_site_settings("/nonexistent/own.conf"));
}

TEST_CASE("settings: what is switched off is not mounted, and what is set is used") {
    const Applied none("");
    CHECK(none.id == "");
    CHECK(none.warnings.empty());
    CHECK(none.request.files.no_mount.empty());
    CHECK(none.request.site.bind_paths == std::vector<std::string>());
    CHECK(none.request.site.memory_size.empty());
    CHECK_FALSE(none.request.site.has_small_devices);
    CHECK_FALSE(none.request.site.forbids_binds);
    for (const char* mount : {"proc", "sys", "dev", "devpts", "home", "tmp"}) {
        CAPTURE(mount);
        CHECK(Applied("mount " + std::string(mount) + " = no\n").request.files.no_mount ==
              std::vector<std::string>{mount});
        CHECK(Applied("mount " + std::string(mount) + " = yes\n").request.files.no_mount.empty());
    }
    CHECK(Applied("mount dev = minimal\n").request.site.has_small_devices);
    CHECK(Applied("sessiondir max size = 64\n").request.site.memory_size == "64m");
    CHECK(Applied("bind path = /a, /b\nbind path = /c:/d\n").request.site.bind_paths ==
          std::vector<std::string>{"/a", "/b", "/c:/d"});
    CHECK(Applied("config passwd = no\n").request.site.has_image_passwd);
    CHECK(Applied("config group = no\n").request.site.has_image_group);
    CHECK(Applied("config resolv_conf = no\n").request.site.has_image_resolv_conf);
    const Applied yes("config passwd = yes\nconfig group = yes\nconfig resolv_conf = yes\n");
    CHECK_FALSE(yes.request.site.has_image_passwd);
    CHECK_FALSE(yes.request.site.has_image_group);
    CHECK_FALSE(yes.request.site.has_image_resolv_conf);
    CHECK(Applied("always use nv = yes\n").request.devices.nv);
    CHECK(Applied("always use rocm = yes\n").request.devices.rocm);
    CHECK_FALSE(Applied("always use nv = no\n").request.devices.nv);
    Request asked;
    asked.devices.nv = true;
    asked.devices.rocm = true;
    CHECK(Applied("always use nv = no\n", asked).request.devices.nv);
    CHECK(Applied("always use rocm = no\n", asked).request.devices.rocm);
    CHECK(Applied("enable underlay = preferred\n").request.image.underlay);
    CHECK(Applied("enable overlay = no\n").request.image.underlay);
    CHECK_FALSE(Applied("enable overlay = try\n").request.image.underlay);
}

TEST_CASE("settings: namespaces that are not allowed are taken back with a warning") {
    Request asked;
    asked.isolation.pid = true;
    asked.isolation.ipc = true;
    asked.isolation.uts = true;
    asked.isolation.hostname = "inside";
    const Applied pid("allow pid ns = no\n", asked);
    CHECK_FALSE(pid.request.isolation.pid);
    CHECK(pid.request.isolation.ipc);
    CHECK(pid.warnings ==
          std::vector<std::string>{"--pid is not allowed by the settings of this host"});
    const Applied ipc("allow ipc ns = no\n", asked);
    CHECK_FALSE(ipc.request.isolation.ipc);
    CHECK(ipc.request.isolation.uts);
    const Applied uts("allow uts ns = no\n", asked);
    CHECK_FALSE(uts.request.isolation.uts);
    CHECK(uts.request.isolation.hostname.empty());
    CHECK(uts.warnings.size() == 2);
    CHECK(Applied("allow pid ns = yes\n", asked).warnings.empty());
    CHECK(Applied("allow pid ns = no\nallow uts ns = no\nallow ipc ns = no\n").warnings.empty());
    asked.global.follows_apptainer = true;
    CHECK(Applied("allow ipc ns = no\n", asked).warnings ==
          std::vector<std::string>{"Not virtualizing ipc namespace by configuration"});
    Request contained;
    contained.isolation.containall = true;
    const Applied all("allow pid ns = no\n", contained);
    CHECK_FALSE(all.request.isolation.containall);
    CHECK(all.request.isolation.contain);
    CHECK(all.request.isolation.ipc);
    CHECK(all.request.variables.cleanenv);
    CHECK_FALSE(all.request.isolation.pid);
    CHECK(all.warnings.size() == 1);
    CHECK(Applied("allow pid ns = yes\n", contained).request.isolation.containall);
}

TEST_CASE("settings: what a host forbids is refused only where it is asked for") {
    Request fuse;
    fuse.devices.fuse_mounts = {"container:x /y"};
    CHECK(Applied("enable fusemount = no\n").id == "");
    CHECK(Applied("enable fusemount = no\n", fuse).id == "fusemount-forbidden-by-site");
    CHECK(Applied("enable fusemount = yes\n", fuse).id == "");
    Request underlay;
    underlay.image.underlay = true;
    CHECK(Applied("enable underlay = no\n").id == "");
    CHECK(Applied("enable underlay = no\n", underlay).id == "underlay-forbidden-by-site");
    Request overlay;
    overlay.image.overlays = {"/none.img"};
    CHECK(Applied("enable overlay = no\n", overlay).id == "site-overlay-forbidden");
    CHECK(Applied("enable overlay = yes\n", overlay).id == "");
    Request user;
    CHECK(Applied("allow user ns = no\n", user).id.empty() == is_superuser());
    user.user.fakeroot = true;
    CHECK(Applied("allow user ns = no\n", user).id == "user-namespace-forbidden-by-site");
    user.user.fakeroot = false;
    user.isolation.userns = true;
    CHECK(Applied("allow user ns = no\n", user).id == "user-namespace-forbidden-by-site");
    CHECK(Applied("allow user ns = yes\n", user).id == "");
}

TEST_CASE("settings: binds of users that are not allowed are named, each once") {
    CHECK(Applied("user bind control = no\n").request.site.forbids_binds);
    CHECK_FALSE(Applied("user bind control = yes\n").request.site.forbids_binds);
    Request request;
    request.files.binds = {"/a:/b:ro", "/c"};
    CHECK(forbidden_binds(request).size() == 1);
    request.global.follows_apptainer = true;
    const auto warnings = forbidden_binds(request);
    REQUIRE(warnings.size() == 2);
    CHECK(warnings[0].starts_with("Ignoring /a bind mount"));
    CHECK(warnings[1].starts_with("Ignoring /c bind mount"));
}

TEST_CASE("settings: what a setting offers and is not here is told") {
    CHECK(Applied("mount hostfs = yes\n").warnings.size() == 1);
    CHECK(Applied("mount hostfs = no\n").warnings.empty());
    CHECK(Applied("root default capabilities = file\n").warnings.size() == 1);
    CHECK(Applied("image driver = fancy\n").warnings.size() == 1);
    CHECK(Applied("use nvidia-container-cli = yes\n").warnings.empty());
    Request nvidia;
    nvidia.devices.nv = true;
    CHECK(Applied("use nvidia-container-cli = yes\n", nvidia).warnings.size() == 1);
    CHECK(Applied("use nvidia-container-cli = no\n", nvidia).warnings.empty());
    for (const char* value : {"full", "file", "no"}) {
        Request asked;
        const std::string text = "root default capabilities = " + std::string(value) + "\n";
        CHECK(Applied(text, asked).request.user.no_privs ==
              (is_superuser() && std::string(value) != "full"));
        asked.user.fakeroot = true;
        CHECK_FALSE(Applied(text, asked).request.user.no_privs);
    }
}

TEST_CASE("settings: images by their kind, folder, owner and group") {
    const TempDirectory folder = TempDirectory::make("/tmp", "cybele-test").value();
    const fs::path root = folder.path() / "root";
    REQUIRE(make_directories(root));
    REQUIRE(make_directories(folder.path() / "roots"));
    Request request;
    request.image.file = root;
    const auto id = [&](const std::string& text) { return Applied(text, request).id; };
    const std::string no = "image-forbidden-by-site";
    CHECK(id("allow container dir = no\n") == "directory-forbidden-by-site");
    CHECK(id("allow container dir = yes\n") == "");
    CHECK(id("allow container sif = no\nallow container squashfs = no\n"
             "allow container extfs = no\n") == "");
    CHECK(id("limit container paths = " + folder.path().native() + "\n") == "");
    CHECK(id("limit container paths = " + root.native() + "\n") == "");
    CHECK(id("limit container paths = /usr, " + root.native() + "s\n") == no);
    struct stat status {};
    REQUIRE(::stat(root.c_str(), &status) == 0);
    CHECK(id("limit container owners = 4242, " + std::to_string(status.st_uid) + "\n") == "");
    CHECK(id("limit container owners = 4242\n") == no);
    CHECK(id("limit container groups = " + std::to_string(status.st_gid) + "\n") == "");
    CHECK(id("limit container groups = 4242\n") == no);
    // Whoever opens a missing image tells why; an overlay is an image, too.
    request.image.file = folder.path() / "none.sif";
    CHECK(id("limit container owners = 4242\n") == "");
    request.image.overlays = {root.native() + ":ro"};
    CHECK(id("allow container dir = no\n") == "directory-forbidden-by-site");
}

TEST_CASE("settings: an execution control list that is active is not passed over") {
    const TempDirectory folder = TempDirectory::make("/tmp", "cybele-test").value();
    const fs::path list = folder.path() / "ecl.toml";
    const fs::path sif = folder.path() / "a.sif";
    std::string header = "#!/usr/bin/env run-singularity\n";
    header.resize(32, '\0');
    REQUIRE(write_file(sif,
                       header +
                           std::string("SIF_MAGIC\0"
                                       "01\0",
                                       13) +
                           std::string(200, '\0')));
    Request request;
    request.image.file = sif;
    const auto is_active = [&](const std::string& text) {
        REQUIRE(write_file(list, text));
        return !check_control_list(request, list);
    };
    CHECK(check_control_list(request, folder.path() / "none"));
    CHECK(is_active("activated = true\n"));
    CHECK(is_active("# the switch\n activated=true # here\n[[execgroup]]\n"));
    CHECK_FALSE(is_active("activated = false\n"));
    CHECK_FALSE(is_active("# activated = true\n"));
    CHECK_FALSE(is_active("[[execgroup]]\nactivated = true\n"));
    CHECK_FALSE(is_active("deactivated = true\n"));
    CHECK_FALSE(is_active("activated\n"));
    request.image.file = folder.path(); // no SIF
    CHECK_FALSE(is_active("activated = true\n"));
    CHECK(fs::is_directory(folder.path()));
    CHECK_FALSE(check_control_list(request, folder.path())); // it is there and cannot be read
    fs::create_symlink("loop", folder.path() / "loop");
    CHECK_FALSE(check_control_list(request, folder.path() / "loop/ecl.toml"));
}

} // namespace cybele::runtime
