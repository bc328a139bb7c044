// SPDX-License-Identifier: Apache-2.0
#include "bridge/service/service.hpp"

#include "apiserver/event.hpp"
#include "apiserver/lease.hpp"
#include "apiserver/micro_time.hpp"
#include "apiserver/write.hpp"
#include "bridge/batch/batch_cluster.hpp"
#include "bridge/configuration/configuration_watch.hpp"
#include "bridge/configuration/managed_job.hpp"
#include "bridge/decide/observe.hpp"
#include "bridge/rounds/object_watch.hpp"
#include "bridge/server/api_server.hpp"
#include "bridge/server/identity.hpp"
#include "bridge/server/logged_words.hpp"
#include "bridge/service/admin_reporter.hpp"
#include "bridge/service/bindings.hpp"
#include "bridge/service/liveness.hpp"
#include "bridge/service/pod_services.hpp"
#include "support/boot_time.hpp"
#include "support/http.hpp"
#include "support/quote.hpp"
#include "support/signals.hpp"

#include <algorithm>
#include <memory>
#include <utility>

namespace cybele::bridge {
namespace {

using apiserver::Moment;

constexpr std::int64_t kNanoseconds = 1'000'000'000;
constexpr std::chrono::milliseconds kGoodbye{3'000}; ///< for giving the Lease back
constexpr std::chrono::milliseconds kSilenceOfNodes{300'000};
constexpr std::uint64_t kSeedOfPods = 500; ///< behind those of the watches

class Service {
public:
    Service(const ServiceRequest& request, apiserver::Access access)
        : request_(request), jobs_(job_reader(request.configuration)), identity_(identity_of()),
          seed_(seed_of(identity_)),
          space_(request.name_space.empty() ? access.name_space() : request.name_space),
          connection_(HttpClient::find(request.environment, request.program.native()),
                      std::move(access),
                      seed_),
          pump_(connection_), writer_(writer_settings(), connection_, seed_),
          events_({.controller = "cybelectl.io/bridge", .instance = identity_},
                  connection_,
                  writer_,
                  [this] { return stamp(); }),
          lease_(
              {.name_space = space_,
               .name = "cybelectl-bridge-" + request.configuration.document.name,
               .identity = identity_,
               .rewound_mark = "cybelectl.io/rewound"},
              connection_,
              [this] { return stamp(); },
              seed_),
          server_(pump_, writer_, events_, request.log),
          meanwhile_(std::make_shared<std::function<void()>>([this] { breathe(); })),
          cluster_(cluster_settings()), rounds_([this](const Object& object) {
              return admit(object, request_.configuration.site);
          }),
          admin_reporter_({request,
                           space_,
                           pump_,
                           events_,
                           lease_,
                           cluster_,
                           meanwhile_,
                           [this] { return stamp(); }}),
          watches_(pump_, connection_, request.log, seed_),
          pods_({request,
                 [this] { return leads(); },
                 [this](const std::string& words) { report(words); }},
                connection_,
                writer_,
                pump_,
                seed_ + kSeedOfPods),
          bindings_({request.configuration.document.name,
                     request.configuration.document.namespaces,
                     request.log},
                    connection_,
                    writer_,
                    seed_) {
        world_.times = request.configuration.times;
        world_.reads_tails = request.configuration.document.reads_tails;
        world_.site = request.configuration.cluster.name;
        server_.may_act([this] { return leads(); });
        pump_.add(lease_);
        pump_.add(writer_);
        pump_.add(events_);
        add_watches();
        pods_.add();
        bindings_.add_to(pump_);
    }

    /// Whether the configuration changed, so that the service is to begin again with it.
    bool run(ConfigurationWatch& configuration) {
        pump_.watch(signals_.fd());
        log("Started",
            "Lease " + space_ + "/cybelectl-bridge-" + request_.configuration.document.name +
                " as " + identity_);
        while (!has_ended_) {
            wait();
            const auto signal = signals_.take();
            const bool is_reload = signal == SIGHUP;
            if ((signal && !is_reload) || has_new(configuration, is_reload)) {
                has_ended_ = signal && !is_reload;
                break;
            }
            follow_credentials();
            follow_lease();
            follow_rewinds();
            pods_.keep(boot_time(), is_batch_system_known());
            if (is_due()) {
                round();
            }
        }
        end();
        return !has_ended_;
    }

private:
    /// One that is not valid changes nothing.
    bool has_new(ConfigurationWatch& configuration, bool is_asked) {
        const auto news = configuration.look(boot_time(), is_asked);
        if (news && !*news) {
            const Fault& fault = news->error().faults().front();
            log("Trouble",
                "the configuration was changed and is not used: " + fault.message + ": " +
                    fault.because);
        } else if (news) {
            log("Reloading", configuration.configuration().file.native());
        }
        return news && *news;
    }

    [[nodiscard]] std::string stamp() const {
        return apiserver::micro_time(request_.clock());
    }
    /// A node stays ready when only one query got no answer.
    [[nodiscard]] bool is_batch_system_known() const {
        return was_answered_ || boot_time() - answered_at_ < kSilenceOfNodes;
    }
    [[nodiscard]] bool leads() const {
        return lease_.is_held(boot_time());
    }

    void log(std::string what, std::string detail) const {
        if (request_.log) {
            request_.log({{}, {}, std::move(what), std::move(detail)});
        }
    }

    /// The same words once an hour, and again after the batch system answered a query.
    void report(const std::string& words) {
        if (logged_.is_due(words, boot_time())) {
            log("Trouble", words);
        }
    }

    [[nodiscard]] apiserver::WriterSettings writer_settings() const {
        apiserver::WriterSettings settings;
        settings.per_second = request_.configuration.document.writes_per_second;
        settings.burst = 2 * settings.per_second;
        return settings;
    }

    ClusterSettings cluster_settings() {
        const launchers::Bridge& document = request_.configuration.document;
        ClusterSettings settings;
        settings.bridge = document.name;
        settings.dialect = request_.configuration.dialect;
        settings.default_queue = request_.configuration.site.default_queue;
        settings.accounts = document.accounts;
        settings.reader = reader_of(document);
        settings.poll = document.poll;
        settings.sockets = request_.sockets;
        settings.program = request_.program;
        settings.environment = request_.environment;
        settings.may_act = [this] { return leads(); };
        settings.lease = [this] { return lease_.uid(); };
        settings.clock = [this] { return request_.clock() / kNanoseconds; };
        settings.on_words = [this](const std::string& words) { report(words); };
        settings.meanwhile = meanwhile_;
        if (!document.collector_image.empty()) {
            settings.collect_for_claim = [this](const Object& object) {
                return pods_.collect(object);
            };
        }
        return settings;
    }

    void add_watches() {
        std::vector<std::string> spaces = request_.configuration.document.namespaces;
        if (spaces.empty()) {
            spaces.emplace_back(); // all of them
        }
        for (const std::string& space : spaces) {
            watches_.add(space, collection_path(request_.configuration.site.kind, space));
            if (jobs_) {
                watches_.add(space, job_collection_path(space), jobs_);
            }
        }
    }

    /// While a command of the cluster has not answered.
    void breathe() {
        pulse_.beat(boot_time());
        pump_.work_now();
        // This is called once per second, and the poll is to be on time.
        constexpr std::chrono::milliseconds kStep{1'000};
        const Moment due = pace_.next_poll();
        if (rounds_.is_asking() && due < boot_time() + kStep) {
            pump_.work_until([] { return false; }, due);
        }
        world_.is_leader = leads();
        rounds_.meanwhile();
    }

    /// Until something arrives, or the next poll: there is none for who lists or stands by.
    void wait() {
        pulse_.beat(boot_time());
        constexpr std::chrono::milliseconds kStep{1'000};
        const Moment now = boot_time();
        const bool has_poll = may_poll() && next_poll_ < now + kStep;
        pump_.work(has_poll ? std::max(now, next_poll_) : now + kStep);
    }

    /// The old ones serve until the server refuses them.
    void follow_credentials() {
        if (const auto& error = connection_.credentials_error(); error) {
            const Fault& fault = error->faults().front();
            report("the credentials cannot be read again: " + fault.message + ": " + fault.because);
        }
    }

    void follow_lease() {
        if (const auto& error = lease_.last_error(); error && !leads()) {
            const Fault& fault = error->faults().front();
            report("the Lease: " + fault.message + ": " + fault.because);
        }
        if (leads() != was_leader_) {
            was_leader_ = leads();
            has_led_ = has_led_ || was_leader_;
            log(was_leader_ ? "Leading" : "Standby", was_leader_ ? "" : why_standby());
        } else if (!was_leader_ && !has_led_ && !is_second_ && !lease_.holder().empty() &&
                   lease_.holder() != identity_) {
            is_second_ = true;
            log("Standby", why_standby());
        }
    }

    void follow_rewinds() {
        if (std::exchange(rewinds_, lease_.rewinds()) == lease_.rewinds()) {
            return;
        }
        put_back(watches_.watches(), boot_time());
        put_back(bindings_.watches(), boot_time());
        pods_.read_again(boot_time());
    }

    [[nodiscard]] std::string why_standby() const {
        if (lease_.holder() == identity_) {
            return "the Lease could not be renewed in time";
        }
        return "the Lease is held by " + (lease_.holder().empty() ? "unknown" : lease_.holder());
    }

    /// A leader that cannot reach the API server goes on with its polls, so that ends are seen.
    [[nodiscard]] bool may_poll() const {
        const bool is_cut_off = has_led_ && lease_.last_error().has_value();
        return (has_synced_ || watches_.is_synced()) && (was_leader_ || is_cut_off);
    }

    [[nodiscard]] bool is_due() {
        if (boot_time() < next_poll_) {
            return false;
        }
        has_synced_ = has_synced_ || watches_.is_synced();
        return may_poll();
    }

    void round() {
        const bool was_synced = watches_.is_synced(); // then the inbox has all that was listed
        if (watches_.apply(rounds_) && !std::exchange(world_.is_rewound, true)) {
            admin_reporter_.report_rewound();
        }
        bindings_.let_go([this](const std::string& space) { return has_work_in(space); });
        read_again(pump_, must_read_, jobs_, rounds_);
        world_.now = request_.clock() / kNanoseconds;
        world_.is_leader = leads();
        const Moment before = pace_.begin();
        const auto report = rounds_.round(server_, cluster_, world_, &pace_);
        if (report.is_complete) {
            queue_back_off_.succeeded();
            answered_at_ = boot_time();
            next_poll_ = pace_.next_poll();
        } else {
            queue_back_off_.failed(before, pace_.pause());
            next_poll_ = queue_back_off_.next();
        }
        must_read_ = report.must_read;
        report_elsewhere();
        if (report.is_complete && pods_.are_queues_due(boot_time())) {
            pods_.show_queues(cluster_.queues());
        }
        pods_.show(rounds_, world_);
        if (report.is_complete && world_.is_rewound && was_synced) {
            world_.is_rewound = false;
            log("Compared", "all jobs were compared with the objects");
        }
        if (report.is_complete && !was_answered_) {
            logged_.clear();
        }
        if (report.is_complete != was_answered_) {
            was_answered_ = report.is_complete;
            log(was_answered_ ? "Recovered" : "Trouble",
                was_answered_ ? "the batch system answers" : "the batch system does not answer");
        }
        if (report.is_complete && !world_.is_rewound && leads()) {
            admin_reporter_.report_unknown_jobs(report.unknown_jobs);
        }
        if (pods_.is_listening()) {
            write_metrics();
        }
        has_ended_ = request_.is_once && was_leader_;
    }

    /// Or this process cannot know that there is none.
    [[nodiscard]] bool has_work_in(const std::string& space) const {
        return !leads() || world_.is_rewound || !watches_.is_synced(space) ||
               rounds_.has_claimed_in(space) || pods_.has_pods(space);
    }

    void write_metrics() {
        Metrics metrics;
        metrics.is_queue_answered = was_answered_;
        metrics.is_rewound = world_.is_rewound;
        metrics.last_round = world_.now;
        if (const auto written = admin_reporter_.write_metrics(std::move(metrics), rounds_);
            !written) {
            report("the metrics cannot be written: " + written.error().message());
        }
    }

    /// If the Site was only renamed, no bridge follows them.
    void report_elsewhere() {
        rounds_.each([this](const Object& object) {
            const bool has_ended = object.status.holds("Complete") || object.status.holds("Failed");
            if (is_elsewhere(object, world_) && !has_ended) {
                report("jobs of the Site " + printable(object.status.site) +
                       " are followed by the bridge of that Site only");
            }
        });
    }

    void end() {
        const Moment limit = boot_time() + kGoodbye;
        pump_.work_until([this] { return writer_.pending() == 0; },
                         boot_time() + std::chrono::milliseconds(1'000));
        lease_.release(boot_time());
        pump_.work_until([this] { return lease_.has_ended(); }, limit);
        log("Ended", std::to_string(cluster_.polls()) + " queries of the queue");
    }

    const ServiceRequest& request_;
    JobReader jobs_;
    std::string identity_;
    std::uint64_t seed_;
    std::string space_;
    SignalWatch signals_;
    apiserver::Connection connection_;
    Pump pump_;
    apiserver::Writer writer_;
    apiserver::EventRecorder events_;
    apiserver::Lease lease_;
    ApiServer server_;
    submission::Meanwhile meanwhile_;
    BatchCluster cluster_;
    World world_;
    Rounds rounds_;
    Liveness pulse_{request_};
    AdminReporter admin_reporter_;
    ObjectWatches watches_;
    PodServices pods_;
    Bindings bindings_;
    std::set<std::string> must_read_;
    LoggedWords logged_;
    Moment next_poll_{0};
    BackOff queue_back_off_;
    Moment answered_at_ = boot_time();
    int rewinds_ = 0; ///< that the Lease showed
    bool was_leader_ = false;
    bool has_led_ = false;
    bool is_second_ = false; ///< when it started, another one led
    bool has_synced_ = false;
    HandOverPace pace_{request_.configuration.document.accounts, boot_time, [this] {
                           return pause_after(request_.configuration.document.poll,
                                              cluster_.answer_time());
                       }};
    bool was_answered_ = true;
    bool has_ended_ = false;
};

} // namespace

Result<void> run_service(const ServiceRequest& request) {
    ServiceRequest current = request;
    ConfigurationWatch configuration(request.configuration);
    for (bool goes_on = true; goes_on;) {
        CYBELE_TRY(apiserver::Access access,
                   apiserver::Access::read(request.environment, request.access));
        Service service(current, std::move(access));
        goes_on = service.run(configuration);
        if (goes_on) {
            current.configuration = configuration.configuration();
        }
    }
    return {};
}

} // namespace cybele::bridge
