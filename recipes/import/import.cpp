// SPDX-License-Identifier: Apache-2.0
#include "recipes/import/import.hpp"

#include "recipes/forms/words.hpp"
#include "recipes/import/definition.hpp"
#include "recipes/import/dockerfile.hpp"
#include "recipes/import/lists.hpp"
#include "recipes/tables/tables.hpp"
#include "support/document.hpp"
#include "support/name.hpp"
#include "support/quote.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

namespace cybele::recipes {
namespace {

namespace fs = std::filesystem;

/// More than any lock of an environment has.
constexpr std::size_t kLongestSource = std::size_t{16} << 20U;

/// Texts that a Recipe could not hold are told where they stand.
void check_bytes(Ledger& ledger) {
    const auto lines = lines_of(ledger.source().text());
    std::size_t told = 0;
    for (std::size_t i = 0; i < lines.size() && told < 20; ++i) {
        for (std::size_t at = 0; at < lines[i].size(); ++at) {
            const std::string one = lines[i].substr(at, 2);
            const bool is_tab = one.front() == '\t';
            const bool is_wide = one.size() == 2 && static_cast<unsigned char>(one[0]) == 0xc2;
            if (!is_tab && !is_text_line(is_wide ? one : one.substr(0, 1))) {
                ledger.refuse(
                    {i + 1, at + 1},
                    {"a control character", "no shell and no yaml accepts it", "remove it"});
                ++told;
                break;
            }
        }
    }
}

/// The characters 0x80 to 0x9f of Windows-1252; the rest of it is Latin-1. 0: there is none.
constexpr std::array<char16_t, 32> kWindows1252 = {
    0x20ac, 0,      0x201a, 0x0192, 0x201e, 0x2026, 0x2020, 0x2021, 0x02c6, 0x2030, 0x0160,
    0x2039, 0x0152, 0,      0x017d, 0,      0,      0x2018, 0x2019, 0x201c, 0x201d, 0x2022,
    0x2013, 0x2014, 0x02dc, 0x2122, 0x0161, 0x203a, 0x0153, 0,      0x017e, 0x0178};

std::string in_utf8(char16_t character) {
    const unsigned code = character;
    const auto tail = [](unsigned bits) { return static_cast<char>(0x80U | (bits & 0x3fU)); };
    if (code < 0x800) {
        return {static_cast<char>(0xc0U | (code >> 6U)), tail(code)};
    }
    return {static_cast<char>(0xe0U | (code >> 12U)), tail(code >> 6U), tail(code)};
}

/// A text of which some lines were written in Latin-1.
struct Latin {
    std::string text; ///< in UTF-8
    std::vector<std::size_t> lines;
};

/// Lines that are not UTF-8 are taken for Windows-1252, byte by byte; nothing where one has a byte
/// that stands for no character there.
std::optional<Latin> from_latin(std::string_view text) {
    Latin own;
    for (std::size_t number = 1; !text.empty(); ++number) {
        const auto end = std::min(text.find('\n'), text.size() - 1) + 1;
        const std::string_view line = text.substr(0, end);
        text.remove_prefix(end);
        if (is_utf8(line)) {
            own.text += line;
            continue;
        }
        own.lines.push_back(number);
        for (const char one : line) {
            const auto byte = static_cast<unsigned char>(one);
            const char16_t character =
                byte < 0x80 || byte >= 0xa0 ? byte : kWindows1252.at(byte - 0x80U);
            if (character == 0) {
                return std::nullopt;
            }
            own.text += byte < 0x80 ? std::string(1, one) : in_utf8(character);
        }
    }
    return own;
}

void tell_latin(Ledger& ledger, const std::vector<std::size_t>& lines) {
    if (!lines.empty()) {
        ledger.remark({lines.front(), 1},
                      {"letters in Latin-1",
                       fmt::format("a Recipe is UTF-8, and {} {} not: {}",
                                   lines.size() == 1 ? "line" : "lines",
                                   fmt::join(lines, ", "),
                                   "the same letters have other bytes in the image"),
                       "check these lines where another program reads them"});
    }
}

std::string name_of(const ImportRequest& request) {
    if (!request.name.empty()) {
        return request.name;
    }
    return request.folder_name.empty() ? "imported" : request.folder_name;
}

/// Of the kinds that are maps in yaml or JSON.
Result<Draft> import_yaml(const ImportRequest& request, Ledger& ledger) {
    CYBELE_TRY(const yaml::Document document, yaml::parse(request.text, request.file.native()));
    const yaml::Node& root = document.root;
    if (root.kind != yaml::Node::Kind::kMapping) {
        return fail(document::fault_at(
            document.source,
            root.mark,
            problem("import-not-a-map",
                    "this is not a " + std::string(import_title(request.kind).substr(2))),
            "it is a map of fields",
            "name the right file, or its kind with --kind"));
    }
    const auto lines = lines_of(request.text);
    const std::size_t start = root.mark.line;
    if (start <= lines.size() && lines[start - 1].find_first_of("{[") == root.mark.column - 1) {
        ledger.carry({start, start}); // the brace of JSON
    }
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const auto first = lines[i].find_first_not_of(" \t");
        if (first != std::string::npos && lines[i][first] == '#') {
            const auto text = lines[i].find_first_not_of("# ", first);
            ledger.comment(i + 1, text == std::string::npos ? "" : lines[i].substr(text));
        } else if (lines[i].starts_with("---") || lines[i].starts_with("...")) {
            ledger.carry({i + 1, i + 1});
        }
    }
    switch (request.kind) {
    case ImportKind::kConda:
        return import_conda(request, root, ledger);
    case ImportKind::kCondaLock:
        return import_conda_lock(request, root, ledger);
    case ImportKind::kPixiLock:
        return import_pixi_lock(request, root, ledger);
    case ImportKind::kRenvLock:
        return import_renv(request, root, ledger);
    case ImportKind::kPipfileLock:
        return import_pipfile_lock(request, root, ledger);
    default:
        return import_spack(request, root, ledger);
    }
}

Result<Draft> draft_of(const ImportRequest& request, Ledger& ledger) {
    const bool has_arguments =
        request.kind == ImportKind::kDockerfile || request.kind == ImportKind::kDefinition;
    if (!has_arguments && !request.build_arguments.empty()) {
        const std::string& name = request.build_arguments.begin()->first;
        ledger.refuse({1, 1},
                      {"the build argument '" + printable(name) + "' is used nowhere",
                       std::string(import_title(request.kind)) + " has no arguments",
                       "remove it"});
    }
    switch (request.kind) {
    case ImportKind::kDockerfile:
        return dockerfile::import_dockerfile(request, ledger);
    case ImportKind::kDefinition:
        return definition_file::import_definition(request, ledger);
    case ImportKind::kRequirements:
        return import_requirements(request, ledger);
    case ImportKind::kUvLock:
    case ImportKind::kPoetryLock:
        return import_python_lock(request, ledger);
    case ImportKind::kPyproject:
        return import_pyproject(request, ledger);
    case ImportKind::kPipfile:
        return import_pipfile(request, ledger);
    default:
        return request.kind == ImportKind::kCondaLock &&
                       ("\n" + request.text).find("\n@EXPLICIT") != std::string::npos
                   ? import_explicit(request, ledger)
                   : import_yaml(request, ledger);
    }
}

/// What came out is read and rendered, so that nobody gets a Recipe that is refused afterwards:
/// parts that do not fit each other (an MPI and a base that has none) are told now.
Result<void> verify(const std::string& text, const Ledger& ledger) {
    const auto told = [&](const Error& error) {
        std::vector<Fault> faults;
        for (Fault fault : error.faults()) {
            fault.set(problem("recipe-inexpressible", "no Recipe can say this: " + fault.message));
            fault.where = ledger.source().place({1, 1});
            faults.push_back(std::move(fault));
        }
        return fail(Error(std::move(faults)));
    };
    const auto recipe = read_recipe(text, "import.yaml");
    if (!recipe) {
        return told(recipe.error());
    }
    RenderOptions options;
    options.may_be_unverified = true;
    if (const auto rendered = render_definition(*recipe, options); !rendered) {
        return told(rendered.error());
    }
    return {};
}

/// Packages need a base whose manager is known.
void check_imported_base(const Draft& draft, Ledger& ledger) {
    const auto needs_manager = [](const DraftStage& stage) {
        const Packages& packages = stage.packages;
        const bool has_any = !packages.system.empty() || !packages.needs.empty() ||
                             !packages.pip.empty() || !packages.conda_packages.empty() ||
                             !packages.spack.empty() || !packages.source.empty();
        const bool is_known = find_distribution(stage.base) != nullptr ||
                              distribution_of_image(stage.image) != nullptr;
        return has_any && !is_known && stage.base.find("@{") == std::string::npos &&
               stage.image.find("@{") == std::string::npos;
    };
    if (needs_manager(draft)) {
        ledger.refuse({1, 1},
                      {"which package manager '" + draft.base + draft.image + "' has is not known",
                       "packages are to be installed in it",
                       "name a distribution with --base"});
    }
}

/// Files of the host are named from the Recipe's folder.
void move_files(const std::string& way, std::vector<FileCopy>& files) {
    for (FileCopy& file : files) {
        if (file.stage.empty() && !file.from.starts_with('/')) {
            file.from = way + "/" + file.from;
        }
    }
}

/// The paths of the imported file begin at its own folder, those of the Recipe at the Recipe's.
void move_paths(const ImportRequest& request, Draft& draft, Ledger& ledger) {
    if (request.way.empty()) {
        return;
    }
    const std::string way = literal(request.way.native());
    const auto move_stage = [&](DraftStage& stage) {
        move_files(way, stage.files);
        if (stage.image.ends_with(".sif") && stage.image.find(':') == std::string::npos &&
            !stage.image.starts_with('/')) {
            stage.image = way + "/" + stage.image;
        }
    };
    move_stage(draft);
    for (DraftStage& stage : draft.stages) {
        move_stage(stage);
    }
    for (auto& [name, app] : draft.apps) {
        move_files(way, app.files);
    }
    for (const char* name : {".containerignore", ".dockerignore"}) {
        if (request.look && request.look(request.file.parent_path() / name) == PathKind::kFile) {
            ledger.remark({1, 1},
                          {std::string("the ") + name + " of its folder is not used",
                           "that of the Recipe's folder is, which is another one",
                           "copy it there, with its paths from there"});
            break;
        }
    }
}

} // namespace

namespace {

std::vector<std::size_t> lines_of_steps(const DraftStage& stage) {
    std::vector<std::size_t> lines;
    lines.reserve(stage.steps.size());
    for (const DraftStep& step : stage.steps) {
        lines.push_back(step.line);
    }
    return lines;
}

Result<Imported> import_text(const ImportRequest& request, const std::vector<std::size_t>& latin) {
    Ledger ledger(yaml::Source(request.file.native(), request.text));
    check_bytes(ledger);
    if (ledger.is_refused()) {
        return fail(ledger.take_faults());
    }
    CYBELE_TRY(Draft draft, draft_of(request, ledger));
    if (request.kind != ImportKind::kDockerfile && request.kind != ImportKind::kDefinition) {
        check_imported_base(draft, ledger);
    }
    if (ledger.is_refused()) {
        return fail(ledger.take_faults());
    }
    if (draft.name.empty() || !request.name.empty()) {
        draft.name = name_of(request);
    }
    move_paths(request, draft, ledger);
    ledger.settle();
    tell_latin(ledger, latin);
    std::vector<std::string> head{"Made from " + std::string(import_title(request.kind)) + ", " +
                                  printable(request.file.filename().native()) + "."};
    const auto notes = ledger.head();
    head.insert(head.end(), notes.begin(), notes.end());
    Imported imported;
    imported.name = draft.name;
    imported.text = print_draft(draft, head);
    for (const DraftStage& stage : draft.stages) {
        imported.step_lines.push_back(lines_of_steps(stage));
    }
    imported.step_lines.push_back(lines_of_steps(draft));
    imported.lines = ledger.lines();
    imported.notes = ledger.notes();
    imported.lost = ledger.lost();
    CYBELE_CHECK(verify(imported.text, ledger));
    return imported;
}

} // namespace

Result<Imported> import_recipe(const ImportRequest& request) {
    const bool is_lock =
        request.kind == ImportKind::kCondaLock || request.kind == ImportKind::kUvLock ||
        request.kind == ImportKind::kPoetryLock || request.kind == ImportKind::kPixiLock ||
        request.kind == ImportKind::kRenvLock || request.kind == ImportKind::kPipfileLock;
    if (request.text.size() > (is_lock ? kLongestSource : kLongestImportByHand)) {
        return fail(ErrorCode::kInput,
                    problem("import-too-long",
                            printable(request.file.native()) + " is longer than " +
                                (is_lock ? "16 MiB" : "1 MiB")),
                    "files of this kind are much shorter",
                    "check that this is the right file");
    }
    const bool has_zero = request.text.find('\0') != std::string::npos;
    const bool is_good = !has_zero && is_utf8(request.text);
    const auto latin = !is_good && !has_zero && request.kind == ImportKind::kDefinition
                           ? from_latin(request.text)
                           : std::nullopt;
    if (!is_good && !latin) {
        return fail(ErrorCode::kInput,
                    problem("import-not-text", printable(request.file.native()) + " is not a text"),
                    "it holds bytes that are not UTF-8",
                    "check that this is the right file");
    }
    if (!is_name(name_of(request))) {
        return fail(ErrorCode::kUsage,
                    problem("recipe-name", "'" + printable(request.name) + "' is not a name"),
                    "a name has small letters, digits and `-`",
                    "choose another one");
    }
    if (latin) {
        ImportRequest own = request;
        own.text = latin->text;
        return import_text(own, latin->lines);
    }
    return import_text(request, {});
}

} // namespace cybele::recipes
