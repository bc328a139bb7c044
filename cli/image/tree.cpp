// SPDX-License-Identifier: Apache-2.0
#include "cli/common/cli11.hpp"
#include "cli/common/image_store.hpp"
#include "cli/common/output.hpp"
#include "cli/common/session.hpp"
#include "images/inspection/contents.hpp"
#include "images/inspection/usage.hpp"
#include "support/file.hpp"
#include "support/quote.hpp"

#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cybele::cli {
namespace {

struct TreeOptions {
    std::string image;
    std::string html;
    unsigned depth = 3;
    double percent = 1;
    std::size_t packages = 20;
};

constexpr std::string_view kHtmlHead =
    "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<title>{0}</title>\n<style>\n"
    "body {{ font: 15px/1.5 sans-serif; margin: 1em auto; max-width: 60em; padding: 0 1em }}\n"
    "details, div {{ margin-left: 1.2em }}\n"
    "summary, div {{ white-space: nowrap }}\n"
    "meter {{ width: 6em; margin-right: .6em }}\n"
    "td, th {{ text-align: left; padding: 0 1em 0 0 }}\n"
    "</style></head><body>\n<h1>{0}</h1>\n<p>{1} in {2} files, before compression.</p>\n";

std::string html_text(std::string_view text) {
    std::string safe;
    for (const char c : printable(text)) {
        safe += c == '<'   ? "&lt;"
                : c == '>' ? "&gt;"
                : c == '&' ? "&amp;"
                : c == '"' ? "&quot;"
                           : std::string(1, c);
    }
    return safe;
}

double part_of(std::uint64_t bytes, std::uint64_t all) {
    return all == 0 ? 0 : 100.0 * static_cast<double>(bytes) / static_cast<double>(all);
}

void add_html(std::string& text, const images::FolderUsage& folder, std::uint64_t all) {
    const std::string line =
        fmt::format("<meter max=\"100\" value=\"{:.1f}\"></meter>{} {} <small>({} files)</small>",
                    part_of(folder.bytes, all),
                    rough_size(folder.bytes),
                    html_text(folder.name.empty() ? "/" : folder.name),
                    folder.files);
    if (folder.folders.empty()) {
        text += fmt::format("<div>{}</div>\n", line);
        return;
    }
    text +=
        fmt::format("<details{}><summary>{}</summary>\n", folder.name.empty() ? " open" : "", line);
    for (const auto& each : folder.folders) {
        add_html(text, each, all);
    }
    text += "</details>\n";
}

std::string html_of(const std::string& image, const images::ImageUsage& usage) {
    std::string text = fmt::format(
        fmt::runtime(kHtmlHead), html_text(image), rough_size(usage.root.bytes), usage.root.files);
    text += "<h2>Folders</h2>\n";
    add_html(text, usage.root, usage.root.bytes);
    text += "<h2>Packages</h2>\n<table><tr><th>size</th><th>files</th><th>package</th></tr>\n";
    const auto row = [&](const images::PackageUsage& package, const std::string& name) {
        text += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td></tr>\n",
                            rough_size(package.bytes),
                            package.files,
                            html_text(name));
    };
    for (const auto& package : usage.packages) {
        row(package, package.name + " (" + package.manager + ")");
    }
    row(usage.others, "no package");
    return text + "</table>\n</body></html>\n";
}

void print_folder(const images::FolderUsage& folder,
                  const TreeOptions& options,
                  std::uint64_t all,
                  unsigned depth) {
    Session::print(fmt::format("{:>10} {:>5.1f} %  {}{}\n",
                               rough_size(folder.bytes),
                               part_of(folder.bytes, all),
                               std::string(std::size_t{2} * depth, ' '),
                               folder.name.empty() ? "/" : printable(folder.name)));
    for (const auto& each : folder.folders) {
        if (depth < options.depth && part_of(each.bytes, all) >= options.percent) {
            print_folder(each, options, all, depth + 1);
        }
    }
}

void print_text(const TreeOptions& options, const images::ImageUsage& usage) {
    print_folder(usage.root, options, usage.root.bytes, 0);
    Session::print("\n");
    std::size_t count = 0;
    for (const auto& package : usage.packages) {
        if (count++ == options.packages) {
            break;
        }
        Session::print(fmt::format("{:>10} {:>5.1f} %  {} ({})\n",
                                   rough_size(package.bytes),
                                   part_of(package.bytes, usage.root.bytes),
                                   printable(package.name),
                                   package.manager));
    }
    Session::print(fmt::format("{:>10} {:>5.1f} %  in no package\n",
                               rough_size(usage.others.bytes),
                               part_of(usage.others.bytes, usage.root.bytes)));
}

nlohmann::json folder_json(const images::FolderUsage& folder, unsigned depth) {
    nlohmann::json json = {{"name", folder.name.empty() ? "/" : printable(folder.name)},
                           {"bytes", folder.bytes},
                           {"files", folder.files}};
    json["folders"] = nlohmann::json::array();
    for (const auto& each : folder.folders) {
        if (depth > 0) {
            json["folders"].push_back(folder_json(each, depth - 1));
        }
    }
    return json;
}

nlohmann::json package_json(const images::PackageUsage& package) {
    return {{"manager", package.manager},
            {"name", printable(package.name)},
            {"bytes", package.bytes},
            {"files", package.files}};
}

Result<int> tree(const Session& session, const TreeOptions& options) {
    CYBELE_TRY(const std::string path, image_path(session, options.image));
    CYBELE_TRY(const auto contents, images::open_contents(path));
    CYBELE_TRY(const auto root, images::files_of(contents, "image tree"));
    CYBELE_TRY(const auto usage, images::measure_usage(root));
    if (!options.html.empty()) {
        CYBELE_CHECK(write_result(options.html, html_of(options.image, usage), path));
    }
    if (session.is_json()) {
        nlohmann::json packages = nlohmann::json::array();
        for (const auto& package : usage.packages) {
            packages.push_back(package_json(package));
        }
        print_document(
            {{"root", folder_json(usage.root, options.depth)},
             {"packages", std::move(packages)},
             {"in-no-package", {{"bytes", usage.others.bytes}, {"files", usage.others.files}}}});
    } else if (options.html.empty()) {
        print_text(options, usage);
    }
    return 0;
}

} // namespace

void install_image_tree(CLI::App& image, Session& session) {
    const auto options = std::make_shared<TreeOptions>();
    CLI::App* verb = add_verb(image,
                              "tree",
                              "Show what makes an image large: sizes by folder and by package.",
                              {"cybelectl image tree app.sif",
                               "cybelectl image tree app.sif --depth 5 --percent 0.5",
                               "cybelectl image tree store:app --html app.html",
                               "cybelectl image tree app.sif --format json"});
    verb->add_option("image", options->image, "an image, store:NAME, a squashfs or a directory")
        ->required()
        ->type_name("IMAGE");
    verb->add_option("--depth", options->depth, "levels of folders")
        ->capture_default_str()
        ->check(CLI::Range(0U, 500U))
        ->type_name("N");
    verb->add_option("--percent", options->percent, "leave out folders smaller than this")
        ->capture_default_str()
        ->check(CLI::Range(0.0, 100.0))
        ->type_name("PERCENT");
    verb->add_option("--packages", options->packages, "number of packages, the largest first")
        ->capture_default_str()
        ->type_name("N");
    verb->add_option("--html", options->html, "write one HTML page for a browser to FILE")
        ->type_name("FILE");
    add_format(*verb, session);
    verb->callback([&session, options] {
        session.action = [&session, options] { return tree(session, *options); };
    });
}

} // namespace cybele::cli
