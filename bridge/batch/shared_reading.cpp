// SPDX-License-Identifier: Apache-2.0
#include "bridge/batch/shared_reading.hpp"

#include "support/boot_time.hpp"
#include "support/digest.hpp"
#include "support/encoding.hpp"
#include "support/lock.hpp"
#include "support/random.hpp"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>

namespace cybele::bridge {
namespace {

namespace files = std::filesystem;
using submission::ReadBack;
using submission::Reading;

constexpr std::size_t kMostReadings = 64;        ///< in one round trip
constexpr std::size_t kLongestReading = 1 << 20; ///< of a file here
constexpr std::chrono::seconds kLeftBehind{60};  ///< then it is of a process that was killed
constexpr std::chrono::milliseconds kLookForAnswer{50};

constexpr const char* kAskEnding = ".ask";
constexpr const char* kAnswerEnding = ".answer";

/// It appears complete. Nothing is lost with it, so it is not synced.
bool put_file(const files::path& path, const std::string& bytes) {
    const files::path incoming = path.native() + ".new";
    const UniqueFd fd(
        ::open(incoming.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)); // NOLINT: open(2)
    std::error_code failed;
    if (!fd.valid() || !write_all(fd.get(), bytes, incoming)) {
        files::remove(incoming, failed);
        return false;
    }
    files::rename(incoming, path, failed);
    return !failed;
}

std::string ask_text(const Reading& reading) {
    return std::to_string(reading.offset) + " " + std::to_string(reading.most) + " " + reading.file;
}

std::optional<Reading> read_ask(const std::string& text) {
    Reading reading;
    unsigned long long offset = 0;
    unsigned long long most = 0;
    int at = 0;
    // NOLINTNEXTLINE: two numbers, of which this program wrote the text
    if (std::sscanf(text.c_str(), "%llu %llu %n", &offset, &most, &at) != 2) {
        return std::nullopt;
    }
    reading.offset = offset;
    reading.most = most;
    reading.file = text.substr(static_cast<std::size_t>(at));
    return reading;
}

std::string answer_text(const ReadBack& back) {
    return std::to_string(back.exists ? 1 : 0) + " " + std::to_string(back.size) + " " +
           std::to_string(back.inode) + "\n" + back.bytes;
}

std::optional<ReadBack> take_answer(const files::path& ask) {
    files::path path = ask;
    path.replace_extension(kAnswerEnding);
    const auto text = read_file(path, kLongestReading);
    if (!text) {
        return std::nullopt;
    }
    std::error_code failed;
    files::remove(path, failed);
    unsigned long long size = 0;
    unsigned long long inode = 0;
    int exists = 0;
    // NOLINTNEXTLINE: three numbers, of which this program wrote the text
    if (std::sscanf(text->c_str(), "%d %llu %llu", &exists, &size, &inode) != 3) {
        return std::nullopt;
    }
    ReadBack back;
    back.exists = exists != 0;
    back.size = size;
    back.inode = inode;
    back.bytes = text->substr(std::min(text->find('\n'), text->size() - 1) + 1);
    return back;
}

void put_answer(const files::path& ask, const ReadBack& back) {
    files::path path = ask;
    path.replace_extension(kAnswerEnding);
    std::error_code failed;
    if (files::exists(ask, failed) && put_file(path, answer_text(back))) {
        files::remove(ask, failed);
    }
}

/// Gone when its process has ended, whatever happened.
class AskFile {
public:
    AskFile(const files::path& folder, const Reading& reading)
        : path_(folder / (random_uuid() + kAskEnding)),
          is_there_(make_directories(folder, 0700) && put_file(path_, ask_text(reading))) {}
    AskFile(const AskFile&) = delete;
    AskFile& operator=(const AskFile&) = delete;
    ~AskFile() {
        std::error_code failed;
        files::remove(path_, failed);
        files::remove(path_.replace_extension(kAnswerEnding), failed);
    }

    [[nodiscard]] bool is_there() const {
        return is_there_;
    }
    [[nodiscard]] const files::path& path() const {
        return path_;
    }

private:
    files::path path_;
    bool is_there_;
};

bool was_left_behind(const files::path& path) {
    std::error_code failed;
    const auto written = files::last_write_time(path, failed);
    return !failed && files::file_time_type::clock::now() - written > kLeftBehind;
}

} // namespace

SharedReading::SharedReading(submission::Host& host, files::path folder, Pace pace)
    : host_(host), folder_(std::move(folder)), pace_(pace) {}

/// The same moment in all processes of the machine.
void SharedReading::sleep_until_turn() const {
    const std::chrono::milliseconds now = boot_time();
    std::this_thread::sleep_for(pace_.between - now % pace_.between);
}

Result<ReadBack> SharedReading::read_alone(const Reading& reading) {
    CYBELE_TRY(submission::Answers answers, host_.exchange({}, {reading}));
    return std::move(answers.files.front());
}

std::vector<SharedReading::Ask> SharedReading::asks_of_others(const Ask& own) const {
    std::vector<Ask> asks;
    std::error_code failed;
    for (auto at = files::directory_iterator(folder_, failed);
         !failed && at != files::directory_iterator();
         at.increment(failed)) {
        const files::path& path = at->path();
        std::error_code ignored;
        if (path.has_extension() && was_left_behind(path)) {
            files::remove(path, ignored);
        } else if (path.extension() == kAskEnding && path != own.file &&
                   asks.size() + 1 < kMostReadings) {
            const auto text = read_file(path, kLongestReading);
            auto reading = text ? read_ask(*text) : std::nullopt;
            if (reading) {
                asks.push_back({path, std::move(*reading)});
            }
        }
    }
    return asks;
}

Result<ReadBack> SharedReading::read_for_all(const Ask& own) {
    sleep_until_turn();
    const std::vector<Ask> others = asks_of_others(own);
    std::vector<Reading> readings{own.reading};
    std::transform(others.begin(), others.end(), std::back_inserter(readings), [](const Ask& ask) {
        return ask.reading;
    });
    CYBELE_TRY(submission::Answers answers, host_.exchange({}, readings));
    for (std::size_t at = 0; at < others.size(); ++at) {
        put_answer(others[at].file, answers.files[at + 1]);
    }
    return std::move(answers.files.front());
}

Result<ReadBack> SharedReading::read(const Reading& reading) {
    const AskFile ask(folder_, reading);
    const UniqueFd lock(::open((folder_ / "lock").c_str(),
                               O_RDWR | O_CREAT | O_CLOEXEC, // NOLINT: open(2) is variadic
                               0600));
    if (!ask.is_there() || !lock.valid()) {
        sleep_until_turn();
        return read_alone(reading);
    }
    const std::chrono::milliseconds limit = boot_time() + pace_.patience;
    while (boot_time() < limit) {
        // First the lock: whoever had it may have answered since the last look.
        const bool is_first = take_lock(lock.get(), LOCK_EX | LOCK_NB);
        if (auto back = take_answer(ask.path())) {
            return std::move(*back);
        }
        if (is_first) {
            return read_for_all({ask.path(), reading});
        }
        std::this_thread::sleep_for(kLookForAnswer);
    }
    return read_alone(reading);
}

files::path folder_of_readings(const files::path& sockets, const std::string& way) {
    constexpr std::size_t kLengthOfName = 16;
    return sockets / ("readings-" + hex(sha256(way)).substr(0, kLengthOfName));
}

} // namespace cybele::bridge
