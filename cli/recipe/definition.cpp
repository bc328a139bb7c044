// SPDX-License-Identifier: Apache-2.0
#include "cli/recipe/definition.hpp"

#include "cli/common/build_arguments.hpp"
#include "cli/common/cli11.hpp"
#include "cli/common/counts.hpp"
#include "cli/common/output.hpp"
#include "definitions/grammar/format.hpp"
#include "definitions/grammar/grammar.hpp"
#include "definitions/grammar/tree.hpp"
#include "definitions/lint/lint.hpp"
#include "definitions/lint/report.hpp"
#include "support/file.hpp"
#include "support/other_file.hpp"
#include "support/process.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <thread>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cybele::cli {
namespace {

struct DefinitionOptions {
    std::vector<std::string> files;
    BuildArgumentOptions build_arguments;
    std::string dialect = "apptainer";
    std::string form = "text";
    std::string output = "-";
    bool is_strict = false;
    bool is_in_place = false;
    bool only_checks = false;
    bool no_shellcheck = false;
};

Result<definitions::ParseOptions> parse_options(const DefinitionOptions& options) {
    definitions::ParseOptions parse;
    CYBELE_TRY(parse.dialect, definitions::parse_dialect(options.dialect));
    CYBELE_TRY(parse.arguments,
               read_build_arguments(options.build_arguments, [](const auto& /*line*/) {}));
    return parse;
}

void say_findings(const Session& session,
                  definitions::FileReport file,
                  const definitions::Dialect& dialect,
                  bool is_strict) {
    const bool is_coloured =
        session.is_terminal && !session.no_colour && !session.environment.get("NO_COLOR");
    if (session.is_quiet && !is_strict) {
        std::erase_if(file.report.findings,
                      [](const lint::Finding& finding) { return finding.fault.is_warning; });
    }
    const std::string text = definitions::report_text(file.report, is_coloured);
    (void)std::fwrite(text.data(), 1, text.size(), stderr);
    session.touch();
    if (session.is_quiet) {
        return;
    }
    const auto errors = file.report.errors();
    const auto warnings = file.report.warnings();
    const auto notes = file.report.findings.size() - errors - warnings;
    Session::print(file.report.findings.empty()
                       ? file.file + ": no problems found\n"
                       : fmt::format("{}: {} by {}; {}\n",
                                     file.file,
                                     file.report.is_accepted ? "accepted" : "refused",
                                     dialect.name(),
                                     counted_findings(errors, warnings, notes)));
}

/// Most of the time of a check is shellcheck's, which is a process for each script.
Result<std::vector<definitions::FileReport>> check_files(const std::vector<std::string>& names,
                                                         const definitions::LintOptions& lint) {
    std::vector<definitions::FileReport> files;
    std::vector<std::string> texts;
    for (const std::string& name : names) {
        CYBELE_TRY(std::string text, read_file(name).map_error(during("reading the definition")));
        texts.push_back(std::move(text));
        files.push_back({name, {}});
    }
    std::atomic<std::size_t> next{0};
    const auto work = [&] {
        for (std::size_t i = next++; i < files.size(); i = next++) {
            files[i].report = definitions::lint_definition(texts[i], names[i], lint);
            if (files[i].report.stopped_by != 0) {
                next = files.size();
            }
        }
    };
    const std::size_t cores = std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, 16);
    std::vector<std::thread> threads;
    for (std::size_t i = 1; lint.shellcheck && i < std::min(cores, files.size()); ++i) {
        threads.emplace_back(work);
    }
    work();
    for (std::thread& thread : threads) {
        thread.join();
    }
    return files;
}

Result<int> check_definition(Session& session, const DefinitionOptions& options) {
    CYBELE_TRY(const definitions::ParseOptions parse, parse_options(options));
    definitions::LintOptions lint{parse, {}, {}, {}};
    std::error_code unknown;
    lint.folder = std::filesystem::current_path(unknown).native();
    lint.has_source = [](const std::string& path) {
        std::error_code error;
        return std::filesystem::exists(std::filesystem::symlink_status(path, error));
    };
    if (!options.no_shellcheck) {
        lint.shellcheck = find_program("shellcheck");
    }
    CYBELE_TRY(const std::vector<definitions::FileReport> files, check_files(options.files, lint));
    for (const definitions::FileReport& file : files) {
        if (constexpr int kSignals = 128; file.report.stopped_by != 0) {
            return kSignals + file.report.stopped_by; // what was found so far is not all
        }
    }
    const bool is_good = std::ranges::all_of(files, [&](const auto& file) {
        return file.report.is_accepted && file.report.errors() == 0 &&
               (!options.is_strict || file.report.is_clean());
    });
    if (options.form == "json") {
        Session::print(definitions::report_json(files));
    } else if (options.form == "sarif") {
        Session::print(definitions::report_sarif(files));
    } else {
        for (const definitions::FileReport& file : files) {
            say_findings(session, file, parse.dialect, options.is_strict);
        }
    }
    return is_good ? 0 : static_cast<int>(ErrorCode::kInput);
}

/// Puts a new text in the file's place, with its mode; the file that a link leads to.
Result<void> rewrite(const std::filesystem::path& file, const std::string& text) {
    std::error_code error;
    const std::filesystem::path target = std::filesystem::canonical(file, error);
    struct stat status = {};
    if (error || ::stat(target.c_str(), &status) != 0) {
        return fail(system_error("cannot write " + printable(file.native()), errno));
    }
    CYBELE_TRY(PendingFile pending, PendingFile::create(target, 0600));
    // Only root can give a file away; who owns it keeps it so.
    (void)!::fchown(pending.fd(), status.st_uid, status.st_gid);
    if (::fchmod(pending.fd(), status.st_mode & ALLPERMS) != 0) {
        return fail(system_error("cannot set the mode of " + printable(file.native()), errno));
    }
    CYBELE_CHECK(write_all(pending.fd(), text, target));
    return pending.commit();
}

/// Whether the file is in its normal form; it is written, or only looked at, as was asked for.
Result<bool> format_file(const Session& session,
                         const DefinitionOptions& options,
                         const definitions::ParseOptions& parse,
                         const std::string& file) {
    CYBELE_TRY(const std::string text, read_file(file).map_error(during("reading the definition")));
    CYBELE_TRY(const std::string result, definitions::format_definition(text, file, parse));
    if (options.only_checks) {
        if (result != text && !session.is_quiet) {
            Session::print(file + ": not in its normal form\n");
        }
    } else if (!options.is_in_place) {
        CYBELE_CHECK(write_file(options.output, result));
    } else if (result != text) {
        CYBELE_CHECK(rewrite(file, result));
    }
    return result == text;
}

Result<int> format(Session& session, const DefinitionOptions& options) {
    const bool has_one_output = !options.only_checks && !options.is_in_place;
    if (has_one_output && options.files.size() > 1 && options.output != "-") {
        return fail(
            ErrorCode::kUsage,
            problem("several-definitions-one-output", "several definition files cannot become one"),
            "-o is for one file",
            "format them where they are, --in-place, or one by one");
    }
    CYBELE_TRY(const definitions::ParseOptions parse, parse_options(options));
    bool is_formatted = true;
    Faults faults;
    for (const std::string& file : options.files) {
        const auto formatted = format_file(session, options, parse, file);
        is_formatted = is_formatted && formatted && *formatted;
        if (!formatted) {
            faults.add(formatted.error());
        }
    }
    if (faults.has_errors()) {
        return fail(faults.take());
    }
    return options.only_checks && !is_formatted ? static_cast<int>(ErrorCode::kInput) : 0;
}

Result<int> print_definition(const DefinitionOptions& options) {
    const std::string& file = options.files.front();
    CYBELE_TRY(const std::string text, read_file(file).map_error(during("reading the definition")));
    const auto other = recognize_file(text, file);
    if (other && other->command != "def check") {
        return fail(ErrorCode::kInput,
                    problem("printed-file-is-other",
                            printable(file) + " is " + std::string(other->what) +
                                ", not a definition file"),
                    "a definition file begins with its header",
                    help_for_other_file(*other, file));
    }
    const definitions::Tree tree = definitions::read_tree(text);
    CYBELE_CHECK(write_result(options.output,
                              options.form == "json" ? definitions::tree_json(tree)
                                                     : definitions::print_tree(tree),
                              file));
    return 0;
}

void add_parser_options(CLI::App& verb, DefinitionOptions& options) {
    add_build_arguments(verb, options.build_arguments);
    verb.add_option(
            "--dialect",
            options.dialect,
            "parser to check against: apptainer, ce or singularity3, optionally with >=VERSION")
        ->type_name("DIALECT")
        ->capture_default_str();
}

void install_definition_check(CLI::App& def,
                              Session& session,
                              const std::shared_ptr<DefinitionOptions>& options) {
    CLI::App* verb =
        add_verb(def,
                 "check",
                 "Check definition files by Apptainer's rules, and report errors and pitfalls.",
                 {"cybelectl def check app.def",
                  "cybelectl def check app.def --dialect 'apptainer>=1.2' --strict",
                  "cybelectl def check app.def --build-arg version=1.2",
                  "cybelectl def check app.def --format sarif > app.sarif"});
    verb->add_option("file", options->files, "definition files; - is standard input")
        ->required()
        ->type_name("DEF");
    add_parser_options(*verb, *options);
    verb->add_flag("--strict", options->is_strict, "treat warnings as errors (exit code 3)");
    verb->add_flag("--no-shellcheck",
                   options->no_shellcheck,
                   "do not run shellcheck, even if it is installed");
    verb->add_option("--format", options->form, "form of the output")
        ->check(CLI::IsMember({"text", "json", "sarif"}))
        ->capture_default_str();
    verb->callback([&session, options] {
        session.format = options->form == "json" ? "json" : "text";
        session.action = [&session, options] { return check_definition(session, *options); };
    });
}

void install_format(CLI::App& def,
                    Session& session,
                    const std::shared_ptr<DefinitionOptions>& options) {
    CLI::App* verb = add_verb(def,
                              "format",
                              "Format definition files.",
                              {"cybelectl def format app.def",
                               "cybelectl def format --in-place *.def",
                               "cybelectl def format --check *.def"});
    verb->add_option("file", options->files, "definition files; - is standard input")
        ->required()
        ->type_name("DEF");
    add_parser_options(*verb, *options);
    verb->add_option("-o,--output", options->output, "output file (default: -, standard output)")
        ->type_name("FILE");
    verb->add_flag("-i,--in-place", options->is_in_place, "write each file back");
    verb->add_flag(
        "--check", options->only_checks, "write nothing; exit with 3 if a file is not formatted");
    verb->callback([&session, options] {
        session.action = [&session, options] {
            return format(session, *options).map_error(during("formatting the definition"));
        };
    });
}

void install_print(CLI::App& def,
                   Session& session,
                   const std::shared_ptr<DefinitionOptions>& options) {
    CLI::App* verb =
        add_verb(def,
                 "print",
                 "Print a definition file as it was read, or its parsed form as JSON.",
                 {"cybelectl def print app.def", "cybelectl def print app.def --format json"});
    verb->add_option("file", options->files, "the definition file; - is standard input")
        ->required()
        ->expected(1)
        ->type_name("DEF");
    verb->add_option("-o,--output", options->output, "output file (default: -, standard output)")
        ->type_name("FILE");
    verb->add_option("--format", options->form, "form of the output")
        ->check(CLI::IsMember({"text", "json"}))
        ->capture_default_str();
    verb->callback([&session, options] {
        session.action = [options] {
            return print_definition(*options).map_error(during("printing the definition"));
        };
    });
}

} // namespace

void install_definition(CLI::App& app, Session& session) {
    const auto options = std::make_shared<DefinitionOptions>();
    CLI::App* def = add_verb(app,
                             "def",
                             "Check, format and print definition files.",
                             {"cybelectl def check app.def", "cybelectl def format app.def"});
    def->require_subcommand(1);
    install_definition_check(*def, session, options);
    install_format(*def, session, options);
    install_print(*def, session, options);
}

} // namespace cybele::cli
