// SPDX-License-Identifier: Apache-2.0
#include "runtime/containers/bind_option.hpp"
#include "runtime/containers/plan.hpp"

#include <filesystem>
#include <string>

#include <doctest/doctest.h>

using namespace cybele;
using namespace cybele::runtime;

TEST_CASE("binds as Apptainer writes them") {
    struct Row {
        const char* text;
        const char* source;
        const char* target;
        bool is_read_only;
    };
    const Row rows[] = {{"/a", "/a", "/a", false},
                        {"/a:/b", "/a", "/b", false},
                        {"/a:/b:ro", "/a", "/b", true},
                        {"/a:/b:rw", "/a", "/b", false},
                        {"/a:/b:ro,rw", "/a", "/b", true},
                        {"/a:/b:rw,ro", "/a", "/b", true},
                        {"/a::ro", "/a", "/a", true},
                        {"rel/x:/b", "/base dir/rel/x", "/b", false},
                        {"/a\\:b\\,c:/d", "/a:b,c", "/d", false}};
    for (const Row& row : rows) {
        CAPTURE(row.text);
        const auto binds = read_binds(row.text, "/base dir");
        REQUIRE(binds);
        REQUIRE(binds->size() == 1);
        CHECK(binds->front().source == row.source);
        CHECK(binds->front().target == row.target);
        CHECK(binds->front().is_read_only == row.is_read_only);
    }
    CHECK(read_binds("/a:/b,/c:/d:ro", "/")->size() == 2);
    const auto with_blanks = read_binds(" /a : /b , /c d:/e ", "/");
    REQUIRE(with_blanks);
    CHECK(with_blanks->at(0).source == "/a");
    CHECK(with_blanks->at(0).target == "/b");
    CHECK(with_blanks->at(1).source == "/c d");
    CHECK(with_blanks->at(1).target == "/e");
    CHECK(read_binds("", "/")->empty());
    for (const char* text : {"/a:b", "/a:/b:rx", "/a:/b:ro:x", ":/b"}) {
        CAPTURE(text);
        const auto binds = read_binds(text, "/");
        REQUIRE(!binds);
        CHECK(binds.error().code() == ErrorCode::kUsage);
    }
}

TEST_CASE("the mounts come in Apptainer's order") {
    Request request;
    request.files.binds = {"/etc:/data:ro"};
    const Environment host({{"APPTAINER_BIND", "/usr:/first"}, {"HOME", "/home/ann"}});
    const auto targets = [&] {
        const auto home = home_of(request, host);
        const auto mounts = plan_mounts(request, host, *home, "/scratch/run");
        std::string text;
        for (const auto& mount : mounts->mounts) {
            text += mount.target.string() + ' ';
        }
        return text;
    };
    CHECK(targets() == "/dev /etc/localtime /etc/hosts /proc /sys /tmp /var/tmp /home/ann "
                       "/scratch/run /data /first ");
    request.files.no_home = true;
    CHECK(targets().find("/home/ann") == std::string::npos);
    request.files.no_home = false;
    request.isolation.contain = true;
    CHECK(targets().find("/scratch/run") == std::string::npos);
    request.files.home = "/a:/b";
    CHECK(targets().find(" /tmp /var/tmp /b /b /data /first") != std::string::npos);
    request.files.home = "/a:b";
    CHECK(!home_of(request, host));
    request.files.binds = {"/etc:/"};
    CHECK(!plan_mounts(request, host, Home{"/h", "/h"}, "/"));
}

TEST_CASE("by the name of Apptainer a home directory that does not exist is one in memory") {
    using Kind = cybele::namespaces::Mount::Kind;
    Request request;
    request.global.follows_apptainer = true;
    request.files.home = "/no/such/home";
    const Environment host({{"HOME", "/"}, {"USER", "ann"}});
    const auto mount_of = [&](const std::string& target) {
        const auto home = home_of(request, host);
        REQUIRE(home);
        const auto plan = plan_mounts(request, host, *home, "/usr/share");
        REQUIRE(plan);
        for (const auto& mount : plan->mounts) {
            if (mount.target == target) {
                return mount;
            }
        }
        return cybele::namespaces::Mount();
    };
    CHECK(mount_of("/no/such/home").kind == Kind::kTmpfs);
    request.isolation.contain = true;
    CHECK(mount_of("/no/such/home").kind == Kind::kTmpfs);
    request.isolation.contain = false;
    request.user.fakeroot = true; // a home that is named stays at its place
    CHECK(mount_of("/no/such/home").kind == Kind::kTmpfs);
    request.files.home = ":/inside";
    CHECK(mount_of("/inside").source == std::filesystem::current_path());
    request.files.home = "/etc/passwd";
    CHECK(!home_of(request, host));
    // By its own name a home that is missing is a mistake.
    request.global.follows_apptainer = false;
    request.user.fakeroot = false;
    request.files.home = "/no/such/home";
    CHECK(mount_of("/no/such/home").kind == Kind::kBind);
    CHECK(!mount_of("/no/such/home").is_optional);
}

TEST_CASE("an image that is written gets its home in memory, and no mount points") {
    using Kind = cybele::namespaces::Mount::Kind;
    Request request;
    request.image.file = "/proc"; // it has no folder home
    request.image.writable = true;
    const Environment host({{"HOME", "/home/ann"}, {"USER", "ann"}});
    const auto plan = plan_mounts(request, host, Home{"/home/ann", "/home/ann"}, "/usr/share");
    REQUIRE(plan);
    bool has_place = false;
    for (const auto& mount : plan->mounts) {
        CHECK(!mount.make_target);
        has_place = has_place || (mount.target == "/home" && mount.kind == Kind::kTmpfs);
    }
    CHECK(has_place);
    request.image.file = "/"; // it has /tmp, below which this home is
    const auto other = plan_mounts(request, host, Home{"/tmp", "/tmp/x"}, "/usr/share");
    REQUIRE(other);
    for (const auto& mount : other->mounts) {
        CHECK(mount.kind != Kind::kTmpfs);
    }
}

TEST_CASE(
    "of several binds to one target the first counts, and one below another comes behind it") {
    Request request;
    request.files.binds = {"/a:/data/in/side,/b:/data,/b:/data", "/c:/data/"};
    request.files.mounts = {"type=bind,source=/d,destination=/data",
                            "type=bind,source=/e,destination=/e"};
    const Environment host(
        {{"APPTAINER_BIND", "/f:/e"}, {"SINGULARITY_BINDPATH", "/g:/g,/h:/data/in"}});
    const auto plan = plan_mounts(request, host, Home{"/h", "/h"}, "/");
    REQUIRE(plan);
    std::string text;
    for (const auto& mount : plan->mounts) {
        if (!mount.is_optional) {
            text += mount.source.string() + ":" + mount.target.string() + ' ';
            CHECK(mount.may_hold_targets);
        }
    }
    CHECK(text == "/b:/data /e:/e /g:/g /h:/data/in /a:/data/in/side ");
    REQUIRE(plan->warnings.size() == 3);
    CHECK(plan->warnings[0] == "'/c' is not bound to '/data/', to which something else is");
}

TEST_CASE("mount points on earlier mounts are not the image's") {
    const auto mount = [](const char* target) {
        namespaces::Mount one;
        one.target = target;
        one.kind = namespaces::Mount::Kind::kTmpfs;
        return one;
    };
    const auto needed = needed_targets({mount("/tmp"), mount("/tmp/x"), mount("/tmpfoo")});
    REQUIRE(needed.size() == 2);
    CHECK(needed[0].path == "/tmp");
    CHECK(needed[1].path == "/tmpfoo");
}

TEST_CASE("the reasons that Apptainer words differently have ids of their own") {
    const auto id_of = [](const auto& read) { return read.error().faults().front().id; };
    CHECK(id_of(read_binds("a:/b:shared", "/base")) == "bind-mode-unknown");
    CHECK(id_of(read_binds("a:b", "/base")) == "bind-target-relative");
    CHECK(id_of(read_mount("type=tmpfs,destination=/b", "/base")) == "mount-type-unknown");
    CHECK(id_of(read_mount("type=bind,source=/a", "/base")) == "mount-incomplete");
    CHECK(id_of(read_mount("src=/a,dst=/b,nosuch", "/base")) == "mount-field-unknown");
    CHECK(id_of(read_mount("src=/a,dst=b", "/base")) == "mount-target-relative");
}

TEST_CASE("mounts as Apptainer writes them") {
    const auto read = [](const char* text) { return read_mount(text, "/base"); };
    const auto plain = read("type=bind,source=/a,destination=/b");
    REQUIRE(plain);
    CHECK(plain->source == "/a");
    CHECK(plain->target == "/b");
    CHECK(!plain->is_read_only);
    const auto other = read("type=bind,src=x y,dst=/b,ro");
    REQUIRE(other);
    CHECK(other->source == "/base/x y");
    CHECK(other->is_read_only);
    const auto untyped = read("source=/a,destination=/b"); // a bind is the default
    REQUIRE(untyped);
    CHECK(untyped->target == "/b");
    const auto quoted = read("type=bind,\"src=/a,\"\"b\",target=/c:d,readonly");
    REQUIRE(quoted);
    CHECK(quoted->source == "/a,\"b");
    CHECK(quoted->target == "/c:d");
    for (const char* text : {"",
                             "type=tmpfs,destination=/b",
                             "type=bind,source=/a",
                             "type=bind,source=/a,destination=b",
                             "type=bind,source=/a,destination=/b,ro=1",
                             "type=bind,source=/a,destination=/b,nosuch"}) {
        CAPTURE(text);
        const auto refused = read(text);
        REQUIRE(!refused);
        CHECK(refused.error().code() == ErrorCode::kUsage);
    }
}
