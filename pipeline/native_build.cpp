// SPDX-License-Identifier: Apache-2.0
#include "pipeline/native_build.hpp"

#include "recipes/forms/words.hpp"
#include "support/characters.hpp"
#include "support/quote.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

namespace cybele::pipeline {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSourcePatterns =
    "CMakeLists.txt *.cmake *.in Makefile makefile GNUmakefile *.mk *.c *.cc *.cpp *.cxx *.C *.h "
    "*.hpp *.hh *.hxx *.inl *.inc *.cu *.cuh *.f *.f90 *.F *.F90 *.f95 *.f03 *.f08 *.s *.S";

/// A name that a path and a shell take as it stands.
bool is_plain_name(std::string_view name) {
    return !name.empty() && name.front() != '-' && std::ranges::all_of(name, [](char c) {
        return is_word_character(c) || c == '.' || c == '+' || c == '-';
    });
}

/// `${X}` and `$(X)` by their values; others stay.
std::string with_variables(std::string_view text,
                           const std::map<std::string, std::string>& values) {
    std::string result;
    while (!text.empty()) {
        const bool is_variable = text.starts_with("${") || text.starts_with("$(");
        const std::size_t end = is_variable ? text.find_first_of(")}") : std::string_view::npos;
        const auto known = end == std::string_view::npos
                               ? values.end()
                               : values.find(std::string(text.substr(2, end - 2)));
        if (known != values.end()) {
            result += known->second;
            text.remove_prefix(end + 1);
        } else {
            result += text.front();
            text.remove_prefix(1);
        }
    }
    return result;
}

/// The first argument of a call of CMake at the line's start, which may be on the next line.
std::string first_argument(std::string_view text, std::size_t open) {
    const std::size_t begin = text.find_first_not_of(" \t\r\n", open + 1);
    if (begin == std::string_view::npos) {
        return {};
    }
    const std::size_t end = text.find_first_of(" \t\r\n)", begin);
    return std::string(text.substr(begin, end - begin));
}

/// The places of `command(` in a text of CMake, in any case of letters, outside of comments.
std::vector<std::size_t> calls_of(std::string_view text, std::string_view command) {
    std::string small(text);
    small = text::lowered(small);
    std::vector<std::size_t> places;
    for (std::size_t at = small.find(command); at != std::string::npos;
         at = small.find(command, at + 1)) {
        const std::size_t line = small.rfind('\n', at) + 1;
        const std::size_t open = small.find_first_not_of(" \t", at + command.size());
        if (text::trimmed(std::string_view(small).substr(line, at - line)).empty() &&
            open != std::string::npos && small[open] == '(') {
            places.push_back(open);
        }
    }
    return places;
}

/// What a compiled program requires where it runs.
void add_run_time(const FolderEvidence& evidence, recipes::Draft& draft) {
    if (evidence.has(EvidenceKind::kOpenmp)) {
        draft.packages.system.emplace_back("libgomp1");
    }
    if (evidence.has(EvidenceKind::kFortran)) {
        draft.packages.system.emplace_back("libgfortran5");
    }
    for (const Evidence& one : evidence.all) {
        // tools of the compilation alone
        if (one.kind == EvidenceKind::kNeed && one.value != "pkg-config" && one.value != "eigen") {
            draft.packages.needs.push_back(one.value);
        }
    }
}

std::string base_folder(const std::string& file) {
    const std::string parent = std::filesystem::path(file).parent_path().native();
    return parent.empty() ? "/src" : "/src/" + parent;
}

struct NativePlan {
    std::string program;
    std::vector<std::string> others;
    std::vector<std::string> steps;
};

std::string all_texts(const SourceFolder& folder, std::string_view pattern) {
    std::string all;
    for (const std::string& file : folder.files) {
        if (is_named_like(std::filesystem::path(file).filename().native(), pattern)) {
            all += read_source_text(folder, file).value_or("") + "\n";
        }
    }
    return all;
}

NativePlan cmake_plan(const SourceFolder& folder, const Evidence& found, const std::string& to) {
    NativePlan plan;
    const std::string text = all_texts(folder, "CMakeLists.txt");
    plan.others = cmake_programs(text);
    const bool is_installed = !calls_of(text, "install").empty();
    const std::string source = shell_quote(base_folder(found.file));
    plan.steps.push_back("cmake -S " + source +
                         " -B /tmp/build -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX=" + to +
                         " -DCMAKE_INSTALL_RPATH=" + to + "/lib" +
                         " -DCMAKE_RUNTIME_OUTPUT_DIRECTORY=" + to + "/bin" +
                         " -DCMAKE_LIBRARY_OUTPUT_DIRECTORY=" + to + "/lib" +
                         // else `cmake --install` deletes programs whose RPATH is another
                         (is_installed ? " -DCMAKE_BUILD_WITH_INSTALL_RPATH=ON" : ""));
    plan.steps.emplace_back("cmake --build /tmp/build");
    if (is_installed) {
        plan.steps.emplace_back("cmake --install /tmp/build");
    }
    return plan;
}

NativePlan make_plan(const SourceFolder& folder, const Evidence& found, const std::string& to) {
    NativePlan plan;
    plan.others = make_programs(read_source_text(folder, found.file).value_or(""));
    const std::string source = base_folder(found.file);
    plan.steps.push_back("make -C " + shell_quote(source));
    const std::string program = plan.others.empty() ? "a.out" : plan.others.front();
    plan.steps.push_back("mkdir -p " + to + "/bin && cp " + shell_quote(source + "/" + program) +
                         " " + to + "/bin/");
    return plan;
}

/// The libraries of the needs, in an order in which a linker finds all symbols.
std::string linked_libraries(const FolderEvidence& evidence) {
    constexpr std::pair<std::string_view, std::string_view> kLibraries[] = {
        {"fftw-mpi", "-lfftw3_mpi -lfftw3"},
        {"fftw", "-lfftw3"},
        {"gsl", "-lgsl -lgslcblas"},
        {"netcdf", "-lnetcdf"},
        {"openblas", "-lopenblas"},
        {"zlib", "-lz"},
    };
    std::string words;
    for (const auto& [need, libraries] : kLibraries) {
        const bool is_needed = std::ranges::any_of(evidence.all, [&](const Evidence& one) {
            return one.kind == EvidenceKind::kNeed && one.value == need;
        });
        words += is_needed ? " " + std::string(libraries) : "";
    }
    return words;
}

NativePlan compile_plan(const FolderEvidence& evidence, const std::string& to) {
    const Evidence& found = *evidence.first(EvidenceKind::kCompile);
    const bool has_mpi = evidence.has(EvidenceKind::kMpi);
    std::string compiler;
    if (found.value == "fortran") {
        compiler = has_mpi ? "mpifort" : "gfortran";
    } else if (found.value == "c++") {
        compiler = has_mpi ? "mpicxx" : "g++";
    } else {
        compiler = has_mpi ? "mpicc" : "gcc";
    }
    NativePlan plan;
    const std::string stem = std::filesystem::path(found.file).stem().native();
    plan.others.push_back(is_plain_name(stem) ? stem : "program");
    // Further sources of the same program are compiled with it, other programs are not.
    const std::filesystem::path file = "/src/" + found.file;
    const std::string sources = found.more == 0 ? shell_quote(file.parent_path().native()) + "/*" +
                                                      shell_quote(file.extension().native())
                                                : shell_quote(file.native());
    plan.steps.push_back("mkdir -p " + to + "/bin && " + compiler + " -O2" +
                         (evidence.has(EvidenceKind::kOpenmp) ? " -fopenmp" : "") + " -o " + to +
                         "/bin/" + plan.others.front() + " " + sources +
                         linked_libraries(evidence) + " -lm");
    return plan;
}

} // namespace

std::vector<std::string> cmake_programs(std::string_view text) {
    std::map<std::string, std::string> values;
    for (const std::size_t at : calls_of(text, "project")) {
        values.emplace("PROJECT_NAME", first_argument(text, at));
        values.emplace("CMAKE_PROJECT_NAME", first_argument(text, at));
    }
    for (const std::size_t at : calls_of(text, "set")) {
        const std::size_t end = std::min(text.find(')', at), text.size());
        const auto words =
            text::split_terminated(text::trimmed(text.substr(at + 1, end - at - 1)), ' ');
        if (words.size() == 2) {
            values.emplace(words[0], words[1]);
        }
    }
    std::vector<std::string> programs;
    for (const std::size_t at : calls_of(text, "add_executable")) {
        const std::string name = with_variables(first_argument(text, at), values);
        if (is_plain_name(name)) {
            programs.push_back(name);
        }
    }
    return programs;
}

std::vector<std::string> make_programs(std::string_view text) {
    constexpr std::string_view kNames[] = {
        "TARGET", "PROGRAM", "PROG", "EXE", "EXEC", "EXECUTABLE", "BIN", "APP"};
    std::map<std::string, std::string> values;
    std::vector<std::string> programs;
    std::vector<std::string> rules;
    for (const std::string_view line : text::split_terminated(text, '\n')) {
        const std::size_t equals = line.find('=');
        const std::size_t colon = line.find(':');
        if (line.starts_with('\t') || line.starts_with('#')) {
            continue;
        }
        if (equals != std::string_view::npos &&
            (colon == std::string_view::npos || colon + 1 >= equals)) {
            const std::string name(text::trimmed(line.substr(0, std::min(equals, colon))));
            values[std::string(text::trimmed(name.substr(0, name.find_first_of("?+: "))))] =
                with_variables(text::trimmed(line.substr(equals + 1)), values);
        } else if (colon != std::string_view::npos && !line.starts_with('.')) {
            const std::string target = with_variables(text::trimmed(line.substr(0, colon)), values);
            const auto first = text::split_terminated(text::trimmed(line.substr(colon + 1)), ' ');
            rules.push_back(
                target == "all" && !first.empty() ? with_variables(first.front(), values) : target);
        }
    }
    for (const std::string_view name : kNames) {
        if (const auto known = values.find(std::string(name)); known != values.end()) {
            rules.insert(rules.begin(), known->second);
            break;
        }
    }
    for (const std::string& rule : rules) {
        const bool is_program = is_plain_name(rule) && !rule.ends_with(".o") && rule != "all" &&
                                rule != "clean" && rule != "install";
        if (is_program) {
            programs.push_back(rule);
            break; // the goal of a plain `make`
        }
    }
    return programs;
}

std::vector<recipes::FileCopy> source_copies(const SourceFolder& folder,
                                             std::string_view patterns,
                                             const std::string& folder_from,
                                             const std::string& to,
                                             std::vector<std::string>& assumed) {
    constexpr std::size_t kMostCopies = 24;
    std::set<std::string> entries;
    bool is_plain = true;
    for (const std::string& file : folder.files) {
        if (is_named_like(std::filesystem::path(file).filename().native(), patterns)) {
            const std::string entry = file.substr(0, file.find('/'));
            is_plain = is_plain && is_plain_name(entry);
            entries.insert(entry);
        }
    }
    const auto copy = [](const std::string& from, const std::string& target) {
        recipes::FileCopy one;
        one.from = recipes::literal(from);
        one.to = target;
        return one;
    };
    if (entries.size() > kMostCopies || !is_plain) {
        assumed.push_back("the complete folder is copied into the image's build; "
                          "list what does not belong there in .dockerignore");
        return {copy(folder_from, to)};
    }
    const fs::path source(folder_from == "." ? "" : folder_from);
    std::vector<recipes::FileCopy> copies;
    copies.reserve(entries.size());
    for (const std::string& entry : entries) {
        copies.push_back(copy((source / entry).native(), (fs::path(to) / entry).native()));
    }
    return copies;
}

std::string plan_native_build(const SourceFolder& folder,
                              const FolderEvidence& evidence,
                              const std::string& folder_from,
                              recipes::Draft& draft,
                              std::vector<std::string>& assumed) {
    const std::string to = "/opt/" + draft.name;
    const Evidence* cmake = evidence.first(EvidenceKind::kCmake);
    const Evidence* make = evidence.first(EvidenceKind::kMake);
    NativePlan plan = cmake != nullptr  ? cmake_plan(folder, *cmake, to)
                      : make != nullptr ? make_plan(folder, *make, to)
                                        : compile_plan(evidence, to);
    plan.program = plan.others.empty() ? "a.out" : plan.others.front();
    assumed.push_back(plan.others.empty()
                          ? "no program is named: set `run` to the path of yours below " + to
                          : "the program is " + plan.program + ", as " + to + "/bin/" +
                                plan.program);
    if (plan.others.size() > 1) {
        assumed.push_back(std::to_string(plan.others.size()) +
                          " programs are built; `run` starts the first, " + plan.program);
    }
    recipes::DraftStage stage;
    stage.name = "build";
    stage.base = draft.base;
    stage.packages.needs.emplace_back("toolchain-c++");
    if (cmake != nullptr) {
        stage.packages.needs.emplace_back("cmake");
    }
    if (evidence.has(EvidenceKind::kFortran)) {
        stage.packages.needs.emplace_back("fortran");
    }
    for (const Evidence& one : evidence.all) {
        if (one.kind == EvidenceKind::kNeed) {
            stage.packages.needs.push_back(one.value);
        }
    }
    stage.files = source_copies(folder, kSourcePatterns, folder_from, "/src", assumed);
    for (std::string& step : plan.steps) {
        stage.steps.push_back({recipes::literal(step)});
    }
    draft.stages.push_back(std::move(stage));
    add_run_time(evidence, draft);
    recipes::FileCopy result;
    result.from = to;
    result.to = to;
    result.stage = "build";
    draft.files.push_back(std::move(result));
    return to + "/bin/" + plan.program;
}

} // namespace cybele::pipeline
