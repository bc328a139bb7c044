// SPDX-License-Identifier: Apache-2.0
#include "submission/submit/site_trial.hpp"

#include "launchers/documents/job.hpp"
#include "schedulers/scripts/render.hpp"
#include "submission/submit/site_signers.hpp"
#include "support/document.hpp"
#include "support/process.hpp"
#include "support/quote.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace cybele::submission {
namespace {

using launchers::Site;
using launchers::SiteQueue;

constexpr std::array<std::string_view, 8> kTrialKinds{
    "serial", "openmp", "mpi", "mpi-bind", "horovod", "torch", "spark", "batch"};
constexpr std::string_view kTrial = "the Job of the trial";

/// A Job that asks for as little as the kind allows.
Result<launchers::Job> small_job(std::string_view kind) {
    return launchers::read_job(fmt::format("kind: Job\nname: trial\nlaunch: {}\n"
                                           "image: /trial.sif\n{}\n",
                                           kind,
                                           kind == "batch" ? "script: 'true'" : "command: [app]"),
                               std::string(kTrial));
}

class Trial {
public:
    Trial(const Site& site, const Environment& environment)
        : site_(site), environment_(environment) {}

    void render_all() {
        for (const std::string_view kind : kTrialKinds) {
            if (site_.queues.empty()) {
                render(kind, nullptr);
            }
            for (const SiteQueue& queue : site_.queues) {
                render(kind, &queue);
            }
        }
    }
    void read_steps() {
        read_steps("", site_.setup, site_.teardown);
        for (std::size_t i = 0; i < site_.queues.size(); ++i) {
            read_steps(
                fmt::format("queues[{}].", i), site_.queues[i].setup, site_.queues[i].teardown);
        }
    }
    void add(const Fault& fault) {
        const auto& known = faults_.all();
        const bool is_known = std::ranges::any_of(known, [&](const Fault& other) {
            return other.message == fault.message && is_at(other, fault);
        });
        if (!is_known) {
            faults_.add(fault);
        }
    }
    [[nodiscard]] Faults take() {
        return std::move(faults_);
    }

private:
    static bool is_at(const Fault& one, const Fault& other) {
        return one.where.has_value() == other.where.has_value() &&
               (!one.where ||
                (one.where->file == other.where->file && one.where->line == other.where->line &&
                 one.where->column == other.where->column));
    }

    void render(std::string_view kind, const SiteQueue* queue) {
        auto job = small_job(kind);
        if (!job) {
            faults_.add(job.error());
            return;
        }
        if (queue != nullptr) {
            job->queue = queue->name;
            job->resources.gpus_per_node =
                kind == "torch" ? std::min(queue->gpus_per_node, 1U) : 0U;
        }
        schedulers::RenderInput input;
        input.job = &*job;
        input.site = &site_;
        input.dialect = site_.dialect;
        input.image = "/trial.sif";
        const auto script = schedulers::render_script(input);
        for (const Fault& fault : script ? script->notes : script.error().faults()) {
            take(fault, kind, queue);
        }
    }

    /// A fault of the Job is not one of the Site, which need not have each kind of launch; but each
    /// queue must accept a single process.
    void take(Fault fault, std::string_view kind, const SiteQueue* queue) {
        const bool is_of_job = fault.where && fault.where->file == kTrial;
        if (is_of_job && (fault.is_warning || kind != "serial")) {
            return;
        }
        if (is_of_job) {
            const std::string path =
                queue == nullptr ? "scheduler"
                                 : fmt::format("queues[{}].name", queue - site_.queues.data());
            fault.message = "no job can be rendered for it: " + fault.message;
            fault.where = site_.source.place(document::mark_of(site_.marks, path));
            fault.help = "correct the limits of the queue";
        } else if (!fault.where) {
            fault.where = site_.source.place(document::mark_of(site_.marks, "templates"));
        }
        add(fault);
    }

    void read_steps(const std::string& before,
                    const std::vector<launchers::Setup>& setup,
                    const std::vector<launchers::Teardown>& teardown) {
        for (std::size_t i = 0; i < setup.size(); ++i) {
            read_step(fmt::format("{}setup[{}].run", before, i), setup[i].run);
        }
        for (std::size_t i = 0; i < teardown.size(); ++i) {
            read_step(fmt::format("{}teardown[{}].run", before, i), teardown[i].run);
        }
    }

    void read_step(const std::string& path, const std::string& text) {
        Command bash;
        bash.argv = {"bash", "-n", "-O", "extglob"}; // patterns that the code itself may switch on
        bash.environment = {{"PATH", environment_.get_or("PATH", "/usr/bin:/bin")},
                            {"LC_ALL", "C"}};
        bash.input = text;
        bash.limit = std::chrono::seconds(5);
        const auto outcome = run_process(bash);
        if (!outcome || outcome->timed_out || outcome->ok()) {
            return; // without a bash here nothing is known
        }
        std::string_view reason = outcome->errors;
        reason = reason.substr(0, reason.find('\n'));
        constexpr std::string_view kName = "bash: ";
        reason.remove_prefix(reason.starts_with(kName) ? kName.size() : 0);
        add(document::fault_at(site_.source,
                               document::mark_of(site_.marks, path),
                               problem("site-step-syntax", "this is not valid shell code"),
                               "`bash -n` says: " + printable(reason),
                               "correct it; each job with this step would fail"));
    }

    const Site& site_;
    const Environment& environment_;
    Faults faults_;
};

} // namespace

Faults try_site(const Site& site, const Environment& environment, std::int64_t now) {
    Trial trial(site, environment);
    trial.render_all();
    trial.read_steps();
    const Faults signers = check_site_signers(site, environment, now);
    for (const Fault& fault : signers.all()) {
        trial.add(fault);
    }
    return trial.take();
}

} // namespace cybele::submission
