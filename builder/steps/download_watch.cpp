// SPDX-License-Identifier: Apache-2.0
#include "builder/steps/download_watch.hpp"

#include "support/file.hpp"
#include "support/file_copy.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <sstream>
#include <system_error>

#include <fcntl.h>
#include <poll.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cybele::builder {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kSeen = IN_CREATE | IN_MOVED_TO | IN_CLOSE_WRITE | IN_OPEN | IN_ONLYDIR;
constexpr std::size_t kMostFolders = 4096; // a script may make as many as it likes
constexpr const char* kOpened = "opened";  // beside the copies, which lie in folders

/// The child's work: what happens in the folders, until it is stopped.
class Watcher {
public:
    Watcher(const images::RootDirectory& root, const WatchedFiles& wanted, fs::path copies)
        : root_(root), wanted_(wanted), copies_(std::move(copies)),
          events_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {}

    [[nodiscard]] bool begin() {
        return events_.valid() && watch("");
    }
    void run(int stop) {
        std::array<pollfd, 2> asked = {pollfd{events_.get(), POLLIN, 0}, pollfd{stop, POLLIN, 0}};
        bool goes_on = true;
        while (goes_on) {
            const int count = ::poll(asked.data(), asked.size(), -1);
            goes_on = count > 0 ? asked[1].revents == 0 : errno == EINTR;
            read_events(); // at the end, too: those that came before it
        }
        std::string text;
        for (const std::string& place : opened_) {
            text += place + "\n";
        }
        (void)write_file(copies_ / kOpened, text);
    }

private:
    /// `place`: below the top; "" is the top itself. False: it is not watched.
    bool watch(const std::string& place) {
        const UniqueFd folder =
            root_.open_inside(wanted_.folder + "/" + place, O_PATH | O_DIRECTORY | O_NOFOLLOW);
        if (!folder.valid() || folders_.size() >= kMostFolders) {
            return false;
        }
        // inotify takes names only; this one leads to what was opened.
        const std::string name = "/proc/self/fd/" + std::to_string(folder.get());
        const int number = ::inotify_add_watch(events_.get(), name.c_str(), kSeen);
        if (number < 0) {
            return false;
        }
        folders_[number] = place;
        // What came before the watch.
        for (const std::string& inner : root_.list(wanted_.folder + "/" + place)) {
            if (!enter(place, inner) && !place.empty() && has_begun_ && is_wanted(inner)) {
                copy(place + inner);
            }
        }
        has_begun_ = has_begun_ || place.empty();
        return true;
    }
    /// Watches a folder of a folder; false: it is none, or none of those that are wanted.
    bool enter(const std::string& place, const std::string& name) {
        return (!place.empty() || wanted_.has_folder(name)) && watch(place + name + "/");
    }
    void read_events() {
        alignas(inotify_event) std::array<char, 65536> bytes = {};
        while (true) {
            const ssize_t count = ::read(events_.get(), bytes.data(), bytes.size());
            if (count <= 0) {
                return;
            }
            for (std::size_t at = 0; at < static_cast<std::size_t>(count);) {
                inotify_event event = {};
                std::memcpy(&event, bytes.data() + at, sizeof event);
                const char* const name = bytes.data() + at + sizeof event;
                handle(event, event.len == 0 ? std::string() : std::string(name));
                at += sizeof event + event.len;
            }
        }
    }
    void handle(const inotify_event& event, const std::string& name) {
        const auto folder = folders_.find(event.wd);
        if ((event.mask & IN_IGNORED) != 0) {
            folders_.erase(event.wd); // it is gone
            return;
        }
        if (folder == folders_.end() || name.empty()) {
            return;
        }
        const std::string place = folder->second; // entering others may move it
        if ((event.mask & IN_ISDIR) != 0) {
            if ((event.mask & (IN_CREATE | IN_MOVED_TO)) != 0) {
                (void)enter(place, name);
            }
        } else if (!place.empty() && is_wanted(name)) {
            if ((event.mask & IN_OPEN) != 0) {
                opened_.insert(place + name);
            }
            // Made: zypper links what it fetched elsewhere. What is still written comes again.
            if ((event.mask & (IN_CREATE | IN_CLOSE_WRITE | IN_MOVED_TO)) != 0) {
                copy(place + name);
            }
        }
    }
    [[nodiscard]] bool is_wanted(const std::string& name) const {
        return wanted_.has_file(name) && name.find('\n') == std::string::npos;
    }
    void copy(const std::string& place) const {
        const UniqueFd from =
            root_.open_inside(wanted_.folder + "/" + place, O_RDONLY | O_NONBLOCK | O_NOFOLLOW);
        struct stat status = {};
        if (!from.valid() || ::fstat(from.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
            status.st_size == 0) {
            return; // removed again, something else, or only begun
        }
        const fs::path target = copies_ / place;
        if (!make_directories(target.parent_path())) {
            return;
        }
        const UniqueFd to(
            ::open(target.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
        images::FileCopy bytes;
        bytes.from = from.get();
        bytes.to = to.get();
        bytes.bytes = static_cast<std::uint64_t>(status.st_size);
        if (!to.valid() || !images::copy_bytes(bytes).ok()) {
            (void)::unlink(target.c_str());
        }
    }

    const images::RootDirectory& root_;
    const WatchedFiles& wanted_;
    fs::path copies_;
    UniqueFd events_;
    std::map<int, std::string> folders_; ///< what is watched; each ends with a slash, but the top
    std::set<std::string> opened_;
    bool has_begun_ = false; ///< all that was there before is watched
};

} // namespace

std::unique_ptr<DownloadWatch> DownloadWatch::start(const images::RootDirectory& root,
                                                    const WatchedFiles& wanted,
                                                    const fs::path& copies) {
    Watcher watcher(root, wanted, copies);
    auto stop = namespaces::make_pipe();
    if (!stop || !watcher.begin()) {
        return nullptr;
    }
    auto child = HelperProcess::start([&]() -> Result<void> {
        watcher.run(stop->read.get());
        return {};
    });
    if (!child) {
        return nullptr;
    }
    return std::unique_ptr<DownloadWatch>(
        new DownloadWatch(std::move(*child), std::move(*stop), copies));
}

std::set<std::string> DownloadWatch::end() {
    // Closing it would not do: a process that was started since has it, too. Both ends are open
    // here, for a child that was killed reads no more.
    (void)!::write(stop_.write.get(), "", 1);
    std::set<std::string> opened;
    if (!child_.wait()) {
        return opened;
    }
    std::istringstream lines(read_file(copies_ / kOpened).value_or(""));
    for (std::string line; std::getline(lines, line);) {
        opened.insert(line);
    }
    return opened;
}

} // namespace cybele::builder
