// SPDX-License-Identifier: Apache-2.0
// The local store of images: what changes it, and what looks whether it is whole.
#include "cli/common/cli11.hpp"
#include "cli/common/image_store.hpp"
#include "cli/common/progress.hpp"
#include "cli/image/cache_entries.hpp"
#include "support/duration.hpp"
#include "support/quote.hpp"

#include <chrono>
#include <memory>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace cybele::cli {

namespace {

using registry::StoredImage;

constexpr const char* kForceName = "allow an unsigned image to replace a signed one under its name";

struct ImageChangeOptions {
    std::string file;
    std::string name;
    std::vector<std::string> images;
    bool is_link = false;
    bool is_forced = false;
    bool is_dry = false;
    unsigned days = 0; ///< 0: not asked
    std::string keep;
    std::string grace = "1 h";
};

/// `dir/app.sif` is called `app` where nothing else is said.
Result<registry::StoreName> name_of(const ImageChangeOptions& options) {
    if (!options.name.empty()) {
        return registry::read_new_name(options.name);
    }
    auto name = registry::read_new_name(std::filesystem::path(options.file).stem().native());
    if (!name) {
        return fail(ErrorCode::kUsage,
                    problem("image-without-name",
                            fmt::format("no name for {} in the store", printable(options.file))),
                    "the file's own name has characters that a name in the store does not have",
                    "give one: cybelectl image add FILE NAME[:TAG]");
    }
    return name;
}

Result<int> add_image(const Session& session, const ImageChangeOptions& options) {
    registry::Arrival arrival;
    CYBELE_TRY(arrival.name, name_of(options));
    arrival.origin = options.file;
    arrival.is_link = options.is_link;
    arrival.may_unsign = options.is_forced;
    arrival.now = Session::clock();
    arrival.progress = progress(session, "adding");
    CYBELE_TRY(const registry::Store store, open_store(session));
    CYBELE_TRY(const StoredImage image, store.add(options.file, arrival));
    if (session.is_json()) {
        print_document({{"image", image_json(image)}});
    } else if (!session.is_quiet) {
        Session::print(fmt::format("{} {}\n", arrival.name->text(), image.record.digest));
    }
    return 0;
}

/// A store for what is in it: none is made where there is none.
Result<registry::Store> open_known_store(const Session& session) {
    CYBELE_CHECK(open_store_for_reading(session));
    return open_store(session);
}

Result<int> tag(const Session& session, const ImageChangeOptions& options) {
    CYBELE_TRY(const registry::StoreName from, registry::read_store_argument(options.file));
    CYBELE_TRY(const registry::StoreName name, registry::read_new_name(options.name));
    CYBELE_TRY(const registry::Store store, open_known_store(session));
    CYBELE_TRY(const StoredImage image, store.find(from));
    CYBELE_CHECK(store.tag(image, name, options.is_forced));
    if (session.is_json()) {
        print_document({{"name", name.text()}, {"digest", image.record.digest}});
    }
    return 0;
}

/// A name goes, and with its last name the image; by its digest, an image goes with all its names.
Result<bool> remove_one(const registry::Store& store,
                        const std::string& text,
                        const ImageChangeOptions& options) {
    CYBELE_TRY(const registry::StoreName name, registry::read_store_argument(text));
    CYBELE_TRY(const StoredImage image, store.find(name));
    const bool is_last = image.record.names.size() < 2;
    if (name.digest.empty() && !is_last) {
        CYBELE_CHECK(store.untag(name));
        return false;
    }
    CYBELE_CHECK(store.remove(image, options.is_forced, Session::clock()));
    return true;
}

/// All of them, or what is wrong with each.
Result<std::vector<StoredImage>> choose_images(const registry::Store& store,
                                               const std::vector<std::string>& texts) {
    std::vector<StoredImage> images;
    Faults faults;
    for (const std::string& text : texts) {
        const auto name = registry::read_store_argument(text);
        auto image = name ? store.find(*name) : fail(name.error());
        if (image) {
            images.push_back(std::move(*image));
        } else {
            faults.add(image.error());
        }
    }
    return faults.has_errors() ? fail(faults.take())
                               : Result<std::vector<StoredImage>>(std::move(images));
}

Result<int> remove(const Session& session, const ImageChangeOptions& options) {
    CYBELE_TRY(const registry::Store store, open_known_store(session));
    CYBELE_CHECK(choose_images(store, options.images)); // before the first is gone
    nlohmann::json document{{"removed", nlohmann::json::array()},
                            {"unnamed", nlohmann::json::array()}};
    std::set<std::string> done;
    for (const std::string& text : options.images) {
        if (!done.insert(text).second) {
            continue;
        }
        CYBELE_TRY(const bool is_gone, remove_one(store, text, options));
        document[is_gone ? "removed" : "unnamed"].push_back(text);
    }
    if (session.is_json()) {
        print_document(std::move(document));
    }
    return 0;
}

Result<int> verify_store(const Session& session, const ImageChangeOptions& options) {
    CYBELE_TRY(const registry::Store store, open_store_for_reading(session));
    CYBELE_TRY(const auto images,
               options.images.empty() ? store.list(Session::clock())
                                      : choose_images(store, options.images));
    CYBELE_TRY(const auto damages, store.verify(images, progress(session, "hashing")));
    if (session.is_json()) {
        nlohmann::json document{{"verified", images.size() - damages.size()},
                                {"damaged", nlohmann::json::array()}};
        for (const registry::Damage& damage : damages) {
            document["damaged"].push_back(
                {{"digest", damage.digest}, {"names", damage.names}, {"because", damage.because}});
        }
        print_document(std::move(document));
    } else if (!session.is_quiet) {
        Session::print(fmt::format(
            "{} of {} images are intact\n", images.size() - damages.size(), images.size()));
    }
    std::vector<Fault> faults;
    for (const registry::Damage& damage : damages) {
        faults.push_back(
            Fault(ErrorCode::kVerification,
                  problem("stored-object-damaged",
                          fmt::format("the image {} in the store is damaged", damage.digest)),
                  damage.because,
                  fmt::format("remove it, then add or pull it again: cybelectl image remove {}",
                              damage.digest)));
    }
    return faults.empty() ? Result<int>(0) : fail(Error(std::move(faults)));
}

Result<std::chrono::seconds> duration_of(const std::string& option, const std::string& text) {
    const auto duration = parse_duration(text);
    if (!duration) {
        const std::string meant = suggest_duration(text);
        return fail(ErrorCode::kUsage,
                    problem("duration-value",
                            fmt::format("{}: invalid duration '{}'", option, printable(text))),
                    {},
                    meant.empty() ? help_for_duration(text)
                                  : fmt::format("write {} '{}'", option, meant));
    }
    return *duration;
}

Result<registry::Collection> wishes_of(const ImageChangeOptions& options) {
    registry::Collection wishes;
    wishes.is_dry = options.is_dry;
    wishes.now = Session::clock();
    CYBELE_TRY(wishes.grace, duration_of("--grace", options.grace));
    if (options.days > 0) {
        wishes.older_than = std::chrono::days(options.days);
    }
    if (!options.keep.empty()) {
        CYBELE_TRY(wishes.maximum_size, read_keep(options.keep));
    }
    return wishes;
}

Result<int> prune_store(const Session& session, const ImageChangeOptions& options) {
    CYBELE_TRY(const registry::Collection wishes, wishes_of(options));
    CYBELE_TRY(const auto root, store_root(session));
    registry::Collected collected;
    if (registry::Store::exists(root)) {
        CYBELE_TRY(
            const registry::Store store,
            registry::Store::open(root).map_error(during("opening the local store of images")));
        CYBELE_TRY(collected, store.collect(wishes));
    }
    if (session.is_json()) {
        nlohmann::json document{{"removed", nlohmann::json::array()},
                                {"freed", collected.freed},
                                {"left", collected.left},
                                {"layers", collected.layers},
                                {"temporary-files", collected.temporary},
                                {"dry-run", options.is_dry}};
        for (const StoredImage& image : collected.removed) {
            document["removed"].push_back(image_json(image));
        }
        print_document(std::move(document));
        return 0;
    }
    if (session.is_quiet) {
        return 0;
    }
    for (const StoredImage& image : collected.removed) {
        Session::print(
            fmt::format("{} {} {}\n",
                        options.is_dry ? "would remove" : "removed",
                        image.record.digest,
                        printable(fmt::format("{}", fmt::join(image.record.names, " ")))));
    }
    if (collected.layers > 0) {
        Session::print(fmt::format("{} {} layers that images were built from\n",
                                   options.is_dry ? "would remove" : "removed",
                                   collected.layers));
    }
    Session::print(fmt::format("{} {}; {} stay\n",
                               rough_size(collected.freed),
                               options.is_dry ? "would be freed" : "freed",
                               rough_size(collected.left)));
    if (wishes.maximum_size && collected.left > *wishes.maximum_size) {
        session.say("what is in use or younger than --grace stays, so it is more than --keep");
    }
    return 0;
}

using ImageChangeVerb = Result<int> (*)(const Session&, const ImageChangeOptions&);

void finish_change_verb(CLI::App& verb,
                        Session& session,
                        const std::shared_ptr<ImageChangeOptions>& options,
                        ImageChangeVerb what) {
    add_format(verb, session);
    verb.callback([&session, options, what] {
        session.action = [&session, options, what] {
            return what(session, *options).map_error(during("changing the local store of images"));
        };
    });
}

void install_names(CLI::App& image, Session& session) {
    auto options = std::make_shared<ImageChangeOptions>();
    CLI::App* verb = add_verb(image,
                              "add",
                              "Add a SIF file to the local store under a name.",
                              {"cybelectl image add app.sif",
                               "cybelectl image add app.sif group/app:1.0",
                               "cybelectl image add big.sif --link"});
    verb->add_option("file", options->file, "the SIF file")->required()->type_name("FILE");
    verb->add_option("name", options->name, "NAME[:TAG] (default: the file's name)")
        ->type_name("NAME");
    verb->add_flag("--link",
                   options->is_link,
                   "make a hard link instead of a copy; do not write to the file again");
    verb->add_flag("--force", options->is_forced, kForceName);
    finish_change_verb(*verb, session, options, add_image);

    options = std::make_shared<ImageChangeOptions>();
    verb = add_verb(
        image,
        "tag",
        "Add a name to a stored image; an existing name is moved.",
        {"cybelectl image tag app:1.0 app:stable", "cybelectl image tag app:1.0 group/app:2.0"});
    verb->add_option("image", options->file, "the image")->required()->type_name("IMAGE");
    verb->add_option("name", options->name, "NAME[:TAG]")->required()->type_name("NAME");
    verb->add_flag("--force", options->is_forced, kForceName);
    finish_change_verb(*verb, session, options, tag);

    options = std::make_shared<ImageChangeOptions>();
    verb = add_verb(image,
                    "remove",
                    "Remove names or images; an image is deleted with its last name.",
                    {"cybelectl image remove app:1.0", "cybelectl image remove sha256:4f2a91"});
    verb->add_option("images", options->images, "names or digests")->required()->type_name("IMAGE");
    verb->add_flag("--force", options->is_forced, "remove images in use, too");
    finish_change_verb(*verb, session, options, remove);
}

} // namespace

void install_image_changes(CLI::App& image, Session& session) {
    install_names(image, session);
    auto options = std::make_shared<ImageChangeOptions>();
    CLI::App* verb = add_verb(image,
                              "verify",
                              "Compare stored images with their digests: all, or those named.",
                              {"cybelectl image verify", "cybelectl image verify app:1.0"});
    verb->add_option("images", options->images, "names or digests")->type_name("IMAGE");
    finish_change_verb(*verb, session, options, verify_store);

    options = std::make_shared<ImageChangeOptions>();
    verb = add_verb(
        image,
        "prune",
        "Remove images without a name that are not in use.",
        {"cybelectl image prune", "cybelectl image prune --unused 30 --keep '200 GiB' --dry-run"});
    verb->add_option("--keep",
                     options->keep,
                     "size to keep: remove the least recently used images down to SIZE")
        ->type_name("SIZE");
    verb->add_option("--unused", options->days, "remove images unused for DAYS days, even if named")
        ->type_name("DAYS")
        ->check(CLI::Range(1U, 36500U));
    verb->add_option("--grace", options->grace, "keep images added or used within this period")
        ->type_name("DURATION")
        ->capture_default_str();
    verb->add_flag("-n,--dry-run", options->is_dry, "show what would be removed");
    finish_change_verb(*verb, session, options, prune_store);
}

} // namespace cybele::cli
