// SPDX-License-Identifier: Apache-2.0
#include "cli/common/cli11.hpp"
#include "cli/common/image_store.hpp"
#include "cli/common/session.hpp"
#include "diagnostics/examine.hpp"
#include "submission/journal/journal.hpp"
#include "submission/submit/job_input.hpp"
#include "submission/submit/own_site.hpp"
#include "submission/submit/site_trial.hpp"
#include "support/counted.hpp"
#include "support/json.hpp"
#include "support/own_path.hpp"
#include "support/quote.hpp"
#include "support/trusted_folders.hpp"

#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cybele::cli {

namespace {

const char* word(diagnostics::Finding::State state) {
    switch (state) {
    case diagnostics::Finding::State::kOk:
        return "ok";
    case diagnostics::Finding::State::kNote:
        return "note";
    case diagnostics::Finding::State::kMissing:
        return "missing";
    }
    return "";
}

/// What the settings say counts as it does for the verbs that doctor speaks of.
Result<diagnostics::DoctorInput> input_of(const Session& session) {
    CYBELE_TRY(const pipeline::Settings settings, session.settings());
    CYBELE_TRY(const registry::StoreFolder store, store_root(session));
    diagnostics::DoctorInput input{
        session.environment, session.program, {}, settings.get("mirror")};
    for (const auto& [name, variable] :
         {std::pair("cache-dir", "CYBELE_CACHE_DIR"), std::pair("tmpdir", "CYBELE_TMPDIR")}) {
        if (const std::string value = settings.get(name); !value.empty()) {
            input.environment.set(variable, value);
        }
    }
    input.folders = {
        {"journal",
         submission::Journal::folder(session.environment),
         "CYBELE_STATE_DIR",
         "no job can be submitted"},
        {"store", store.path, "CYBELE_STORE", "images cannot be stored by name", false}};
    return input;
}

/// The Site in force and its Policy, with where they are named and the first thing that is wrong.
void examine_site(const Session& session,
                  const pipeline::Settings& settings,
                  std::vector<diagnostics::Finding>& findings) {
    const std::string file = settings.get("site");
    if (file.empty()) {
        findings.push_back(
            diagnostics::works("site", "none: a Job without --site runs on this machine"));
        return;
    }
    const std::string named = printable(file) + ", by " + printable(settings.origin("site"));
    const auto site = submission::read_named_site(
        file, "the setting", settings.place("site"), session.environment.home());
    const std::string check = "see all: `cybelectl site check " + shell_quote(file) + "`";
    if (!site) {
        const Fault& fault = site.error().faults().front();
        findings.push_back(diagnostics::fails(
            "site",
            named + ": " + fault.message,
            "commands on Jobs end with this error",
            fault.id == "file-missing" ? "correct the path, or remove the setting" : check));
        return;
    }
    findings.push_back(diagnostics::works("site", site->name + ", " + named));
    if (!site->verify_policy.empty()) {
        const auto policy = submission::verification_place(
            site->verify_policy, site->folder, session.environment.home());
        findings.push_back(diagnostics::works("policy", printable(policy.native())));
    } else if (!site->verify_keys.empty()) {
        findings.push_back(diagnostics::works(
            "policy", counted(site->verify_keys.size(), "key") + " in `verify` of the Site"));
    }
    const Faults found = submission::try_site(*site, session.environment, Session::clock());
    for (const Fault& fault : found.all()) {
        if (!fault.is_warning) { // the first one; `site check` has all
            const std::string place =
                fault.where
                    ? fmt::format("{}:{}: ", printable(fault.where->file), fault.where->line)
                    : "";
            findings.push_back(diagnostics::lacks(
                "site", place + fault.message, "some Jobs or all are refused for it", check));
            return;
        }
    }
}

Result<int> doctor(Session& session) {
    CYBELE_TRY(const diagnostics::DoctorInput input, input_of(session));
    std::vector<diagnostics::Finding> findings = diagnostics::examine_host(input);
    CYBELE_TRY(const pipeline::Settings settings, session.settings());
    examine_site(session, settings, findings);
    const bool works = diagnostics::can_do_main_job(findings);
    if (session.is_json()) {
        nlohmann::json list = nlohmann::json::array();
        for (const diagnostics::Finding& finding : findings) {
            list.push_back({{"state", word(finding.state)},
                            {"subject", finding.subject},
                            {"what", finding.what},
                            {"follows", finding.follows},
                            {"help", finding.help}});
        }
        const nlohmann::json document{{"format", 1}, {"works", works}, {"findings", list}};
        Session::print(json_text(document) + "\n");
    } else {
        for (const diagnostics::Finding& finding : findings) {
            Session::print(
                fmt::format("{:<8}{:<18}{}\n", word(finding.state), finding.subject, finding.what));
            if (!finding.follows.empty()) {
                Session::print(fmt::format("{:<26}so: {}\n", "", finding.follows));
            }
            if (!finding.help.empty()) {
                Session::print(fmt::format("{:<26}help: {}\n", "", finding.help));
            }
        }
        Session::print(works ? "this machine can build images and run MPI jobs\n"
                             : "this machine cannot build images and run MPI jobs yet\n");
    }
    return works ? 0 : static_cast<int>(ErrorCode::kEnvironment);
}

Result<int> show_settings(Session& session) {
    CYBELE_TRY(const pipeline::Settings settings, session.settings());
    if (session.is_json()) {
        nlohmann::json list = nlohmann::json::array();
        for (const pipeline::Setting& setting : settings.all()) {
            list.push_back(
                {{"name", setting.name}, {"value", setting.value}, {"origin", setting.origin}});
        }
        const nlohmann::json document{{"format", 1}, {"settings", list}};
        Session::print(json_text(document) + "\n");
        return 0;
    }
    for (const pipeline::Setting& setting : settings.all()) {
        Session::print(fmt::format("{:<12}{:<27} {}\n",
                                   setting.name,
                                   setting.value.empty() ? "-" : printable(setting.value),
                                   printable(setting.origin)));
    }
    return 0;
}

struct TrustOptions {
    std::string folder;
    bool is_removed = false;
};

/// What of a folder stays ignored although it is in the list.
std::vector<Fault> limits_of_trust(const std::filesystem::path& folder) {
    const auto opened = open_own(folder, {.is_folder = true});
    if (opened) {
        return {};
    }
    Fault fault = opened.error().faults().front();
    fault.is_warning = true;
    fault.set(
        problem("settings-ignored", "settings in " + printable(folder.native()) + " stay ignored"));
    return {std::move(fault)};
}

Result<int> trust(Session& session, const TrustOptions& options) {
    if (options.folder.empty()) {
        if (options.is_removed) {
            return fail(ErrorCode::kUsage,
                        problem("trust-remove-folder", "--remove requires a folder"),
                        {},
                        "show the folders: cybelectl config trust");
        }
    } else if (options.is_removed) {
        CYBELE_CHECK(TrustedFolders::remove(session.environment, options.folder));
    } else {
        CYBELE_TRY(const auto folder, TrustedFolders::add(session.environment, options.folder));
        session.note(limits_of_trust(folder));
    }
    CYBELE_TRY(const TrustedFolders trusted, TrustedFolders::load(session.environment));
    if (session.is_json()) {
        nlohmann::json list = nlohmann::json::array();
        for (const auto& folder : trusted.all()) {
            list.push_back(folder.native());
        }
        print_document({{"folders", list}});
    } else if (options.folder.empty()) {
        for (const auto& folder : trusted.all()) {
            Session::print(printable(folder.native()) + "\n");
        }
    }
    return 0;
}

void install_trust(CLI::App& config, Session& session) {
    CLI::App* verb = add_verb(config,
                              "trust",
                              "Allow the settings and the store in a folder, or list the folders.",
                              {"cybelectl config trust .",
                               "cybelectl config trust",
                               "cybelectl config trust old-project --remove"});
    const auto options = std::make_shared<TrustOptions>();
    verb->add_option("folder", options->folder, "the folder that holds .cybelectl.yaml")
        ->type_name("DIR");
    verb->add_flag("--remove", options->is_removed, "remove the folder from the list");
    add_format(*verb, session);
    verb->callback([&session, options] {
        session.action = [&session, options] {
            return trust(session, *options)
                .map_error(during("changing the list of trusted folders"));
        };
    });
}

} // namespace

void install_host(CLI::App& app, Session& session) {
    CLI::App* doctor_verb =
        add_verb(app,
                 "doctor",
                 "Report what this machine supports and how to fix what is missing.",
                 {"cybelectl doctor", "cybelectl doctor --format json"});
    add_format(*doctor_verb, session);
    doctor_verb->callback([&session] { session.action = [&session] { return doctor(session); }; });
    CLI::App* config = add_verb(app,
                                "config",
                                "Show the settings and choose which folders may set them.",
                                {"cybelectl config show", "cybelectl config trust ."});
    config->require_subcommand(1);
    CLI::App* show = add_verb(*config,
                              "show",
                              "Show each setting with its value and where it comes from.",
                              {"cybelectl config show", "cybelectl config show --format json"});
    add_format(*show, session);
    show->callback([&session] {
        session.action = [&session] {
            return show_settings(session).map_error(during("showing the settings"));
        };
    });
    install_trust(*config, session);
}

} // namespace cybele::cli
