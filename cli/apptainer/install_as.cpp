// SPDX-License-Identifier: Apache-2.0
#include "cli/apptainer/own_words.hpp"
#include "cli/common/cli11.hpp"
#include "cli/common/session.hpp"
#include "support/quote.hpp"

#include <cerrno>
#include <filesystem>
#include <memory>

#include <fmt/format.h>
#include <unistd.h>

namespace cybele::cli {

namespace {

namespace fs = std::filesystem;

struct LinkOptions {
    std::string name;
    std::string directory;
    bool is_forced = false;
};

Result<void> check_place(const fs::path& link, const fs::path& program, bool is_forced) {
    std::error_code failed;
    const fs::file_status status = fs::symlink_status(link, failed);
    if (status.type() == fs::file_type::not_found || is_forced) {
        return {};
    }
    if (fs::is_symlink(status) && fs::read_symlink(link, failed) == program) {
        return {};
    }
    return fail(ErrorCode::kInput,
                problem("link-exists", printable(link.native()) + " exists already"),
                "another program may have this name, and would be hidden",
                "choose another directory, or write --force to replace the file");
}

Result<void> make_link(const Session& session, const fs::path& link) {
    const fs::path made =
        link.parent_path() / fmt::format(".{}.{}", link.filename().native(), ::getpid());
    if (::symlink(session.program.c_str(), made.c_str()) != 0 ||
        ::rename(made.c_str(), link.c_str()) != 0) {
        const int number = errno;
        (void)::unlink(made.c_str());
        return fail(system_error("cannot make " + printable(link.native()), number));
    }
    if (!session.is_quiet) {
        Session::print(fmt::format("{} -> {}\n", link.native(), session.program));
    }
    return {};
}

Result<int> install(const Session& session, const LinkOptions& options) {
    std::error_code failed;
    const fs::path folder = fs::absolute(options.directory, failed);
    if (!fs::is_directory(folder, failed)) {
        return fail(
            ErrorCode::kInput,
            problem("link-folder-missing", printable(options.directory) + " is not a directory"),
            "the link is made in a directory of PATH",
            "mkdir -p " + shell_quote(options.directory));
    }
    const fs::path link = folder / options.name;
    CYBELE_CHECK(check_place(link, session.program, options.is_forced));
    CYBELE_CHECK(make_link(session, link));
    // What the first line of a SIF names, so that `./image.sif` runs; another program's stays.
    const fs::path runner = folder / "run-singularity";
    if (check_place(runner, session.program, options.is_forced)) {
        CYBELE_CHECK(make_link(session, runner));
    }
    return 0;
}

} // namespace

void install_apptainer_name(CLI::App& app, Session& session) {
    auto options = std::make_shared<LinkOptions>();
    CLI::App* verb = add_verb(
        app,
        "install-as",
        "Make a link by which this program answers as `apptainer` or `singularity`, and one for "
        "`./app.sif`.",
        {"cybelectl install-as apptainer ~/bin", "cybelectl install-as singularity ~/bin --force"});
    verb->add_option("name", options->name, "apptainer or singularity")
        ->required()
        ->check(CLI::IsMember({"apptainer", "singularity"}));
    verb->add_option("directory", options->directory, "where the link is made; a directory of PATH")
        ->required()
        ->type_name("DIR");
    verb->add_flag("-F,--force", options->is_forced, "replace an existing file");
    verb->callback([&session, options] {
        session.action = [&session, options] { return install(session, *options); };
    });
}

} // namespace cybele::cli
