// SPDX-License-Identifier: Apache-2.0
#include "kubernetes/objects/literal_block.hpp"
#include "kubernetes/objects/yaml_tree.hpp"
#include "nasty.hpp"
#include "support/file.hpp"
#include "support/yaml.hpp"

#include <cstdlib>
#include <filesystem>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace cybele::kubernetes {
namespace {

yaml::Node tree_read_back(const std::string& text) {
    const auto document = yaml::parse(text, "written");
    REQUIRE_MESSAGE(document.has_value(), text);
    return document->root;
}

} // namespace

TEST_CASE("every text stays the text that it is, as key and as value") {
    std::mt19937 random(20);
    std::vector<std::string> texts = nasty_texts();
    for (int i = 0; i < 3000; ++i) {
        texts.push_back(random_text(random));
    }
    for (const std::string& text : texts) {
        CAPTURE(text);
        const auto written = write_yaml(
            Tree::Map{{"v", text}, {"l", Tree::List{text}}, {text + "k", std::int64_t{1}}});
        REQUIRE(written.has_value());
        const auto root = tree_read_back(*written);
        CHECK(root.find("v")->scalar == text);
        CHECK(root.find("v")->kind == yaml::Node::Kind::kScalar);
        CHECK(root.find("l")->items.front().scalar == text);
        CHECK(root.entries.back().first.scalar == text + "k");
    }
}

TEST_CASE("only words that no reader takes for something else stand without quotes") {
    for (const char* plain : {"a", "batch/v1", "wlm.sylabs.io/v1alpha1", "TorqueJob", "a-b_c.d"}) {
        CHECK(is_plain_word(plain));
    }
    for (const std::string& text : nasty_texts()) {
        CAPTURE(text);
        const bool is_word = text == "INFINITE" || text == "wlm.sylabs.io/v1alpha1";
        CHECK(is_plain_word(text) == is_word);
    }
}

TEST_CASE("what no yaml carries is refused") {
    for (const std::string& text : {std::string("a\0b", 3), std::string("\xff")}) {
        CHECK_FALSE(write_yaml(Tree::Map{{"v", text}}).has_value());
        CHECK_FALSE(write_yaml(Tree::Map{{text, "v"}}).has_value());
        CHECK_FALSE(write_yaml(Tree::Map{{"v", Tree::Block{text}}}).has_value());
    }
}

TEST_CASE("maps and lists nest, empty ones are written out") {
    const Tree tree = Tree::Map{
        {"a", Tree::List{Tree::Map{{"b", std::int64_t{1}}, {"c", Tree::List{"x", true}}}, "y"}},
        {"d", Tree::Map{}},
        {"e", Tree::List{}},
        {"f", Tree::Map{{"g", Tree::Block{"x\n y\n"}}}}};
    const auto written = write_yaml(tree);
    REQUIRE(written.has_value());
    CHECK(*written == "a:\n  - b: 1\n    c:\n      - x\n      - true\n  - \"y\"\nd: {}\ne: []\n"
                      "f:\n  g: |\n    x\n     y\n");
}

// For the three kubectls of tests/integration/kubernetes.bats: objects with nasty texts and
// scripts, and what a reader must get.
TEST_CASE("nasty objects for other readers" * doctest::skip()) {
    const char* folder = std::getenv("CYBELE_NASTY"); // NOLINT(concurrency-mt-unsafe)
    REQUIRE(folder != nullptr);
    std::mt19937 random(std::random_device{}());
    nlohmann::json expected = nlohmann::json::array();
    std::string objects;
    for (int i = 0; i < 60; ++i) {
        Tree::Map data;
        nlohmann::json wanted = nlohmann::json::object();
        for (int k = 0; k < 20; ++k) {
            const std::string key = "k" + std::to_string(k);
            const std::string text =
                i == 0 ? nasty_texts()[static_cast<std::size_t>(k)] : random_text(random);
            data.emplace_back(key, text);
            wanted[key] = text;
        }
        std::string script = random_script(random);
        while (!literal_block(script, 4)) {
            script = random_script(random);
        }
        const std::string name = "n" + std::to_string(i);
        const auto written = write_yaml(Tree::Map{
            {"apiVersion", "wlm.sylabs.io/v1alpha1"},
            {"kind", "TorqueJob"},
            {"metadata", Tree::Map{{"name", name}}},
            {"spec", Tree::Map{{"batch", Tree::Block{script}}, {"data", std::move(data)}}}});
        REQUIRE(written.has_value());
        objects += (i == 0 ? "" : "---\n") + *written;
        expected.push_back({{"batch", script}, {"data", wanted}});
    }
    const std::filesystem::path place(folder);
    REQUIRE(write_file(place / "nasty.yaml", objects).has_value());
    REQUIRE(write_file(place / "expected.json", expected.dump()).has_value());
}

} // namespace cybele::kubernetes
