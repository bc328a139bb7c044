// SPDX-License-Identifier: Apache-2.0
#include "pipeline/from_folder.hpp"

#include "launchers/documents/job.hpp"
#include "pipeline/batch_job.hpp"
#include "pipeline/config_files.hpp"
#include "pipeline/document_kind.hpp"
#include "pipeline/evidence.hpp"
#include "pipeline/job_text.hpp"
#include "pipeline/native_build.hpp"
#include "pipeline/new_project.hpp"
#include "pipeline/python_plan.hpp"
#include "pipeline/r_plan.hpp"
#include "recipes/forms/words.hpp"
#include "recipes/import/import.hpp"
#include "recipes/model/recipe.hpp"
#include "support/name.hpp"
#include "support/quote.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace cybele::pipeline {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kJobFile = "job.yaml";

/// How a folder's program comes into an image: the first row whose leads the folder has.
enum class Origin { kDefinition, kDockerfile, kNative, kPython, kR, kNone };

struct Planner {
    SourceFolder folder;
    FolderEvidence evidence;
    std::string folder_from = "."; ///< the source, seen from the documents
    Origin origin = Origin::kNone;
    std::vector<std::string> program; ///< what starts it in the image
    std::string recipe;               ///< text; empty: the image is built from a definition
    std::string image;                ///< of a definition
    bool is_of_root = false;
    bool has_unlocked = false; ///< packages of PyPI without a checksum
    FromFolder plan;
};

std::string place_of(const Evidence& one) {
    return printable(one.file) + (one.line == 0 ? "" : ":" + std::to_string(one.line)) +
           (one.saw.empty() ? "" : ": " + one.saw);
}

Origin origin_of(const SourceFolder& folder, const FolderEvidence& evidence) {
    const bool has_r = has_r_program(folder, evidence);
    const bool has_make =
        evidence.has(EvidenceKind::kMake) && (!has_r || has_native_source(folder));
    const bool has_build = evidence.has(EvidenceKind::kCmake) || has_make;
    const bool has_list = evidence.has(EvidenceKind::kRequirements);
    if (evidence.has(EvidenceKind::kDefinition)) {
        return Origin::kDefinition;
    }
    if (evidence.has(EvidenceKind::kDockerfile)) {
        return Origin::kDockerfile;
    }
    if (has_build || (evidence.has(EvidenceKind::kCompile) && !has_list)) {
        return Origin::kNative;
    }
    return has_r                                 ? Origin::kR
           : evidence.has(EvidenceKind::kScript) ? Origin::kPython
                                                 : Origin::kNone;
}

std::string launch_of(const FolderEvidence& evidence, const recipes::Draft& draft) {
    if (evidence.has(EvidenceKind::kSpark)) {
        return "spark";
    }
    if (evidence.has(EvidenceKind::kTorch)) {
        return "torch";
    }
    if (evidence.has(EvidenceKind::kMpi) || !draft.mpi.family.empty()) {
        return "mpi";
    }
    return evidence.has(EvidenceKind::kOpenmp) ? "openmp" : "serial";
}

/// The Recipe of a Dockerfile, with `mpi` where the source uses it.
Result<void> import_the_dockerfile(Planner& planner) {
    const Evidence& found = *planner.evidence.first(EvidenceKind::kDockerfile);
    recipes::ImportRequest request;
    CYBELE_TRY(request.text, read_source_text(planner.folder, found.file, std::size_t{1} << 20U));
    request.file = fs::path(found.file).filename(); // its paths begin at the top, as in repo2docker
    request.kind = recipes::ImportKind::kDockerfile;
    request.name = planner.plan.name;
    request.look = [&planner](const fs::path& path) {
        std::error_code error;
        const auto type = fs::symlink_status(planner.folder.root / path, error).type();
        return type == fs::file_type::regular     ? recipes::PathKind::kFile
               : type == fs::file_type::directory ? recipes::PathKind::kDirectory
                                                  : recipes::PathKind::kUnknown;
    };
    CYBELE_TRY(const recipes::Imported imported, recipes::import_recipe(request));
    planner.recipe = imported.text;
    const std::size_t base = planner.recipe.find("\nbase:");
    if (planner.evidence.has(EvidenceKind::kMpi) && base != std::string::npos &&
        planner.recipe.find("\nmpi:") == std::string::npos) {
        planner.recipe.insert(base + 1, "mpi: openmpi\n");
    }
    for (const Fault& note : imported.notes) {
        planner.plan.assumed.push_back(printable(found.file) + ": " + note.message +
                                       (note.because.empty() ? "" : ": " + note.because));
    }
    return {};
}

void use_dockerfile(Planner& planner) {
    const std::string& file = planner.evidence.first(EvidenceKind::kDockerfile)->file;
    std::string because = "its paths are relative to its folder, and -o names another one";
    const std::string& config = planner.folder.config;
    if (planner.folder_from == "." &&
        (config.empty() ? file.find('/') == std::string::npos : file == config + "Dockerfile")) {
        const auto imported = import_the_dockerfile(planner);
        if (imported) {
            return;
        }
        because = imported.error().message();
    } else if (planner.folder_from == ".") {
        because = "it is not at the top of the folder";
    }
    planner.plan.assumed.push_back(printable(file) + " is not used: " + because);
    auto& all = planner.evidence.all;
    all.erase(
        std::remove_if(all.begin(),
                       all.end(),
                       [](const Evidence& one) { return one.kind == EvidenceKind::kDockerfile; }),
        all.end());
    planner.origin = origin_of(planner.folder, planner.evidence);
}

/// Where a folder of repo2docker's counts, its Dockerfile is the only one.
void drop_hidden_dockerfiles(Planner& planner) {
    const std::string& config = planner.folder.config;
    std::erase_if(planner.evidence.all, [&](const Evidence& one) {
        return !config.empty() && one.kind == EvidenceKind::kDockerfile &&
               one.file != config + "Dockerfile";
    });
}

/// Of two descriptions of one build, CMake's is used.
void name_unused_makefile(Planner& planner) {
    const Evidence* const makefile = planner.evidence.first(EvidenceKind::kMake);
    if (planner.origin == Origin::kNative && planner.evidence.has(EvidenceKind::kCmake) &&
        makefile != nullptr) {
        planner.plan.assumed.push_back(
            printable(makefile->file) +
            " is not used: " + printable(planner.evidence.first(EvidenceKind::kCmake)->file) +
            " says how the program is compiled");
    }
}

Error nothing_found(const Planner& planner) {
    std::string help =
        "name the folder of the source with --from, or begin with `cybelectl recipe new`";
    const Evidence* const packages = planner.evidence.first(EvidenceKind::kRequirements);
    constexpr std::string_view kNotImported = "setup.py setup.cfg description";
    if (packages != nullptr && kNotImported.find(packages->value) == std::string_view::npos) {
        help = "`cybelectl recipe import " + shell_quote(packages->file) + " -o " +
               planner.plan.name + ".yaml` makes an image of its packages";
    }
    return {ErrorCode::kInput,
            problem("source-unknown",
                    "nothing in " + printable(planner.folder.root.native()) +
                        " says how its program is built or started"),
            "looked for CMakeLists.txt, Makefile, sources with `main`, *.py, *.R, Dockerfile and "
            "definition files; " +
                std::to_string(planner.folder.files.size()) + " files are there",
            help};
}

/// The head of the Recipe: what it is based on.
std::vector<std::string> head_of(const Planner& planner) {
    std::vector<std::string> head{
        "Made by `cybelectl init --from`. All fields: `cybelectl explain recipe`."};
    constexpr std::size_t kMostLines = 40;
    for (const auto* list : {&planner.plan.saw, &planner.plan.assumed}) {
        for (std::size_t i = 0; i < std::min(list->size(), kMostLines); ++i) {
            head.push_back((list == &planner.plan.saw ? "saw: " : "assumed: ") + (*list)[i]);
        }
    }
    return head;
}

recipes::Draft plan_draft(Planner& planner) {
    recipes::Draft draft;
    draft.name = planner.plan.name;
    draft.base = "debian:12";
    draft.version = "0.1.0";
    if (planner.evidence.has(EvidenceKind::kMpi)) {
        draft.mpi.family = "openmpi";
        planner.plan.assumed.emplace_back("mpi: Debian 12's Open MPI; write the family that the "
                                          "cluster has, as `mpi: mpich`");
    }
    auto& assumed = planner.plan.assumed;
    ConfigUse use;
    if (planner.origin == Origin::kR) {
        use =
            plan_r_packages(planner.folder, planner.evidence, planner.folder_from, draft, assumed);
        planner.program = {"Rscript",
                           plan_r_program(planner.folder, planner.folder_from, draft, assumed)};
    } else if (planner.origin == Origin::kNative) {
        planner.program = {plan_native_build(
            planner.folder, planner.evidence, planner.folder_from, draft, assumed)};
        if (planner.evidence.has(EvidenceKind::kScript)) {
            assumed.emplace_back("the Python files are not in the image");
        }
    } else {
        plan_python_packages(planner.folder, planner.evidence, draft, assumed);
        planner.program = {
            "python3", plan_python_program(planner.folder, planner.folder_from, draft, assumed)};
    }
    plan_config_files(planner.folder, planner.folder_from, use, draft, assumed);
    if (!use.has_debian && !draft.packages.system.empty()) {
        draft.packages.manager = "apt"; // of an image whose name does not show it
    }
    draft.run_argv = planner.program;
    for (std::string& word : draft.run_argv) {
        word = recipes::literal(word);
    }
    return draft;
}

/// The names by which a script starts the program → the words in the image.
std::map<std::string, std::vector<std::string>> programs_of(const Planner& planner) {
    std::map<std::string, std::vector<std::string>> programs;
    if (planner.origin == Origin::kPython) {
        for (const std::string& file : planner.folder.files) {
            if (file.ends_with(".py")) {
                programs.emplace(
                    fs::path(file).filename().native(),
                    std::vector<std::string>{"python3", "/opt/" + planner.plan.name + "/" + file});
            }
        }
    } else if (planner.origin == Origin::kR) {
        for (const std::string& file : planner.folder.files) {
            if (is_named_like(file, "*.R *.r")) {
                programs.emplace(
                    fs::path(file).filename().native(),
                    std::vector<std::string>{"Rscript", "/opt/" + planner.plan.name + "/" + file});
            }
        }
    } else if (planner.origin == Origin::kNative) {
        const std::string name = fs::path(planner.program.front()).filename().native();
        programs.emplace(name, planner.program);
        programs.emplace("a.out", planner.program);
    }
    return programs;
}

/// A Job has one script; which of the others belong to it, only the user knows.
void name_other_scripts(Planner& planner, const Evidence& used) {
    std::string others;
    for (const Evidence& one : planner.evidence.all) {
        if (one.kind == EvidenceKind::kBatch && one.file != used.file) {
            others += (others.empty() ? "" : ", ") + printable(one.file);
        }
    }
    if (!others.empty()) {
        planner.plan.assumed.push_back("the Job is that of " + printable(used.file) +
                                       "; `cybelectl job convert FILE` makes one of " + others);
    }
}

/// The Job of the first script that can become one.
Result<std::string> script_job(Planner& planner) {
    for (const Evidence& one : planner.evidence.all) {
        if (one.kind != EvidenceKind::kBatch || planner.recipe.empty()) {
            continue;
        }
        BatchJobRequest request;
        request.text = read_source_text(planner.folder, one.file).value_or("");
        request.file = one.file;
        request.name = planner.plan.name;
        request.recipe = planner.plan.name + ".yaml";
        request.programs = programs_of(planner);
        auto job = job_of_script(request);
        if (job && launchers::read_job(job->text, "job.yaml")) {
            planner.plan.assumed.insert(
                planner.plan.assumed.end(), job->assumed.begin(), job->assumed.end());
            name_other_scripts(planner, one);
            return job->text;
        }
        planner.plan.assumed.push_back(
            printable(one.file) +
            " is not used: " + (job ? "its Job would not be valid" : job.error().message()));
    }
    return std::string();
}

Result<std::string> plan_job(Planner& planner, const recipes::Draft& draft) {
    CYBELE_TRY(std::string text, script_job(planner));
    if (!text.empty()) {
        return text;
    }
    NewJob job;
    job.name = planner.plan.name;
    job.launch = launch_of(planner.evidence, draft);
    job.is_of_root = planner.is_of_root;
    job.runscript = planner.program;
    job.image = planner.image;
    job.recipe = planner.recipe.empty() ? "" : planner.plan.name + ".yaml";
    if (job.launch == "torch" || job.launch == "spark") { // these start a file, not a runscript
        job.command = {planner.program.empty() ? "/opt/" + job.name + "/main.py"
                                               : planner.program.back()};
    }
    planner.plan.assumed.push_back(
        "the Job gives the program no arguments, and asks for few cores and 30 minutes: see " +
        std::string(kJobFile));
    return new_job_text(job);
}

/// The documents are read and rendered, so that both check verbs accept them.
Result<void> check_recipe(const Planner& planner) {
    if (planner.recipe.empty()) {
        return {};
    }
    CYBELE_TRY(const auto recipe,
               recipes::read_recipe(planner.recipe, planner.plan.name + ".yaml"));
    recipes::RenderOptions options;
    options.may_be_unverified = true;
    CYBELE_CHECK(recipes::render_definition(recipe, options));
    return {};
}

fs::path recipe_file(const FromFolder& plan) {
    return plan.folder / (plan.name + ".yaml");
}

/// Whether `build FOLDER` builds the Recipe: it is named after the folder, or no other one is
/// there.
bool is_found_by_folder(const FromFolder& plan) {
    if (plan.name == name_of_folder(plan.folder)) {
        return true;
    }
    const std::vector<fs::path> recipes = recipes_in(plan.folder);
    return std::ranges::all_of(recipes, [&](const fs::path& recipe) {
        return recipe.filename() == recipe_file(plan).filename();
    });
}

void plan_next(Planner& planner) {
    const std::string folder = shell_quote(planner.plan.folder.native());
    auto& next = planner.plan.next;
    if (!planner.image.empty()) {
        const fs::path file =
            planner.folder.root / planner.evidence.first(EvidenceKind::kDefinition)->file;
        next.push_back("cybelectl build " + shell_quote(file.native()) + " -o " +
                       shell_quote((planner.plan.folder / planner.image).native()));
    } else {
        if (planner.has_unlocked) { // packages of PyPI are built by their checksums
            next.push_back("cybelectl recipe lock " +
                           shell_quote(recipe_file(planner.plan).native()));
        }
        next.push_back("cybelectl build " +
                       (is_found_by_folder(planner.plan)
                            ? folder
                            : shell_quote(recipe_file(planner.plan).native())));
    }
    next.push_back("cybelectl submit " + folder + " --follow");
}

std::string program_name(const fs::path& folder) {
    const std::string name = suggest_name(name_of_folder(folder));
    return name.empty() ? "program" : name;
}

} // namespace

Result<FromFolder> plan_from_folder(const FromFolderRequest& request) {
    Planner planner;
    CYBELE_TRY(planner.folder, read_source_folder(request.from));
    CYBELE_TRY(planner.folder.config, config_folder(planner.folder));
    planner.evidence = find_evidence(planner.folder);
    drop_hidden_dockerfiles(planner);
    planner.plan.name = program_name(request.from);
    planner.is_of_root = request.is_of_root;
    planner.plan.folder = request.output.empty() ? request.from : request.output;
    std::error_code error;
    planner.folder_from =
        fs::absolute(request.from, error)
            .lexically_normal()
            .lexically_proximate(fs::absolute(planner.plan.folder, error).lexically_normal())
            .native();
    for (const Evidence& one : planner.evidence.all) {
        planner.plan.saw.push_back(
            place_of(one) + ": " + consequence_of(one) +
            (one.more == 0
                 ? ""
                 : fmt::format(" (and {} more file{})", one.more, one.more == 1 ? "" : "s")));
    }
    planner.plan.assumed = planner.evidence.skipped;
    planner.origin = origin_of(planner.folder, planner.evidence);
    if (planner.origin == Origin::kDockerfile) {
        use_dockerfile(planner);
    }
    name_unused_makefile(planner);
    recipes::Draft draft;
    draft.name = planner.plan.name;
    if (planner.origin == Origin::kNone) {
        return fail(nothing_found(planner));
    }
    if (planner.origin == Origin::kDefinition) {
        planner.image = planner.plan.name + ".sif";
    } else if (planner.origin != Origin::kDockerfile) {
        draft = plan_draft(planner);
        planner.has_unlocked = std::ranges::any_of(draft.packages.pip, [](const std::string& line) {
            return line.find(" --hash=") == std::string::npos;
        });
        planner.recipe = recipes::print_draft(draft, head_of(planner));
    }
    CYBELE_CHECK(check_recipe(planner));
    CYBELE_TRY(std::string job, plan_job(planner, draft));
    if (!planner.recipe.empty()) {
        planner.plan.documents.emplace_back(recipe_file(planner.plan), planner.recipe);
    }
    planner.plan.documents.emplace_back(planner.plan.folder / kJobFile, std::move(job));
    plan_next(planner);
    return std::move(planner.plan);
}

} // namespace cybele::pipeline
