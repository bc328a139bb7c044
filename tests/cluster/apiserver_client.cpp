// SPDX-License-Identifier: Apache-2.0
// apiserver_client: what tests/cluster/apiserver.bats runs against a real API server, one verb per
// part of the module. Not installed. The kubeconfig is $KUBECONFIG, without one a pod's service
// account below $SERVICE_ACCOUNT.
//   follow PATH WATCH_MS [SECONDS]     lists and watches; prints what it sees until TERM, or for so
//   many seconds create PATH FILE COUNT             creates COUNT objects of the JSON file's form,
//   named thing-N status PATH COUNT STREAMS          a status patch for each of thing-0 ...
//   thing-COUNT-1, as fast as it can; prints the rate race PATH                          two
//   writers patch one state of an object; prints how each ended once PATH REVISION one status patch
//   based on REVISION fences PATH OTHER_UID              status, finalizer and deletion with the
//   right and with a wrong uid lease NAMESPACE NAME IDENTITY DURATION_MS RENEW_MS GIVE_UP_MS
//   WATCH_MS
//                                      holds a Lease; prints `held` and `lost`; TERM gives it back
//   events NAMESPACE COUNT             one Event, recorded COUNT times
#include "apiserver/event.hpp"
#include "apiserver/lease.hpp"
#include "apiserver/list_watch.hpp"
#include "apiserver/loop.hpp"
#include "apiserver/micro_time.hpp"
#include "apiserver/patch.hpp"
#include "apiserver/write.hpp"
#include "support/boot_time.hpp"
#include "support/file.hpp"
#include "support/json.hpp"
#include "support/signals.hpp"
#include "support/stamp.hpp"

#include <array>
#include <fstream>
#include <iostream>
#include <set>
#include <string>
#include <vector>

#include <unistd.h>

using namespace cybele;
using namespace cybele::apiserver;
using nlohmann::json;

namespace {

void say(const std::string& line) {
    std::cout << line << std::endl; // seen at once
}

std::string now_text() {
    return micro_time(nanoseconds_now());
}

std::string resident_kib(pid_t process) {
    std::ifstream file("/proc/" + std::to_string(process) + "/status");
    for (std::string line; std::getline(file, line);) {
        if (line.rfind("VmRSS:", 0) == 0) {
            return line.substr(line.find_first_not_of(" \t", 6));
        }
    }
    return "?";
}

class Printer : public Observer {
public:
    void on_list_begin() override {
        names_.clear();
        is_listing_ = true;
        say("begin");
    }
    void on_object(json& object) override {
        const std::string name = object["metadata"]["name"];
        names_.insert(name);
        if (!is_listing_) {
            const bool is_marked = object.contains("status") && object["status"].contains("word");
            say("+ " + name + (is_marked ? " " + object["status"]["word"].get<std::string>() : ""));
        }
    }
    void on_deleted(json& object) override {
        names_.erase(object["metadata"]["name"]);
        say("- " + object["metadata"]["name"].get<std::string>());
    }
    void on_list_end() override {
        is_listing_ = false;
        say("listed " + std::to_string(names_.size()) + ", resident " + resident_kib(::getpid()));
    }
    void on_rewound(const std::string& seen, const std::string& current) override {
        say("rewound from " + seen + " to " + current);
    }
    void on_error(const Error& error) override {
        say("trouble: " + error.faults().front().because);
    }
    void on_recovered() override {
        say("recovered");
    }

private:
    std::set<std::string> names_;
    bool is_listing_ = false;
};

/// Lets the parts work until `is_done`, or until TERM.
void work(Connection& connection,
          const std::vector<Receiver*>& parts,
          const std::function<bool()>& is_done) {
    const SignalWatch signals;
    while (!is_done() && !signals.take()) {
        std::vector<pollfd> others{{signals.fd(), POLLIN, 0}};
        turn(connection, parts, boot_time, boot_time() + std::chrono::milliseconds(50), &others);
    }
}

int follow(Connection& connection, const std::vector<std::string>& words) {
    Printer printer;
    ListWatchSettings settings;
    settings.path = words.at(0);
    settings.watch_time = std::chrono::milliseconds(std::stoll(words.at(1)));
    settings.probe_time = settings.watch_time;
    ListWatch part(settings, connection, printer, 1);
    const Moment end =
        words.size() > 2 ? boot_time() + std::chrono::seconds(std::stoll(words.at(2))) : kNever;
    work(connection, {&part}, [&] { return boot_time() >= end; });
    say("exchanges " + std::to_string(connection.exchanges()));
    return 0;
}

const char* word_for(WriteResult::Kind kind) {
    constexpr std::array<const char*, 6> kWords{
        "done", "conflict", "gone", "forbidden", "refused", "unavailable"};
    return kWords[static_cast<std::size_t>(kind)];
}

/// Counts the ends of writes; each prints the first few errors.
struct Ends {
    std::map<std::string, int> kinds;
    int count = 0;
    std::function<void(const WriteResult&)> counter() {
        return [this](const WriteResult& outcome) {
            ++count;
            if (++kinds[word_for(outcome.kind)] <= 2 && outcome.error) {
                say(outcome.error->faults().front().because);
            }
        };
    }
    void print() const {
        for (const auto& [kind, times] : kinds) {
            say(kind + " " + std::to_string(times));
        }
    }
};

int create(Connection& connection, const std::vector<std::string>& words) {
    Writer writer(
        {.per_second = 2'000, .burst = 2'000, .streams = 8, .backoff = {}}, connection, 1);
    json object = json::parse(read_file(words.at(1)).value());
    const int count = std::stoi(words.at(2));
    Ends ends;
    for (int at = 0; at < count; ++at) {
        object["metadata"]["name"] = "thing-" + std::to_string(at);
        Write write;
        write.method = "POST";
        write.path = words.at(0);
        write.content_type = kJsonBody;
        write.accept = kMetadataOnly;
        write.body = object.dump();
        write.on_end = ends.counter();
        (void)writer.submit(std::move(write), boot_time());
    }
    work(connection, {&writer}, [&] { return ends.count == count; });
    ends.print();
    return 0;
}

Write status_patch(const std::string& path, const std::string& revision, const std::string& word) {
    Write write;
    write.path = path + "/status";
    write.content_type = kMergePatch;
    write.accept = kMetadataOnly;
    write.revision = revision;
    write.body = merge_patch({{"status", {{"word", word}}}}, revision);
    return write;
}

/// Reads one object or list and keeps it.
class Reader : public Receiver {
public:
    void on_reply(std::uint64_t /*id*/, const Reply& reply, Moment /*now*/) override {
        status = reply.status == 0 ? -1 : reply.status;
        object = parse_json(reply.body);
    }
    void wake(Moment /*now*/) override {}
    [[nodiscard]] Moment next_wake() const override {
        return kNever;
    }
    int status = 0;
    json object;
};

json read_object(Connection& connection, const std::string& path) {
    Reader reader;
    while (reader.status <= 0) {
        reader.status = 0;
        Call call;
        call.path = path;
        call.maximum_size = std::uint64_t{64} << 20U;
        (void)connection.send(call, reader);
        work(connection, {&reader}, [&] { return reader.status != 0; });
    }
    return reader.object;
}

int patch_statuses(Connection& connection, const std::vector<std::string>& words) {
    const int count = std::stoi(words.at(1));
    const json list = read_object(connection, words.at(0) + "?limit=" + words.at(1));
    WriterSettings settings;
    settings.per_second = settings.burst = 10'000;
    settings.streams = static_cast<std::size_t>(std::stoi(words.at(2)));
    Writer writer(settings, connection, 1);
    Ends ends;
    const Moment begin = boot_time();
    for (const json& object : list.at("items")) {
        const json& metadata = object.at("metadata");
        Write write = status_patch(words.at(0) + "/" + metadata.at("name").get<std::string>(),
                                   metadata.at("resourceVersion"),
                                   "round " + now_text());
        write.on_end = ends.counter();
        (void)writer.submit(std::move(write), begin);
    }
    work(connection, {&writer}, [&] { return ends.count == count; });
    ends.print();
    const auto time = (boot_time() - begin).count();
    say(std::to_string(std::int64_t{1000} * count / std::max<std::int64_t>(1, time)) +
        " patches per second with " + words.at(2) + " streams");
    return 0;
}

int race(Connection& connection, const std::vector<std::string>& words) {
    const json object = read_object(connection, words.at(0));
    const std::string revision = object.at("metadata").at("resourceVersion");
    Writer first({.backoff = {}}, connection, 1);
    Writer second({.backoff = {}}, connection, 2);
    Ends ends;
    for (Writer* const writer : {&first, &second}) {
        Write write = status_patch(
            words.at(0), revision, writer == &first ? "of the first" : "of the second");
        write.on_end = ends.counter();
        (void)writer->submit(std::move(write), boot_time());
    }
    work(connection, {&first, &second}, [&] { return ends.count == 2; });
    ends.print();
    return 0;
}

int once(Connection& connection, const std::vector<std::string>& words) {
    Writer writer({.backoff = {}}, connection, 1);
    Ends ends;
    Write write = status_patch(words.at(0), words.at(1), "once");
    write.on_end = ends.counter();
    (void)writer.submit(std::move(write), boot_time());
    work(connection, {&writer}, [&] { return ends.count == 1; });
    ends.print();
    return 0;
}

/// One write after the other, each printed.
class Steps {
public:
    Steps(Connection& connection, std::string path)
        : connection_(connection), path_(std::move(path)), writer_({.backoff = {}}, connection, 1) {
    }
    void run(const std::string& what,
             const std::string& method,
             std::string_view type,
             std::string body,
             const std::string& more = {}) {
        bool is_ended = false;
        Write write;
        write.method = method;
        write.path = path_ + more;
        write.content_type = type;
        write.body = std::move(body);
        write.on_end = [&](const WriteResult& outcome) {
            say(what + ": " + word_for(outcome.kind));
            is_ended = true;
        };
        (void)writer_.submit(std::move(write), boot_time());
        work(connection_, {&writer_}, [&] { return is_ended; });
    }

private:
    Connection& connection_;
    std::string path_;
    Writer writer_;
};

int fences(Connection& connection, const std::vector<std::string>& words) {
    Steps steps(connection, words.at(0));
    const json object = read_object(connection, words.at(0));
    const std::string uid = object.at("metadata").at("uid");
    json other = object;
    other["metadata"]["uid"] = words.at(1);
    const auto set_word = [&](const std::string& what, json tests, const json& word) {
        const std::string body = set_status(std::move(tests), {{"word", word}});
        steps.run("status, " + what, "PATCH", kJsonPatch, body, "/status");
    };
    const auto is_uid = [](const std::string& value) { return test("/metadata/uid", value); };
    const json word = test("/status/word", nullptr);
    set_word("other uid", json::array({is_uid(words.at(1))}), "no");
    set_word("a word in place of the status", json::array({word}), "no");
    set_word("not valid", json::array({is_uid(uid)}), 7);
    set_word("its uid, none yet", json::array({is_uid(uid), test("/status", nullptr)}), "yes");
    set_word("none yet", json::array({test("/status", nullptr)}), "no");
    set_word("no word yet", json::array({word}), "no");
    set_word("another word", json::array({test("/status/word", "no")}), "no");
    set_word("another revision", json::array({test("/metadata/resourceVersion", "1")}), "no");
    const std::string now = read_object(connection, words.at(0))["metadata"]["resourceVersion"];
    set_word("its word, its revision, nothing else",
             json::array({test("/status/word", "yes"),
                          test("/metadata/resourceVersion", now),
                          test("/status/other", nullptr)}),
             "again");
    steps.run(
        "finalizer, old state", "PATCH", kMergePatch, add_finalizer(object, "test.example/a"));
    const json current = read_object(connection, words.at(0));
    steps.run("finalizer", "PATCH", kMergePatch, add_finalizer(current, "test.example/a"));
    steps.run("deletion, other uid",
              "DELETE",
              kJsonBody,
              delete_options({.uid = words.at(1), .revision = {}, .grace_seconds = {}}));
    steps.run("deletion",
              "DELETE",
              kJsonBody,
              delete_options({.uid = uid, .revision = {}, .grace_seconds = 0}));
    json deleted = read_object(connection, words.at(0));
    say(deleted["metadata"].contains("deletionTimestamp") ? "is being deleted" : "is not deleted");
    const std::string removal = remove_finalizer(deleted, "test.example/a", json::array()).value();
    deleted["metadata"]["uid"] = words.at(1);
    steps.run("removal, other uid",
              "PATCH",
              kJsonPatch,
              remove_finalizer(deleted, "test.example/a", json::array()).value());
    steps.run("removal", "PATCH", kJsonPatch, removal);
    set_word("of nothing", json::array({is_uid(uid)}), "no");
    return 0;
}

int lease(Connection& connection, const std::vector<std::string>& words) {
    LeaseSettings settings;
    settings.name_space = words.at(0);
    settings.name = words.at(1);
    settings.identity = words.at(2);
    const auto time = [&](std::size_t at) {
        return std::chrono::milliseconds(std::stoll(words.at(at)));
    };
    settings.duration = time(3);
    settings.renew = time(4);
    settings.give_up = time(5);
    settings.watch = time(6);
    Lease part(settings, connection, now_text, static_cast<std::uint64_t>(::getpid()));
    bool was_held = false;
    const auto report = [&] {
        if (part.is_held(boot_time()) != was_held) {
            was_held = !was_held;
            say((was_held ? "held " : "lost ") + std::to_string(boot_time().count()));
        }
        return false;
    };
    work(connection, {&part}, report);
    part.release(boot_time());
    work(connection, {&part}, [&] { return part.has_ended(); });
    say("released");
    return 0;
}

int events(Connection& connection, const std::vector<std::string>& words) {
    Writer writer({.backoff = {}}, connection, 1);
    EventRecorder recorder(
        {.controller = "test.example/client", .instance = "one"}, connection, writer, now_text);
    const EventSubject subject{"test.example/v1", "Thing", words.at(0), "thing-1", "1234"};
    const auto count = std::stoull(words.at(1));
    for (std::uint64_t at = 1; at <= count; ++at) {
        recorder.record(subject, {"Tried", "Try", "a note", at > 1, "1"}, boot_time());
        work(connection, {&writer, &recorder}, [&] {
            return recorder.written() + recorder.dropped() == at;
        });
    }
    say("written " + std::to_string(recorder.written()) + ", dropped " +
        std::to_string(recorder.dropped()));
    return 0;
}

struct Verb {
    const char* name;
    int (*run)(Connection&, const std::vector<std::string>&);
};
constexpr Verb kVerbs[] = {{"follow", follow},
                           {"create", create},
                           {"status", patch_statuses},
                           {"race", race},
                           {"once", once},
                           {"fences", fences},
                           {"lease", lease},
                           {"events", events}};

int run(const std::string& verb, const std::vector<std::string>& words) {
    const Environment environment = Environment::of_this_process();
    AccessOptions options;
    options.service_account = environment.get_or("SERVICE_ACCOUNT", "/nonexistent");
    auto access = Access::read(environment, options);
    if (!access) {
        say("error: " + access.error().message() + ": " + access.error().faults().front().because);
        return 5;
    }
    std::array<char, 4096> program{};
    if (::readlink("/proc/self/exe", program.data(), program.size() - 1) < 0) {
        return 1;
    }
    Connection connection(HttpClient::find(environment, program.data()), std::move(*access), 1);
    for (const Verb& known : kVerbs) {
        if (verb == known.name) {
            return known.run(connection, words);
        }
    }
    return 2;
}

} // namespace

int main(int argc, char** argv) {
    const std::vector<std::string> words(argv + 1, argv + argc);
    try {
        return words.empty() ? 2 : run(words[0], {words.begin() + 1, words.end()});
    } catch (const std::exception& error) {
        say(std::string("error: ") + error.what());
        return 1;
    }
}
