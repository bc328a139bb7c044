// SPDX-License-Identifier: Apache-2.0
#include "cli/session.hpp"
#include "images/container.hpp"
#include "images/sif.hpp"
#include "support/quote.hpp"

#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cybele::cli {

namespace {

struct Options {
    std::string image;
    bool labels = false;
    bool deffile = false;
    bool runscript = false;
    bool test = false;
    bool environment = false;
    bool helpfile = false;
    bool json = false;
};

void print_labels(const images::Inspection& inspection) {
    for (const auto& [name, value] : inspection.labels) {
        Session::print(fmt::format("{}: {}\n", printable(name), printable(value)));
    }
}

nlohmann::json as_json(const images::Inspection& inspection) {
    nlohmann::json document{{"format", 1}, {"labels", inspection.labels}};
    const auto put = [&](const char* name, const std::string& text) {
        if (!text.empty()) {
            document[name] = text;
        }
    };
    put("deffile", inspection.definition);
    put("runscript", inspection.runscript);
    put("startscript", inspection.startscript);
    put("test", inspection.test);
    put("helpfile", inspection.help);
    if (!inspection.environment.empty()) {
        document["environment"] = inspection.environment;
    }
    return document;
}

Result<int> inspect(Session& session, const Options& options) {
    CYBELE_TRY(const images::Image image, images::Image::open(options.image));
    CYBELE_TRY(const images::Inspection inspection, images::inspect_image(image));
    if (session.is_json() || options.json) {
        using Handler = nlohmann::json::error_handler_t;
        Session::print(as_json(inspection).dump(2, ' ', false, Handler::replace) + "\n");
        return 0;
    }
    bool is_chosen = false;
    const auto show = [&](bool wanted, const std::string& text) {
        if (wanted) {
            is_chosen = true;
            Session::print(text.empty() || text.back() == '\n' ? text : text + "\n");
        }
    };
    show(options.deffile, inspection.definition);
    show(options.runscript, inspection.runscript);
    show(options.test, inspection.test);
    show(options.helpfile, inspection.help);
    for (const auto& [name, text] : inspection.environment) {
        show(options.environment, "=== " + name + "\n" + text);
    }
    if (options.labels || !is_chosen) {
        print_labels(inspection);
    }
    return 0;
}

} // namespace

void install_inspect(CLI::App& app, Session& session) {
    auto options = std::make_shared<Options>();
    CLI::App* verb = add_verb(app,
                              "inspect",
                              "Show an image's labels and scripts without starting it.",
                              {"cybelectl inspect app.sif",
                               "cybelectl inspect --deffile app.sif",
                               "cybelectl inspect app.sif --format json"});
    verb->add_option("image", options->image, "the image")->required()->type_name("IMAGE");
    verb->add_flag("-l,--labels", options->labels, "labels (the default)");
    verb->add_flag("-d,--deffile", options->deffile, "the definition file");
    verb->add_flag("-r,--runscript", options->runscript, "the runscript");
    verb->add_flag("-t,--test", options->test, "the test script");
    verb->add_flag("-e,--environment", options->environment, "the environment scripts");
    verb->add_flag("-H,--helpfile", options->helpfile, "the help text");
    verb->add_flag("-j,--json", options->json, "the same as --format json");
    add_format(*verb, session);
    verb->callback([&session, options] {
        session.action = [&session, options] { return inspect(session, *options); };
    });
}

} // namespace cybele::cli
