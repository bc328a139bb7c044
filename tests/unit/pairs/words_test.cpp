// SPDX-License-Identifier: Apache-2.0
// bash reads each script, and evaluates the words that it would start: they are the Job's.
#include "read_back.hpp"
#include "support/environment.hpp"
#include "support/file.hpp"
#include "support/process.hpp"

#include <algorithm>
#include <filesystem>

#include <doctest/doctest.h>
#include <fmt/format.h>

namespace cybele::pairs {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using Words = std::vector<std::string>;

constexpr std::string_view kHome = "/home/e v";
constexpr std::string_view kIndex = "37";
constexpr std::string_view kNumber = "4711";

/// The lines from the one that begins with `first` up to the one that begins with `behind`.
std::string block_of(const std::string& script, const std::string& first, const char* behind) {
    const auto begin = script.find("\n" + first);
    const auto end = begin == std::string::npos ? begin : script.find(behind, begin + 1);
    return end == std::string::npos ? "" : script.substr(begin, end - begin) + "\n";
}

/// The numbers of the line that the script logs: nodes, ranks, threads.
std::string numbers_of(const std::string& script) {
    const auto begin = script.find("    echo 'cybelectl: job ");
    if (begin == std::string::npos) {
        return {};
    }
    const auto end = script.find(" each,", begin);
    std::string text;
    for (const char* name : {"node", "rank", "thread"}) {
        std::string word = name;
        auto at = script.find(" " + word, begin + 25); // the Job has a name, too
        if (at > end && word == "rank") {
            word = "row"; // of a packed sweep: as many at a time
            at = script.find(" " + word, begin + 25);
        }
        REQUIRE(at <= end);
        const auto blank = script.rfind(' ', at - 1);
        const auto number = script.substr(blank + 1, at - blank - 1);
        CHECK((script.at(at + 1 + word.size()) == 's') == (number != "1"));
        text += fmt::format("{}s={}\n", name, number);
    }
    return text;
}

/// A script that evaluates what the job's script sets, and prints it: a name, how many words, the
/// words, each with a NUL behind it.
std::string probe_of(const std::string& whole) {
    // The functions come later.
    const std::string script = whole.substr(0, whole.find("\n# ---- The functions"));
    std::string text =
        fmt::format("HOME='{}' CYBELE_ARRAY_INDEX={} array_index={} job_number={}\n"
                    "runtime=RUNTIME image=IMAGE hosts=() verified=() options=()\n"
                    "program=() launcher=() torch=() candidates=() workdir='' "
                    "first_node=N rendezvous=R job_token=T host_libraries=L\n"
                    "container=(RUNTIME exec IMAGE)\n"
                    "launch() {{ [ \"$1\" != with_input ] || shift; program=(\"$@\"); }}\n"
                    "W7='/w 7'\n"
                    "use_image() {{ candidates=(\"${{@:2}}\"); }}\n"
                    "need_cpus() {{ ranks_per_node=$1; }}\n"
                    "set_variables() {{ export \"$@\"; }}\n",
                    kHome,
                    kIndex,
                    kIndex,
                    kNumber);
    const auto name = whole.find("\nname=");
    text += whole.substr(name, whole.find(" ended=", name) - name) + "\n";
    text += block_of(script, "    use_image ", "\n");
    text += block_of(script, "    workdir=", "\n");
    text += numbers_of(script) + "ranks_per_node=\n";
    text += block_of(script, "    need_cpus ", " #");
    for (const std::string verb : {"\n    export ", "\n    set_variables "}) {
        for (auto at = script.find(verb); at != std::string::npos; at = script.find(verb, at + 1)) {
            const auto first = at + verb.size();
            if (script[script.find_first_of("=\n ", first)] == '=') {
                text += script.substr(at, script.find('\n', at + 1) - at) + "\n";
            }
        }
    }
    text += block_of(script, "    options=(", ")\n") +
            (script.find("\n    options=(") != std::string::npos ? ")\n" : "");
    text += block_of(script, "    launch ", "\n}\n");
    text += block_of(script, "    launcher=(", "\n    echo 'cybelectl: job");
    text += block_of(script, "    torch=(", "\n    launch ");
    const auto at = script.find("\n    exec >");
    std::string line = at == std::string::npos
                           ? std::string()
                           : script.substr(at + 5, script.find('\n', at + 1) - at - 5);
    if (line.find(" 2>") != std::string::npos) { // else of an output that the node knows
        for (auto twice = line.find(">>"); twice != line.npos; twice = line.find(">>")) {
            line.erase(twice, 1); // appended to
        }
        line.replace(0, 6, "written=(");
        line.replace(line.rfind(" 2>"), 3, " ");
        text += line.ends_with("&1") ? line.substr(0, line.size() - 2) + "SAME)\n" : line + ")\n";
    }
    text += "tell() { printf '%s\\0' \"$1\" $(($# - 1)) \"${@:2}\"; }\n"
            "tell nodes \"${nodes:-}\"\ntell ranks \"${ranks:-}\"\n"
            "tell ranks_per_node \"${ranks_per_node:-}\"\ntell threads \"${threads:-}\"\n"
            "tell candidates \"${candidates[@]}\"\ntell workdir \"$workdir\"\n"
            "tell options \"${options[@]}\"\ntell program \"${program[@]}\"\n"
            "tell launcher \"${launcher[@]}\"\ntell torch \"${torch[@]}\"\n"
            "tell written \"${written[@]}\"\n"
            "for variable in OMP_NUM_THREADS LEVEL ODD TAB EMPTY INDEX WHERE; do\n"
            "    [ -z \"${!variable+x}\" ] || tell \"$variable\" \"${!variable}\"\ndone\n";
    return text;
}

std::map<std::string, Words> read_told(const std::string& text) {
    Words words;
    for (std::size_t at = 0; at < text.size();) {
        const auto end = text.find('\0', at);
        words.push_back(text.substr(at, end - at));
        at = end + 1;
    }
    std::map<std::string, Words> told;
    for (std::size_t at = 0; at + 1 < words.size();) {
        const auto count = static_cast<std::ptrdiff_t>(std::stoul(words[at + 1]));
        const auto first = words.begin() + static_cast<std::ptrdiff_t>(at) + 2;
        told[words[at]] = Words(first, first + count);
        at += 2 + static_cast<std::size_t>(count);
    }
    return told;
}

/// A path as the program that is started gets it.
std::string real_path(const std::string& path) {
    if (path == "~" || path.starts_with("~/")) {
        return std::string(kHome) + path.substr(1);
    }
    return (path.starts_with('-') ? "./" : "") + path;
}

std::string text_of(const Json& document, const std::string& path) {
    const Json value = value_at(document, path);
    return value.is_string() ? value.get<std::string>() : "";
}

bool has_index(const Cell& cell) {
    return !array_of(cell).empty() || !value_at(cell.job, "sweep").is_null();
}

std::string in_element(const Cell& cell, std::string text) {
    constexpr std::string_view kMark = "@{index}";
    for (auto at = text.find(kMark); at != std::string::npos && has_index(cell);
         at = text.find(kMark)) {
        text.replace(at, kMark.size(), kIndex);
    }
    return text;
}

std::string job_name_of(const Cell& cell) {
    const std::string own = text_of(cell.job, "job-name");
    return own.empty() ? text_of(cell.job, "name") : own;
}

Words program_of(const Cell& cell) {
    const Json script = value_at(cell.job, "script");
    if (!script.is_null()) {
        Words words{"/bin/sh", "-eu"};
        if (const Json shell = value_at(cell.job, "shell"); shell.is_string()) {
            words = {shell.get<std::string>()};
        } else if (shell.is_array()) {
            words = shell.get<Words>();
        }
        words.insert(words.end(), {"-c", script.get<std::string>(), job_name_of(cell)});
        for (const Json& word : value_at(cell.job, "arguments")) {
            words.push_back(in_element(cell, word.get<std::string>()));
        }
        return words;
    }
    Words words;
    for (const Json& word : value_at(cell.job, "command")) {
        words.push_back(in_element(cell, word.get<std::string>()));
    }
    return words;
}

/// `%x`, `%j`, `%a` and `%%` of an output's path.
std::string output_of(const Cell& cell, const std::string& pattern) {
    const bool is_array = !array_of(cell).empty();
    const bool names_index = pattern.find("%a") != std::string::npos;
    std::string path;
    for (std::size_t at = 0; at < pattern.size(); ++at) {
        if (pattern[at] != '%') {
            path += pattern[at];
            continue;
        }
        const char key = pattern.at(++at);
        path += key == 'x'                 ? job_name_of(cell)
                : key == 'a'               ? std::string(kIndex)
                : key == '%'               ? "%"
                : is_array && !names_index ? fmt::format("{}-{}", kNumber, kIndex)
                                           : std::string(kNumber);
    }
    return real_path(path);
}

bool ends_with(const Words& words, const Words& end) {
    return words.size() >= end.size() && std::equal(end.rbegin(), end.rend(), words.rbegin());
}

bool holds_pair(const Words& words, const std::string& one, const std::string& two) {
    for (std::size_t at = 0; at + 1 < words.size(); ++at) {
        if (words[at] == one && words[at + 1] == two) {
            return true;
        }
    }
    return false;
}

std::string kind_of(const Cell& cell) {
    const std::string kind = text_of(cell.job, "launch.kind");
    return kind.empty() ? "serial" : kind;
}

/// The program in its container, or the host's.
void check_program(const Cell& cell, const Words& told) {
    const Words own = program_of(cell);
    const bool has_image = !value_at(cell.job, "image").is_null();
    if (own.empty()) { // the image's runscript
        CHECK((told.size() >= 3 && told[0] == "RUNTIME"));
        CHECK((told.back() == "IMAGE" || told.back() == "/.singularity.d/runscript"));
        return;
    }
    CHECK_MESSAGE(ends_with(told, own), fmt::format("program: {}", fmt::join(told, "|")));
    if (!has_image) {
        CHECK(told == own);
        return;
    }
    // What `--env` cannot carry goes through `env`.
    const auto image = std::find(told.begin(), told.end(), "IMAGE");
    REQUIRE(image != told.end());
    CHECK((told[0] == "RUNTIME" && told[1] == "exec"));
    Words between(image + 1, told.end() - static_cast<std::ptrdiff_t>(own.size()));
    const Json variables = value_at(cell.job, "environment");
    if (variables.is_object() && variables.contains("LD_PRELOAD")) { // set by a shell inside
        const Words values{"sh", "/opt/l b", "/w 7/p.so"};
        REQUIRE(ends_with(between, values));
        between.resize(between.size() - values.size() - 1); // and its program
        CHECK(ends_with(between, Words{"/bin/sh", "-c"}));
        between.resize(between.size() - 2);
    }
    for (const auto& word : between) {
        CHECK_MESSAGE((word == "env" || word.find('=') != std::string::npos), word);
    }
}

/// Whose mpirun it is: the one that the Job names, else the Site's, else that of PATH.
std::string mpirun_of(const Cell& cell) {
    const std::string own = text_of(cell.job, "launch.host-mpi");
    if (!own.empty()) {
        return real_path(own + "/bin/mpirun");
    }
    const Json list = cell.site.is_null() ? Json() : value_at(cell.site, "mpi");
    if (list.is_null()) {
        return "mpirun";
    }
    if (text_of(cell.job, "launch.launcher") == "hydra" &&
        list[0].value("family", "") == "openmpi") {
        return "mpirun"; // another one than the Site's
    }
    const std::string named = list[0].value("launcher", "");
    const std::string program = named.empty() || named == "srun" ? "mpirun" : named;
    const std::string prefix = list[0].value("prefix", "");
    return real_path(prefix.empty() ? program : prefix + "/bin/" + program);
}

void check_launcher(const Cell& cell, const Asked& asked, const Words& told) {
    REQUIRE_FALSE(told.empty());
    const std::string tasks = std::to_string(asked.tasks);
    if (told[0] == "srun") {
        for (const auto& word : {fmt::format("--nodes={}", asked.nodes),
                                 fmt::format("--ntasks={}", tasks),
                                 fmt::format("--ntasks-per-node={}", asked.tasks_per_node)}) {
            CHECK_MESSAGE(std::count(told.begin(), told.end(), word) == 1, word);
        }
        // With the settings of srun the Job's own number alone, and no end of all ranks.
        const bool is_default = text_of(cell.job, "launch.pmi") == "default";
        const bool is_left = is_default && value_at(cell.job, "resources.cpus-per-task").is_null();
        const std::string cores = fmt::format("--cpus-per-task={}", asked.cpus);
        CHECK(std::count(told.begin(), told.end(), cores) == (is_left ? 0 : 1));
        CHECK(std::count(told.begin(), told.end(), "--kill-on-bad-exit=1") == (is_default ? 0 : 1));
    } else {
        CHECK(told[0] == mpirun_of(cell));
        CHECK(holds_pair(told, "-np", tasks));
        const bool is_hydra = text_of(cell.job, "launch.launcher") == "hydra";
        CHECK((!is_hydra || holds_pair(told, "-ppn", std::to_string(asked.tasks_per_node))));
        const bool is_even =
            holds_pair(told, "-ppn", std::to_string(asked.tasks_per_node)) ||
            std::any_of(told.begin(), told.end(), [&](const std::string& word) {
                return (word + ":").starts_with(fmt::format("ppr:{}:node:", asked.tasks_per_node));
            });
        CHECK_MESSAGE(is_even, fmt::format("{}", fmt::join(told, " ")));
    }
    Words options;
    for (const Json& word : value_at(cell.job, "launch.options")) {
        options.push_back(word.get<std::string>());
    }
    CHECK(ends_with(told, options));
}

void check_torch(const Cell& cell, const Asked& asked, const Words& told) {
    const Json processes = value_at(cell.job, "launch.processes-per-node");
    const std::uint64_t each = processes.is_number()
                                   ? processes.get<std::uint64_t>()
                                   : std::max<std::uint64_t>(1, gpus_of_node(cell, asked));
    const Json restarts = value_at(cell.job, "launch.max-restarts");
    for (const auto& word :
         {fmt::format("--nnodes={}", asked.nodes),
          fmt::format("--nproc_per_node={}", each),
          fmt::format("--max_restarts={}",
                      restarts.is_number() ? restarts.get<std::uint64_t>() : 0)}) {
        CHECK_MESSAGE(std::count(told.begin(), told.end(), word) == 1, word);
    }
    CHECK_MESSAGE(ends_with(told, program_of(cell)), fmt::format("{}", fmt::join(told, "|")));
}

std::uint64_t threads_of(const Cell& cell, const Asked& asked) {
    const Json threads = value_at(cell.job, "launch.threads");
    if (threads.is_number()) {
        return threads.get<std::uint64_t>();
    }
    const std::string kind = kind_of(cell);
    const Json processes = value_at(cell.job, "launch.processes-per-node");
    const std::uint64_t share = kind != "torch" ? 1
                                : processes.is_number()
                                    ? processes.get<std::uint64_t>()
                                    : std::max<std::uint64_t>(1, gpus_of_node(cell, asked));
    return kind == "spark" && threads != Json("all")
               ? 1
               : std::max<std::uint64_t>(1, asked.cpus / share);
}

/// A text with the one variable that the probe sets.
std::string expanded(const Json& value) {
    std::string text = value["expand"].get<std::string>();
    for (auto place = text.find("$W7"); place != std::string::npos; place = text.find("$W7")) {
        text.replace(place, 3, "/w 7");
    }
    return text;
}

void check_environment(const Cell& cell, std::map<std::string, Words>& told) {
    const Json written = value_at(cell.job, "environment");
    for (const auto& [name, value] : written.items()) {
        if (told.contains(name)) {
            CHECK(told[name] == Words{value.is_object()
                                          ? expanded(value)
                                          : in_element(cell, value.get<std::string>())});
        }
    }
    for (const char* name : {"LEVEL", "ODD", "TAB", "EMPTY", "INDEX", "WHERE"}) {
        CHECK(told.contains(name) == (written.is_object() && written.contains(name)));
    }
    for (const Json& bind : value_at(cell.job, "binds")) {
        CHECK(holds_pair(told["options"],
                         "-B",
                         bind.is_object() ? expanded(bind) : real_path(bind.get<std::string>())));
    }
}

void check_paths(const Cell& cell, std::map<std::string, Words>& told) {
    const std::string workdir = text_of(cell.job, "workdir");
    CHECK(told["workdir"] == Words{workdir.empty() ? "" : real_path(workdir)});
    const Json runtime = cell.site.is_null() ? Json() : value_at(cell.site, "runtime");
    if (!runtime.is_null() && !value_at(cell.job, "image").is_null()) {
        CHECK(told["candidates"] ==
              Words{real_path(runtime.value("path", runtime["program"].get<std::string>()))});
    }
    const bool is_written = // may leave them to the batch system
        kind_of(cell) == "batch" || value_at(cell.job, "launch.exact") == Json(true);
    if (!is_written && (cell.dialect == "torque" || cell.dialect == "pbspro")) {
        const std::string out = text_of(cell.job, "output.stdout");
        const std::string err = text_of(cell.job, "output.stderr");
        CHECK(told["written"] == Words{output_of(cell, out.empty() ? "%x-%j.out" : out),
                                       output_of(cell, err.empty() ? "%x-%j.err" : err)});
    }
}

void check_words(const Cell& cell, std::map<std::string, Words> told) {
    const Asked asked = asked_by(cell);
    const std::string kind = kind_of(cell);
    const bool is_torch = kind == "torch";
    const bool is_spark = kind == "spark";
    if (kind == "batch") {
        check_environment(cell, told);
        check_paths(cell, told);
        return;
    }
    CHECK(told["nodes"] == Words{std::to_string(asked.nodes)});
    if (!is_torch && !is_spark) {
        CHECK(told["ranks"] == Words{std::to_string(asked.tasks)});
        // Not counted where one CPU is enough, or too few are allowed.
        if (told["ranks_per_node"] != Words{""}) {
            CHECK(told["ranks_per_node"] == Words{std::to_string(asked.tasks_per_node)});
        }
        CHECK(told["threads"] == Words{std::to_string(threads_of(cell, asked))});
        check_program(cell, told["program"]);
    }
    if (value_at(cell.job, "launch.threads") != Json("own")) {
        CHECK(told["OMP_NUM_THREADS"] == Words{std::to_string(threads_of(cell, asked))});
    }
    if (kind.starts_with("mpi") || kind == "horovod") {
        check_launcher(cell, asked, told["launcher"]);
    } else {
        CHECK(told["launcher"].empty());
    }
    if (is_torch) {
        check_torch(cell, asked, told["torch"]);
    }
    check_environment(cell, told);
    check_paths(cell, told);
}

/// Those of the covering array; of the others every fifth, or all where CYBELE_ALL_CELLS is set.
std::vector<std::size_t> read_cells(const Cells& cells) {
    const bool has_all = Environment::of_this_process().get("CYBELE_ALL_CELLS").has_value();
    constexpr std::size_t kStep = 5;
    std::vector<std::size_t> indices;
    for (std::size_t index = 0; index < cells.rendered.size();
         index += index < cells.rows || has_all ? 1 : kStep) {
        indices.push_back(index);
    }
    return indices;
}

} // namespace

TEST_CASE("bash reads each script, and the words that it starts are those of the Job") {
    const Cells& cells = job_cells();
    const auto folder = TempDirectory::make("/tmp", "cybele-pairs").value();
    for (const std::size_t index : read_cells(cells)) {
        const fs::path stem = folder.path() / fmt::format("{:05}", index);
        REQUIRE(write_file(stem.string() + ".sh", cells.scripts[index].script).has_value());
        REQUIRE(write_file(stem.string() + ".probe", probe_of(cells.scripts[index].script))
                    .has_value());
    }
    Command command;
    command.argv = {"/bin/bash",
                    "-c",
                    "for script in *.sh; do bash -n \"$script\" || echo \"$script\"; done\n"
                    "for probe in *.probe; do (. \"./$probe\") >\"${probe%.probe}.told\"; done"};
    command.directory = folder.path();
    const auto outcome = run_process(command);
    REQUIRE(outcome.has_value());
    CHECK(outcome->ok());
    CHECK(outcome->output.empty());
    CHECK(outcome->errors.empty());
    for (const std::size_t index : read_cells(cells)) {
        const Cell& cell = cells.rendered[index];
        INFO(cell.target << "\n" << cell.job_text << cell.site_text);
        check_words(cell,
                    read_told(read_file(folder.path() / fmt::format("{:05}.told", index)).value()));
    }
    MESSAGE("scripts " << read_cells(cells).size() << " of " << cells.rendered.size());
}

} // namespace cybele::pairs
