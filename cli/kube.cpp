// SPDX-License-Identifier: Apache-2.0
#include "cli/job_input.hpp"
#include "cli/session.hpp"
#include "kubernetes/render.hpp"
#include "support/file.hpp"

#include <memory>

#include <CLI/CLI.hpp>

namespace cybele::cli {

namespace {

struct Options : JobOptions {
    std::string kind;
};

Result<int> render(Session& session, const Options& options) {
    CYBELE_TRY(const jobs::JobInput input, load_job(session, options));
    std::string kind = options.kind;
    if (kind.empty() && input.site && input.site->kubernetes) {
        kind = input.site->kubernetes->kind;
    }
    if (kind.empty()) {
        kind = "TorqueJob";
    }
    CYBELE_TRY(const schedulers::RenderedScript object,
               kubernetes::render_object(input.render_input(), kind));
    session.note(object.notes);
    CYBELE_CHECK(write_file(options.output, object.text));
    return 0;
}

} // namespace

void install_kube(CLI::App& app, Session& session) {
    auto options = std::make_shared<Options>();
    CLI::App* kube = add_verb(app, "kube", "Render the Kubernetes yaml that a bridge takes.", {});
    kube->require_subcommand(1);
    CLI::App* verb =
        add_verb(*kube,
                 "render",
                 "Write a Job as the object of a bridge, with its script inside.",
                 {"cybelectl kube render job.yaml --kind TorqueJob",
                  "cybelectl kube render job.yaml --site hall-a.yaml | kubectl apply -f -"});
    add_job_options(*verb, session, *options);
    verb->add_option("--kind", options->kind, "kind of the object; the Site's, else TorqueJob");
    verb->add_option("-o,--output", options->output, "file; - is standard output")
        ->type_name("FILE");
    verb->callback([&session, options] {
        session.action = [&session, options] { return render(session, *options); };
    });
}

} // namespace cybele::cli
