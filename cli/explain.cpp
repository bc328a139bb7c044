// SPDX-License-Identifier: Apache-2.0
#include "cli/session.hpp"
#include "support/embedded.hpp"
#include "support/quote.hpp"

#include <memory>
#include <span>

#include <CLI/CLI.hpp>

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

Result<int> explain(const std::string& topic) {
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
    CLI::App* verb = add_verb(app,
                              "explain",
                              "Show the reference page of a document kind or of the exit codes.",
                              {"cybelectl explain job", "cybelectl explain exit-codes"});
    verb->add_option("topic", *topic, "recipe, lock, job, site, project, policy, …")
        ->required()
        ->type_name("TOPIC");
    verb->callback([&session, topic] { session.action = [topic] { return explain(*topic); }; });
}

} // namespace cybele::cli
