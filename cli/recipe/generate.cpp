// SPDX-License-Identifier: Apache-2.0
#include "pipeline/generate.hpp"

#include "cli/common/cli11.hpp"
#include "cli/common/counts.hpp"
#include "cli/common/session.hpp"
#include "support/json.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <charconv>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cybele::cli {

namespace {

struct GenerateOptions {
    std::string folder = ".";
    bool is_check = false;
};

std::string files_of(const pipeline::Generation& generation) {
    return counted(generation.files.size(), "file");
}

void print_generation(const pipeline::Generation& generation,
                      const char* name,
                      const std::vector<std::string>& paths) {
    const nlohmann::json document{{"format", 1}, {"files", generation.files.size()}, {name, paths}};
    Session::print(json_text(document) + "\n");
}

/// Of the text on disk, by the first hunk (`@@ -12,3 +12,4 @@`), behind the lines that are equal.
std::size_t first_line_of(const std::string& diff) {
    constexpr std::string_view kHunk = "\n@@ -";
    std::size_t at = diff.find(kHunk);
    std::size_t line = 1;
    if (at == std::string::npos) {
        return line;
    }
    const char* const begin = diff.data() + at + kHunk.size();
    (void)std::from_chars(begin, diff.data() + diff.size(), line);
    at = diff.find('\n', at + 1);
    while (at != std::string::npos && diff.compare(at, 2, "\n ") == 0) {
        ++line;
        at = diff.find('\n', at + 1);
    }
    return std::max<std::size_t>(line, 1);
}

/// Each at the first line that differs.
std::vector<Fault> stale_faults(const std::vector<pipeline::StaleFile>& stale,
                                const std::string& folder) {
    std::vector<Fault> faults;
    for (const pipeline::StaleFile& file : stale) {
        const std::filesystem::path path = std::filesystem::path(folder) / file.path;
        faults.push_back(
            Fault(ErrorCode::kInput,
                  problem("generated-file-stale", printable(file.path.native()) + " is stale"),
                  "it differs from what the project's documents give",
                  "run `cybelectl generate`, and commit what changes",
                  Place{path.lexically_normal().native(), first_line_of(file.diff), 1, ""}));
    }
    return faults;
}

Result<int> check_generation(Session& session,
                             const pipeline::Generation& generation,
                             const std::string& folder) {
    CYBELE_TRY(const auto stale, pipeline::find_stale(generation));
    std::vector<std::string> paths;
    for (const auto& file : stale) {
        paths.push_back(file.path.native());
        if (!session.is_json() && !session.is_sarif()) {
            Session::print(file.diff);
        }
    }
    if (session.is_json()) {
        print_generation(generation, "stale", paths);
    }
    if (session.is_sarif() && !stale.empty()) {
        return fail(Error(stale_faults(stale, folder)));
    }
    if (stale.empty()) {
        if (!session.is_quiet && !session.is_json() && !session.is_sarif()) {
            Session::print(files_of(generation) + ": as generated\n");
        }
        return 0;
    }
    return fail(ErrorCode::kInput,
                problem("generated-files-stale",
                        fmt::format("{} of {} are stale", stale.size(), files_of(generation))),
                "they differ from what the project's documents give",
                "run `cybelectl generate`, and commit what changes");
}

Result<int> run(Session& session, const GenerateOptions& options) {
    if (session.is_sarif() && !options.is_check) {
        return fail(ErrorCode::kUsage,
                    problem("sarif-without-check", "--format sarif is for --check"),
                    "it reports files that are stale",
                    "add --check, or leave --format out");
    }
    CYBELE_TRY(const pipeline::Generation generation,
               pipeline::generate(options.folder)
                   .map_error(during("generating the files of the project in '" +
                                     printable(options.folder) + "'")));
    if (session.verbosity > 0) {
        session.note(generation.notes);
    }
    if (options.is_check) {
        return check_generation(session, generation, options.folder);
    }
    CYBELE_TRY(const auto changed, pipeline::write_generation(generation));
    std::vector<std::string> paths;
    for (const auto& path : changed) {
        paths.push_back(path.native());
    }
    if (session.is_json()) {
        print_generation(generation, "changed", paths);
    } else if (!session.is_quiet) {
        for (const auto& path : paths) {
            Session::print(printable(path) + "\n");
        }
        Session::print(fmt::format("{}, {} changed\n", files_of(generation), changed.size()));
    }
    return 0;
}

} // namespace

void install_generate(CLI::App& app, Session& session) {
    auto options = std::make_shared<GenerateOptions>();
    CLI::App* verb = add_verb(app,
                              "generate",
                              "Render all definition files, scripts and manifests of a project.",
                              {"cybelectl generate",
                               "cybelectl generate --check",
                               "cybelectl generate --check --format sarif > project.sarif",
                               "cybelectl generate -v course/"});
    verb->add_option("folder", options->folder, "the project's folder")
        ->type_name("DIR")
        ->capture_default_str();
    verb->add_flag("--check",
                   options->is_check,
                   "write nothing; print a diff and exit with 3 if a file is stale (in CI: see "
                   "`cybelectl explain ci`)");
    add_format(*verb, session, Formats::kAlsoSarif);
    verb->callback([&session, options] {
        session.checked_file = options->folder;
        session.action = [&session, options] {
            return run(session, *options).map_error(during("generating files"));
        };
    });
}

} // namespace cybele::cli
