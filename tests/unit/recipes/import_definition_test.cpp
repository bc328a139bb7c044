// SPDX-License-Identifier: Apache-2.0
#include "recipes/forms/recipe_rules.hpp"
#include "recipes/import/shell_lines.hpp"
#include "tests/unit/recipes/imported_definition.hpp"

#include <algorithm>

#include <rapidcheck.h>

using namespace cybele;
using namespace cybele::recipes;

TEST_CASE("one %post is one step, in its shell and without what a step adds") {
    struct Row {
        const char* section;
        const char* shell;
        const char* head;
    };
    const Row rows[] = {
        {"%post", "sh", "set +u\numask 0002\n"},
        {"%post -u", "sh", "umask 0002\n"},
        {"%post -c /bin/bash", "bash", "set +eu\nset +o pipefail\numask 0002\n"},
        {"%post -c /bin/bash -eu", "bash", "set +o pipefail\numask 0002\n"},
        {"%post -c /bin/zsh", "sh", "set +u\numask 0002\ncybelectl_script=$(mktemp)\n"},
        {"%post -c /bin/sh\n    true\n\n%post -c /bin/bash", "bash", "set +eu\n"}, // the last named
    };
    for (const auto& row : rows) {
        CAPTURE(row.section);
        const Recipe recipe = recipe_from(std::string("Bootstrap: docker\nFrom: x/y:1\n") +
                                          row.section + "\n    make\n\n%post\n    make test\n");
        REQUIRE(recipe.steps.size() == 1);
        CHECK(recipe.steps[0].shell == row.shell);
        CHECK(recipe.steps[0].run.starts_with(row.head));
        CHECK(recipe.steps[0].run.find("make test") != std::string::npos);
    }
}

TEST_CASE("scripts lose the blanks that all their lines begin with, where no word changes") {
    struct Row {
        const char* post;
        const char* run;
    };
    const Row rows[] = {
        {"    make\n\n    # don't\n    if x; then\n        y \\\n            z\n    fi\n",
         "make\n\n# don't\nif x; then\n    y \\\n        z\nfi\n"},
        {"\tmake\n\t  test\n", "make\n  test\n"},
        {"    a\n\tb\n", "    a\n\tb\n"},
        {"    make\\\n    test\n", "    make\\\n    test\n"},
        {"    echo 'a\n    b'\n", "    echo 'a\n    b'\n"},
        {"    echo \"a \\\" b\n    c\"\n", "    echo \"a \\\" b\n    c\"\n"},
        {"    cat <<X\n    a\nX\n", "    cat <<X\n    a\nX\n"},
    };
    for (const auto& row : rows) {
        CAPTURE(row.post);
        const Recipe recipe = recipe_from(kUbuntu + row.post);
        REQUIRE(recipe.steps.size() == 1);
        CHECK(recipe.steps[0].run == std::string("set +u\numask 0002\n") + row.run);
    }
}

TEST_CASE("assignments are `environment`, which the step does not see; other scripts are a file") {
    struct Row {
        const char* text;
        const char* name; ///< empty: no field
        EnvironmentValue::How how;
        const char* value;
    };
    using How = EnvironmentValue::How;
    const Row rows[] = {
        {"export A=1\n", "A", How::kSet, "1"},
        {"A='x y'\nexport A\n", "A", How::kSet, "x y"},
        {"export B=/b\nexport PATH=$B/bin:$PATH\n", "PATH", How::kPrepend, "/b/bin"},
        {"PATH=$PATH:/c\n", "PATH", How::kAppend, "/c"},
        {"PATH=/a:$PATH\nPATH=/b:$PATH\n", "PATH", How::kPrepend, "/b:/a"},
        {"export A=$(date)\n", "", How::kSet, ""},
        {"A=1\n", "", How::kSet, ""},
        {"export A=$HOME/x\n", "", How::kSet, ""},
        {"export PATH=/only\n", "", How::kSet, ""},
        {"export MANPATH=/m:$MANPATH\n", "", How::kSet, ""},
        {". /opt/env.sh\n", "", How::kSet, ""},
    };
    for (const auto& row : rows) {
        CAPTURE(row.text);
        const Recipe recipe = recipe_from(kUbuntu + "make\n%environment\n" + row.text);
        const auto found = std::find_if(recipe.environment.begin(),
                                        recipe.environment.end(),
                                        [&](const auto& own) { return own.first == row.name; });
        CHECK((found != recipe.environment.end()) == !std::string(row.name).empty());
        if (found == recipe.environment.end()) {
            REQUIRE(recipe.steps.size() == 2);
            // Behind %post, which does not see it, and what the base has there stays.
            CHECK(recipe.steps[1].run.find(">> /.singularity.d/env/90-environment.sh") !=
                  std::string::npos);
            CHECK(recipe.steps[1].run.find(row.text) != std::string::npos);
        } else {
            CHECK(found->second.how == row.how);
            CHECK(found->second.value == row.value);
            CHECK_FALSE(recipe.steps[0].has_environment);
        }
    }
}

TEST_CASE("a runscript of one program with its arguments is a list, any other is a script") {
    const auto run_of = [](const std::string& text) {
        return recipe_from("Bootstrap: docker\nFrom: x/y:1\n%runscript\n" + text);
    };
    CHECK(run_of("    exec /opt/x --quiet 'a b' \"$@\"\n").run_argv ==
          Texts{"/opt/x", "--quiet", "a b"});
    CHECK(run_of("iqtree  \"$@\"\n").run_argv == Texts{"iqtree"});
    for (const std::string text : {"exec x $@\n", "exec x\n", "echo \"$@\"\n", "a\nb \"$@\"\n"}) {
        CAPTURE(text);
        CHECK(run_of(text).run_script == "set +eu\n" + text);
    }
    const Recipe bash = run_of("#!/bin/bash\nsource x\n");
    CHECK(bash.run_argv == Texts{"/opt/cybelectl/import/runscript"});
    CHECK(bash.steps[0].run.find("#!/bin/bash\nsource x\n") != std::string::npos);
    const Recipe indented = run_of("   #!/bin/bash\n   source x\n");
    CHECK(indented.steps[0].run.find("\n#!/bin/bash\n   source x\n") != std::string::npos);
}

TEST_CASE("what is copied to a folder that %setup makes goes into it") {
    const Recipe recipe =
        recipe_from("Bootstrap: docker\nFrom: x/y:1\n%setup\nmkdir -p ${APPTAINER_ROOTFS}/opt/r/s\n"
                    "%files\na /opt/r\nb /opt/r/s\nc /opt/c\n");
    REQUIRE(recipe.files.size() == 3);
    CHECK(recipe.files[0].to == "/opt/r/");
    CHECK(recipe.files[1].to == "/opt/r/s/");
    CHECK(recipe.files[2].to == "/opt/c");
}

TEST_CASE("what cannot be used is refused by line") {
    const std::pair<std::string, Texts> rows[] = {
        {kUbuntu + "cat > /x <<EOF\nbody\n", {"5 a here-document has no end"}},
        {"Bootstrap: docker\nFrom: a:1\nBootstrap: docker\nFrom: b:1\n",
         {"3 a second `Bootstrap:`"}},
        {"Bootstrap: docker\nFrom: a:1\n%files from x\n  /a /b\n", {"3 no stage is named 'x'"}},
        {"Bootstrap: scratch\n%post\n", {"1 no base is known for `Bootstrap: scratch`"}},
        {"Bootstrap: yum\nOSVersion: 7\nMirrorURL: http://m.example/x\n",
         {"2 no base is known for `Bootstrap: yum` with OSVersion 7"}},
    };
    for (const auto& [text, told] : rows) {
        CAPTURE(text);
        CHECK_FALSE(import_file(text).has_value());
        CHECK(messages_from(text) == told);
    }
    CHECK(recipe_from(kUbuntu + "make \\\n\n\n").steps[0].run.ends_with("make \\\n\n\n"));
    CHECK_FALSE(import_file(kUbuntu + "echo {{ x }}\n").has_value());
    CHECK_FALSE(import_file(kUbuntu + "make\n", {{"x", "1"}}).has_value());
    CHECK_FALSE(import_file(kUbuntu + std::string(std::size_t{10} << 20U, 'x')).has_value());
}

TEST_CASE("files that the runtime hides are named, others are copied") {
    const std::string text = "Bootstrap: docker\nFrom: a:1\n%files\n  x /dev/x\n  y\n  z /opt/z\n";
    CHECK(messages_from(text) == Texts{"4 not converted: 'x'"});
    const Recipe recipe = recipe_from(text);
    REQUIRE(recipe.files.size() == 2);
    CHECK(recipe.files[0].to == "/y");
    CHECK(recipe.files[1].to == "/opt/z");
}

TEST_CASE("files for /tmp and /var/tmp wait elsewhere until a step moves them there") {
    const std::string text =
        "Bootstrap: docker\nFrom: a:1\n%setup\n  mkdir $APPTAINER_ROOTFS/tmp/f\n"
        "%files\n  x /tmp/x\n  y /var/tmp/\n  z /tmp/f\n  w /tmp\n"
        "%post\n  sh /tmp/x\n";
    CHECK(messages_from(text).empty());
    const Recipe recipe = recipe_from(text);
    REQUIRE(recipe.files.size() == 4);
    CHECK(recipe.files[0].to == "/opt/cybelectl/import/files/tmp/x");
    CHECK(recipe.files[1].to == "/opt/cybelectl/import/files/var/tmp/");
    CHECK(recipe.files[2].to == "/opt/cybelectl/import/files/tmp/f/");
    CHECK(recipe.files[3].to == "/opt/cybelectl/import/files/tmp/");
    REQUIRE(recipe.steps.size() == 3);
    CHECK(recipe.steps[0].run == "mkdir -p '/tmp/f'\n");
    CHECK(recipe.steps[1].run.find("cp -a \"$file\" $folder/") != std::string::npos);
    CHECK(recipe.steps[1].run.ends_with("rm -rf /opt/cybelectl/import/files\n"));
}

TEST_CASE("letters in Latin-1 become the same letters in UTF-8, which is said") {
    const std::string text = kUbuntu + "# caf\xe9\necho 'na\xefve \x80' >/a\necho \u00e9\n";
    CHECK(messages_from(text) == Texts{"5 converted, but: letters in Latin-1"});
    const Recipe recipe = recipe_from(text);
    CHECK(recipe.steps[0].run.find("echo 'na\u00efve \u20ac' >/a\necho \u00e9\n") !=
          std::string::npos);
    CHECK(messages_from(kUbuntu + "echo \x81\n") == Texts{"0 app.def is not a text"});
}

TEST_CASE("arguments are replaced by their values, and that is said") {
    const std::string text =
        "Bootstrap: docker\nFrom: ubuntu:{{ v }}\n%arguments\nv=22.04\n%post\necho {{ v }}\n";
    CHECK(messages_from(text) == Texts{"2 converted, but: `{{ v }}` is replaced by its value"});
    const auto other = import_file(text, {{"v", "24.04"}});
    REQUIRE(other.has_value());
    CHECK(other->text.find("base: ubuntu:24.04") != std::string::npos);
}

TEST_CASE("here-documents without an end are found") {
    const std::pair<std::string, std::optional<std::size_t>> rows[] = {
        {"cat <<EOF\nx\nEOF\n", std::nullopt},
        {"cat <<-'E'\n\tx\n\tE\n", std::nullopt},
        {"a\ncat <<EOF\n  EOF\n", 1},
        {"echo '<<EOF'\n# <<EOF\necho $((1<<3))\n", std::nullopt},
        {"cat <<A <<B\n1\nA\n2\nB\n", std::nullopt},
        {"cat <<A <<B\n1\nA\n2\n", 0},
    };
    for (const auto& [script, line] : rows) {
        CAPTURE(script);
        CHECK(open_document(script) == line);
    }
}

TEST_CASE("a label that ends with = or : is named with the name that it should have") {
    const std::string name = R"(license="GPL-2.0")";
    CHECK(check_label(name).help == "name it `license`; what follows is its value");
    CHECK(check_label("Maintainer:").help == "name it `Maintainer`; what follows is its value");
    CHECK(check_label("a b=c").help == "write `a-b-c`");
    CHECK(check_label("license").help.empty());
}

TEST_CASE("tabs in %help become blanks") {
    const auto imported =
        import_file("Bootstrap: docker\nFrom: debian:12\n%help\n\ta\t- one\n\tb\t- two\n");
    REQUIRE(imported.has_value());
    CHECK(imported->text.find("\nhelp: a - one b - two\n") != std::string::npos);
}

TEST_CASE("a label whose value has a tab is named, and the file imported") {
    const auto imported =
        import_file("Bootstrap: docker\nFrom: debian:12\n%labels\na b\t\t# c\nd e\n");
    REQUIRE(imported);
    CHECK(imported->text.find("line 4: label 'a'") != std::string::npos);
    CHECK(imported->text.find("d: e") != std::string::npos);
}

TEST_CASE("the rendered %post runs the same commands in their order") {
    const Texts commands{"make -j4",
                         "  cd /opt",
                         "if true; then\n  true\nfi",
                         "cat > /x <<'EOF'\n  text \\\n\nEOF",
                         "echo 'a  b' # c",
                         "export A=\"$B\"",
                         "apt-get update",
                         "apt-get install -y zip",
                         "wget -q u | tar xz",
                         "# comment",
                         ""};
    CHECK(rc::check("order", [&] {
        const auto front = *rc::gen::container<Texts>(rc::gen::element<std::string>(
            "apt-get update", "apt-get install -y jq", "export B=1", "apt-get clean", "# c", ""));
        const auto body = *rc::gen::container<Texts>(rc::gen::elementOf(commands));
        std::string rest = "./configure --prefix=/opt\n";
        for (const auto& one : body) {
            rest += one + "\n";
        }
        while (rest.ends_with("\n\n")) {
            rest.pop_back();
        }
        std::string post;
        for (const auto& one : front) {
            post += one + "\n";
        }
        const std::string text = rendered_from(kUbuntu + post + rest).stages.back().joined("post");
        const auto at = text.find(rest);
        RC_ASSERT(at != std::string::npos);
        const bool installs = post.find("install") != std::string::npos;
        RC_ASSERT(!installs || text.find(" jq") < at);
        RC_ASSERT(post.find("export B=1") == std::string::npos || text.find("export B=1") < at);
    }));
}
