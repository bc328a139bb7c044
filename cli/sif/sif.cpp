// SPDX-License-Identifier: Apache-2.0
#include "images/sif/sif.hpp"

#include "cli/common/cli11.hpp"
#include "cli/common/image_store.hpp"
#include "cli/common/session.hpp"
#include "cli/sif/add.hpp"
#include "cli/sif/print.hpp"
#include "support/json.hpp"
#include "support/output.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cybele::cli {

namespace {

struct SifOptions {
    std::string image;
    std::string first; ///< of `VERB ID IMAGE`, which may be given the other way round
    std::string second;
    std::string output;
    images::DeleteOptions how;
    AddOptions add;
};

/// An object of an image, as the command line names it.
struct Target {
    std::uint32_t id = 0;
    std::string image;
};

std::optional<std::uint32_t> as_number(const std::string& text) {
    std::uint32_t number = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, number);
    return error == std::errc() && stop == end ? std::optional(number) : std::nullopt;
}

Result<Target> target_of(const SifOptions& options) {
    if (const auto id = as_number(options.first)) {
        return Target{*id, options.second};
    }
    if (const auto id = as_number(options.second)) {
        return Target{*id, options.first};
    }
    return fail(ErrorCode::kUsage,
                problem("sif-object-number",
                        fmt::format("'{}' is not an object number", printable(options.first))),
                {},
                "give the number that `cybelectl sif list` shows, then the image");
}

void print_sif_json(nlohmann::json document) {
    document["format"] = 1;
    Session::print(json_text(document) + "\n");
}

/// Object by object, for an image may have 65535 of them.
void print_objects(const images::Image& image, const std::string& name) {
    constexpr int kIndent = 4;
    Session::print(fmt::format("{{\n  \"format\": 1,\n  \"image\": {},\n  \"objects\": [",
                               nlohmann::json(printable(name)).dump()));
    std::string_view between = "\n";
    for (const images::Descriptor& descriptor : image.descriptors()) {
        std::string entry = json_text(object_json(descriptor));
        for (std::size_t at = 0; (at = entry.find('\n', at)) != std::string::npos; ++at) {
            entry.insert(at + 1, kIndent, ' ');
        }
        Session::print(fmt::format("{}{:{}}{}", between, "", kIndent, entry));
        between = ",\n";
    }
    Session::print(image.descriptors().empty() ? "]\n}\n" : "\n  ]\n}\n");
}

Result<int> list_objects(const Session& session, const SifOptions& options) {
    CYBELE_TRY(const std::string path, image_path(session, options.image));
    CYBELE_TRY(const images::Image image, images::Image::open(path));
    if (session.is_json()) {
        print_objects(image, options.image);
        return 0;
    }
    constexpr std::size_t kPiece = std::size_t{1} << 16U;
    std::string text = list_head();
    for (const images::Descriptor& descriptor : image.descriptors()) {
        text += list_line(descriptor);
        if (text.size() > kPiece) {
            Session::print(text);
            text.clear();
        }
    }
    Session::print(text);
    return 0;
}

Result<int> header(const Session& session, const SifOptions& options) {
    CYBELE_TRY(const std::string path, image_path(session, options.image));
    CYBELE_TRY(const images::Image image, images::Image::open(path));
    if (session.is_json()) {
        print_sif_json({{"image", options.image}, {"header", header_json(image.header())}});
    } else {
        Session::print(header_text(image.header()));
    }
    return 0;
}

/// Where a new image is written. By the name of Apptainer it replaces a file, through links, too.
Result<std::filesystem::path> place_of_new(const Session& session, const std::string& name) {
    struct stat status {};
    std::error_code failed;
    if (::lstat(name.c_str(), &status) != 0) {
        return name;
    }
    const bool is_there = ::stat(name.c_str(), &status) == 0; // else the link leads nowhere
    if (session.is_apptainer() &&
        (!is_there || (S_ISREG(status.st_mode) && ::access(name.c_str(), W_OK) == 0))) {
        return std::filesystem::weakly_canonical(name, failed);
    }
    return fail(ErrorCode::kInput,
                problem("sif-file-exists", fmt::format("{} exists already", printable(name))),
                "a new image does not replace a file",
                "choose another name, or remove it first");
}

/// An image without objects, as `apptainer sif new` makes it; nil id and times where the build is
/// to be reproducible.
Result<int> make_new(const Session& session, const SifOptions& options) {
    CYBELE_TRY(const std::filesystem::path place, place_of_new(session, options.image));
    struct stat before {};
    const bool is_replaced = ::stat(place.c_str(), &before) == 0;
    images::NewImage image;
    image.launch_script.clear();
    if (!session.is_deterministic()) {
        image.id = images::random_image_id();
        image.time = session.now();
    }
    CYBELE_CHECK(images::write_image(place, image));
    if (is_replaced) {
        (void)::chmod(place.c_str(), before.st_mode & ALLPERMS);
    }
    if (session.is_json()) {
        print_sif_json({{"image", options.image}});
    }
    return 0;
}

/// An object never takes the place of the image that it comes from.
Result<void> check_is_another(const images::Image& image, const std::string& output) {
    struct stat from {};
    struct stat to {};
    if (::fstat(image.fd(), &from) == 0 && ::stat(output.c_str(), &to) == 0 &&
        from.st_ino == to.st_ino && from.st_dev == to.st_dev) {
        return fail(ErrorCode::kInput,
                    problem("sif-dump-onto-image",
                            fmt::format("cannot write the object to {}", printable(output))),
                    "it is the image that the object comes from",
                    "choose another name");
    }
    return {};
}

Result<int> dump(const Session& session, const SifOptions& options) {
    CYBELE_TRY(const Target target, target_of(options));
    CYBELE_TRY(const std::string path, image_path(session, target.image));
    CYBELE_TRY(const images::Image image, images::Image::open(path));
    CYBELE_TRY(const images::Descriptor object, image.object(target.id));
    if (!options.output.empty() && options.output != "-") {
        CYBELE_CHECK(check_is_another(image, options.output));
        CYBELE_TRY(OutputFile file, OutputFile::create(options.output));
        CYBELE_CHECK(image.copy_object(object, file.fd(), options.output));
        CYBELE_CHECK(file.commit());
        return 0;
    }
    constexpr std::uint64_t kPiece = std::uint64_t{1} << 20U;
    images::Descriptor piece = object;
    for (std::uint64_t done = 0; done < object.size; done += piece.size) {
        piece.offset = object.offset + done;
        piece.size = std::min(kPiece, object.size - done);
        CYBELE_TRY(const std::string bytes, image.read_object(piece));
        Session::print(bytes);
    }
    return 0;
}

/// What a change did; as text nothing, as Apptainer.
int changed(const Session& session, const Target& target) {
    if (session.is_json()) {
        print_sif_json({{"image", target.image}, {"object", target.id}});
    }
    return 0;
}

Result<int> add_object(const Session& session, const SifOptions& options) {
    CYBELE_TRY(const images::NewObject object, new_object(options.add));
    CYBELE_CHECK(changeable_image_path(session, options.add.image));
    CYBELE_CHECK(images::add_objects(options.add.image, {object}, session.now())
                     .map_error(during("adding the object to the image")));
    if (session.is_json()) {
        print_sif_json({{"image", options.add.image}});
    }
    return 0;
}

Result<int> del(const Session& session, const SifOptions& options) {
    CYBELE_TRY(const Target target, target_of(options));
    CYBELE_CHECK(changeable_image_path(session, target.image));
    CYBELE_CHECK(images::delete_objects(target.image, {target.id}, options.how, session.now()));
    return changed(session, target);
}

Result<int> set_primary(const Session& session, const SifOptions& options) {
    CYBELE_TRY(const Target target, target_of(options));
    CYBELE_CHECK(changeable_image_path(session, target.image));
    CYBELE_CHECK(images::set_primary(target.image, target.id, session.now()));
    return changed(session, target);
}

/// Says what became of a change that was interrupted.
Result<int> recover_sif(const Session& session, const SifOptions& options) {
    struct Row {
        images::Settled settled;
        const char* word;
        const char* sentence;
    };
    using images::Settled;
    constexpr Row kRows[] = {
        {Settled::kNothing, "nothing", "no change of it was interrupted"},
        {Settled::kUndone, "undone", "the interrupted change was undone"},
        {Settled::kFinished, "finished", "the interrupted change was finished"},
        {Settled::kForeign, "foreign", "the journal of another file was removed"},
    };
    CYBELE_CHECK(changeable_image_path(session, options.image));
    CYBELE_TRY(const Settled settled, images::recover_image(options.image));
    for (const Row& row : kRows) {
        if (row.settled == settled && session.is_json()) {
            print_sif_json({{"image", options.image}, {"change", row.word}});
        } else if (row.settled == settled) {
            Session::print(fmt::format("{}: {}\n", printable(options.image), row.sentence));
        }
    }
    return 0;
}

using SifVerb = Result<int> (*)(const Session&, const SifOptions&);

/// An error that does not say yet what was being done.
Error named(Error error) {
    return error.faults().front().context.empty()
               ? std::move(error).with_context("working on the objects of an image")
               : error;
}

void do_verb(CLI::App& verb,
             Session& session,
             const std::shared_ptr<SifOptions>& options,
             SifVerb what) {
    add_format(verb, session);
    verb.callback([&session, options, what] {
        session.action = [&session, options, what] {
            return what(session, *options).map_error(named);
        };
    });
}

void take_target(CLI::App& verb, SifOptions& options) {
    verb.add_option("id", options.first, "the object's number")->required()->type_name("ID");
    verb.add_option("image", options.second, "the image")->required()->type_name("IMAGE");
}

void install_readers(CLI::App& sif, Session& session, const std::shared_ptr<SifOptions>& options) {
    CLI::App* list_verb =
        add_verb(sif,
                 "list",
                 "List an image's objects: number, group, link, position and type.",
                 {"cybelectl sif list app.sif", "cybelectl sif list app.sif --format json"});
    list_verb->add_option("image", options->image, "the image")->required()->type_name("IMAGE");
    do_verb(*list_verb, session, options, list_objects);

    CLI::App* header_verb =
        add_verb(sif,
                 "header",
                 "Show an image's header.",
                 {"cybelectl sif header app.sif", "cybelectl sif header app.sif --format json"});
    header_verb->add_option("image", options->image, "the image")->required()->type_name("IMAGE");
    do_verb(*header_verb, session, options, header);

    CLI::App* dump_verb =
        add_verb(sif,
                 "dump",
                 "Write an object's bytes to standard output, or to a file.",
                 {"cybelectl sif dump 1 app.sif", "cybelectl sif dump 4 app.sif -o root.squashfs"});
    take_target(*dump_verb, *options);
    dump_verb->add_option("-o,--output", options->output, "output file")->type_name("FILE");
    do_verb(*dump_verb, session, options, dump);
}

void install_changers(CLI::App& sif, Session& session, const std::shared_ptr<SifOptions>& options) {
    CLI::App* new_verb =
        add_verb(sif,
                 "new",
                 "Make an image without objects.",
                 {"cybelectl sif new app.sif", "cybelectl sif new app.sif --format json"});
    new_verb->add_option("image", options->image, "the image")->required()->type_name("IMAGE");
    do_verb(*new_verb, session, options, make_new);

    CLI::App* add_it = add_verb(
        sif,
        "add",
        "Add an object to an image.",
        {"cybelectl sif add app.sif app.def --datatype 1",
         "cybelectl sif add app.sif root.squashfs --datatype 4 --parttype 1 --partfs 1 --partarch "
         "2",
         "cybelectl sif add app.sif sbom.json --datatype sbom --sbomformat spdx-json --groupid 1"});
    declare_add_options(*add_it, options->add);
    do_verb(*add_it, session, options, add_object);

    CLI::App* del_verb = add_verb(
        sif,
        "del",
        "Delete an object of an image; its bytes stay unless --zero or --compact is given.",
        {"cybelectl sif del 3 app.sif", "cybelectl sif del 3 app.sif --zero --compact"});
    take_target(*del_verb, *options);
    del_verb->add_flag("--zero", options->how.zero, "overwrite its bytes with zeros");
    del_verb->add_flag(
        "--compact", options->how.compact, "truncate the file after the last object");
    do_verb(*del_verb, session, options, del);

    CLI::App* primary = add_verb(
        sif,
        "setprim",
        "Set the primary system partition.",
        {"cybelectl sif setprim 4 app.sif", "cybelectl sif setprim 4 app.sif --format json"});
    take_target(*primary, *options);
    do_verb(*primary, session, options, set_primary);

    CLI::App* recover_verb =
        add_verb(sif,
                 "recover",
                 "Finish or undo a change of an image that was interrupted.",
                 {"cybelectl sif recover app.sif", "cybelectl sif recover app.sif --format json"});
    recover_verb->add_option("image", options->image, "the image")->required()->type_name("IMAGE");
    do_verb(*recover_verb, session, options, recover_sif);
}

} // namespace

void install_sif(CLI::App& app, Session& session) {
    auto options = std::make_shared<SifOptions>();
    CLI::App* sif = add_verb(app,
                             "sif",
                             "List, add, extract and delete the objects of a SIF image.",
                             {"cybelectl sif list app.sif", "cybelectl sif dump 1 app.sif"});
    sif->require_subcommand(1);
    install_readers(*sif, session, options);
    install_changers(*sif, session, options);
}

} // namespace cybele::cli
