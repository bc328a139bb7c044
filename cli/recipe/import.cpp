// SPDX-License-Identifier: Apache-2.0
#include "recipes/import/import.hpp"

#include "cli/common/assignments.hpp"
#include "cli/common/cli11.hpp"
#include "cli/common/counts.hpp"
#include "cli/common/output.hpp"
#include "cli/common/session.hpp"
#include "pipeline/schemas.hpp"
#include "support/file.hpp"
#include "support/json.hpp"
#include "support/message.hpp"
#include "support/name.hpp"
#include "support/process.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cybele::cli {
namespace {

constexpr AssignmentOption kBuildArguments{
    "--build-arg",
    "value of an ARG of a Dockerfile, or of {{ NAME }} of a definition file",
    "it gives a value to an ARG of the Dockerfile"};

namespace fs = std::filesystem;

struct RecipeImportOptions {
    std::string file;
    std::string output;
    std::string kind;
    std::string name;
    std::string base = "debian:12";
    std::string sources;
    std::vector<std::string> arguments;
    bool lifts_all = false;
    bool is_strict = false;
    bool replaces = false;
};

/// What lies in the build context, without following it out of the machine's files.
recipes::PathKind look(const fs::path& path) {
    std::error_code error;
    switch (fs::status(path, error).type()) {
    case fs::file_type::regular:
        return recipes::PathKind::kFile;
    case fs::file_type::directory:
        return recipes::PathKind::kDirectory;
    default:
        return recipes::PathKind::kUnknown;
    }
}

/// The folder that the file lies in, as a name for the Recipe.
std::string folder_name(const std::string& file) {
    std::error_code error;
    const fs::path whole = fs::weakly_canonical(file == "-" ? "x" : file, error);
    return suggest_name(whole.parent_path().filename().native());
}

/// The definition file that HPCCM writes of its recipe, which is a program.
Result<std::string> definition_of_hpccm(const std::string& file) {
    const auto program = find_program("hpccm");
    if (!program) {
        return fail(ErrorCode::kEnvironment,
                    problem("hpccm-missing", "the program 'hpccm' is not installed"),
                    "a recipe of HPCCM is a Python program, which only hpccm can run",
                    "install it: pip install hpccm");
    }
    Command command;
    command.argv = {program->native(),
                    "--recipe",
                    file,
                    "--format",
                    "singularity",
                    "--singularity-version",
                    "3.7"};
    CYBELE_TRY(const Outcome outcome, run_process(command));
    if (outcome.code != 0 || outcome.output.empty()) {
        return fail(ErrorCode::kInput,
                    problem("hpccm-failed", "hpccm cannot read " + printable(file)),
                    printable(outcome.errors.substr(0, outcome.errors.find('\n'))),
                    "try it: hpccm --recipe " + printable(file) + " --format singularity");
    }
    return outcome.output;
}

Result<recipes::ImportRequest> import_request(const RecipeImportOptions& options) {
    recipes::ImportRequest request;
    request.file = options.file == "-" ? "(standard input)" : options.file;
    CYBELE_TRY(request.text,
               read_file(options.file, std::size_t{16} << 20U)
                   .map_error(during("reading the file that is imported")));
    if (request.text.starts_with("\xef\xbb\xbf")) { // a byte order mark, which all of them allow
        request.text.erase(0, 3);
    }
    if (options.kind.empty()) {
        CYBELE_TRY(request.kind, recipes::detect_import_kind(request.file, request.text));
    } else {
        CYBELE_TRY(request.kind, recipes::find_import_kind(options.kind));
    }
    if (request.kind == recipes::ImportKind::kHpccm) {
        CYBELE_TRY(request.text, definition_of_hpccm(options.file));
        request.kind = recipes::ImportKind::kDefinition;
    }
    CYBELE_TRY(request.build_arguments, read_assignments(kBuildArguments, options.arguments));
    request.base = options.base;
    request.name = options.name;
    const bool has_file = !options.output.empty() && options.output != "-";
    request.folder_name = has_file ? suggest_name(fs::path(options.output).stem().native())
                                   : folder_name(options.file);
    if (has_file && options.file != "-") {
        std::error_code error;
        const auto folder_of = [&](const std::string& file) {
            return fs::weakly_canonical(fs::absolute(file, error).parent_path(), error);
        };
        const fs::path way = folder_of(options.file).lexically_relative(folder_of(options.output));
        request.way = way == "." ? fs::path() : way;
    }
    if (!options.sources.empty()) {
        request.sources = options.sources;
    }
    request.lifts_all = options.lifts_all;
    request.read = [](const fs::path& path) {
        const bool is_lock = path.extension() == ".lock";
        return read_file(path, std::size_t{is_lock ? 16U : 1U} << 20U);
    };
    request.look = look;
    return request;
}

struct Counts {
    std::size_t all = 0;
    std::size_t carried = 0;
    std::size_t named = 0;
};

Counts count(const recipes::Imported& imported) {
    Counts counts;
    for (const auto& line : imported.lines) {
        if (!line.is_blank) {
            ++counts.all;
            ++(line.is_carried ? counts.carried : counts.named);
        }
    }
    return counts;
}

std::string report_json(const RecipeImportOptions& options,
                        const recipes::ImportRequest& request,
                        const recipes::Imported& imported) {
    const Counts counts = count(imported);
    auto named = nlohmann::json::array();
    for (const auto& line : imported.lines) {
        if (!line.is_blank && !line.is_carried) {
            named.push_back({{"file", line.file}, {"line", line.line}, {"text", line.text}});
        }
    }
    const auto told = nlohmann::json::parse(format_json(imported.notes));
    nlohmann::json document{
        {"format", 1},
        {"file", options.file},
        {"kind", recipes::import_word(request.kind)},
        {"name", imported.name},
        {"lines", {{"in", counts.all}, {"carried", counts.carried}, {"named", counts.named}}},
        {"named", named},
        {"faults", told["faults"]}};
    if (options.output.empty()) {
        document["text"] = imported.text;
    } else {
        document["recipe"] = options.output;
    }
    return json_text(document) + "\n";
}

Result<int> import_file(Session& session, const RecipeImportOptions& options) {
    CYBELE_TRY(recipes::ImportRequest request, import_request(options));
    CYBELE_CHECK(check_new_output(options.output, options.replaces));
    CYBELE_TRY(const recipes::Imported imported, recipes::import_recipe(request));
    if (!session.is_json() || !options.output.empty()) {
        CYBELE_CHECK(write_file(options.output.empty() ? "-" : options.output, imported.text));
        if (!options.output.empty() && options.output != "-") {
            CYBELE_CHECK(
                pipeline::write_schemas(fs::path(options.output).parent_path(), {"Recipe"}));
        }
    }
    if (session.is_json()) {
        Session::print(report_json(options, request, imported));
    } else {
        if (!session.is_quiet) {
            session.note(imported.notes); // they stand in the Recipe's head too
        }
        if (!options.output.empty() && options.output != "-" && !session.is_quiet) {
            const Counts counts = count(imported);
            Session::print(fmt::format("{}: {} converted, {} left out\n",
                                       printable(options.output),
                                       counted(counts.carried, "line"),
                                       counts.named));
        }
    }
    return options.is_strict && imported.lost > 0 ? 3 : 0;
}

} // namespace

void install_recipe_import(CLI::App& recipe, Session& session) {
    const auto options = std::make_shared<RecipeImportOptions>();
    CLI::App* verb = add_verb(
        recipe,
        "import",
        "Make a Recipe from a definition file, a Dockerfile, a lock file or a list of packages.",
        {"cybelectl recipe import Dockerfile -o app.yaml",
         "cybelectl recipe import app.def -o app.yaml",
         "cybelectl recipe import environment.yml --base ubuntu:24.04",
         "cybelectl recipe import pyproject.toml -o app.yaml",
         "cybelectl recipe import requirements.txt -o app.yaml && cybelectl recipe lock app.yaml",
         "cybelectl recipe import Dockerfile --format json --strict"});
    add_format(*verb, session);
    verb->add_option("file", options->file, "what to import; - is standard input")
        ->required()
        ->type_name("FILE");
    verb->add_option(
            "--kind",
            options->kind,
            "dockerfile, conda, requirements, spack, conda-lock, definition, pyproject, "
            "uv-lock, poetry-lock, pixi-lock, renv-lock, pipfile, pipfile-lock or hpccm (default: "
            "detected)")
        ->type_name("KIND");
    verb->add_option("-o,--output", options->output, "output file (default: standard output)")
        ->type_name("FILE");
    verb->add_option(
            "--name", options->name, "name of the Recipe (default: from FILE, -o or the folder)")
        ->type_name("NAME");
    verb->add_option("--base", options->base, "base of the image, if the file names none")
        ->capture_default_str()
        ->type_name("BASE");
    verb->add_option("--sources",
                     options->sources,
                     "URL of the folder with the installers that the file names")
        ->type_name("URL");
    add_assignments(*verb, kBuildArguments, options->arguments);
    verb->add_flag("--lift", options->lifts_all, "convert similar installations to packages, too");
    verb->add_flag(
        "--strict", options->is_strict, "exit with 3 if anything could not be converted");
    verb->add_flag("--force", options->replaces, "replace the file that -o names");
    verb->callback([&session, options] {
        session.action = [&session, options] {
            return import_file(session, *options)
                .map_error(during("importing '" + options->file + "'"));
        };
    });
}

} // namespace cybele::cli
