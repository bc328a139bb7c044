// SPDX-License-Identifier: Apache-2.0
// Clients that submit the same Job at the same time, are killed at any system call, and get any
// answer: at most one submission for an intent, and none that was acknowledged is lost.
// CYBELE_ONCE_STORIES and CYBELE_ONCE_SEED change how many stories run and which; a failure prints
// the seed of its story and the shortest part that fails.
#include "../explorer.hpp"
#include "submission/submit/submit.hpp"
#include "support/file.hpp"

#include <csignal>
#include <iterator>
#include <map>
#include <set>
#include <sstream>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>

using namespace cybele;
using submission::Receipt;
using submission::State;
namespace fs = std::filesystem;

namespace {

/// What a scheduler does with one submission, and what it says.
/// In the last two the client is killed while it asks.
enum class Answer {
    kAccepts,
    kAcceptsUnclear,
    kNeverCameUnclear,
    kRefuses,
    kUnreachable,
    kAcceptsKilled,
    kNeverCameKilled,
};

struct Client {
    Answer answer = Answer::kAccepts;
    std::uint64_t killed_at = 0;
};

/// Clients at the same time.
struct Crowd {
    std::vector<Client> clients;
    std::uint64_t order = 0;
};

/// What all processes see: the clock, and the jobs that were accepted, a line each.
struct Outside {
    TempDirectory folder =
        TempDirectory::make(fs::exists("/dev/shm") ? "/dev/shm" : "/tmp", "cybele-once").value();
    fs::path accepted = folder.path() / "accepted";
    std::int64_t* clock = static_cast<std::int64_t*>(
        ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    Outside() {
        REQUIRE(clock != MAP_FAILED);
        *clock = 1000;
        fs::create_directories(folder.path() / "work");
        REQUIRE(write_file(accepted, "").has_value());
    }
    Outside(const Outside&) = delete;
    Outside& operator=(const Outside&) = delete;
    ~Outside() {
        ::munmap(clock, 4096);
    }

    static std::string id_of(const std::string& uuid) {
        return std::to_string(1 + std::stoul(uuid.substr(0, 7), nullptr, 16));
    }
    void accept(const std::string& uuid) const {
        const UniqueFd fd(::open(accepted.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
        const std::string line = uuid + "\n";
        (void)!::write(fd.get(), line.data(), line.size());
    }
    [[nodiscard]] std::vector<std::string> uuids() const {
        std::istringstream lines(read_file(accepted).value());
        std::vector<std::string> all;
        for (std::string line; std::getline(lines, line);) {
            all.push_back(line);
        }
        return all;
    }
};

class CrowdScheduler : public submission::Backend {
public:
    CrowdScheduler(const Outside& outside, Answer answer) : outside_(outside), answer_(answer) {}
    Receipt submit(const submission::Submission& submission) override {
        if (answer_ == Answer::kAccepts || answer_ == Answer::kAcceptsUnclear ||
            answer_ == Answer::kAcceptsKilled) {
            outside_.accept(submission.uuid);
        }
        if (answer_ == Answer::kAcceptsKilled || answer_ == Answer::kNeverCameKilled) {
            (void)::kill(::getpid(), SIGKILL);
        }
        switch (answer_) {
        case Answer::kAccepts:
            return {Receipt::Kind::kAccepted, Outside::id_of(submission.uuid), {}};
        case Answer::kRefuses:
            return {Receipt::Kind::kRefused, {}, "no such queue"};
        case Answer::kUnreachable:
            return {Receipt::Kind::kUnreachable, {}, "no answer"};
        default:
            return {Receipt::Kind::kUnclear, {}, "timed out"};
        }
    }
    submission::QueryResult look(const std::vector<submission::JobRef>& /*jobs*/,
                                 const std::vector<submission::Reading>& /*files*/) override {
        return {};
    }
    submission::QueryResult inquire(const std::vector<submission::JobRef>& /*jobs*/) override {
        return {};
    }
    Result<std::optional<std::string>> find(const submission::JobRef& job) override {
        for (const std::string& uuid : outside_.uuids()) {
            if (uuid == job.uuid) {
                return Outside::id_of(uuid);
            }
        }
        *outside_.clock += submission::kSearchSeconds; // a search takes its time
        return std::nullopt;
    }
    Result<void> cancel(const std::vector<submission::JobRef>& /*jobs*/) override {
        return {};
    }

private:
    const Outside& outside_;
    Answer answer_;
};

constexpr int kAcknowledged = 0;
constexpr int kTakenUp = 1; ///< a job that was there
constexpr int kFailed = 2;
constexpr int kBroken = 3;

/// What a client does; `told` gets the id that it was given.
int submit_as_client(const Outside& outside, Answer answer, const fs::path& told) {
    const Environment environment{
        EnvironmentMap{{"CYBELE_STATE_DIR", (outside.folder.path() / "state").native()}}};
    auto context = submission::JobContext::open(environment, [&outside] { return *outside.clock; });
    if (!context) {
        return kBroken;
    }
    submission::Entry like;
    like.scheduler = "slurm";
    context->use(like, std::make_unique<CrowdScheduler>(outside, answer));
    submission::RenderedJob ready;
    ready.input.dialect = "slurm";
    ready.input.job.name = "wheat";
    ready.input.job.folder = outside.folder.path() / "work";
    ready.script = "#!/bin/sh\nexit 3\n";
    const SignalWatch signals;
    const auto done = submission::submit_once(*context, ready, {}, environment, signals);
    if (!done) {
        return kFailed;
    }
    if (!write_file(told, done->entry.id)) {
        return kBroken;
    }
    return done->was_there ? kTakenUp : kAcknowledged;
}

struct OnceWorld {
    Outside outside;
    std::set<std::string> acknowledged; ///< ids
    int number = 0;

    /// Lets the clients run; what is wrong, or nothing.
    std::string run(const Crowd& crowd, std::map<std::string, int>& counts) {
        std::vector<explorer::Part> parts;
        std::vector<fs::path> told;
        for (const Client& client : crowd.clients) {
            told.push_back(outside.folder.path() / fmt::format("told-{}", ++number));
            parts.push_back({[this, client, file = told.back()] {
                                 return submit_as_client(outside, client.answer, file);
                             },
                             client.killed_at});
        }
        const auto ends = explorer::run_in_turns(parts, crowd.order);
        for (std::size_t i = 0; i < ends.size(); ++i) {
            if (!ends[i]) {
                ++counts["killed"];
                continue;
            }
            if (*ends[i] >= kBroken) {
                return "the journal cannot be used";
            }
            ++counts[*ends[i] == kAcknowledged ? "acknowledged"
                     : *ends[i] == kTakenUp    ? "taken up"
                                               : "failed"];
            if (*ends[i] != kFailed && !acknowledged.insert(read_file(told[i]).value()).second) {
                return "two clients were given one job";
            }
        }
        return {};
    }

    /// The next clients, of whom each takes up what a killed one left, until one submits.
    std::string settle(std::map<std::string, int>& counts) {
        for (int i = 0; i < 40; ++i) {
            const int before = counts["acknowledged"];
            if (std::string trouble = run(Crowd{{Client{}}, 0}, counts); !trouble.empty()) {
                return trouble;
            }
            if (counts["acknowledged"] > before) {
                return check();
            }
        }
        return "submissions never come to rest";
    }

    [[nodiscard]] std::string check() const {
        const auto journal = submission::Journal::open(Environment{
            EnvironmentMap{{"CYBELE_STATE_DIR", (outside.folder.path() / "state").native()}}});
        if (!journal) {
            return "the journal cannot be opened";
        }
        const auto listed = journal->list();
        if (!listed) {
            return "the journal cannot be read";
        }
        std::map<std::string, submission::Entry> entries;
        for (const submission::Entry& entry : *listed) {
            entries.emplace(entry.uuid, entry);
        }
        std::set<std::string> seen;
        for (const std::string& uuid : outside.uuids()) {
            if (!seen.insert(uuid).second) {
                return "one intent was submitted two times";
            }
            const auto found = entries.find(uuid);
            if (found == entries.end()) {
                return "a job runs that the journal does not have";
            }
            if (found->second.id != Outside::id_of(uuid)) {
                return "no client has the id of a running job: " + found->second.id;
            }
            if (found->second.client == submission::kFound) {
                return "a job runs that no client was given, and the next one submitted again";
            }
        }
        for (const std::string& id : acknowledged) {
            bool is_there = false;
            for (const auto& [uuid, entry] : entries) {
                is_there = is_there || (entry.id == id && seen.contains(uuid) &&
                                        entry.state != State::kNotSubmitted);
            }
            if (!is_there) {
                return "an acknowledged job is lost";
            }
        }
        for (const auto& [uuid, entry] : entries) {
            if (!seen.contains(uuid) && entry.state != State::kNotSubmitted) {
                return "what was never submitted is taken for a job";
            }
        }
        return {};
    }
};

std::string tell_once_story(const std::vector<Crowd>& story, std::map<std::string, int>& counts) {
    OnceWorld world;
    for (const Crowd& crowd : story) {
        if (std::string trouble = world.run(crowd, counts); !trouble.empty()) {
            return trouble;
        }
    }
    return world.settle(counts);
}

Crowd crowd_of(explorer::Chance& chance) {
    Crowd crowd;
    const std::uint64_t count = 1 + chance.below(3);
    for (std::uint64_t i = 0; i < count; ++i) {
        Client client;
        constexpr Answer kAnswers[] = {Answer::kAccepts,
                                       Answer::kAccepts,
                                       Answer::kAcceptsUnclear,
                                       Answer::kNeverCameUnclear,
                                       Answer::kRefuses,
                                       Answer::kUnreachable,
                                       Answer::kAcceptsKilled,
                                       Answer::kAcceptsKilled,
                                       Answer::kNeverCameKilled};
        client.answer = kAnswers[chance.below(std::size(kAnswers))];
        if (chance.below(2) == 0) {
            client.killed_at = 1 + chance.below(chance.below(3) == 0 ? 200 : 1400);
        }
        crowd.clients.push_back(client);
    }
    crowd.order = chance.next();
    return crowd;
}

std::string text_of_crowds(const std::vector<Crowd>& story) {
    constexpr const char* kWords[] = {"accepted",
                                      "accepted, unclear",
                                      "never came, unclear",
                                      "refused",
                                      "unreachable",
                                      "accepted, killed",
                                      "never came, killed"};
    std::string text;
    for (const Crowd& crowd : story) {
        for (const Client& client : crowd.clients) {
            text += fmt::format("a client that is {}, killed at {}; ",
                                kWords[static_cast<unsigned>(client.answer)],
                                client.killed_at);
        }
        text += fmt::format("in order {}\n", crowd.order);
    }
    return text;
}

} // namespace

TEST_CASE("at most one submission for an intent, none that was acknowledged lost, by any order") {
    const std::uint64_t count = explorer::setting("CYBELE_ONCE_STORIES", 12);
    const std::uint64_t first = explorer::setting("CYBELE_ONCE_SEED", 1);
    std::map<std::string, int> counts;
    for (std::uint64_t seed = first; seed < first + count; ++seed) {
        explorer::Chance chance(seed);
        std::vector<Crowd> story;
        story.reserve(5);
        for (int i = 0; i < 5; ++i) {
            story.push_back(crowd_of(chance));
        }
        const std::string trouble = tell_once_story(story, counts);
        if (!trouble.empty()) {
            std::map<std::string, int> ignored;
            const auto least = explorer::shrunk<Crowd>(story, [&](const auto& shorter) {
                return !tell_once_story(shorter, ignored).empty();
            });
            FAIL("seed " << seed << ": " << trouble << "\n"
                         << text_of_crowds(least) << tell_once_story(least, ignored));
        }
    }
    std::string summary = std::to_string(count) + " stories";
    for (const auto& [what, number] : counts) {
        summary += ", " + std::to_string(number) + " " + what;
    }
    MESSAGE(summary);
    for (const char* what : {"acknowledged", "taken up", "failed", "killed"}) {
        CAPTURE(std::string(what));
        CHECK(counts[what] > 0);
    }
}
