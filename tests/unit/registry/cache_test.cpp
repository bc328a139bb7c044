// SPDX-License-Identifier: Apache-2.0
#include "registry/cache/cache.hpp"
#include "support/digest.hpp"
#include "support/encoding.hpp"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <thread>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace cybele;
namespace fs = std::filesystem;

namespace {

TempDirectory temporary() {
    auto made = TempDirectory::make(fs::temp_directory_path(), "cache-test");
    REQUIRE(made);
    return std::move(*made);
}

auto writer(const std::string& bytes, int* calls = nullptr) {
    return [bytes, calls](const fs::path& path) -> Result<void> {
        if (calls != nullptr) {
            ++*calls;
        }
        std::ofstream(path) << bytes;
        return {};
    };
}

std::string content(const fs::path& path) {
    const auto text = read_file(path);
    REQUIRE(text);
    return *text;
}

/// As builds do: get(), or put() under the entry's lock.
Result<fs::path> get_or_put(const registry::Cache& cache,
                            std::string_view kind,
                            std::string_view key,
                            const std::function<Result<void>(const fs::path&)>& write) {
    CYBELE_TRY(const auto held, cache.lock(kind, key));
    if (auto entry = cache.get(kind, key)) {
        return *entry;
    }
    return cache.put(kind, key, write);
}

} // namespace

TEST_CASE("an entry is made once, then found by its key") {
    const auto dir = temporary();
    const registry::Cache cache(dir.path() / "cache");
    int calls = 0;
    CHECK_FALSE(cache.get("bases", "k"));
    const auto made = get_or_put(cache, "bases", "k", writer("one", &calls));
    REQUIRE(made);
    CHECK(content(*made) == "one");
    REQUIRE(get_or_put(cache, "bases", "k", writer("two", &calls)));
    CHECK(calls == 1);
    CHECK_FALSE(cache.get("bases", "other"));
    CHECK_FALSE(cache.get("steps", "k"));
    const fs::file_status status = fs::status(cache.directory() / "bases");
    CHECK(status.permissions() == fs::perms::owner_all);
}

TEST_CASE("what others could have written in a cache is never given") {
    const auto dir = temporary();
    const registry::Cache cache(dir.path() / "cache");
    const auto made = get_or_put(cache, "steps", "k", writer("one"));
    REQUIRE(made);
    CHECK(cache.get("steps", "k"));
    const auto set_mode = [](const fs::path& path, mode_t mode) {
        REQUIRE(::chmod(path.c_str(), mode) == 0);
    };
    for (const fs::path& folder : {cache.directory(), cache.directory() / "steps", dir.path()}) {
        CAPTURE(folder);
        set_mode(folder, 0777);
        CHECK_FALSE(cache.get("steps", "k"));
        set_mode(folder, 0700);
        CHECK(cache.get("steps", "k"));
    }
    set_mode(cache.directory(), 0777);
    const auto refused = get_or_put(cache, "steps", "k", writer("two"));
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code() == ErrorCode::kEnvironment);
    CHECK(cache.check().error().faults().front().help.find("CYBELE_CACHE_DIR=DIR") !=
          std::string::npos);
    set_mode(cache.directory(), 0700);
    set_mode(*made, 0666);
    CHECK_FALSE(cache.get("steps", "k"));
    const mode_t before = ::umask(0);
    const auto again = get_or_put(cache, "steps", "k", writer("three"));
    ::umask(before);
    REQUIRE(again);
    CHECK((fs::status(*again).permissions() & fs::perms::others_write) == fs::perms::none);
}

TEST_CASE("a cut, damaged or unfinished entry is made again") {
    const auto dir = temporary();
    const registry::Cache cache(dir.path());
    const auto path = get_or_put(cache, "bases", "k", writer("content"));
    REQUIRE(path);
    SUBCASE("cut") {
        fs::resize_file(*path, 3);
    }
    SUBCASE("damaged") {
        std::ofstream(*path) << "cont3nt";
    }
    SUBCASE("without a digest") {
        fs::remove(path->native() + ".sha256");
    }
    SUBCASE("a link in its place") {
        std::ofstream(dir.path() / "x") << "content";
        fs::remove(*path);
        fs::create_symlink(dir.path() / "x", *path);
    }
    CHECK_FALSE(cache.get("bases", "k"));
    int calls = 0;
    const auto again = get_or_put(cache, "bases", "k", writer("content", &calls));
    REQUIRE(again);
    CHECK(calls == 1);
    CHECK(content(*again) == "content");
}

TEST_CASE("what is found by content has that content, whatever was noted beside it") {
    const TempDirectory place = temporary();
    const registry::Cache cache(place.path() / "cache");
    const std::string key = hex(sha256("good"));
    REQUIRE(cache.put("packages", key, writer("good")));
    CHECK(cache.get("packages", key));
    REQUIRE(write_file(cache.path("packages", key), "evil"));
    fs::path noted = cache.path("packages", key);
    noted += ".sha256";
    REQUIRE(write_file(noted, hex(sha256("evil")) + " 4\n"));
    CHECK_FALSE(cache.get("packages", key));
    REQUIRE(cache.put("packages", key, writer("good")));
    CHECK(cache.get("packages", key));
    CHECK_FALSE(cache.put("packages", key, writer("evil")));
}

TEST_CASE("a maker that fails leaves nothing") {
    const auto dir = temporary();
    const registry::Cache cache(dir.path());
    const auto result = get_or_put(cache, "bases", "k", [](const fs::path& path) -> Result<void> {
        std::ofstream(path) << "half";
        return fail(ErrorCode::kEnvironment, problem("test", "broken"));
    });
    REQUIRE_FALSE(result);
    CHECK(result.error().message() == "broken");
    for (const auto& entry : fs::directory_iterator(dir.path() / "bases")) {
        CHECK(entry.path().extension() == ".lock");
    }
    // Nor does it take the entry that is there.
    REQUIRE(get_or_put(cache, "bases", "k", writer("good")));
    CHECK_FALSE(cache.put("bases", "k", [](const fs::path&) -> Result<void> {
        return fail(ErrorCode::kEnvironment, problem("test", "broken"));
    }));
    CHECK(cache.get("bases", "k"));
}

TEST_CASE("of several processes one makes the entry") {
    const auto dir = temporary();
    const registry::Cache cache(dir.path());
    std::vector<pid_t> children;
    for (int i = 0; i < 4; ++i) {
        const pid_t pid = ::fork();
        if (pid == 0) {
            const auto made =
                get_or_put(cache, "bases", "k", [&](const fs::path& path) -> Result<void> {
                    std::ofstream(dir.path() / "makers", std::ios::app) << "x";
                    std::this_thread::sleep_for(std::chrono::milliseconds(100));
                    std::ofstream(path) << "content";
                    return {};
                });
            ::_exit(made ? 0 : 1);
        }
        children.push_back(pid);
    }
    for (const pid_t pid : children) {
        int status = 0;
        REQUIRE(::waitpid(pid, &status, 0) == pid);
        CHECK(status == 0);
    }
    CHECK(content(dir.path() / "makers") == "x");
    CHECK(cache.get("bases", "k"));
}

TEST_CASE("pruning removes what was not used for longest, but nothing that is locked") {
    const auto dir = temporary();
    const registry::Cache cache(dir.path());
    for (const char* key : {"a", "b", "c"}) {
        REQUIRE(get_or_put(cache, "steps", key, writer(std::string(100, 'x'))));
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    CHECK(cache.get("steps", "a")); // used last
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    CHECK(cache.prune("steps", 1000) == 0);
    CHECK(cache.prune("steps", 200) == 100);
    CHECK_FALSE(cache.get("steps", "b"));
    const auto held = cache.lock("steps", "a");
    REQUIRE(held);
    CHECK(cache.prune("steps", 0) == 100);
    CHECK(cache.get("steps", "a"));
}

TEST_CASE("the lock of an entry is removed with it, and a process that waited locks a new one") {
    const auto dir = temporary();
    const registry::Cache cache(dir.path());
    const auto entry = cache.put("steps", "a", writer("content"));
    REQUIRE(entry);
    REQUIRE(cache.lock("steps", "a"));
    const fs::path lock = entry->native() + ".lock";
    REQUIRE(fs::exists(lock));
    CHECK(cache.prune("steps", 0) == 7);
    CHECK_FALSE(fs::exists(lock));

    REQUIRE(cache.lock("steps", "a"));
    const int removed = ::open(lock.c_str(), O_RDWR | O_CLOEXEC);
    REQUIRE(::flock(removed, LOCK_EX) == 0);
    std::optional<Result<registry::Cache::Lock>> waited;
    std::thread waiting([&] { waited = cache.lock("steps", "a"); });
    std::this_thread::sleep_for(std::chrono::milliseconds(50)); // it waits, or opens the next one
    REQUIRE(fs::remove(lock));
    ::close(removed);
    waiting.join();
    REQUIRE(waited);
    REQUIRE(*waited);
    const int next = ::open(lock.c_str(), O_RDWR | O_CLOEXEC);
    REQUIRE(next >= 0);
    CHECK(::flock(next, LOCK_EX | LOCK_NB) == -1);
    ::close(next);
}

TEST_CASE("an entry is read again only when somebody touched it") {
    const auto directory = temporary();
    const registry::Cache cache(directory.path());
    const auto entry = cache.put("steps", "a", writer("good bytes"));
    REQUIRE(entry);
    REQUIRE(cache.get("steps", "a"));
    const fs::path seen = entry->native() + ".seen";
    REQUIRE(fs::exists(seen));
    // Untouched: the digest is not asked, so that a wrong one does not matter.
    const std::string digest = content(entry->native() + ".sha256");
    std::ofstream(entry->native() + ".sha256") << std::string(64, '0') + digest.substr(64);
    CHECK(cache.get("steps", "a"));
    std::ofstream(entry->native() + ".sha256") << digest;
    // Touched, with the size and the time of change that it had.
    const auto time = fs::last_write_time(*entry);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    std::ofstream(*entry) << "evil bytes";
    fs::last_write_time(*entry, time);
    CHECK_FALSE(cache.get("steps", "a"));
    CHECK_FALSE(fs::exists(*entry));
    CHECK_FALSE(fs::exists(seen));
}

TEST_CASE("steps that version 0.1 kept as tars are listed, and are the first to go") {
    const auto directory = temporary();
    const registry::Cache cache(directory.path());
    const auto made = cache.put("bases", "old", writer(std::string(100, 'o')));
    REQUIRE(made);
    const fs::path old = directory.path() / "steps" / made->filename();
    fs::create_directories(old.parent_path());
    fs::rename(*made, old);
    fs::rename(made->native() + ".sha256", old.native() + ".sha256");
    fs::last_write_time(old, fs::file_time_type::clock::now() - std::chrono::hours(1));
    REQUIRE(cache.put("steps", "new", writer(std::string(100, 'n'))));
    CHECK(cache.list().size() == 2);
    CHECK(registry::Cache::is_whole(cache.list().front()));
    CHECK(cache.prune("steps", 150) == 100);
    CHECK_FALSE(fs::exists(old));
    CHECK(cache.get("steps", "new"));
}

TEST_CASE("a cache without a version is read and gets it; one of a later version is refused") {
    const auto directory = temporary();
    const registry::Cache cache(directory.path());
    REQUIRE(cache.put("bases", "a", writer("bytes")));
    const fs::path format = directory.path() / "format";
    CHECK(content(format) == "1\n");
    fs::remove(format);
    REQUIRE(cache.lock("bases", "a"));
    CHECK(content(format) == "1\n");
    CHECK(cache.get("bases", "a"));
    std::ofstream(format) << "2\n";
    for (const auto& refused : {cache.lock("bases", "a").map([](const auto&) {}),
                                cache.put("bases", "b", writer("x")).map([](const auto&) {})}) {
        REQUIRE_FALSE(refused);
        CHECK(refused.error().code() == ErrorCode::kInput);
        CHECK(refused.error().message().ends_with("is of version 2"));
    }
    CHECK_FALSE(fs::exists(cache.path("bases", "b")));
}
