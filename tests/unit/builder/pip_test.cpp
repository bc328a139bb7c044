// SPDX-License-Identifier: Apache-2.0
#include "builder/steps/pip.hpp"
#include "temporary.hpp"

using namespace cybele;
using namespace cybele::builder;

TEST_CASE("pip's file: sections, spellings, folded values; paths of the machine stay out") {
    const auto settings = read_pip_settings("# a comment\n"
                                            "[global]\n"
                                            "Index_URL = https://a.example/simple\n"
                                            "timeout: 60\n"
                                            "cert = /etc/own.pem\n"
                                            "find-links =\n"
                                            "    /srv/wheels\n"
                                            "    https://a.example/wheels\n"
                                            "; another\n"
                                            "no-index = true\n"
                                            "[install]\n"
                                            "timeout = 90\n"
                                            "extra-index-url = https://b.example/simple\n"
                                            "  https://c.example/simple\n"
                                            "[download]\n"
                                            "retries = 9\n");
    CHECK(settings ==
          EnvironmentMap{
              {"PIP_INDEX_URL", "https://a.example/simple"},
              {"PIP_EXTRA_INDEX_URL", "https://b.example/simple https://c.example/simple"},
              {"PIP_FIND_LINKS", "https://a.example/wheels"},
              {"PIP_TIMEOUT", "90"},
          });
    CHECK(read_pip_settings("").empty());
    CHECK(read_pip_settings("index-url = https://nowhere.example\n[broken\n = \n  more\n").empty());
}

TEST_CASE("pip's settings: the machine, the user, a named file, the environment; later ones win") {
    const auto dir = temporary();
    const auto home = dir.path() / "home";
    put(dir.path() / "etc/xdg/pip/pip.conf", "[global]\nretries = 1\ntimeout = 1\n");
    put(dir.path() / "etc/pip.conf", "[global]\nindex-url = https://etc.example\ntimeout = 2\n");
    put(home / ".config/pip/pip.conf", "[global]\ntrusted-host = user.example\ntimeout = 3\n");
    put(dir.path() / "own.conf", "[global]\ntimeout = 4\n");
    Environment environment;
    environment.set("HOME", home.native());
    const auto settings = [&] { return pip_settings(environment, dir.path() / "etc"); };
    CHECK(settings() == EnvironmentMap{{"PIP_RETRIES", "1"},
                                       {"PIP_INDEX_URL", "https://etc.example"},
                                       {"PIP_TRUSTED_HOST", "user.example"},
                                       {"PIP_TIMEOUT", "3"}});
    environment.set("PIP_CONFIG_FILE", (dir.path() / "own.conf").native());
    CHECK(settings().at("PIP_TIMEOUT") == "4");
    environment.set("PIP_DEFAULT_TIMEOUT", "5");
    environment.set("PIP_INDEX_URL", "https://variable.example");
    environment.set("PIP_FIND_LINKS", "/srv/wheels");
    CHECK(settings().at("PIP_TIMEOUT") == "5");
    CHECK(settings().at("PIP_INDEX_URL") == "https://variable.example");
    CHECK(settings().count("PIP_FIND_LINKS") == 0);
    environment.set("PIP_CONFIG_FILE", "/dev/null");
    CHECK(settings() ==
          EnvironmentMap{{"PIP_INDEX_URL", "https://variable.example"}, {"PIP_TIMEOUT", "5"}});
}

TEST_CASE("pip's certificates: those of a later file, and before all of them PIP_CERT") {
    const auto dir = temporary();
    const auto home = dir.path() / "home";
    Environment environment;
    environment.set("HOME", home.native());
    const auto certificates = [&] { return pip_certificates(environment, dir.path() / "etc"); };
    CHECK(certificates().empty());
    put(dir.path() / "etc/pip.conf", "[global]\ncert = /etc/site.pem\n");
    CHECK(certificates() == "/etc/site.pem");
    put(home / ".config/pip/pip.conf", "[download]\ncert = /other.pem\n");
    CHECK(certificates() == "/etc/site.pem");
    put(home / ".pip/pip.conf", "[global]\ncert = /a.pem\n[install]\ncert = /home/own.pem\n");
    CHECK(certificates() == "/home/own.pem");
    environment.set("PIP_CONFIG_FILE", "/dev/null");
    CHECK(certificates().empty());
    environment.set("PIP_CERT", "/variable.pem");
    CHECK(certificates() == "/variable.pem");
}
