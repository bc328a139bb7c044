// SPDX-License-Identifier: Apache-2.0
// Layers of OCI images: what they do to each other, and what hostile ones may not do.
#include "builder/bases/oci_config.hpp"
#include "builder/layers/layer_tree.hpp"
#include "support/digest.hpp"
#include "support/encoding.hpp"
#include "support/process.hpp"
#include "temporary.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace cybele;
using namespace cybele::builder;
namespace fs = std::filesystem;

namespace {

/// One entry of a tar in the ustar format, written by hand: no program would write the bad ones.
struct Entry {
    std::string name;
    char type = '0';
    std::string content{};
    std::string target{};
    unsigned mode = 0644;
    unsigned uid = 0;
};

std::string octal(unsigned long long value, int width) {
    std::string text;
    for (; value > 0 || text.empty(); value /= 8) {
        text.insert(text.begin(), static_cast<char>('0' + value % 8));
    }
    text.insert(0, static_cast<std::size_t>(width - 1) - text.size(), '0');
    return text + '\0';
}

std::string header(const Entry& entry, unsigned long long size) {
    std::string block(512, '\0');
    const auto put_at = [&](std::size_t at, const std::string& text) {
        block.replace(at, text.size(), text);
    };
    put_at(0, entry.name);
    put_at(100, octal(entry.mode, 8));
    put_at(108, octal(entry.uid, 8));
    put_at(116, octal(entry.uid, 8));
    put_at(124, octal(size, 12));
    put_at(136, octal(1500000000, 12));
    block[156] = entry.type;
    put_at(157, entry.target);
    put_at(257, std::string("ustar\0", 6) + "00");
    put_at(148, "        ");
    unsigned long long sum = 0;
    for (const char c : block) {
        sum += static_cast<unsigned char>(c);
    }
    put_at(148, octal(sum, 7) + ' ');
    return block;
}

std::string tar_of(const std::vector<Entry>& entries) {
    std::string tar;
    for (const Entry& entry : entries) {
        tar += header(entry, entry.content.size()) + entry.content;
        tar.resize((tar.size() + 511) / 512 * 512);
    }
    return tar + std::string(1024, '\0');
}

struct Tree {
    TempDirectory directory = temporary();
    fs::path root = directory.path() / "root";
    int count = 0;

    Tree() {
        fs::create_directories(root);
        put(directory.path() / "outside/keep", "keep");
    }
    registry::OciLayer layer(const std::string& bytes, const std::string& packer = {}) {
        registry::OciLayer layer;
        layer.diff_id = "sha256:" + hex(sha256(bytes));
        layer.file.path = directory.path() / std::to_string(++count);
        put(layer.file.path, bytes);
        if (!packer.empty()) {
            Command command;
            command.argv = {
                "sh", "-c", packer + " <\"$1\" >\"$1.x\"", "x", layer.file.path.native()};
            REQUIRE(run_process(command)->ok());
            layer.file.path += ".x";
        }
        layer.descriptor.size = fs::file_size(layer.file.path);
        layer.descriptor.digest = "sha256:" + hex(sha256(content(layer.file.path)));
        return layer;
    }
    template <class... Layer>
    Result<void> apply(const Layer&... layers) {
        auto tree = LayerTree::open(root);
        REQUIRE(tree);
        for (const registry::OciLayer* layer : {&layers...}) {
            CYBELE_CHECK(tree->apply(*layer));
        }
        notes = tree->notes().lines();
        return {};
    }
    std::vector<std::string> notes;
};

Entry folder(const std::string& name, unsigned mode = 0755) {
    return {name, '5', {}, {}, mode, 0};
}
Entry file(const std::string& name, const std::string& text) {
    return {name, '0', text, {}, 0644, 0};
}
Entry soft(const std::string& name, const std::string& target) {
    return {name, '2', {}, target, 0777, 0};
}
Entry hard(const std::string& name, const std::string& target) {
    return {name, '1', {}, target, 0644, 0};
}

} // namespace

TEST_CASE("layers, plain, by gzip and by zstd, are put one on the other") {
    Tree tree;
    const auto first = tree.layer(tar_of({folder("./"),
                                          folder("a"),
                                          file("a/1", "one"),
                                          file("a/2", "two"),
                                          folder("gone"),
                                          file("gone/x", "x"),
                                          folder("old"),
                                          file("old/low", "low"),
                                          folder("old/deep"),
                                          file("old/deep/low", "low"),
                                          file("h1", "hard"),
                                          hard("h2", "h1"),
                                          soft("through", "a"),
                                          file("was-file", "f"),
                                          folder("was-folder"),
                                          file("was-folder/x", "x")}),
                                  "gzip -n");
    const auto second = tree.layer(tar_of({file("a/.wh.1", ""),
                                           file("a/.wh.never-there", ""),
                                           file(".wh.gone", ""),
                                           folder("gone"),
                                           file("gone/new", "new"),
                                           folder("old/deep"),
                                           file("old/deep/own", "own"),
                                           file("old/.wh..wh..opq", ""),
                                           file("old/late", "late"),
                                           file("h1", "other"),
                                           file("through/3", "three"),
                                           folder("was-file"),
                                           file("was-file/in", "in"),
                                           file("was-folder", "now a file")}));
    const auto third = tree.layer(tar_of({hard("h3", "h2"), folder("closed", 0)}), "zstd -q");
    REQUIRE(tree.apply(first, second, third));
    CHECK(!fs::exists(tree.root / "a/1"));
    CHECK(content(tree.root / "a/2") == "two");
    CHECK(content(tree.root / "a/3") == "three");
    CHECK(fs::is_symlink(tree.root / "through"));
    CHECK(!fs::exists(tree.root / "gone/x"));
    CHECK(content(tree.root / "gone/new") == "new");
    CHECK(!fs::exists(tree.root / "old/low"));
    CHECK(!fs::exists(tree.root / "old/deep/low"));
    CHECK(content(tree.root / "old/deep/own") == "own");
    CHECK(content(tree.root / "old/late") == "late");
    CHECK(content(tree.root / "h1") == "other");
    CHECK(content(tree.root / "h2") == "hard");
    CHECK(fs::hard_link_count(tree.root / "h3") == 2);
    CHECK(content(tree.root / "was-file/in") == "in");
    CHECK(content(tree.root / "was-folder") == "now a file");
    struct stat status {};
    REQUIRE(::stat((tree.root / "closed").c_str(), &status) == 0);
    CHECK((status.st_mode & 07777) == 0);
    CHECK(status.st_mtim.tv_sec == 1500000000);
    for (const auto& entry : fs::recursive_directory_iterator(tree.root)) {
        CHECK(!entry.path().filename().native().starts_with(".wh."));
    }
    CHECK(tree.notes.empty());
}

TEST_CASE("a hostile layer is refused, and writes nothing outside") {
    const std::vector<std::pair<std::string, std::vector<Entry>>> cases = {
        {"absolute", {file("/outside/new", "evil")}},
        {"dots", {folder("a"), file("a/../../outside/new", "evil")}},
        {"dots alone", {file("..", "evil")}},
        {"through a link", {soft("l", "../outside"), file("l/new", "evil")}},
        {"through an absolute link", {soft("l", "/nowhere"), file("l/new", "evil")}},
        {"through a loop", {soft("l", "l"), file("l/new", "evil")}},
        {"hard link out", {hard("keep", "../outside/keep")}},
        {"hard link to nothing", {hard("keep", "not-there")}},
        {"hard link to a folder", {folder("d"), hard("keep", "d")}},
        {"hard link through a link", {soft("l", "../outside"), hard("keep", "l/keep")}},
        {"device", {Entry{"null", '3', {}, {}, 0666, 0}}},
        {"block device", {Entry{"etc/sda", '4', {}, {}, 0660, 0}}},
        {"whiteout of nothing", {file(".wh.", "")}},
        {"whiteout of the folder above", {file("a/.wh...", "")}},
        {"whiteout as folder", {folder(".wh.x"), file(".wh.x/new", "evil")}},
        {"the root as file", {file("./", "evil")}},
    };
    for (const auto& [name, entries] : cases) {
        CAPTURE(name);
        Tree tree;
        const auto applied = tree.apply(tree.layer(tar_of(entries)));
        REQUIRE(!applied);
        CHECK(applied.error().code() == ErrorCode::kInput);
        CHECK(!applied.error().faults().front().because.empty());
        CHECK(!applied.error().faults().front().help.empty());
        CHECK(fs::directory_iterator(tree.directory.path() / "outside") !=
              fs::directory_iterator());
        CHECK(!fs::exists(tree.directory.path() / "outside/new"));
        CHECK(fs::hard_link_count(tree.directory.path() / "outside/keep") == 1);
    }
}

TEST_CASE("devices below /dev are left out and told") {
    Tree tree;
    REQUIRE(
        tree.apply(tree.layer(tar_of({folder("dev"), Entry{"dev/null", '3', {}, {}, 0666, 0}}))));
    CHECK(!fs::exists(tree.root / "dev/null"));
    REQUIRE(tree.notes.size() == 1);
    CHECK(tree.notes.front().find("/dev/null") != std::string::npos);
}

TEST_CASE("wrong digests, sizes and formats are refused") {
    Tree tree;
    auto layer = tree.layer(tar_of({file("a", "a")}), "gzip -n");
    auto wrong = layer.descriptor.digest;
    wrong.back() = wrong.back() == '0' ? '1' : '0';
    SUBCASE("packed") {
        layer.descriptor.digest = wrong;
        CHECK(tree.apply(layer).error().code() == ErrorCode::kVerification);
    }
    SUBCASE("unpacked") {
        layer.diff_id = wrong;
        CHECK(tree.apply(layer).error().code() == ErrorCode::kVerification);
    }
    SUBCASE("size") {
        layer.descriptor.size += 1;
        CHECK(tree.apply(layer).error().code() == ErrorCode::kVerification);
    }
    SUBCASE("bytes behind the end") {
        auto tail = tree.layer(tar_of({file("a", "a")}) + std::string(5000, 'x'));
        tail.diff_id = "sha256:" + hex(sha256(tar_of({file("a", "a")})));
        CHECK(tree.apply(tail).error().code() == ErrorCode::kVerification);
    }
    SUBCASE("no tar") {
        CHECK(tree.apply(tree.layer(std::string(4000, 'x'))).error().code() == ErrorCode::kInput);
    }
    SUBCASE("cut") {
        const std::string whole = tar_of({file("a", std::string(9000, 'a'))});
        CHECK(tree.apply(tree.layer(whole.substr(0, 5000))).error().code() == ErrorCode::kInput);
    }
    SUBCASE("cut gzip") {
        fs::resize_file(layer.file.path, layer.descriptor.size - 10);
        layer.descriptor.size -= 10;
        CHECK(!tree.apply(layer));
    }
    SUBCASE("an empty layer is none") {
        CHECK(tree.apply(tree.layer(std::string(1024, '\0'))));
    }
}

TEST_CASE("a bomb is refused before it fills the disk") {
    Tree tree;
    SUBCASE("zeros without end") {
        Command command;
        const fs::path path = tree.directory.path() / "bomb";
        command.argv = {"sh",
                        "-c",
                        "{ cat \"$1.head\"; head -c 600000000 /dev/zero; } | zstd -q >\"$1\"",
                        "x",
                        path.native()};
        put(path.native() + ".head", header(file("zeros", ""), 600000000));
        REQUIRE(run_process(command)->ok());
        registry::OciLayer layer;
        layer.file.path = path;
        layer.descriptor.size = fs::file_size(path);
        const auto applied = tree.apply(layer);
        REQUIRE(!applied);
        CHECK(applied.error().message().find("unpacks to more") != std::string::npos);
    }
    SUBCASE("a size that nothing stands behind") {
        registry::OciLayer layer =
            tree.layer(header(file("huge", ""), 8000000000ULL) + std::string(2048, '\0'));
        const auto applied = tree.apply(layer);
        REQUIRE(!applied);
        CHECK(applied.error().message().find("unpacks to more") != std::string::npos);
    }
    for (const auto& entry : fs::recursive_directory_iterator(tree.root)) {
        struct stat status {};
        REQUIRE(::lstat(entry.path().c_str(), &status) == 0);
        CHECK(status.st_blocks * 512 < 1000000);
    }
}

TEST_CASE("a configuration becomes scripts that say what it says") {
    const auto config = read_oci_config(R"({"config":{
        "Env":["PATH=/a b:/usr/bin:/bin","TICK=a`b`","DOLLAR=$HOME \"x\"","QUOTE=it's","BACK=a\\b",
               "LINES=a\nb","EMPTY=","NONE","FOO.BAR=x"],
        "Entrypoint":["printf","<%s>"],"Cmd":["a b","$HOME","`id`","it's","-x"],
        "Labels":{"l":"v"},"User":"1000","WorkingDir":"/srv","Volumes":null}})");
    REQUIRE(config);
    CHECK(config->notes.size() == 3);
    Tree tree;
    REQUIRE(write_oci_config(tree.root, *config));
    const fs::path scripts = tree.root / ".singularity.d";
    EnvironmentMap environment{{"HOME", "/h"}, {"QUOTE", "mine"}, {"PATH", "/bin"}};
    const auto run = [&](const std::string& text, std::vector<std::string> arguments) {
        Command command;
        command.argv = {"/bin/sh", "-c", text, (scripts / "env/10-docker2singularity.sh").native()};
        command.argv.insert(command.argv.end(), arguments.begin(), arguments.end());
        command.environment = environment;
        const auto outcome = run_process(command);
        REQUIRE(outcome);
        return outcome->output;
    };
    CHECK(run(". \"$0\"; printf '%s|' \"$PATH\" \"$TICK\" \"$DOLLAR\" \"$QUOTE\" \"$BACK\" "
              "\"$LINES\" "
              "\"$EMPTY\" \"${NONE-unset}\"",
              {}) == "/a b:/usr/bin:/bin|a`b`|$HOME \"x\"|mine|a\\b|a\nb|||");
    const std::string runscript = (scripts / "runscript").native();
    CHECK(run("exec '" + runscript + "'", {}) == "<a b><$HOME><`id`><it's><-x>");
    // What the image says is never evaluated; the words of the caller are, as with Apptainer.
    CHECK(run("exec '" + runscript + "' 'x $HOME' -x", {}) == "<x /h><-x>");
    CHECK(run("exec '" + runscript + "' '`printf made`' 'a  b' '' '\\\\' '\\$HOME'", {}) ==
          "<made><a  b><><\\><$HOME>");
    for (const char* variable : {"APPTAINER_NO_EVAL", "SINGULARITY_NO_EVAL"}) {
        environment[variable] = "1";
        CHECK(run("exec '" + runscript + "'", {}) == "<a b><$HOME><`id`><it's><-x>");
        CHECK(run("exec '" + runscript + "' 'x $HOME' -x '' '`id`'", {}) ==
              "<x $HOME><-x><><`id`>");
        environment.erase(variable);
    }
    CHECK(read_oci_config("{}")->command.empty());
    CHECK(!read_oci_config(R"({"config":{"Env":7}})"));
    CHECK(!read_oci_config("x"));
}
