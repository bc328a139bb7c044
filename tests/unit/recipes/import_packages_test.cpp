// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/recipes/imported_definition.hpp"

#include <fmt/format.h>

using namespace cybele;
using namespace cybele::recipes;

TEST_CASE("installations in front of %post become packages, with what they recommend") {
    struct Row {
        const char* from;
        const char* post;
        Texts system;
        bool recommends;
        const char* manager;
        std::size_t steps;
    };
    const Row rows[] = {
        {"ubuntu:22.04", "apt-get update\napt-get install -y jq zip\n", {"jq", "zip"}, true, "", 0},
        {"ubuntu:22.04",
         "apt-get update && apt-get install -y --no-install-recommends jq=1.6\n",
         {"jq=1.6"},
         false,
         "",
         0},
        {"ubuntu:22.04",
         "export LC_ALL=C\napt-get update\napt-get install -y jq\nmake\n",
         {"jq"},
         true,
         "",
         1},
        {"ubuntu:22.04", "make\napt-get install -y jq\n", {}, false, "", 1},
        {"ubuntu:22.04", "apt-get install -y jq || true\n", {}, false, "", 1},
        {"ubuntu:22.04", "apt-get install -y $LIST\n", {}, false, "", 1},
        {"ubuntu:22.04", "export http_proxy=http://p:3\napt-get install -y jq\n", {}, false, "", 1},
        {"ubuntu:22.04", "yum install -y jq\n", {}, false, "", 1},
        {"ubuntu:16.04",
         "apt-get -y update\napt-get -y install \\\n  jq \\\n  zip\n",
         {"jq", "zip"},
         true,
         "apt",
         0},
        {"centos:7", "yum -y install gcc\nyum clean all\n", {"gcc"}, true, "yum", 0},
        {"rockylinux/rockylinux:9", "dnf -yq install gcc\n", {"gcc"}, true, "", 0},
        {"centos:7",
         "yum -y install epel-release\nyum -y install jq\n",
         {"epel-release"}, // may add a repository, so the rest waits for it
         true,
         "yum",
         1},
        {"ubuntu:22.04",
         "apt-get update \\\n    && apt-get install -y jq lsb-release \\\n    && make\n",
         {"jq", "lsb-release"},
         true,
         "",
         1},
        {"rockylinux/rockylinux:9", "dnf install -y gcc && make\n", {"gcc"}, true, "", 1},
        {"alpine:3.22", "apk add --no-cache jq\n", {"jq"}, false, "", 0},
        {"ubuntu:22.04", // the time zone stays, whether it is set before the packages or after
         "TZ=Etc/UTC\nln -snf /usr/share/zoneinfo/$TZ /etc/localtime && echo $TZ > /etc/timezone "
         "&& apt-get install -y jq\n",
         {"jq"},
         true,
         "",
         1},
        {"ubuntu:22.04", "export TZ=Etc/UTC\napt-get install -y jq\n", {}, false, "", 1},
        {"ubuntu:22.04", "echo $(make) > /etc/timezone\napt-get install -y jq\n", {}, false, "", 1},
    };
    for (const auto& row : rows) {
        CAPTURE(row.post);
        const Recipe recipe = recipe_from(std::string("Bootstrap: docker\nFrom: ") + row.from +
                                          "\n%post\n" + row.post);
        CHECK(recipe.packages.system == row.system);
        CHECK(recipe.packages.recommends == row.recommends);
        CHECK(recipe.packages.manager == row.manager);
        CHECK(recipe.steps.size() == row.steps);
    }
}

TEST_CASE("what has the same effect after the packages stays a step, and the packages are lifted") {
    const std::string install = "apt-get update\napt-get install -y jq\n";
    const std::vector<std::pair<const char*, std::string>> lifted = {
        {"ubuntu:22.04", "export PATH=/opt/conda/bin:$PATH\n"},
        {"ubuntu:22.04", "PATH=\"${PATH}:/usr/local/x/bin:/miniconda/bin\"\n"},
        {"ubuntu:22.04", "export LD_LIBRARY_PATH=/opt/x/lib:$LD_LIBRARY_PATH\n"},
        {"ubuntu:22.04",
         "PATH=/opt/a/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n"},
        {"own/image:1", ". /environment\necho 'A=1' >> /environment\nchmod +x /environment\n"},
        {"own/image:1", "echo \"export A=1\" >>$SINGULARITY_ENVIRONMENT\n"},
        {"own/image:1", "chmod -R 755 '/code' && chmod u+x /run.sh /usr/local/x/run\n"},
        {"own/image:1", "export MAKEFLAGS=\"-j$(nproc)\"\n"},
        {"own/image:1", "rm -rf /var/lib/apt/lists/*\nmkdir /data\n"},
    };
    for (const auto& [from, head] : lifted) {
        CAPTURE(head);
        const Recipe recipe = recipe_from(
            fmt::format("Bootstrap: docker\nFrom: {}\n\n%post\n{}{}make\n", from, head, install));
        CHECK(recipe.packages.system == Texts{"jq"});
        REQUIRE(recipe.steps.size() == 1);
        const std::string kept = head.starts_with("rm") ? "mkdir /data\n" : head;
        CHECK(recipe.steps[0].run.find(kept) != std::string::npos);
        CHECK(recipe.steps[0].run.ends_with("make\n"));
    }
    const std::vector<std::pair<const char*, std::string>> steps = {
        {"own/image:1", "export PATH=/opt/conda/bin:$PATH\n"}, // may be there, with a python
        {"ubuntu:22.04", "export PATH=/usr/local/bin:$PATH\n"},
        {"ubuntu:22.04", "export PATH=/opt/bin\n"},
        {"ubuntu:22.04", "export PATH=$TOOLS/bin:$PATH\n"},
        {"ubuntu:22.04", "chmod 1777 /tmp\n"},
        {"ubuntu:22.04", "chmod -R 777 /opt\n"},
        {"ubuntu:22.04", "chmod 755 $FILE\n"},
        {"ubuntu:22.04", "chmod -R 755 /usr/share/x\n"},
        {"ubuntu:22.04", "echo deb x > /etc/apt/sources.list\n"},
        {"ubuntu:22.04", "echo $(make) >> /environment\n"},
        {"ubuntu:22.04", "cat a >> /environment\n"},
        {"ubuntu:22.04", "export A=\"$(make)\"\n"},
        {"ubuntu:22.04", ". /opt/environment\n"},
    };
    for (const auto& [from, head] : steps) {
        CAPTURE(head);
        const Recipe recipe = recipe_from(
            fmt::format("Bootstrap: docker\nFrom: {}\n\n%post\n{}{}", from, head, install));
        CHECK(recipe.packages.system.empty());
    }
    const std::string copied =
        "Bootstrap: docker\nFrom: ubuntu:22.04\n%files\na /opt/a/bin/python3\n"
        "%post\nexport PATH=/opt/a/bin:$PATH\n" +
        install;
    CHECK(recipe_from(copied).packages.system.empty());
    const std::string file = "Bootstrap: localimage\nFrom: base.sif\n%post\n. /environment\n";
    CHECK(recipe_from(file + install).packages.system.empty());
}

TEST_CASE("files that change nothing of the installation leave the packages in front") {
    struct Row {
        const char* file;
        bool is_lifted;
    };
    const Row rows[] = {{"environment.yml /", true},
                        {"a/tool.py /", true},
                        {"src /usr/src/tool", true},
                        {". /", false},
                        {"etc /", false},
                        {"x/* /", false},
                        {"sources.list /etc/apt/", false},
                        {"apt /usr/bin/apt", false}};
    for (const auto& row : rows) {
        CAPTURE(row.file);
        const Recipe recipe = recipe_from(std::string("Bootstrap: docker\nFrom: ubuntu:22.04\n"
                                                      "%files\n    ") +
                                          row.file +
                                          "\n%post\n    apt-get update\n"
                                          "    apt-get install -y jq\n    make\n");
        CHECK(recipe.packages.system.empty() != row.is_lifted);
    }
}

TEST_CASE("a group of packages is installed after the packages that have names") {
    const std::string head = "Bootstrap: docker\nFrom: centos:7\n%post\n";
    for (const std::string group : {"yum -y groupinstall \"Development Tools\"\n",
                                    "yum group install -y 'Development Tools'\n"}) {
        const Recipe recipe = recipe_from(head + group + "yum -y install jq\n");
        CHECK(recipe.packages.system == Texts{"jq"});
        REQUIRE(recipe.steps.size() == 1);
        CHECK(recipe.steps[0].run.ends_with(group));
    }
    CHECK(recipe_from(kUbuntu + "yum groupinstall -y a\napt-get install -y jq\n")
              .packages.system.empty());
}

TEST_CASE("a base of the closed Singularity Hub is named and becomes a file") {
    const std::string text = "Bootstrap: shub\nFrom: user/tool-kit:1.0\n%post\ntrue\n";
    CHECK(recipe_from(text).base->image == "tool-kit.sif");
    CHECK(messages_from(text) == Texts{"2 converted, but: From: user/tool-kit:1.0"});
    CHECK(rendered_from(text).stages.back().header_value("bootstrap") == "localimage");
}

TEST_CASE("what installs more later reads the index again, which the packages' end removed") {
    const Recipe recipe = recipe_from(
        kUbuntu + "apt-get update\napt-get install -y jq\nmake\napt-get install -y zip\n");
    REQUIRE(recipe.steps.size() == 1);
    CHECK(recipe.steps[0].run ==
          "set +u\numask 0002\napt-get update\nmake\napt-get install -y zip\n");
}

TEST_CASE("recommended packages are installed by leaving the manager's options out") {
    const auto post = rendered_from(kUbuntu + "apt-get update\napt-get install -y jq\n")
                          .stages.back()
                          .joined("post");
    CHECK(post.find("apt-get install -y \\\n    jq\n") != std::string::npos);
    CHECK(post.find("--no-install-recommends") == std::string::npos);
}
