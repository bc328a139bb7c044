// SPDX-License-Identifier: Apache-2.0
// The directives that a Job needs, by the rules of docs/reference/job.md.
#include "cell_values.hpp"
#include "read_back.hpp"
#include "support/digest.hpp"
#include "support/encoding.hpp"

#include <fmt/format.h>

namespace cybele::pairs {
namespace {

using Json = nlohmann::ordered_json;

/// `a:2,b:1` of a map of counts.
std::string counted(const Json& map) {
    std::map<std::string, std::uint64_t> sorted;
    for (const auto& [name, count] : map.items()) {
        sorted[name] = count.get<std::uint64_t>();
    }
    std::string text;
    for (const auto& [name, count] : sorted) {
        text += fmt::format("{}{}:{}", text.empty() ? "" : ",", name, count);
    }
    return text;
}

/// `a100:3` of a count with a type, its own or that of the Job's queue; or without.
std::string gpu_text(const Json& gpus, const Json& queue) {
    if (gpus.is_null()) {
        return {};
    }
    const std::string count =
        std::to_string((gpus.is_number() ? gpus : gpus["count"]).get<std::uint64_t>());
    std::string type = gpus.is_object() ? gpus.value("type", std::string()) : "";
    if (type.empty() && queue.is_object()) {
        type = queue.value("gpu-type", std::string());
    }
    return count == "0" || type.empty() ? count : type + ":" + count;
}

/// `2031-03-04T05:06:07`
std::string begin_of(const Cell& cell) {
    const std::string text = text_at(cell.job, "begin");
    return text.empty() || text.size() == std::string_view("2031-03-04T05:06:07").size()
               ? text
               : text + ":00";
}

std::string dependency(const Cell& cell) {
    std::string text;
    for (const Json& each : value_at(cell.job, "after")) {
        const std::string when = each.value("when", "ok");
        text += fmt::format("{}after{}:{}",
                            text.empty() ? "" : ",",
                            when == "ok"       ? "ok"
                            : when == "any"    ? "any"
                            : when == "failed" ? "notok"
                                               : "",
                            each["job"].get<std::string>());
    }
    return text;
}

struct MailWords {
    std::string to;
    std::string words;
    std::string letters;
};

MailWords mail_of(const Cell& cell) {
    MailWords mail;
    const Json written = value_at(cell.job, "mail");
    if (written.is_null()) {
        return mail;
    }
    mail.to = written["to"].get<std::string>();
    const Json on = written.contains("on") ? written["on"] : Json{"end", "fail"};
    for (const auto& [word, name, letter] : {std::tuple{"begin", "BEGIN", 'b'},
                                             std::tuple{"end", "END", 'e'},
                                             std::tuple{"fail", "FAIL", 'a'}}) {
        const bool is_all = std::find(on.begin(), on.end(), "all") != on.end();
        if (is_all) {
            mail.words = "ALL";
            mail.letters = "abe";
        } else if (std::find(on.begin(), on.end(), word) != on.end()) {
            mail.words += (mail.words.empty() ? "" : ",") + std::string(name);
            mail.letters += letter;
        }
    }
    mail.words = mail.words.empty() ? "NONE" : mail.words;
    mail.letters = mail.letters.empty() ? "n" : mail.letters;
    return mail;
}

/// To Slurm the elements of an array are apart by `%A` and `%a`.
std::string slurm_pattern(const Cell& cell, const std::string& field, const std::string& usual) {
    std::string pattern = text_at(cell.job, field, usual);
    if (array_of(cell).empty()) {
        return pattern;
    }
    const bool names_index = pattern.find("%a") != std::string::npos;
    for (auto at = pattern.find("%j"); at != std::string::npos; at = pattern.find("%j", at)) {
        pattern.replace(at, 2, names_index ? "%A" : "%A_%a");
    }
    return pattern;
}

void put(Directives& into, const std::string& name, const std::string& value) {
    if (!value.empty()) {
        into[name] = value;
    }
}

std::string with_unit(std::uint64_t mebibytes, const char* unit) {
    return mebibytes == 0 ? std::string() : std::to_string(mebibytes) + unit;
}

std::string job_name(const Cell& cell) {
    return text_at(cell.job, "job-name", text_at(cell.job, "name"));
}

/// Each word of `directives` for the dialect; the later ones replace the earlier.
void put_words(const Cell& cell, const Json& lists, Directives& into) {
    const bool is_wrapper = cell.dialect == "slurm-torque";
    const Json words =
        lists.is_null() ? Json() : value_at(lists, is_wrapper ? "slurm" : cell.dialect);
    for (const Json& each : words) {
        const auto word = each.get<std::string>();
        const bool is_named = word.starts_with("-W ") || word.starts_with("-l ");
        const auto end = word.find(cell.dialect == "slurm" || is_named ? '=' : ' ');
        into[word.substr(0, end)] = end == std::string::npos ? "" : word.substr(end + 1);
    }
}

/// Those of the Site, of the queue that was chosen and of the Job.
void put_all_words(const Cell& cell, const Asked& asked, Directives& into) {
    if (!cell.site.is_null()) {
        put_words(cell, value_at(cell.site, "directives"), into);
        for (const Json& queue : value_at(cell.site, "queues")) {
            if (queue["name"] == asked.queue) {
                put_words(cell, queue.value("directives", Json()), into);
            }
        }
    }
    put_words(cell, value_at(cell.job, "directives"), into);
}

/// `account` or `qos`: of the Job, else of its queue, else of the Site.
std::string own_or_default(const Cell& cell, const std::string& field) {
    std::string own = text_at(cell.job, field);
    if (!own.empty() || cell.site.is_null()) {
        return own;
    }
    const Json queue = queue_of(cell);
    const std::string of_queue =
        queue.is_object() ? queue.value(field, std::string()) : std::string();
    return of_queue.empty() ? text_at(cell.site, field) : of_queue;
}

/// Whether a batch launch redirects its outputs: paths that a directive would not carry.
bool opens_outputs(const Cell& cell) {
    const auto needs_shell = [&](const char* field) {
        const Json path = value_at(cell.job, field);
        const std::string text = path.is_string() ? path.get<std::string>() : "-";
        const bool is_plain = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz"
                                                     "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                                     "0123456789_./-") == std::string::npos;
        return !path.is_null() && (!is_plain || text.front() == '-');
    };
    return !value_at(cell.job, "output.stdout").is_null() &&
           (needs_shell("output.stdout") || needs_shell("output.stderr") ||
            value_at(cell.job, "append-output") == Json(true));
}

/// A batch launch asks for what is written, and for nothing else.
void keep_written(const Cell& cell, Directives& expected) {
    const auto has = [&](const char* path) { return !value_at(cell.job, path).is_null(); };
    const std::pair<const char*, const char*> of_slurm[] = {
        {"--nodes", "resources.nodes"},
        {"--ntasks", "resources.tasks"},
        {"--ntasks-per-node", "resources.tasks-per-node"},
        {"--cpus-per-task", "resources.cpus-per-task"},
        {"--output", "output.stdout"},
        {"--error", "output.stderr"}};
    for (const auto& [option, path] : of_slurm) {
        if (!has(path)) {
            expected.erase(option);
        }
    }
    expected.erase("--export");
    const bool has_hosts = has("resources.hosts");
    const bool has_place = has("resources.nodes") || has("resources.tasks-per-node") ||
                           has("resources.cpus-per-task") || asked_by(cell).gpus > 0 ||
                           has("resources.constraint") || has_hosts ||
                           (cell.dialect != "torque" && asked_by(cell).memory_of_node != 0);
    if (!has_place) {
        expected.erase("-l nodes");
        expected.erase("-l select");
    }
    if (cell.dialect == "slurm-torque") {
        expected.erase(has("output.stdout") ? "" : "-o");
        expected.erase(has("output.stderr") ? "" : "-e");
    } else {
        expected.erase(opens_outputs(cell) ? "" : "-j");
    }
    if (const auto place = expected.find("-l place"); place != expected.end()) {
        if (place->second == "scatter") {
            expected.erase(place);
        } else {
            place->second = "excl";
        }
    }
    // Paths without patterns are the batch system's own to write.
    const std::string out = text_at(cell.job, "output.stdout");
    const std::string err = text_at(cell.job, "output.stderr");
    const auto is_plain = [](const std::string& path) {
        return path.find_first_of(" #\"'\\$`,:%~") == std::string::npos && !path.starts_with('-');
    };
    const bool is_pbs = cell.dialect == "torque" || cell.dialect == "pbspro";
    const bool appends = value_at(cell.job, "append-output") == true;
    if (is_pbs && !appends && !out.empty() && is_plain(out) && is_plain(err)) {
        expected["-o"] = out;
        if (!err.empty()) {
            expected["-e"] = err;
        }
    }
}

/// Options that Slurm has for fields of their own.
void put_slurm_options(const Cell& cell, Directives& expected) {
    const auto of = [&cell](const char* path) { return value_at(cell.job, path); };
    const Json queue = queue_of(cell);
    const std::string gpus = gpu_text(of("resources.gpus-per-node"), queue);
    const std::string own_form = text_at(cell.job, "resources.gpus-per-node.form");
    const std::string form =
        own_form.empty() && queue.is_object() ? queue.value("gpu-form", std::string()) : own_form;
    const bool is_gres = form == "gres" && !gpus.empty() && gpus != "0";
    const bool is_of_task = form == "gpus-per-task" && asked_by(cell).gpus > 0 &&
                            text_at(cell.job, "launch") != "batch" &&
                            text_at(cell.job, "launch.kind") != "batch" &&
                            value_at(cell.job, "launch.exact") != Json(true);
    put(expected, "--gpus-per-node", is_gres || is_of_task || gpus == "0" ? "" : gpus);
    const std::string others = counted(of("resources.gres"));
    put(expected,
        "--gres",
        (is_gres ? "gpu:" + gpus + (others.empty() ? "" : ",") : std::string()) + others);
    put(expected, "--gpus", gpu_text(of("resources.gpus"), queue));
    const Json of_task =
        is_of_task ? Json(asked_by(cell).gpus / asked_by(cell).tasks_per_node) : Json();
    put(expected,
        "--gpus-per-task",
        gpu_text(is_of_task ? of_task : of("resources.gpus-per-task"), queue));
    for (const auto& [option, path] :
         {std::pair{"--cpus-per-gpu", "resources.cpus-per-gpu"},
          std::pair{"--threads-per-core", "resources.threads-per-core"}}) {
        const std::uint64_t count = number_at(cell.job, path, 0);
        put(expected, option, count == 0 ? "" : std::to_string(count));
    }
    const std::string of_gpu = text_at(cell.job, "resources.memory-per-gpu");
    const char* const unit = cell.target == "SlurmJob" ? "" : "M";
    if (!of_gpu.empty()) {
        expected["--mem-per-gpu"] = with_unit(rounded_up(kibibytes(of_gpu), 1024), unit);
    }
    put(expected, "--mem", text_at(cell.job, "resources.memory") == "all" ? "0" : "");
    put(expected, "--nodelist", joined(of("resources.hosts"), ","));
    put(expected, "--exclude", joined(of("resources.exclude"), ","));
    put(expected, "--licenses", counted(of("resources.licenses")));
    put(expected, "--reservation", text_at(cell.job, "reservation"));
    put(expected, "--begin", begin_of(cell));
    put(expected, "--comment", text_at(cell.job, "comment"));
    if (!of("requeue").is_null()) {
        expected[of("requeue") == true ? "--requeue" : "--no-requeue"] = "";
    }
    if (!of("append-output").is_null()) {
        expected["--open-mode"] = of("append-output") == true ? "append" : "truncate";
    }
}

/// A program that counts its threads itself gets no number that the Job does not state.
void leave_unsaid_numbers(const Cell& cell, const Asked& asked, Directives& expected) {
    const auto kind = value_at(cell.job, "launch.kind");
    const bool is_serial = (kind.is_null() || kind == "serial") && asked.tasks == 1;
    const bool counts_itself = value_at(cell.job, "launch.pmi") == "default" ||
                               (value_at(cell.job, "launch.threads") == "own" &&
                                value_at(cell.job, "launch.binding") == "none");
    if (counts_itself && value_at(cell.job, "resources.cpus-per-task").is_null()) {
        expected.erase("--cpus-per-task");
    }
    if (value_at(cell.job, "launch.threads") != "own" || !is_serial) {
        return;
    }
    for (const auto& [option, field] : {std::pair{"--nodes", "resources.nodes"},
                                        std::pair{"--ntasks", "resources.tasks"},
                                        std::pair{"--ntasks-per-node", "resources.tasks-per-node"},
                                        std::pair{"--cpus-per-task", "resources.cpus-per-task"}}) {
        if (value_at(cell.job, field).is_null()) {
            expected.erase(option);
        }
    }
}

Directives slurm_directives(const Cell& cell, const Asked& asked) {
    const bool is_for_operator = cell.target == "SlurmJob";
    const char* const unit = is_for_operator ? "" : "M";
    const MailWords mail = mail_of(cell);
    Directives expected{{"--nodes", std::to_string(asked.nodes)},
                        {"--job-name", job_name(cell)},
                        {"--ntasks", std::to_string(asked.tasks)},
                        {"--ntasks-per-node", std::to_string(asked.tasks_per_node)},
                        {"--cpus-per-task", std::to_string(asked.cpus)},
                        {"--export", "ALL"}};
    leave_unsaid_numbers(cell, asked, expected);
    put(expected,
        asked.is_memory_of_cpu ? "--mem-per-cpu" : "--mem",
        with_unit(asked.is_memory_of_cpu ? asked.memory_of_cpu : asked.memory_of_node, unit));
    put_slurm_options(cell, expected);
    put(expected, "--time", asked.clock);
    if (value_at(cell.job, "resources.exclusive") == true) {
        expected["--exclusive"] = "";
    }
    put(expected, "--constraint", joined(value_at(cell.job, "resources.constraint"), "&"));
    put(expected, "--partition", asked.queue);
    put(expected, "--account", own_or_default(cell, "account"));
    put(expected, "--qos", own_or_default(cell, "qos"));
    put(expected, "--array", array_of(cell));
    put(expected, "--dependency", dependency(cell));
    put(expected, "--mail-user", mail.to);
    put(expected, "--mail-type", mail.to.empty() ? "" : mail.words);
    const Json signal = value_at(cell.job, "signal");
    if (!signal.is_null()) {
        const std::string clock = clock_of(signal.value("before", "5 min"));
        const auto seconds = std::stoul(clock.substr(0, 2)) * 3600 +
                             std::stoul(clock.substr(3, 2)) * 60 + std::stoul(clock.substr(6));
        expected["--signal"] = fmt::format("B:{}@{}", signal.value("name", "USR1"), seconds);
    }
    put(expected, "--chdir", text_at(cell.job, "workdir"));
    put(expected, "--output", slurm_pattern(cell, "output.stdout", "%x-%j.out"));
    put(expected, "--error", slurm_pattern(cell, "output.stderr", "%x-%j.err"));
    return expected;
}

/// What all readers of `#PBS` lines have alike.
Directives pbs_directives(const Cell& cell, const Asked& asked) {
    const bool is_slurm = cell.dialect == "slurm-torque";
    const MailWords mail = mail_of(cell);
    Directives expected;
    put(expected, "-l walltime", asked.clock);
    put(expected, "-q", asked.queue);
    const bool is_project =
        !cell.site.is_null() && value_at(cell.site, "scheduler.account-option") == "-P";
    put(expected, is_project ? "-P" : "-A", own_or_default(cell, "account"));
    put(expected, cell.dialect == "pbspro" ? "-J" : "-t", array_of(cell));
    put(expected, "-W depend", dependency(cell));
    if (!is_slurm) {
        std::string begin = begin_of(cell);
        std::erase_if(begin, [](char letter) { return letter < '0' || letter > '9'; });
        put(expected, "-a", begin.empty() ? begin : begin.insert(begin.size() - 2, "."));
        const Json requeue = value_at(cell.job, "requeue");
        put(expected, "-r", requeue.is_null() ? "" : requeue == true ? "y" : "n");
    }
    put(expected, "-M", mail.to);
    put(expected, "-m", mail.letters);
    if (is_slurm) {
        put(expected, "-o", slurm_pattern(cell, "output.stdout", "%x-%j.out"));
        put(expected, "-e", slurm_pattern(cell, "output.stderr", "%x-%j.err"));
    } else {
        expected["-j"] = "oe";
    }
    return expected;
}

/// Names that are too long for an old server are cut; the rest of the check is that they differ.
std::string pbs_name(const Cell& cell) {
    const std::string name = job_name(cell);
    const std::string version = cell.site.is_null() ? "" : text_at(cell.site, "scheduler.version");
    const bool is_of_site =
        !cell.site.is_null() && text_at(cell.site, "scheduler.dialect") == cell.dialect;
    const double number = !is_of_site || version.empty() ? 100 : std::stod(version);
    const bool is_old =
        (cell.dialect == "torque" && number < 5) || (cell.dialect == "pbspro" && number < 14);
    return is_old && name.size() > 15 ? name.substr(0, 10) + "-" + hex(sha256(name)).substr(0, 4)
                                      : name;
}

/// So many nodes, or each of those that are named, with what each has.
std::string at_places(const Cell& cell, const std::string& before, const std::string& each) {
    const Json hosts = value_at(cell.job, "resources.hosts");
    if (hosts.is_null()) {
        return std::to_string(number_at(cell.job, "resources.nodes", 1)) + each;
    }
    std::string text;
    for (const Json& host : hosts) {
        text += text.empty() ? "" : "+";
        text += before;
        text += host.get<std::string>();
        text += each;
    }
    return text;
}

Directives typed_directives(const Cell& cell, const Asked& asked) {
    if (cell.dialect == "slurm") {
        return slurm_directives(cell, asked);
    }
    Directives expected = pbs_directives(cell, asked);
    const std::uint64_t slots = asked.tasks_per_node * asked.cpus;
    if (cell.dialect == "torque") {
        const std::string features = joined(value_at(cell.job, "resources.constraint"), ":");
        expected["-l nodes"] =
            at_places(cell,
                      "",
                      fmt::format(":ppn={}{}{}",
                                  slots,
                                  asked.gpus == 0 ? "" : ":gpus=" + std::to_string(asked.gpus),
                                  features.empty() ? "" : ":" + features));
        put(expected, "-l mem", with_unit(asked.memory_of_node * asked.nodes, "mb"));
        if (value_at(cell.job, "resources.exclusive") == true) {
            expected["-n"] = "";
        }
    } else {
        expected["-l select"] = at_places(
            cell,
            "1:host=",
            fmt::format(":ncpus={}:mpiprocs={}{}{}",
                        slots,
                        asked.tasks_per_node,
                        asked.memory_of_node == 0 ? ""
                                                  : ":mem=" + with_unit(asked.memory_of_node, "mb"),
                        asked.gpus == 0 ? "" : ":ngpus=" + std::to_string(asked.gpus)));
    }
    const bool is_alone = value_at(cell.job, "resources.exclusive") == true;
    if (cell.dialect == "pbspro" && (is_alone || asked.nodes > 1)) {
        expected["-l place"] = asked.nodes < 2 ? "excl" : is_alone ? "scatter:excl" : "scatter";
    }
    expected["-N"] = pbs_name(cell);
    return expected;
}

} // namespace

Directives expected_directives(const Cell& cell) {
    const Asked asked = asked_by(cell);
    if (cell.dialect == "local") {
        return {};
    }
    Directives expected = typed_directives(cell, asked);
    if (text_at(cell.job, "launch.kind") == "batch" ||
        value_at(cell.job, "launch.exact") == Json(true)) {
        keep_written(cell, expected);
    }
    put_all_words(cell, asked, expected);
    return expected;
}

} // namespace cybele::pairs
