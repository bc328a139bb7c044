// SPDX-License-Identifier: Apache-2.0
// Which namespaces are entered, and which are refused.
#include "runtime/namespaces/id_maps.hpp"
#include "runtime/namespaces/join.hpp"
#include "tests/unit/namespaces/tiny_root.hpp"

#include <array>

#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>

using namespace cybele;
using namespace cybele::namespaces;

namespace {

/// What `body` gives in a child, after which the child waits; its namespaces meanwhile.
class Other {
public:
    explicit Other(const std::function<bool()>& body) {
        std::array<int, 2> ready = {};
        REQUIRE(pipe2(ready.data(), O_CLOEXEC) == 0);
        pid_ = fork();
        if (pid_ == 0) {
            const char word = body() ? 'y' : 'n';
            (void)prctl(PR_SET_DUMPABLE, 1);
            (void)!::write(ready[1], &word, 1);
            pause();
            _exit(0);
        }
        close(ready[1]);
        char word = 0;
        CHECK(read(ready[0], &word, 1) == 1);
        close(ready[0]);
        CHECK(word == 'y');
    }
    Other(const Other&) = delete;
    Other& operator=(const Other&) = delete;
    ~Other() {
        kill(pid_, SIGKILL);
        (void)wait_for(pid_);
    }
    [[nodiscard]] ContainerNamespaces open() const {
        const std::string folder = "/proc/" + std::to_string(pid_) + "/ns/";
        ContainerNamespaces all;
        all.mount.reset(::open((folder + "mnt").c_str(), O_RDONLY | O_CLOEXEC));
        all.user.reset(::open((folder + "user").c_str(), O_RDONLY | O_CLOEXEC));
        return all;
    }

private:
    pid_t pid_ = -1;
};

/// A user namespace in which this process is root again.
bool go_down(bool has_mounts) {
    const UniqueFd proc(open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC));
    const unsigned uid = geteuid();
    const unsigned gid = getegid();
    return unshare(CLONE_NEWUSER | (has_mounts ? CLONE_NEWNS : 0)) == 0 &&
           map_one(proc.get(), 0, uid, {0, gid}).has_value();
}

/// A container of ours has two: one that owns the mounts, one for the programs.
bool is_like(int levels) {
    bool is_made = enter_namespaces(IdMap::kOwnRoot).has_value();
    for (int level = 1; level < levels; ++level) {
        is_made = is_made && go_down(false);
    }
    return is_made;
}

/// The code of a user's attempt to enter: 0 entered, 1 refused.
int entering(const std::function<bool()>& body, uid_t maker) {
    Other other([&] {
        if (maker != 0 && (setresgid(maker, maker, maker) != 0 ||
                           setresuid(maker, maker, maker) != 0 || prctl(PR_SET_DUMPABLE, 1) != 0)) {
            return false;
        }
        return body();
    });
    const ContainerNamespaces all = other.open(); // by root, as if they had been handed over
    return tiny::as_user([&] { return enter_container(all) ? 0 : 1; });
}

} // namespace

TEST_CASE("a container that this user made is entered") {
    CHECK(entering([] { return is_like(2); }, tiny::kUser) == 0);
}

TEST_CASE("another user's is not, nor one that was made inside a container") {
    CHECK(entering([] { return is_like(2); }, 65533) == 1);
    CHECK(entering([] { return is_like(3); }, tiny::kUser) == 1);
    CHECK(entering([] { return is_like(1); }, tiny::kUser) == 1);
    // Mounts made one level further down.
    CHECK(entering([] { return go_down(false) && go_down(true) && go_down(false); }, tiny::kUser) ==
          1);
}

TEST_CASE("root enters the mounts only") {
    Other other([] { return unshare(CLONE_NEWNS) == 0; });
    CHECK(tiny::in_child([&] {
              ContainerNamespaces all = other.open();
              all.user.reset();
              const auto entered = enter_container(all);
              const auto own = own_namespaces(open("/proc", O_PATH | O_DIRECTORY), false);
              struct stat one = {};
              struct stat two = {};
              const bool is_same = entered && own && fstat(own->mount.get(), &one) == 0 &&
                                   fstat(all.mount.get(), &two) == 0 && one.st_ino == two.st_ino;
              return is_same && !own->user.valid() ? 0 : 1;
          }) == 0);
}
