// SPDX-License-Identifier: Apache-2.0
// Several processes that read by the same way share a round trip; here threads, each with a host
// and a lock of its own.
#include "bridge/batch/shared_reading.hpp"
#include "support/boot_time.hpp"
#include "support/file.hpp"

#include <atomic>
#include <fstream>
#include <iterator>
#include <mutex>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

namespace {

const std::string kEnd{'\n', '\0', 'x'}; ///< of a piece of a log: any bytes

namespace bridge = cybele::bridge;
namespace submission = cybele::submission;
namespace files = std::filesystem;

/// Answers with the name of the file and the offset, and counts.
class Counted : public submission::Host {
public:
    explicit Counted(std::atomic<int>& round_trips) : round_trips_(round_trips) {}

    cybele::Result<submission::Answers>
    exchange(const std::vector<submission::Call>& calls,
             const std::vector<submission::Reading>& readings) override {
        CHECK(calls.empty());
        ++round_trips_;
        if (fails) {
            return cybele::fail(cybele::ErrorCode::kEnvironment,
                                cybele::problem("test-unreachable", "cannot reach it"),
                                "it is a test",
                                "none");
        }
        submission::Answers answers;
        for (const submission::Reading& reading : readings) {
            answers.files.push_back(
                {true, 7, reading.file + " at " + std::to_string(reading.offset) + kEnd, 3});
        }
        return answers;
    }
    bool fails = false;

private:
    std::atomic<int>& round_trips_;
};

struct Meeting {
    cybele::TempDirectory folder = std::move(*cybele::TempDirectory::make("/tmp", "readings"));
    files::path path = folder.path() / "here";
    std::atomic<int> round_trips = 0;

    [[nodiscard]] std::size_t left() const {
        const auto all = files::directory_iterator(path);
        return static_cast<std::size_t>(std::distance(begin(all), end(all)));
    }
};

constexpr bridge::SharedReading::Pace kQuick{std::chrono::milliseconds(400),
                                             std::chrono::milliseconds(4'000)};

} // namespace

TEST_CASE("eight followers share a round trip, and each gets its own file") {
    Meeting meeting;
    constexpr int kFollowers = 8;
    constexpr int kLooks = 5;
    std::atomic<int> right = 0;
    std::vector<std::thread> followers;
    followers.reserve(kFollowers);
    for (int one = 0; one < kFollowers; ++one) {
        followers.emplace_back([&, one] {
            Counted host(meeting.round_trips);
            bridge::SharedReading shared(host, meeting.path, kQuick);
            for (int look = 0; look < kLooks; ++look) {
                const std::string file = "/a folder/" + std::to_string(one);
                const auto back = shared.read({file, static_cast<std::uint64_t>(look), 65536});
                right += back && back->exists && back->size == 7 && back->inode == 3 &&
                                 back->bytes == fmt::format("{} at {}{}", file, look, kEnd)
                             ? 1
                             : 0;
            }
        });
    }
    for (std::thread& follower : followers) {
        follower.join();
    }
    CHECK(right == kFollowers * kLooks);
    CHECK(meeting.round_trips >= kLooks);
    CHECK(meeting.round_trips <= 3 * kLooks); // on a busy machine somebody comes too late
    CHECK(meeting.left() == 1);               // the lock
}

TEST_CASE("files of a killed follower are removed, and no follower waits for a stopped one") {
    Meeting meeting;
    files::create_directories(meeting.path);
    for (const char* name : {"old.ask", "old.answer", "old.ask.new"}) {
        std::ofstream(meeting.path / name) << "0 1 /old";
        files::last_write_time(meeting.path / name,
                               files::file_time_type::clock::now() - std::chrono::minutes(2));
    }
    Counted host(meeting.round_trips);
    bridge::SharedReading shared(host, meeting.path, kQuick);
    CHECK(shared.read({"/file", 0, 10}).has_value());
    CHECK(meeting.round_trips == 1);
    CHECK(meeting.left() == 1);

    const cybele::UniqueFd lock(::open((meeting.path / "lock").c_str(), O_RDWR | O_CLOEXEC));
    REQUIRE(::flock(lock.get(), LOCK_EX) == 0);
    const auto begin = cybele::boot_time();
    CHECK(shared.read({"/file", 0, 10}).has_value());
    CHECK(cybele::boot_time() - begin >= kQuick.patience);
    CHECK(meeting.round_trips == 2);
}

TEST_CASE("a way that fails is reported, and a folder that cannot be made is done without") {
    Meeting meeting;
    Counted host(meeting.round_trips);
    host.fails = true;
    bridge::SharedReading shared(host, meeting.path, kQuick);
    CHECK_FALSE(shared.read({"/file", 0, 10}).has_value());
    host.fails = false;
    bridge::SharedReading nowhere(host, "/proc/self/nowhere", kQuick);
    CHECK(nowhere.read({"/file", 0, 10}).has_value());
    CHECK(meeting.round_trips == 2);
}
