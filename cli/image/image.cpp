// SPDX-License-Identifier: Apache-2.0
// The local store of images: looking into it.
#include "cli/common/cli11.hpp"
#include "cli/common/image_store.hpp"
#include "support/quote.hpp"

#include <cerrno>
#include <ctime>
#include <memory>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace cybele::cli {

namespace {

using registry::StoredImage;

struct ImageOptions {
    std::string image;
};

std::string use_date(std::int64_t seconds) {
    const std::time_t time = seconds;
    std::tm parts{};
    return ::gmtime_r(&time, &parts) == nullptr ? "?" : fmt::format("{:%Y-%m-%d %H:%M}", parts);
}

std::string image_line(const std::string& name, const StoredImage& image) {
    return fmt::format("{:<32} {:<20} {:>10}  {:<8} {}{}\n",
                       printable(name),
                       short_digest(image.record.digest),
                       rough_size(image.record.size),
                       image.record.architecture.empty() ? "-" : image.record.architecture,
                       use_date(image.used),
                       image.is_leased ? "  in use" : "");
}

Result<StoredImage> find(const registry::Store& store, const std::string& text) {
    CYBELE_TRY(const registry::StoreName name, registry::read_store_argument(text));
    return store.find(name);
}

std::string words(const std::vector<std::string>& list) {
    return list.empty() ? "none" : printable(fmt::format("{}", fmt::join(list, ", ")));
}

Result<int> show_image(const Session& session, const ImageOptions& options) {
    CYBELE_TRY(const registry::Store store, open_store_for_reading(session));
    CYBELE_TRY(const StoredImage image, find(store, options.image));
    if (session.is_json()) {
        print_document({{"images", nlohmann::json::array({image_json(image)})}});
        return 0;
    }
    const registry::Record& record = image.record;
    Session::print(fmt::format("digest        {}\n"
                               "size          {} ({} bytes)\n"
                               "architecture  {}\n"
                               "names         {}\n"
                               "origin        {}\n"
                               "registries    {}\n"
                               "added         {}\n"
                               "used          {}\n"
                               "path          {}\n",
                               record.digest,
                               rough_size(record.size),
                               record.size,
                               record.architecture.empty() ? "unknown" : record.architecture,
                               words(record.names),
                               record.origin.empty() ? "unknown" : printable(record.origin),
                               words(record.repositories),
                               use_date(record.created),
                               use_date(image.used),
                               printable(image.path.native())));
    return 0;
}

Result<int> list_images(const Session& session, const ImageOptions& options) {
    if (!options.image.empty()) {
        return show_image(session, options);
    }
    CYBELE_TRY(const auto root, store_root(session));
    std::vector<StoredImage> images;
    if (::access(root.path.c_str(), X_OK) != 0 && errno != ENOENT) {
        return fail(system_error("cannot open the store of images " + printable(root.path.native()),
                                 errno));
    }
    if (registry::Store::exists(root)) {
        CYBELE_TRY(const registry::Store store,
                   registry::Store::open_for_reading(root).map_error(
                       during("opening the local store of images")));
        CYBELE_TRY(images, store.list(Session::clock()));
    }
    if (session.is_json()) {
        nlohmann::json document{{"store", root.path.native()}, {"images", nlohmann::json::array()}};
        for (const StoredImage& image : images) {
            document["images"].push_back(image_json(image));
        }
        print_document(std::move(document));
        return 0;
    }
    if (images.empty()) {
        session.say(fmt::format("no image in {}", printable(root.path.native())));
        return 0;
    }
    std::string text =
        fmt::format("{:<32} {:<20} {:>10}  {:<8} {}\n", "NAME", "DIGEST", "SIZE", "ARCH", "USED");
    for (const StoredImage& image : images) {
        for (const std::string& name : image.record.names) {
            text += image_line(name, image);
        }
        if (image.record.names.empty()) {
            text += image_line("-", image);
        }
    }
    Session::print(text);
    return 0;
}

Result<int> path(const Session& session, const ImageOptions& options) {
    CYBELE_TRY(const registry::Store store, open_store_for_reading(session));
    CYBELE_TRY(const StoredImage image, find(store, options.image));
    CYBELE_TRY(const auto file, store.use(image, Session::clock()));
    if (session.is_json()) {
        print_document({{"path", file.native()}, {"digest", image.record.digest}});
    } else {
        Session::print(file.native() + "\n");
    }
    return 0;
}

using ImageVerb = Result<int> (*)(const Session&, const ImageOptions&);

void install_one(CLI::App& verb, Session& session, ImageVerb what, bool needs_image) {
    auto options = std::make_shared<ImageOptions>();
    verb.add_option("image", options->image, "NAME[:TAG] or the beginning of its digest")
        ->required(needs_image)
        ->type_name("IMAGE");
    add_format(verb, session);
    verb.callback([&session, options, what] {
        session.action = [&session, options, what] {
            return what(session, *options).map_error(during("reading the local store of images"));
        };
    });
}

} // namespace

void install_image(CLI::App& app, Session& session) {
    CLI::App* image =
        add_verb(app,
                 "image",
                 "Keep images in the local store, and move them to and from registries.",
                 {"cybelectl image add app.sif app:1.0",
                  "cybelectl exec store:app:1.0 true",
                  "cybelectl image pull oras://registry.example/group/app:1.0"});
    image->require_subcommand(1);
    install_one(*add_verb(*image,
                          "list",
                          "List the images of the store, or show the details of one.",
                          {"cybelectl image list",
                           "cybelectl image list app:1.0",
                           "cybelectl image list sha256:4f2a91 --format json"}),
                session,
                list_images,
                false);
    install_one(*add_verb(*image,
                          "path",
                          "Print the path of a stored image's file.",
                          {"apptainer exec \"$(cybelectl image path app:1.0)\" true",
                           "cybelectl image path app:1.0"}),
                session,
                path,
                true);
    install_image_changes(*image, session);
    install_image_transfers(*image, session);
}

} // namespace cybele::cli
