// SPDX-License-Identifier: Apache-2.0
#include "cli/common/cli11.hpp"
#include "cli/common/counts.hpp"
#include "cli/common/output.hpp"
#include "cli/common/session.hpp"
#include "cli/job/input.hpp"
#include "kubernetes/check/check.hpp"
#include "kubernetes/check/rules.hpp"
#include "kubernetes/objects/crd.hpp"
#include "kubernetes/objects/render.hpp"
#include "submission/submit/image.hpp"
#include "support/file.hpp"
#include "support/quote.hpp"

#include <cstdio>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cybele::cli {

namespace {

struct KubeOptions : JobOptions {
    std::string kind;
    std::string name_space;
    std::string batch;
    std::string group;
};

Result<int> render_objects(Session& session, const KubeOptions& options) {
    CYBELE_TRY(const submission::JobInput input, load_job(session, options));
    kubernetes::ObjectOptions object_options;
    object_options.kind = options.kind;
    if (options.kind.empty()) {
        object_options.kind = kubernetes::default_kind(input.site ? &*input.site : nullptr);
    }
    object_options.name_space = options.name_space;
    object_options.dialect = options.scheduler;
    if (!options.batch.empty()) {
        CYBELE_TRY(object_options.script,
                   read_file(options.batch).map_error(during("reading the batch script")));
    }
    CYBELE_TRY(const schedulers::RenderedScript object,
               kubernetes::render_object(input.render_input(), object_options));
    session.note(submission::image_notes(input));
    session.note(object.notes);
    CYBELE_CHECK(
        check_output(options.output, {options.file, options.file + "/job.yaml", options.batch}));
    CYBELE_CHECK(write_rendered(session,
                                options.output,
                                object.text,
                                {{"name", input.job.name}, {"kind", object_options.kind}}));
    return 0;
}

Result<int> crd(const KubeOptions& options) {
    CYBELE_TRY(const std::string text, kubernetes::crd(options.kind, options.group));
    CYBELE_CHECK(write_file(options.output, text));
    return 0;
}

struct CheckOptions {
    std::vector<std::string> files;
    std::string form = "text";
    bool is_strict = false;
};

void say_kube_report(const Session& session, kubernetes::CheckReport report, bool is_strict) {
    const bool is_coloured =
        session.is_terminal && !session.no_colour && !session.environment.get("NO_COLOR");
    if (session.is_quiet && !is_strict) {
        std::erase_if(report.findings,
                      [](const lint::Finding& finding) { return finding.fault.is_warning; });
    }
    const std::string text =
        lint::text_of(report.findings, kubernetes::find_check_rule, is_coloured);
    (void)std::fwrite(text.data(), 1, text.size(), stderr);
    if (session.is_quiet) {
        return;
    }
    const std::string counts = counted_findings(report.count(lint::Severity::kError),
                                                report.count(lint::Severity::kWarning),
                                                report.count(lint::Severity::kNote));
    Session::print(report.file + ": " + (report.findings.empty() ? "no problems found" : counts) +
                   "\n");
}

Result<int> check_objects(Session& session, const CheckOptions& options) {
    std::vector<kubernetes::CheckReport> reports;
    bool is_good = true;
    for (const std::string& file : options.files) {
        CYBELE_TRY(std::string text, read_file(file).map_error(during("reading the manifest")));
        if (text.find("apiVersion") == std::string::npos) {
            return fail(
                ErrorCode::kInput,
                problem("no-kubernetes-object", printable(file) + " holds no object of Kubernetes"),
                "no document in it has `apiVersion`",
                "`cybelectl kube render` makes one of a Job");
        }
        reports.push_back(kubernetes::check_objects(std::move(text), file));
        is_good = is_good && reports.back().count(lint::Severity::kError) == 0 &&
                  (!options.is_strict || reports.back().count(lint::Severity::kWarning) == 0);
    }
    std::vector<lint::FileFindings> found;
    found.reserve(reports.size());
    for (const auto& report : reports) {
        found.push_back({report.file, report.count(lint::Severity::kError) == 0, &report.findings});
    }
    if (options.form == "json") {
        Session::print(lint::json_of(found, kubernetes::find_check_rule));
    } else if (options.form == "sarif") {
        Session::print(
            lint::sarif_of(found, kubernetes::check_rules(), kubernetes::find_check_rule));
    } else {
        for (const auto& report : reports) {
            say_kube_report(session, report, options.is_strict);
        }
    }
    return is_good ? 0 : static_cast<int>(ErrorCode::kInput);
}

void install_kube_check(CLI::App& kube, Session& session) {
    auto options = std::make_shared<CheckOptions>();
    CLI::App* verb = add_verb(kube,
                              "check",
                              "Check manifests for known bridge pitfalls, offline.",
                              {"cybelectl kube check torquejob.yaml",
                               "cybelectl kube check objects/*.yaml --strict",
                               "cybelectl kube check torquejob.yaml --format sarif > job.sarif"});
    verb->add_option("file", options->files, "manifests; - is standard input")
        ->required()
        ->type_name("FILE");
    verb->add_flag("--strict", options->is_strict, "treat warnings as errors (exit code 3)");
    verb->add_option("--format", options->form, "form of the output")
        ->check(CLI::IsMember({"text", "json", "sarif"}))
        ->capture_default_str();
    verb->callback([&session, options] {
        session.format = options->form == "json" ? "json" : "text";
        session.action = [&session, options] {
            return check_objects(session, *options).map_error(during("checking the manifests"));
        };
    });
}

void install_render(CLI::App& kube, Session& session) {
    auto options = std::make_shared<KubeOptions>();
    CLI::App* verb =
        add_verb(kube,
                 "render",
                 "Render a Job as a Kubernetes manifest with its script inside.",
                 {"cybelectl kube render job.yaml --kind TorqueJob",
                  "cybelectl kube render job.yaml --kind TorqueJob --batch cow.sh",
                  "cybelectl kube render job.yaml --site hall-a.yaml | kubectl apply -f -"});
    add_job_options(*verb, session, *options);
    verb->add_option("--kind",
                     options->kind,
                     fmt::format("kind of the object: {} (default: the Site's, or TorqueJob)",
                                 fmt::join(kubernetes::kind_names(), ", ")));
    verb->add_option(
            "-n,--namespace", options->name_space, "namespace of the object (default: the Job's)")
        ->type_name("NAME");
    verb->add_option("--batch", options->batch, "batch script to use instead of a rendered one")
        ->type_name("FILE");
    verb->add_option("-o,--output", options->output, "output file (default: -, standard output)")
        ->type_name("FILE");
    verb->callback([&session, options] {
        session.action = [&session, options] {
            return render_objects(session, *options)
                .map_error(during("rendering the objects of the Job '" + options->file + "'"));
        };
    });
}

void install_crd(CLI::App& kube, Session& session) {
    auto options = std::make_shared<KubeOptions>();
    CLI::App* verb = add_verb(kube,
                              "crd",
                              "Print the custom resource definition of a kind.",
                              {"cybelectl kube crd TorqueJob | kubectl apply -f -",
                               "cybelectl kube crd SlurmJob --group wlm.sylabs.io"});
    verb->add_option(
            "kind", options->kind, fmt::format("{}", fmt::join(kubernetes::crd_names(), " or ")))
        ->required()
        ->type_name("KIND");
    verb->add_option("--group", options->group, "API group (default: cybelectl.io)")
        ->type_name("GROUP");
    verb->add_option("-o,--output", options->output, "output file (default: -, standard output)")
        ->type_name("FILE");
    verb->callback([&session, options] {
        session.action = [options] {
            return crd(*options).map_error(during("printing a definition of a kind"));
        };
    });
}

} // namespace

void install_kube(CLI::App& app, Session& session) {
    CLI::App* kube = add_verb(
        app,
        "kube",
        "Render and check Kubernetes manifests for bridge operators.",
        {"cybelectl kube render job.yaml --kind TorqueJob", "cybelectl kube check torquejob.yaml"});
    kube->require_subcommand(1);
    install_render(*kube, session);
    install_crd(*kube, session);
    install_kube_check(*kube, session);
}

} // namespace cybele::cli
