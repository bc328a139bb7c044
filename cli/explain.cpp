// SPDX-License-Identifier: Apache-2.0
#include "cli/cli11.hpp"
#include "cli/session.hpp"
#include "compatibility/rules.hpp"
#include "definitions/rules.hpp"
#include "kubernetes/check/rules.hpp"
#include "project/schemas.hpp"
#include "schedulers/reading/invariants.hpp"
#include "schedulers/reading/symptoms.hpp"
#include "support/embedded.hpp"
#include "support/quote.hpp"

#include <memory>
#include <span>

namespace cybele::embedded {
std::span<const EmbeddedFile> reference_pages();
}

namespace cybele::cli {

namespace {

/// "../docs/reference/job.md" → "job".
std::string_view page_name(std::string_view file) {
    const std::size_t begin = file.rfind('/') + 1;
    return file.substr(begin, file.rfind('.') - begin);
}

/// For editors.
Result<int> print_schema(const std::string& kind) {
    const auto schema = project::schema_of(kind);
    if (!schema) {
        return fail(ErrorCode::kUsage,
                    "there is no document '" + printable(kind) + "'",
                    "schemas are of recipe, lock, job, site, project and policy",
                    "name one of these");
    }
    Session::print(*schema);
    return 0;
}

/// A rule by its id, whoever tells it; "" where there is none.
std::string rule_text(const std::string& id) {
    if (const definitions::Rule* rule = definitions::find_rule(id)) {
        return definitions::explain_rule(*rule);
    }
    if (const lint::Rule* rule = kubernetes::find_check_rule(id)) {
        return kubernetes::explain_check_rule(*rule);
    }
    if (const compatibility::Rule* rule = compatibility::find_rule(id)) {
        return compatibility::explain_rule(*rule);
    }
    if (const schedulers::Invariant* rule = schedulers::find_invariant(id)) {
        return schedulers::explain_invariant(*rule);
    }
    for (const schedulers::Symptom& symptom : schedulers::symptoms()) {
        if (symptom.id == id) {
            return schedulers::explain_symptom(symptom);
        }
    }
    return {};
}

Result<int> explain_topic(const std::string& topic) {
    if (const std::string text = rule_text(topic); !text.empty()) {
        Session::print(text);
        return 0;
    }
    std::vector<std::string_view> names;
    for (const EmbeddedFile& page : embedded::reference_pages()) {
        if (page_name(page.name) == topic) {
            Session::print(page.bytes);
            return 0;
        }
        names.push_back(page_name(page.name));
    }
    const std::string meant = nearest(topic, names);
    std::string known;
    for (const std::string_view name : names) {
        known += (known.empty() ? "" : ", ") + std::string(name);
    }
    return fail(ErrorCode::kUsage,
                "nothing is written about '" + printable(topic) + "'",
                "the pages are " + known,
                meant.empty() ? "name one of them" : "did you mean '" + meant + "'?");
}

} // namespace

void install_explain(CLI::App& app, Session& session) {
    auto topic = std::make_shared<std::string>();
    auto is_schema = std::make_shared<bool>(false);
    CLI::App* verb = add_verb(app,
                              "explain",
                              "Show a reference page, or a rule that a check names.",
                              {"cybelectl explain job",
                               "cybelectl explain CD012",
                               "cybelectl explain K19",
                               "cybelectl explain bind/libc-newer",
                               "cybelectl explain no-user-namespaces",
                               "cybelectl explain job --schema > job.schema.json"});
    verb->add_option("topic", *topic, "recipe, job, site, exit-codes, glossary, …, or a rule's id")
        ->required()
        ->type_name("TOPIC");
    verb->add_flag("--schema", *is_schema, "the document's JSON schema, for editors");
    verb->callback([&session, topic, is_schema] {
        session.action = [topic, is_schema] {
            return *is_schema ? print_schema(*topic) : explain_topic(*topic);
        };
    });
}

} // namespace cybele::cli
