// SPDX-License-Identifier: Apache-2.0
// What a refusal advises is done, again and again: it ends in a Job that is accepted, and a number
// that it names is the nearest one that is.
#include "launchers/plan/plan.hpp"
#include "support/message.hpp"

#include <map>
#include <optional>
#include <regex>

#include <doctest/doctest.h>
#include <fmt/format.h>

namespace cybele::launchers {
namespace {

const PlaceTraits kPlace{"slurm", true, false, true, true};

/// The fields of a Job by their section: `resources`, `launch`, or "" for those at its top.
struct Fields {
    std::map<std::string, std::map<std::string, std::string>> sections;

    [[nodiscard]] std::string yaml() const {
        std::string text = "kind: Job\nname: test\nimage: a.sif\ncommand: [a.py]\n";
        for (const auto& [section, entries] : sections) {
            std::string inner;
            for (const auto& [name, value] : entries) {
                inner += fmt::format("{}{}: {}", inner.empty() ? "" : ", ", name, value);
            }
            text += section.empty() ? inner + "\n" : fmt::format("{}: {{{}}}\n", section, inner);
        }
        return text;
    }

    void set(const std::string& name, const std::string& value) {
        const bool is_of_launch = sections["launch"].contains(name) || name.starts_with("driver");
        sections[name == "queue" ? "" : is_of_launch ? "launch" : "resources"][name] = value;
    }
};

/// The first error, if there is one.
std::optional<Fault> refusal(const Fields& fields, const Site* site) {
    const auto job = read_job(fields.yaml(), "j.yaml");
    REQUIRE_MESSAGE(job, fields.yaml() << format_text(job.error().faults()));
    Faults faults;
    (void)make_plan({&*job, site, nullptr, kPlace}, faults);
    for (const Fault& fault : faults.all()) {
        if (!fault.is_warning) {
            return fault;
        }
    }
    return std::nullopt;
}

const std::regex kAdvice("(write|remove|drop) `([a-z-]+)(: ([^`]+))?`");
const std::regex kNumber("([0-9]+)( MiB)?");

/// Does what the advice says.
void follow(Fields& fields, const std::string& help) {
    const std::sregex_iterator end;
    std::sregex_iterator at(help.begin(), help.end(), kAdvice);
    REQUIRE_MESSAGE(at != end, help);
    for (; at != end; ++at) {
        if ((*at)[1] == "write") {
            fields.set((*at)[2], (*at)[4]);
        } else {
            fields.sections["launch"].erase((*at)[2]);
            fields.sections["resources"].erase((*at)[2]);
        }
    }
}

/// The same advice with its last number changed; "" where it has none.
std::string with_other_number(const std::string& help, int change) {
    std::smatch written;
    std::string value;
    for (std::sregex_iterator at(help.begin(), help.end(), kAdvice); at != std::sregex_iterator();
         ++at) {
        written = *at;
        value = written[4];
    }
    std::smatch number;
    if (!std::regex_match(value, number, kNumber)) {
        return {};
    }
    const auto other =
        fmt::format("`{}: {}{}`", written[2].str(), std::stol(number[1]) + change, number[2].str());
    return help.substr(0, static_cast<std::size_t>(written.position())) + "write " + other;
}

/// Follows the advice to its end, and counts it. Of each number that is named, the next one in the
/// direction that is wished is refused: `step` is 1 where a smaller one is advised.
int settle(Fields fields, const Site* site, int step) {
    for (int count = 0; count < 6; ++count) {
        const auto fault = refusal(fields, site);
        if (!fault) {
            return count;
        }
        CAPTURE(fields.yaml());
        CAPTURE(fault->help);
        if (const std::string other = with_other_number(fault->help, step); !other.empty()) {
            Fields nearer = fields;
            follow(nearer, other);
            const auto again = refusal(nearer, site);
            CHECK((again && again->id == fault->id));
        }
        follow(fields, fault->help);
    }
    FAIL(fields.yaml());
    return 0;
}

} // namespace

TEST_CASE("what is more than the queue has becomes the most that it has") {
    auto site = read_site("kind: Site\nname: hall\nscheduler: slurm\nqueues:\n"
                          "  - {name: batch, nodes: 2, cores-per-node: 6, memory-per-node: 9 GiB, "
                          "max-time: 2 h, gpus-per-node: 0}\n"
                          "  - {name: cards, nodes: 3, cores-per-node: 6, gpus-per-node: 2}\n",
                          "s.yaml");
    REQUIRE(site);
    int advice = 0;
    for (const char* memory : {"",
                               "memory-per-cpu: 1 GiB",
                               "memory-per-cpu: 4 GiB",
                               "memory-per-node: 9 GiB",
                               "memory-per-node: 10 GiB"}) {
        for (const int nodes : {1, 3}) {
            for (const int tasks : {1, 2, 7}) {
                for (const int cpus : {1, 3, 7}) {
                    Fields fields;
                    fields.sections[""]["queue"] = "batch";
                    fields.sections["launch"]["kind"] = "mpi";
                    auto& resources = fields.sections["resources"];
                    resources = {{"nodes", std::to_string(nodes)},
                                 {"tasks-per-node", std::to_string(tasks)},
                                 {"cpus-per-task", std::to_string(cpus)}};
                    if (const std::string_view text(memory); !text.empty()) {
                        resources[std::string(text.substr(0, text.find(':')))] =
                            text.substr(text.find(' ') + 1);
                    }
                    if (nodes == 1 && tasks == 2) {
                        resources["time"] = "3 h";
                        resources["gpus-per-node"] = std::to_string(cpus);
                    }
                    advice += settle(fields, &*site, 1);
                }
            }
        }
    }
    CHECK(advice > 50);
}

TEST_CASE("spark: what is not enough memory becomes the least that is") {
    int advice = 0;
    for (const int cores : {1, 4, 9}) {
        for (const char* memory : {"per-node: 1000 MiB",
                                   "per-node: 4 GiB",
                                   "per-node: 9 GiB",
                                   "per-cpu: 300 MiB",
                                   "per-cpu: 1 GiB"}) {
            for (const char* driver : {"", "512 MiB", "3 GiB", "2000 GiB"}) {
                for (const char* worker : {"", "400 MiB", "5 GiB"}) {
                    Fields fields;
                    auto& resources = fields.sections["resources"];
                    resources["cpus-per-task"] = std::to_string(cores);
                    const std::string_view text(memory);
                    resources["memory-" + std::string(text.substr(0, text.find(':')))] =
                        text.substr(text.find(' ') + 1);
                    fields.sections["launch"]["kind"] = "spark";
                    if (*driver != '\0') {
                        fields.sections["launch"]["driver-memory"] = driver;
                    }
                    if (*worker != '\0') {
                        fields.sections["launch"]["worker-memory"] = worker;
                    }
                    advice += settle(fields, nullptr, -1);
                }
            }
        }
    }
    CHECK(advice > 40);
}

} // namespace cybele::launchers
