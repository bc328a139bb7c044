// SPDX-License-Identifier: Apache-2.0
#include "recipes/import/needs_blocks.hpp"

#include "recipes/forms/recipe_rules.hpp"
#include "recipes/forms/words.hpp"
#include "recipes/mpi/build_rows.hpp"
#include "recipes/mpi/mpi.hpp"
#include "recipes/stage/render_text.hpp"
#include "recipes/tables/tables.hpp"
#include "support/name.hpp"
#include "support/quote.hpp"

#include <algorithm>

namespace cybele::recipes {
namespace {

using yaml::Node;
using Kind = Node::Kind;
using How = EnvironmentValue::How;

std::string text_line_of(const Node& map, std::string_view key) {
    const Node* node = map.find(key);
    return node != nullptr && node->kind == Kind::kScalar && is_text_line(node->scalar)
               ? node->scalar
               : std::string{};
}

} // namespace

void Blocks::carry(const Block& block) {
    static const Node nothing = [] {
        Node node;
        node.kind = Kind::kMapping;
        return node;
    }();
    const Node& options = block.options != nullptr ? *block.options : nothing;
    switch (block.row->kind) {
    case BlockKind::kNeeds:
        needs(block, options);
        break;
    case BlockKind::kCompilers:
        compilers(block, options);
        break;
    case BlockKind::kMpi:
        mpi(block, options);
        break;
    case BlockKind::kSource:
        source(block, options);
        break;
    case BlockKind::kSystem:
        system_packages(block, options);
        break;
    case BlockKind::kPip:
        pip(block, options);
        break;
    case BlockKind::kConda:
        conda(block, options);
        break;
    case BlockKind::kEnvironment:
    case BlockKind::kLabels:
        texts(block, options);
        break;
    case BlockKind::kFiles:
        files(block, options);
        break;
    case BlockKind::kSteps:
    case BlockKind::kRun:
        commands(block, options);
        break;
    case BlockKind::kComment:
        ledger_.carry(block.lines);
        ledger_.comment(block.lines.first,
                        text_line_of(options, "text") + text_line_of(options, "string"));
        break;
    case BlockKind::kLost:
        lose(block, std::string(block.row->words));
        break;
    }
}

void Blocks::lose(const Block& block, std::string because, std::string help) {
    ledger_.lose(block.lines,
                 block.name->mark,
                 {"the block '" + block.name->scalar + "'", std::move(because), std::move(help)});
}

/// Options that decide nothing here are told, so that nobody counts on them.
void Blocks::pass_over(const Node& options, std::string_view used, const std::string& because) {
    for (const auto& entry : options.entries) {
        const auto& [key, value] = entry;
        if (!has_word(used, key.scalar)) {
            ledger_.lose(lines_of_entry(entry),
                         key.mark,
                         {"the option '" + key.scalar + "'",
                          because,
                          "write it into the Recipe if it matters"});
        }
    }
}

void Blocks::needs(const Block& block, const Node& options) {
    if (!has_package(std::string(block.row->words))) {
        lose(block, "no package of that name is known on " + draft_.base + draft_.image);
        return;
    }
    ledger_.carry(block.lines);
    const std::string name(block.row->name);
    std::string need(block.row->words);
    std::string used;
    for (const auto& [base, option, with] : {std::tuple{"fftw", "mpi", "fftw-mpi"},
                                             {"hdf5", "mpi", "hdf5-mpi"},
                                             {"netcdf", "fortran", "netcdf-fortran"},
                                             {"python", "devel", "python-devel"}}) {
        if (name == base && text_line_of(options, option) == "true" && has_package(with)) {
            add_need(with, false);
            used += std::string(option) + " ";
        }
    }
    add_need(need, block.row->is_for_building);
    pass_over(options, used, "the distribution's own package is installed");
}

const DistributionRow* Blocks::release() const {
    return draft_.image.empty() ? find_distribution(draft_.base)
                                : distribution_of_image(draft_.image);
}

bool Blocks::has_package(const std::string& need) const {
    const auto* row = release();
    const NeedCell* cell = row == nullptr ? nullptr : find_need(row->column, need);
    return cell != nullptr && !cell->packages.empty() && cell->mark != Mark::kUnknown;
}

void Blocks::add_need(const std::string& need, bool is_for_building) {
    auto& list = is_for_building ? building_ : needs_;
    if (std::find(list.begin(), list.end(), need) == list.end()) {
        list.push_back(need);
    }
}

void Blocks::compilers(const Block& block, const Node& options) {
    ledger_.carry(block.lines);
    const std::string version = text_line_of(options, "version");
    draft_.compilers = version.empty() ? "any" : literal(version);
    if (text_line_of(options, "fortran") != "false" && has_package("fortran")) {
        add_need("fortran", true);
    }
    pass_over(options, "version fortran cc cxx", "compilers come from the distribution");
}

void Blocks::mpi(const Block& block, const Node& options) {
    if (!draft_.mpi.family.empty()) {
        lose(block, "an image has one MPI, and '" + draft_.mpi.family + "' stands before it");
        return;
    }
    const std::string version = text_line_of(options, "version");
    RecipeMpi wanted;
    wanted.family = block.row->words;
    const bool is_known = !version.empty() && find_release(wanted.family, version) != nullptr;
    if (!is_known && !mpi_row_of(wanted, release())) {
        lose(block,
             draft_.base + draft_.image + " has no package of it, and " +
                 (version.empty() ? "no version is named"
                                  : "the SHA-256 of its release is not known"),
             "name a release that docs/reference/mpi.md lists");
        return;
    }
    ledger_.carry(block.lines);
    draft_.mpi.family = wanted.family;
    std::string used;
    if (is_known) {
        draft_.mpi.version = version;
        draft_.mpi.from = "source";
        draft_.args["sources"] = request_.sources;
        used = "version ";
    }
    const auto asks = [&](std::string_view option) {
        const std::string value = text_line_of(options, option);
        used += value.empty() ? "" : std::string(option) + " ";
        return !value.empty() && value != "false";
    };
    for (const auto& [option, need] : {std::pair{"ucx", "ucx"},
                                       {"with_ucx", "ucx"},
                                       {"pmix", "pmix-devel"},
                                       {"with_pmix", "pmix-devel"},
                                       {"pmi", "slurm-pmi2-devel"},
                                       {"infiniband", "verbs"}}) {
        if (asks(option) && has_package(need)) {
            add_need(need, false);
        }
    }
    pass_over(options,
              used,
              version.empty() || draft_.mpi.from == "source"
                  ? "how it is configured follows from what it needs"
                  : "the SHA-256 of that release is not known, so the distribution's is installed");
}

void Blocks::source(const Block& block, const Node& options) {
    SourcePackage own;
    own.url = text_line_of(options, "url");
    own.sha256 = text_line_of(options, "sha256");
    own.git = text_line_of(options, "git_repository") + text_line_of(options, "repository");
    own.commit = text_line_of(options, "commit");
    own.build = block.row->words;
    const std::string place = own.url.empty() ? own.git : own.url;
    const auto slash = place.rfind('/');
    std::string name = text_line_of(options, "name");
    name = name.empty() ? place.substr(slash == std::string::npos ? 0 : slash + 1) : name;
    std::size_t end = 0;
    while (end < name.size() && name[end] != '.' &&
           !(name[end] == '-' && end + 1 < name.size() && name[end + 1] >= '0' &&
             name[end + 1] <= '9')) {
        ++end;
    }
    own.name = suggest_name(name.substr(0, end));
    const bool is_archive = !own.url.empty() && check_hex_digest(own.sha256).because.empty();
    const bool is_commit = !own.git.empty() && check_commit(own.commit).because.empty();
    if (own.name.empty() || (!is_archive && !is_commit) || (!own.url.empty() && !own.git.empty())) {
        lose(block,
             "what is downloaded must be known by its SHA-256 or its whole commit",
             "add `sha256` to its `url`, or `commit` to its `repository`");
        return;
    }
    own.url = literal(own.url);
    own.git = literal(own.git);
    for (const auto* list : {"configure_opts", "cmake_opts"}) {
        if (const Node* node = options.find(list)) {
            for (const auto* item : text_items(ledger_, *node, list)) {
                own.options.push_back(literal(item->scalar));
            }
        }
    }
    for (const auto* list : {"build", "install"}) {
        if (const Node* node = options.find(list)) {
            for (const auto* item : text_items(ledger_, *node, list)) {
                own.script += item->scalar + "\n";
            }
        }
    }
    if (own.build == "script" && own.script.empty()) {
        lose(block, "it has no commands", "add `build: [COMMAND]`");
        return;
    }
    ledger_.carry(block.lines);
    pass_over(options,
              "url sha256 git_repository repository commit name configure_opts cmake_opts build "
              "install",
              "programs from source lie in /opt/NAME and are on PATH");
    sources_.push_back(std::move(own));
}

void Blocks::system_packages(const Block& block, const Node& options) {
    const auto* row = release();
    const std::string manager = row == nullptr ? "" : std::string(row->manager);
    for (const auto& [list, own] :
         {std::pair{"ospackages", block.row->words}, {"apt", "apt"}, {"yum", "dnf"}}) {
        const Node* node = options.find(list);
        if (node == nullptr) {
            continue;
        }
        if (!own.empty() && own != manager) {
            ledger_.lose(lines_of_node(*node),
                         node->mark,
                         {"the packages of " + std::string(own),
                          "the base has " + (manager.empty() ? "another manager" : manager),
                          "name them as the base's manager does"});
            continue;
        }
        ledger_.carry({block.lines.first, block.lines.first});
        for (const auto* item : text_items(ledger_, *node, list)) {
            if (check_package(item->scalar).because.empty()) {
                draft_.packages.system.push_back(item->scalar);
                carry_node(ledger_, *item);
            } else {
                ledger_.lose(lines_of_node(*item),
                             item->mark,
                             {"the package '" + printable(item->scalar) + "'",
                              "it is no NAME or NAME=VERSION",
                              "write it so"});
            }
        }
    }
    pass_over(options, "ospackages apt yum", "`packages.system` is installed without it");
}

void Blocks::pip(const Block& block, const Node& options) {
    ledger_.carry({block.lines.first, block.lines.first});
    if (const Node* node = options.find("packages")) {
        for (const auto* item : text_items(ledger_, *node, "packages")) {
            carry_requirement(
                ledger_, {item->scalar, lines_of_node(*item), item->mark}, draft_.packages.pip);
        }
    }
    pass_over(options, "packages", "`packages.pip` holds requirements alone");
}

void Blocks::conda(const Block& block, const Node& options) {
    ledger_.carry({block.lines.first, block.lines.first});
    auto& packages = draft_.packages;
    for (const auto& [list, into] : {std::pair{"packages", &packages.conda_packages},
                                     {"channels", &packages.conda_channels}}) {
        if (const Node* node = options.find(list)) {
            for (const auto* item : text_items(ledger_, *node, list)) {
                into->push_back(literal(item->scalar));
                carry_node(ledger_, *item);
            }
        }
    }
    if (!packages.conda_packages.empty() && packages.conda_channels.empty()) {
        packages.conda_channels = {"conda-forge"};
    }
    if (!packages.conda_packages.empty() && !has_installer_) {
        add_installer(draft_, draft_, "micromamba", request_);
        has_installer_ = true;
    }
    pass_over(options, "packages channels", "conda packages are installed by micromamba");
}

void Blocks::texts(const Block& block, const Node& options) {
    const bool is_labels = block.row->kind == BlockKind::kLabels;
    const Node* map = options.find(is_labels ? "metadata" : "variables");
    ledger_.carry({block.lines.first, block.lines.first});
    for (const auto& entry : map != nullptr ? map->entries : std::vector<yaml::Entry>{}) {
        const auto& [key, value] = entry;
        const bool is_name =
            is_labels ? check_label(key.scalar).because.empty() : is_variable_name(key.scalar);
        if (!is_name || value.kind != Kind::kScalar || !is_text_line(value.scalar) ||
            !is_plain_payload("x " + value.scalar)) {
            ledger_.lose(lines_of_entry(entry),
                         key.mark,
                         {"'" + printable(key.scalar) + "'",
                          is_labels ? "no label can be so" : "no shell can set it so",
                          "write it another way"});
        } else if (is_labels) {
            draft_.labels[key.scalar] = literal(value.scalar);
            ledger_.carry(lines_of_entry(entry));
        } else {
            variable(entry);
        }
    }
}

/// `/x/bin:$PATH`, or a text without variables.
void Blocks::variable(const yaml::Entry& entry) {
    const std::string& name = entry.first.scalar;
    std::string value = entry.second.scalar;
    EnvironmentValue own{How::kSet, {}};
    for (const auto& [end, how] : {std::pair{":$" + name, How::kPrepend},
                                   {":${" + name + "}", How::kPrepend},
                                   {"$" + name + ":", How::kAppend},
                                   {"${" + name + "}:", How::kAppend}}) {
        const bool is_prepend = how == How::kPrepend;
        if (own.how == How::kSet && value.size() > end.size() &&
            (is_prepend ? value.ends_with(end) : value.starts_with(end))) {
            own.how = how;
            value =
                is_prepend ? value.substr(0, value.size() - end.size()) : value.substr(end.size());
        }
    }
    if (value.find('$') != std::string::npos) {
        ledger_.lose(lines_of_entry(entry),
                     entry.second.mark,
                     {"the value of " + name,
                      "a Recipe's values are literal",
                      "write the value, or `{prepend: …}`"});
        return;
    }
    own.value = literal(value);
    draft_.environment[name] = own;
    ledger_.carry(lines_of_entry(entry));
}

void Blocks::files(const Block& block, const Node& options) {
    const std::string from = text_line_of(options, "src");
    const std::string to = text_line_of(options, "dest");
    const auto is_good = [](const std::string& path) {
        return !path.empty() && path.find_first_of("\"\\$`{}*?[") == std::string::npos &&
               path.front() != '~' && path.front() != '%';
    };
    const bool is_hidden = to.starts_with("/tmp/") || to.starts_with("/var/tmp/") ||
                           to.starts_with("/proc/") || to.starts_with("/sys/") ||
                           to.starts_with("/dev/");
    if (!is_good(from) || !is_good(to) || !to.starts_with('/') || is_hidden ||
        options.find("_from") != nullptr || options.find("files") != nullptr) {
        lose(block,
             is_hidden ? "the runtime mounts over its destination"
                       : "only `src` and an absolute `dest` on plain paths can be carried",
             "write it into the Recipe's `files`");
        return;
    }
    ledger_.carry(block.lines);
    draft_.files.push_back({from, to, {}, {}, {}});
}

void Blocks::commands(const Block& block, const Node& options) {
    const Node* list = options.find("commands");
    if (list == nullptr) {
        lose(block, "it has no 'commands'", "add them");
        return;
    }
    std::string text;
    for (const auto* item : text_items(ledger_, *list, "commands")) {
        text += item->scalar + "\n";
    }
    const bool is_run = block.row->kind == BlockKind::kRun;
    if (text.find_first_not_of(" \n") == std::string::npos || text.size() > 39'000 ||
        (is_run && !is_plain_payload(text))) {
        lose(block, "these commands cannot be carried", "write them into the Recipe");
        return;
    }
    ledger_.carry(block.lines);
    std::string directory = text_line_of(options, "chdir");
    if (!directory.empty() && !directory.starts_with('/')) {
        directory.clear();
    }
    if (is_run) {
        draft_.run_script = text;
    } else {
        draft_.steps.push_back({text, "sh", literal(directory), {}});
    }
    pass_over(
        options, directory.empty() ? "commands" : "commands chdir", "a Recipe has no word for it");
}

/// With an MPI or programs from source, what compiles has a stage of its own.
void Blocks::place() {
    const bool has_stage = draft_.mpi.from == "source";
    if (!has_stage) {
        auto& needs = draft_.packages.needs;
        needs = building_;
        for (const auto& need : needs_) {
            if (std::find(needs.begin(), needs.end(), need) == needs.end()) {
                needs.push_back(need);
            }
        }
        auto& list = draft_.packages.source;
        list.insert(list.end(), sources_.begin(), sources_.end());
        return;
    }
    DraftStage build;
    build.name = "build";
    build.base = draft_.base;
    build.image = draft_.image;
    build.packages.needs = building_;
    for (const auto& need : needs_) {
        const bool is_of_mpi = has_word("verbs ucx libfabric pmix-devel slurm-pmi2-devel", need);
        auto& list = is_of_mpi ? build.packages.needs : draft_.packages.needs;
        list.push_back(need);
    }
    draft_.packages.source.insert(draft_.packages.source.end(), sources_.begin(), sources_.end());
    draft_.stages.push_back(std::move(build));
}

} // namespace cybele::recipes
