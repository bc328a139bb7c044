// SPDX-License-Identifier: Apache-2.0
#include "recipes/import/commands.hpp"
#include "recipes/import/dockerfile_words.hpp"
#include "recipes/import/import.hpp"
#include "recipes/model/recipe.hpp"
#include "support/process.hpp"
#include "tests/unit/support/document_golden.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <rapidcheck.h>

using namespace cybele;
using namespace cybele::recipes;

namespace {

Result<Imported> import_text(const std::string& text, bool lifts_all = false) {
    ImportRequest request;
    request.text = text;
    request.file = "Dockerfile";
    request.name = "app";
    request.lifts_all = lifts_all;
    request.look = [](const std::filesystem::path& path) {
        return path == "src" ? PathKind::kDirectory
               : path == "f" ? PathKind::kFile
                             : PathKind::kUnknown;
    };
    return import_recipe(request);
}

/// The Recipe that comes out, read.
Recipe recipe_of(const std::string& text, bool lifts_all = false) {
    const auto imported = import_text(text, lifts_all);
    REQUIRE_MESSAGE(imported.has_value(), test::told(imported));
    auto recipe = read_recipe(imported->text, "app.yaml");
    REQUIRE_MESSAGE(recipe.has_value(), test::told(recipe));
    return *recipe;
}

std::vector<std::string> messages_of(const std::string& text) {
    const auto imported = import_text(text);
    std::vector<std::string> list;
    for (const auto& fault : imported ? imported->notes : imported.error().faults()) {
        list.push_back(std::to_string(fault.where ? fault.where->line : 0) + ":" +
                       std::to_string(fault.where ? fault.where->column : 0) + " " + fault.message);
    }
    return list;
}

using Texts = std::vector<std::string>;

} // namespace

TEST_CASE("installations become packages where that is the same, and stay steps elsewhere") {
    struct Table {
        const char* base;
        const char* run;
        Texts system;
        std::size_t steps;
    };
    const Table rows[] = {
        {"debian:12",
         "apt-get update && apt-get install -y --no-install-recommends jq=1.6 zip",
         {"jq=1.6", "zip"},
         0},
        {"debian:12", "apt-get update && apt-get install -y jq", {}, 1},
        {"debian:12",
         "set -eux; apt-get update; apt-get install -y --no-install-recommends jq; rm -rf "
         "/var/lib/apt/lists/*",
         {"jq"},
         0},
        {"debian:12", "apt-get update; apt-get install -y --no-install-recommends jq", {}, 1},
        {"debian:12", "apt-get install -y --no-install-recommends jq && make all", {"jq"}, 1},
        {"debian:12", "apt-get install -y --no-install-recommends jq || true", {}, 1},
        {"debian:12",
         "apt-get install -y --no-install-recommends jq && echo && apt-get install -y zip",
         {},
         1},
        {"debian:12", "apt-get install -y --no-install-recommends 'lib*'", {}, 1},
        {"debian:12", "apt-get install -y --no-install-recommends $(cat list)", {}, 1},
        {"debian:12", "apt-get install -y --no-install-recommends -t sid jq", {}, 1},
        {"debian:12",
         "DEBIAN_FRONTEND=noninteractive apt-get -y install -o APT::Install-Recommends=false jq",
         {"jq"},
         0},
        {"rockylinux/rockylinux:9",
         "dnf install -y --setopt=install_weak_deps=0 --nodocs gcc && dnf clean all",
         {"gcc"},
         0},
        {"rockylinux/rockylinux:9", "yum install -y gcc", {}, 1},
        {"opensuse/leap:15.6", "zypper -n install --no-recommends gcc", {"gcc"}, 0},
        {"alpine:3.24", "apk add --no-cache gcc musl-dev", {"gcc", "musl-dev"}, 0},
        {"alpine:3.24", "apk add --virtual .build gcc", {}, 1},
        {"who/knows:1", "apt-get install -y --no-install-recommends jq", {}, 1},
    };
    for (const auto& row : rows) {
        CAPTURE(row.run);
        const Recipe recipe =
            recipe_of("FROM " + std::string(row.base) + "\nRUN " + row.run + "\n");
        CHECK(recipe.packages.system == row.system);
        CHECK(recipe.steps.size() == row.steps);
    }
    const Recipe lifted = recipe_of(
        "FROM debian:12\nRUN apt-get install -y jq\nRUN pip install numpy==1.26.4\n", true);
    CHECK(lifted.packages.system == Texts{"jq"});
    CHECK(lifted.packages.pip == Texts{"numpy==1.26.4"});
}

TEST_CASE("packages are lifted in front of everything else alone") {
    const std::string apt = "RUN apt-get install -y --no-install-recommends jq\n";
    CHECK(recipe_of("FROM debian:12\nCOPY f /etc/apt/f\n" + apt).packages.system.empty());
    CHECK(recipe_of("FROM debian:12\nRUN echo\n" + apt).packages.system.empty());
    CHECK(recipe_of("FROM debian:12\nWORKDIR /w\n" + apt).packages.system == Texts{"jq"});
    const Recipe stage = recipe_of("FROM debian:12 AS a\nRUN echo\nFROM a\n" + apt);
    CHECK(stage.packages.system.empty());
    CHECK(stage.steps.size() == 2);
}

TEST_CASE("files are copied directly where folder or file makes no difference") {
    struct Table {
        const char* copy;
        const char* from;
        const char* to; ///< nullptr: they wait for a step
    };
    const Table rows[] = {{"COPY f /opt/g", "f", "/opt/g"},
                          {"COPY f /opt/", "f", "/opt/"},
                          {"COPY f .", "f", "/w/"},
                          {"COPY src /opt/s", "src/.", "/opt/s"},
                          {"COPY src /opt/src", "src", "/opt/"},
                          {"COPY a /opt/a", "a", "/opt/"},
                          {"COPY . /opt/all", ".", "/opt/all"},
                          {"COPY a /opt/b", nullptr, nullptr},
                          {"COPY *.c /opt/", nullptr, nullptr},
                          {"COPY f /tmp/f", nullptr, nullptr},
                          {"COPY --chown=1 f /f", nullptr, nullptr},
                          {"ADD f.tar /opt/", nullptr, nullptr},
                          {"COPY [\"f\", \"/opt/a b\"]", "f", "/opt/a b"}};
    for (const auto& row : rows) {
        CAPTURE(row.copy);
        const Recipe recipe =
            recipe_of("FROM debian:12\nWORKDIR /w\n" + std::string(row.copy) + "\n");
        REQUIRE(recipe.files.size() == 1);
        if (row.from == nullptr) {
            CHECK(recipe.files[0].to.starts_with("/opt/cybelectl/import/1"));
            CHECK(recipe.steps.size() == 2);
            continue;
        }
        CHECK(recipe.files[0].from == row.from);
        CHECK(recipe.files[0].to == row.to);
        CHECK(recipe.steps.size() == 1);
    }
    const Recipe late = recipe_of("FROM debian:12\nRUN true\nCOPY f /f\n");
    CHECK(late.files[0].to == "/opt/cybelectl/import/1/");
    CHECK(late.steps.size() == 2);
}

TEST_CASE("a step that puts waiting files in place follows the Dockerfile's rules") {
    // the step of the Recipe, run in a folder of its own with the places under it; of src and f the
    // importer knows what they are, of dir and file not
    struct Table {
        const char* copy;
        const char* wanted;
    };
    const Table rows[] = {{"COPY dir DEST/new", "new/in new/sub/deep there/old"},
                          {"COPY dir DEST/there", "there/in there/old there/sub/deep"},
                          {"COPY dir DEST/there/", "there/in there/old there/sub/deep"},
                          {"COPY file DEST/there/", "there/file there/old"},
                          {"COPY file DEST/new", "new there/old"},
                          {"COPY file DEST/deep/new", "deep/new there/old"},
                          {"COPY file dir DEST/new/", "new/file new/in new/sub/deep there/old"},
                          {"COPY src DEST/new", "new/in new/sub/deep there/old"},
                          {"COPY src DEST/there", "there/in there/old there/sub/deep"},
                          {"COPY src DEST/there/", "there/in there/old there/sub/deep"},
                          {"COPY f DEST/there/", "there/f there/old"},
                          {"COPY f DEST/new", "new there/old"},
                          {"COPY f DEST/deep/new", "deep/new there/old"},
                          {"COPY f src DEST/new/", "new/f new/in new/sub/deep there/old"}};
    for (const auto& row : rows) {
        CAPTURE(row.copy);
        const auto folder = TempDirectory::make("/tmp", "cybelectl-import.");
        REQUIRE(folder.has_value());
        const std::string root = folder->path().native();
        std::string copy = row.copy;
        copy.replace(copy.find("DEST"), 4, root + "/image");
        const Recipe recipe = recipe_of("FROM debian:12\nRUN true\n" + copy + "\n");
        const std::string place = "/opt/cybelectl/import/1";
        std::string script = recipe.steps.back().run;
        const bool is_known = copy.find("COPY f ") == 0 || copy.find("COPY src ") == 0;
        CHECK((script.find("for one in") == std::string::npos) == is_known);
        for (auto at = script.find(place); at != std::string::npos;
             at = script.find(place, at + 1)) {
            script.replace(at, place.size(), root + "/wait");
        }
        std::string commands =
            fmt::format("set -eu; cd {}; mkdir -p wait image/there context/dir/sub; "
                        ": >image/there/old; : >context/file; : >context/f; : >context/dir/in; "
                        ": >context/dir/sub/deep; cp -r context/dir context/src; ",
                        root);
        for (const auto& file : recipe.files) {
            commands += "cp -r context/" + file.from + " wait/; ";
        }
        Command command;
        command.argv = {"/bin/sh",
                        "-eu",
                        "-c",
                        fmt::format("{}\n{}cd {}/image; find . -type f | sort | sed 's,^./,,' | "
                                    "tr '\\n' ' '",
                                    commands,
                                    script,
                                    root)};
        const auto outcome = run_process(command);
        REQUIRE(outcome.has_value());
        CHECK_MESSAGE(outcome->ok(), outcome->errors);
        CHECK(outcome->output == std::string(row.wanted) + " ");
    }
}

TEST_CASE("the line of each step is known, also of those of a stage that another is made from") {
    const auto imported = import_text("FROM debian:12 AS a\n"
                                      "WORKDIR /w\n"
                                      "RUN one && \\\n    two\n"
                                      "FROM a AS b\n"
                                      "COPY gone /else\n"
                                      "RUN three\n"
                                      "FROM debian:12\n"
                                      "COPY --from=b /x /x\n"
                                      "RUN four\n");
    REQUIRE(imported.has_value());
    using Lines = std::vector<std::size_t>;
    CHECK(imported->step_lines == std::vector<Lines>{Lines{2, 3, 6, 7}, Lines{10}});
}

TEST_CASE("variables: values, arguments of the Recipe, and what nobody knows") {
    const Recipe recipe =
        recipe_of("ARG REL=12\nFROM debian:${REL}\nARG TOOL_VERSION=1.2\nARG lower=x\n"
                  "ENV A=1 B=\"x y\"\nENV C=$A-${B}-${TOOL_VERSION} D='$A' E=${Z:-z}\n"
                  "ENV PATH=\"/opt/a/bin:$PATH\" LIB=${LIB:+$LIB:}/l\nENV PATH /opt/b:$PATH\n"
                  "RUN echo $lower\n");
    CHECK(recipe.base->distribution == "debian:12");
    CHECK(recipe.args.at("tool-version") == "1.2");
    std::map<std::string, std::string> values;
    for (const auto& [name, value] : recipe.environment) {
        values[name] = value.value;
    }
    CHECK(values["C"] == "1-x y-1.2");
    CHECK(values["D"] == "$A");
    CHECK(values["E"] == "z");
    CHECK(values["PATH"] == "/opt/b:/opt/a/bin");
    CHECK(values["LIB"] == "/l");
    CHECK(recipe.steps.at(0).run == "export lower=x\necho $lower\n");
    CHECK(messages_of("FROM debian:12\nENV A=$NOBODY\n") ==
          Texts{"2:7 not converted: the value of A"});
    // What no Recipe can say of a search path is named at its line.
    for (const char* path : {"bin", "/a::/b", "/a:", "*/x:$PATH", "$PATH:b"}) {
        CAPTURE(path);
        CHECK(messages_of("FROM debian:12\nENV PATH=" + std::string(path) + "\n") ==
              Texts{"2:10 not converted: the value of PATH"});
    }
    CHECK(messages_of("FROM debian:12\nENV PATH=/a:/b MANPATH=man\n").empty());
    CHECK(messages_of("FROM debian:12\nENV A=b API_TOKEN=abc DB_PASSWORD=\"x y\"\n") ==
          Texts{"2:19 converted, but: the value of API_TOKEN",
                "2:35 converted, but: the value of DB_PASSWORD"});
    CHECK(messages_of("FROM debian:12\nENV ALLOW_EMPTY_PASSWORD=yes API_TOKEN=\n").empty());
    CHECK(messages_of("FROM debian:12\nCOPY --from=nowhere /a /b\n") ==
          Texts{"2:6 converted, but: files of 'nowhere'"});
    CHECK(messages_of("FROM debian:12\nCOPY --from=busybox:1.36 /a /b\n").empty());
}

TEST_CASE("the shell of a step is as strict as it was") {
    const auto step = [](const std::string& text) {
        return recipe_of("FROM debian:12\n" + text + "\n").steps.back();
    };
    CHECK(step("RUN a && b").run == "a && b");
    CHECK(step("RUN a; b").run == "set +e\na; b\n");
    CHECK(step("RUN set -e; a; b").run == "set -e; a; b");
    CHECK(step("RUN echo $X").run == "set +u\necho $X\n");
    CHECK(step("RUN echo ${X:-1} '$Y'").run == "echo ${X:-1} '$Y'");
    CHECK(step("SHELL [\"/bin/bash\", \"-c\"]\nRUN a | b").run == "set +o pipefail\na | b\n");
    CHECK(step("SHELL [\"/bin/bash\", \"-c\"]\nRUN a | b").shell == "bash");
    CHECK(step("SHELL [\"/bin/bash\", \"-eo\", \"pipefail\", \"-c\"]\nRUN a | b; c").run ==
          "a | b; c");
    CHECK(step("SHELL [\"conda\", \"run\"]\nRUN it's").run == "conda run 'it'\\''s'");
    CHECK(step("RUN [\"a\", \"b c\"]").run == "a 'b c'");
}

TEST_CASE("ENTRYPOINT and CMD as the runscript: with arguments and without") {
    struct Table {
        const char* text;
        const char* without;
        const char* with; ///< arguments `x y`
    };
    const Table rows[] = {
        {"ENTRYPOINT [\"echo\", \"a\"]", "a\n", "a x y\n"},
        {"ENTRYPOINT [\"echo\", \"a\"]\nCMD [\"b c\"]", "a b c\n", "a x y\n"},
        {"ENTRYPOINT echo a", "a\n", "a\n"},
        {"CMD [\"echo\", \"b\"]", "b\n", nullptr},
        {"CMD echo b; echo c", "b\nc\n", nullptr},
    };
    for (const auto& row : rows) {
        CAPTURE(row.text);
        const auto rendered =
            render_definition(recipe_of("FROM debian:12\n" + std::string(row.text) + "\n"));
        REQUIRE(rendered.has_value());
        const std::string script = rendered->definition.stages.back().joined("runscript");
        for (const bool has_arguments : {false, true}) {
            if (has_arguments && row.with == nullptr) {
                continue;
            }
            Command command;
            command.argv = {"/bin/sh", "-c", script, "run"};
            if (has_arguments) {
                command.argv.insert(command.argv.end(), {"x", "y"});
            }
            const auto outcome = run_process(command);
            REQUIRE(outcome.has_value());
            CHECK(outcome->output == (has_arguments ? row.with : row.without));
        }
    }
}

TEST_CASE("stages: those that are needed, by name or number, from images too") {
    const Recipe recipe =
        recipe_of("FROM debian:12 AS One\nRUN one\nFROM debian:13 AS unused\nRUN two\n"
                  "FROM alpine:3.24\nRUN three\nFROM debian:12\n"
                  "COPY --from=one /a /a\nCOPY --from=2 /b /b\nCOPY --from=busybox:1 /c /c\n");
    REQUIRE(recipe.stages.size() == 3);
    CHECK(recipe.stages[0].name == "from-busybox");
    CHECK(recipe.stages[1].name == "one");
    CHECK(recipe.stages[2].name == "stage-2");
    CHECK(recipe.files.at(0).stage == "one");
    CHECK(recipe.files.at(2).stage == "from-busybox");
    CHECK(messages_of("FROM debian:12 AS u\nRUN x\nFROM debian:12\n") ==
          Texts{"1:1 not converted: stage 'u'"});
}

TEST_CASE("faults of a Dockerfile: all at once, each with its place and a remedy") {
    const std::string text = "RUN early\nFROM debian:12\nFORM x\nCOPY only\nSHELL bash\n"
                             "COPY --form=a b c\nENV lonely\nRUN <<EOF\nno end\n";
    CHECK(messages_of(text) == Texts{"1:1 RUN before the first FROM",
                                     "3:1 no instruction 'FORM'",
                                     "8:5 the here-document has no end"});
    CHECK(messages_of("FROM debian:12\nCOPY only\nSHELL bash\nCOPY --form=a b c\nENV lonely\n") ==
          Texts{"2:1 COPY names no destination",
                "3:7 SHELL is not a list of words",
                "4:6 COPY has no flag --form",
                "5:5 ENV gives 'lonely' no value"});
    CHECK(messages_of("FROM debian:12 AS build\nFROM debian:12\nCOPY --from=biuld /a /a\n") ==
          Texts{"3:6 no stage 'biuld'"});
    CHECK(messages_of("FROM debian:12 AS a\nCOPY --from=b /x /x\nFROM debian:12 AS b\nCOPY "
                      "--from=a /x /x\n") == Texts{"2:6 stage 'b' does not come before this one"});
    CHECK(messages_of("FROM debian:12 AS a\nFROM debian:13 AS A\n") ==
          Texts{"2:19 stage 'a' appears two times"});
    CHECK(messages_of("") == Texts{"1:1 there is no FROM"});
    CHECK(messages_of("FROM ${X}\n") == Texts{"1:6 FROM needs 'X'"});
    CHECK(messages_of("FROM debian:12\nRUN a\x01b\n") == Texts{"2:6 a control character"});
    const auto refused = import_text(text);
    REQUIRE_FALSE(refused.has_value());
    for (const auto& fault : refused.error().faults()) {
        CHECK_FALSE(fault.help.empty());
        CHECK(fault.code == ErrorCode::kInput);
    }
}

TEST_CASE("a download has a checksum, and what is wrong with a given one is said") {
    const auto help_of = [](const std::string& flag) {
        const auto imported =
            import_text("FROM debian:12\nADD " + flag + "https://a.example/x /x\n");
        REQUIRE(imported.has_value());
        REQUIRE(imported->notes.size() == 1);
        return imported->notes.front().because + "; " + imported->notes.front().help;
    };
    CHECK(help_of("") == "what is downloaded must be known by its checksum; add "
                         "`--checksum=sha256:…`, or name it in `packages.source`");
    const std::string wrong = "its checksum is not `sha256:` and 64 hexadecimal digits; write what "
                              "`sha256sum` prints for the file that you trust";
    CHECK(help_of("--checksum=sha256:abcd ") == wrong);
    CHECK(help_of("--checksum=md5:d41d8cd98f00b204e9800998ecf8427e ") == wrong);
}

TEST_CASE("what a command has besides is remarked only where the command stays") {
    const std::string cache = "RUN --mount=type=cache,target=/c ";
    const auto stays = import_text("FROM debian:12\n" + cache + "x\n");
    REQUIRE(stays.has_value());
    REQUIRE(stays->notes.size() == 1);
    CHECK(stays->notes.front().message.find("type cache") != std::string::npos);
    const auto left_out = import_text("FROM debian:12\n" + cache + "--mount=type=secret,id=t x\n");
    REQUIRE(left_out.has_value());
    REQUIRE(left_out->notes.size() == 1);
    CHECK(left_out->notes.front().message.find("type secret") != std::string::npos);
}

TEST_CASE("any Dockerfile of these instructions: every line is carried or named") {
    const Texts pieces{"RUN a \\\n  && b\n",
                       "RUN a; b\n",
                       "RUN <<EOF\nx\n# y\nEOF\n",
                       "RUN --mount=type=bind,target=/x y\n",
                       "COPY f /f\n",
                       "COPY --from=0 /x /y\n",
                       "COPY <<E /e\n$UNKNOWN\nE\n",
                       "ADD http://files.example/x /x\n",
                       "ENV A=1 B=$C\n",
                       "ENV PATH=/x:$PATH\n",
                       "ARG V=1\n",
                       "ARG v\n",
                       "WORKDIR w\n",
                       "WORKDIR $V/w\n",
                       "USER me\n",
                       "EXPOSE 80\n",
                       "LABEL a=b \"c d\"=e\n",
                       "CMD a\n",
                       "CMD [\"a\"]\n",
                       "ENTRYPOINT [\"b\"]\n",
                       "SHELL [\"/bin/bash\", \"-c\"]\n",
                       "HEALTHCHECK CMD x\n",
                       "ONBUILD RUN x\n",
                       "MAINTAINER me\n",
                       "VOLUME /v\n",
                       "# a comment\n",
                       "\n",
                       "FROM debian:12 AS next\n",
                       "FROM scratch\n",
                       "RUN apt-get install -y --no-install-recommends jq && x\n"};
    rc::check("", [&] {
        const auto chosen = *rc::gen::container<std::vector<std::size_t>>(
            rc::gen::inRange<std::size_t>(0, pieces.size()));
        std::string text = "FROM debian:12\n";
        for (const auto index : chosen) {
            text += pieces[index];
        }
        const auto imported = import_text(text);
        if (!imported) { // COPY --from=0 in the first stage
            for (const auto& fault : imported.error().faults()) {
                RC_ASSERT(fault.code == ErrorCode::kInput);
                RC_ASSERT(fault.message.find("does not come before") != std::string::npos ||
                          fault.message.find("appears two times") != std::string::npos);
            }
            return;
        }
        std::size_t filled = 0;
        std::size_t at = 0;
        while (at < text.size()) {
            const auto end = text.find('\n', at);
            filled += end > at ? 1 : 0;
            at = end + 1;
        }
        std::size_t carried = 0;
        std::size_t named = 0;
        for (const auto& line : imported->lines) {
            carried += !line.is_blank && line.is_carried ? 1 : 0;
            named += !line.is_blank && !line.is_carried ? 1 : 0;
        }
        RC_ASSERT(carried + named == filled);
        RC_ASSERT(named == 0 || imported->lost > 0);
    });
}

TEST_CASE("any change of a Dockerfile is read or refused with places") {
    const std::string text = test::read(std::filesystem::path(CYBELE_TESTS_DIR) /
                                        "unit/recipes/data/import/everything.dockerfile");
    rc::check("", [&] {
        std::string changed = text;
        for (int i = *rc::gen::inRange(1, 6); i > 0; --i) {
            const auto at = *rc::gen::inRange<std::size_t>(0, changed.size());
            const auto size = *rc::gen::inRange<std::size_t>(0, 12);
            const std::string part = *rc::gen::elementOf(Texts{"",
                                                               "\n",
                                                               "`",
                                                               "\\",
                                                               "\"",
                                                               "'",
                                                               "${",
                                                               "}",
                                                               "<<E",
                                                               "--from=",
                                                               "[",
                                                               "#",
                                                               " ",
                                                               "FROM "});
            changed.replace(at, std::min(size, changed.size() - at), part);
        }
        const auto imported = import_text(changed);
        if (!imported) {
            for (const auto& fault : imported.error().faults()) {
                RC_ASSERT(fault.code == ErrorCode::kInput);
                RC_ASSERT(fault.where.has_value());
                RC_ASSERT(fault.where->file == "Dockerfile");
            }
        }
    });
}
