// SPDX-License-Identifier: Apache-2.0
#include "schedulers/dialects/need_check.hpp"
#include "schedulers/dialects/needs.hpp"
#include "support/digest.hpp"
#include "support/encoding.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace cybele::schedulers {
namespace {

using launchers::Job;

constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
constexpr std::string_view kDigits = "0123456789";

/// Ten characters, `-`, and four of the name's SHA-256, so that names with one beginning differ.
std::string short_name(const std::string& name) {
    constexpr std::size_t kKept = 10;
    constexpr std::size_t kTold = 4;
    return name.substr(0, kKept) + "-" + hex(sha256(name)).substr(0, kTold);
}

struct FormReason {
    std::string_view form;
    std::string_view because;
    std::string_view help;
};
constexpr std::array<FormReason, 9> kFormReasons{
    {{"range", "it accepts no ranges", "list the indexes"},
     {"step", "it accepts no step", "list the indexes"},
     {"list", "it accepts one range only", "write a range, such as `0-9`"},
     {"single", "it accepts no single index", "write a range, such as `0-9`"},
     {"limit", "it cannot limit how many run at the same time", "drop the `%` and what follows"},
     {"number", "its ids are not numbers", "write the id as the scheduler printed it"},
     {"element", "its ids have no `_`", "write the id as the scheduler printed it"},
     {"server", "its ids name no server", "write the number alone"},
     {"bracket", "its ids have no `[]`", "write the number, `_` and the index"}}};

/// Whether the need is refused as a whole, which says more than its form.
bool is_refused(const Rules& rules, std::string_view need) {
    const Service service = rules.needs.find(need)->second.service;
    return service == Service::kCannot || service == Service::kLater;
}

void check_form(const Check& check,
                std::string_view field,
                const FormRule& rule,
                std::string_view form,
                std::string_view text) {
    if (rule.words.contains(std::string(form))) {
        return;
    }
    const auto* reason = std::ranges::find(kFormReasons, form, &FormReason::form);
    check.faults.add(check.job.fault_at(
        field,
        problem(
            "array-inexpressible",
            fmt::format("'{}' cannot be expressed in {}", printable(text), check.who(rule.before))),
        std::string(reason->because),
        std::string(reason->help)));
}

std::uint64_t number_of(std::string_view text) {
    std::uint64_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

/// How many elements `0-9:3,12%2` has.
std::uint64_t array_size(std::string_view array) {
    std::uint64_t size = 0;
    array = array.substr(0, array.find('%'));
    while (!array.empty()) {
        const auto item = array.substr(0, array.find(','));
        array.remove_prefix(std::min(item.size() + 1, array.size()));
        const auto dash = item.find('-');
        const auto colon = item.find(':');
        const auto step = colon == std::string_view::npos ? 1 : number_of(item.substr(colon + 1));
        const auto first = number_of(item);
        const auto last = dash == std::string_view::npos ? first : number_of(item.substr(dash + 1));
        size += last < first || step == 0 ? 0 : (last - first) / step + 1;
    }
    return size;
}

void check_array(const Check& check) {
    const std::string& array = check.job.array;
    if (array.empty() || is_refused(check.rules, "array")) {
        return;
    }
    for (const auto form : array_forms(array)) {
        check_form(check, "array", check.rules.forms.find("array")->second, form, array);
    }
    const auto limit = check.rules.limits.find("array");
    if (limit != check.rules.limits.end() && array_size(array) > limit->second.most) {
        check.faults.add(check.job.fault_at(
            "array",
            problem("array-too-long",
                    fmt::format("'{}' has {} elements", printable(array), array_size(array))),
            fmt::format(
                "{} accepts {} at most", check.who(limit->second.before), limit->second.most),
            "submit the array in parts"));
    }
}

void check_ids(const Check& check) {
    if (is_refused(check.rules, "after")) {
        return;
    }
    for (std::size_t index = 0; index < check.job.after.size(); ++index) {
        const std::string& id = check.job.after[index].job;
        const std::string field = fmt::format("after[{}].job", index);
        const auto form = id_form(id);
        if (form.empty()) {
            check.faults.add(check.job.fault_at(
                field,
                problem("job-id-malformed",
                        fmt::format("'{}' is not the id of a job", printable(id))),
                "a script carries the id that the scheduler gave",
                "submit that job first: `submit` finds its id by its name"));
        } else {
            check_form(check, field, check.rules.forms.find("id")->second, form, id);
        }
    }
}

void check_name(const Check& check) {
    const std::string& name = check.job.name;
    // A `job-name` is one that a batch system has taken, or will refuse.
    if (!check.job.says("job-name") && !is_job_name(name)) {
        check.faults.add(check.job.fault_at(
            "name",
            problem("job-name-malformed",
                    fmt::format("'{}' is not the name of a job", printable(name))),
            std::string(kJobNameRule),
            "choose such a name"));
    }
}

/// What qsub refuses, measured with TORQUE 6.1 and OpenPBS 23.06.
void check_given_name(const Check& check) {
    const std::string& name = check.job.name;
    const std::string& dialect = check.dialect.name;
    if (!check.job.says("job-name") || name.find("@{") != std::string::npos) {
        return;
    }
    const bool is_openpbs = dialect == "pbspro";
    const std::string known = fmt::format("{}{}._-+", kLetters, kDigits);
    const bool is_refused_name =
        is_openpbs ? name.find_first_not_of(known) != std::string::npos
                   : dialect == "torque" && std::ranges::any_of(name, [](char letter) {
                         return static_cast<unsigned char>(letter) > 0x7e;
                     });
    if (is_refused_name) {
        check.faults.add(check.job.fault_at(
            "job-name",
            problem("job-name-refused",
                    fmt::format("{} refuses the name '{}'", dialect, printable(name))),
            is_openpbs ? "its names have letters, digits and `. _ - +`"
                       : "its names have characters of ASCII only",
            "choose such a name, or leave out `job-name`"));
    }
}

void check_name_length(const Check& check) {
    const auto limit = check.rules.limits.find("name");
    if (limit == check.rules.limits.end() || check.job.name.size() <= limit->second.most ||
        check.job.says("job-name")) {
        return;
    }
    Fault fault = check.job.fault_at(
        "name",
        problem("job-name-cut", fmt::format("the name is cut to '{}'", short_name(check.job.name))),
        fmt::format(
            "{} accepts {} characters", check.who(limit->second.before), limit->second.most),
        fmt::format("choose a name of {} characters at most", limit->second.most));
    fault.is_warning = true;
    check.faults.add(std::move(fault));
}

} // namespace

bool is_job_name(std::string_view name) {
    const std::string known = fmt::format("{}{}._-", kLetters, kDigits);
    return !name.empty() && kLetters.find(name.front()) != std::string_view::npos &&
           name.find_first_not_of(known) == std::string::npos;
}

void check_forms(const Check& check) {
    check_name(check);
    check_given_name(check);
    check_name_length(check);
    check_array(check);
    check_ids(check);
}

std::string name_for(const Job& job, const Dialect& dialect) {
    const auto limit = dialect.limits.find("name");
    return limit != dialect.limits.end() && job.name.size() > limit->second.most
               ? short_name(job.name)
               : job.name;
}

std::set<std::string_view> array_forms(std::string_view array) {
    std::set<std::string_view> forms;
    if (const auto percent = array.find('%'); percent != std::string_view::npos) {
        forms.insert("limit");
        array = array.substr(0, percent);
    }
    if (array.find(',') != std::string_view::npos) {
        forms.insert("list");
    }
    if (array.find(':') != std::string_view::npos) {
        forms.insert("step");
    }
    if (array.find('-') != std::string_view::npos) {
        forms.insert("range");
    }
    // OpenPBS accepts `2-3:2`, which has one index, and refuses `2` and `2-2`.
    const bool is_wide = number_of(array) < number_of(array.substr(array.find('-') + 1));
    if (!array.empty() && array_size(array) == 1 && !(forms.contains("range") && is_wide)) {
        forms.insert("single");
    }
    return forms;
}

std::string_view id_form(std::string_view id) {
    const auto digits = std::min(id.find_first_not_of(kDigits), id.size());
    if (digits == 0) {
        return {};
    }
    const auto rest = id.substr(digits);
    if (rest.empty()) {
        return "number";
    }
    const auto is_word = [](std::string_view text, std::string_view more) {
        return !text.empty() &&
               text.find_first_not_of(fmt::format("{}{}{}", kLetters, kDigits, more)) ==
                   std::string_view::npos;
    };
    const auto is_number = [](std::string_view text) {
        return text.find_first_not_of(kDigits) == std::string_view::npos;
    };
    if (rest.front() == '_') {
        return rest.size() > 1 && is_number(rest.substr(1)) ? "element" : "";
    }
    if (rest.front() == '.') {
        return is_word(rest.substr(1), "._-") ? "server" : "";
    }
    const auto close = rest.find(']');
    const auto behind = close == std::string_view::npos ? rest : rest.substr(close + 1);
    const bool is_bracket =
        rest.front() == '[' && close != std::string_view::npos &&
        is_number(rest.substr(1, close - 1)) &&
        (behind.empty() || (behind.front() == '.' && is_word(behind.substr(1), "._-")));
    return is_bracket ? "bracket" : "";
}

} // namespace cybele::schedulers
