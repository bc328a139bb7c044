// SPDX-License-Identifier: Apache-2.0
#include "cli/common/cli11.hpp"
#include "cli/common/session.hpp"
#include "diagnostics/site_probe.hpp"
#include "submission/submit/own_site.hpp"
#include "submission/submit/site_trial.hpp"
#include "support/counted.hpp"
#include "support/file.hpp"

#include <memory>

namespace cybele::cli {

namespace {

struct SiteOptions {
    std::string file;
    std::string name = "here";
    std::string output = "-";
    bool is_strict = false;
};

Result<int> probe(Session& session, const SiteOptions& options) {
    session.work("asking this machine's programs");
    diagnostics::ProbedSite probed = diagnostics::probe_site(session.environment);
    probed.site.name = options.name;
    const std::string text = diagnostics::write_site(probed);
    // What is written must be what every other verb reads.
    CYBELE_TRY(const launchers::Site read, launchers::read_site(text, options.output));
    std::vector<Fault> notes;
    for (const std::string& note : probed.notes) {
        notes.push_back(warning(ErrorCode::kInternal, problem("site-note", note)));
    }
    session.note(notes);
    CYBELE_CHECK(write_file(options.output, text, 0644));
    return 0;
}

Result<int> check_site(Session& session, const SiteOptions& options) {
    CYBELE_TRY(std::string text, read_file(options.file).map_error(during("reading the Site")));
    CYBELE_TRY(const launchers::Site site, launchers::read_site(std::move(text), options.file));
    Faults faults = diagnostics::compare_site(site, diagnostics::probe_site(session.environment));
    const Faults tried = submission::try_site(site, session.environment, Session::clock());
    for (const Fault& fault : tried.all()) {
        faults.add(fault);
    }
    const Faults foreign = submission::find_foreign_files(
        submission::files_of_site(site, session.environment.home()), {});
    for (Fault fault : foreign.all()) {
        fault.is_warning = true;
        fault.help += "; settings that name this Site end with an error for its users";
        faults.add(std::move(fault));
    }
    session.note(faults.all());
    if (faults.has_errors() || (options.is_strict && !faults.empty())) {
        return static_cast<int>(ErrorCode::kInput);
    }
    if (!session.is_quiet && !session.is_json()) {
        Session::print(options.file +
                       (faults.empty()
                            ? ": as this machine is\n"
                            : ": no errors, " + counted(faults.all().size(), "warning") + "\n"));
    }
    return 0;
}

} // namespace

void install_site(CLI::App& app, Session& session) {
    auto options = std::make_shared<SiteOptions>();
    CLI::App* site = add_verb(
        app,
        "site",
        "Describe and check the sites where jobs run.",
        {"cybelectl site probe --name hall-a -o hall-a.yaml", "cybelectl site check hall-a.yaml"});
    site->require_subcommand(1);
    CLI::App* probe_verb =
        add_verb(*site,
                 "probe",
                 "Write a Site from this machine's scheduler, runtime, MPI and queues.",
                 {"cybelectl site probe --name hall-a -o hall-a.yaml",
                  "cybelectl site probe --name hall-a -o -"});
    probe_verb->add_option("--name", options->name, "the Site's name")->type_name("NAME");
    probe_verb
        ->add_option("-o,--output", options->output, "output file (default: -, standard output)")
        ->type_name("FILE");
    add_format(*probe_verb, session);
    probe_verb->callback([&session, options] {
        session.action = [&session, options] {
            return probe(session, *options).map_error(during("probing this machine"));
        };
    });
    CLI::App* check_verb =
        add_verb(*site,
                 "check",
                 "Compare a Site with this machine, and try small Jobs, its code and its Policy.",
                 {"cybelectl site check hall-a.yaml --strict",
                  "cybelectl site check hall-a.yaml --format json"});
    check_verb->add_option("site", options->file, "the Site")->required()->type_name("FILE");
    check_verb->add_flag("--strict", options->is_strict, "treat notes as errors (exit code 3)");
    add_format(*check_verb, session);
    check_verb->callback([&session, options] {
        session.action = [&session, options] { return check_site(session, *options); };
    });
}

} // namespace cybele::cli
