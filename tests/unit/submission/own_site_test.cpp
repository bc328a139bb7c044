// SPDX-License-Identifier: Apache-2.0
// Who can write a Site, and the files that it names.
#include "submission/submit/choose_connection.hpp"
#include "submission/submit/job_input.hpp"
#include "submission/submit/own_site.hpp"
#include "support/file.hpp"

#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace cybele::submission {
namespace {

namespace fs = std::filesystem;

/// A Site with a Policy, its keys and a root, all of which are the user's alone.
struct Hall {
    TempDirectory directory = TempDirectory::make("/var/tmp", "own-site-test").value();
    fs::path root = directory.path();
    fs::path file = root / "site.yaml";
    Place place{"config.yaml", 2, 7, {}};

    Hall() {
        REQUIRE(make_directories(root / "keys", 0755));
        write("scheduler: slurm\nverify: policy.yaml\n");
        REQUIRE(write_file(root / "policy.yaml",
                           "kind: Policy\nkeys: [keys/a.pub]\n"
                           "certificates: {roots: [keys/root.crt]}\n"));
        REQUIRE(write_file(root / "keys/a.pub", "a key"));
        REQUIRE(write_file(root / "keys/root.crt", "a root"));
    }
    void write(const std::string& fields) const {
        REQUIRE(write_file(file, "kind: Site\nname: hall\n" + fields));
    }
    [[nodiscard]] Result<launchers::Site> read(bool is_of_settings = true) const {
        return read_named_site(file,
                               "this file of settings",
                               is_of_settings ? std::optional(place) : std::nullopt,
                               root);
    }
    /// The first fault of a Site that settings name.
    [[nodiscard]] std::string refused() const {
        const auto site = read();
        if (site) {
            return "";
        }
        const Fault& fault = site.error().faults().front();
        CHECK(site.error().code() == ErrorCode::kEnvironment);
        CHECK(fault.where->line == 2);
        return fault.message;
    }
    /// The same of its connection, by --site.
    [[nodiscard]] std::string chosen() const {
        JobInput input;
        input.site = read(false).value();
        const auto connection = choose_connection(input);
        return connection ? "" : connection.error().faults().front().message;
    }
};

void open_to_all(const fs::path& path) {
    fs::permissions(path, fs::perms::others_write, fs::perm_options::add);
}
void close_to_all(const fs::path& path) {
    fs::permissions(path, fs::perms::others_write, fs::perm_options::remove);
}

} // namespace

TEST_CASE(
    "a Site of settings, its Policy, keys and certificates, and their folders, are not others'") {
    const Hall hall;
    CHECK(hall.refused() == "");
    for (const char* name :
         {"site.yaml", "policy.yaml", "keys/a.pub", "keys/root.crt", "keys", "."}) {
        CAPTURE(name);
        open_to_all(hall.root / name);
        CHECK(hall.refused().ends_with(" is not trusted"));
        CHECK(hall.read(false)); // --site: choose_connection() and the verification look
        close_to_all(hall.root / name);
        CHECK(hall.refused() == "");
    }
}

TEST_CASE("keys that a Site names itself are not others' either") {
    const Hall hall;
    hall.write("scheduler: slurm\nverify: {keys: [keys/a.pub, ~/keys/root.crt]}\n");
    CHECK(files_of_site(hall.read().value(), hall.root) ==
          std::vector<fs::path>{hall.file, hall.root / "keys/a.pub", hall.root / "keys/root.crt"});
    open_to_all(hall.root / "keys/a.pub");
    CHECK(hall.refused() == (hall.root / "keys/a.pub").native() + " is not trusted");
}

TEST_CASE("by --site, fields that decide what runs count only where others cannot write them") {
    const Hall hall;
    open_to_all(hall.file);
    hall.write("scheduler: slurm\n");
    open_to_all(hall.file);
    CHECK(hall.chosen() == ""); // facts alone
    const auto refused = [&](const std::string& field) {
        return "the `" + field + "` of " + hall.file.native() + " is not used";
    };
    for (const auto& [field, text] :
         std::vector<std::pair<std::string, std::string>>{{"setup", "setup: 'true'"},
                                                          {"teardown", "teardown: [{run: 'true'}]"},
                                                          {"verify", "verify: policy.yaml"},
                                                          {"binds", "binds: [/scratch]"}}) {
        CAPTURE(field);
        hall.write("scheduler: slurm\n" + text + "\n");
        close_to_all(hall.file);
        CHECK(hall.chosen() == "");
        open_to_all(hall.file);
        CHECK(hall.chosen() == refused(field));
    }
}

} // namespace cybele::submission
