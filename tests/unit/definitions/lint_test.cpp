// SPDX-License-Identifier: Apache-2.0
#include "definitions/grammar/rules.hpp"
#include "definitions/lint/lint.hpp"
#include "definitions/lint/report.hpp"
#include "support/file.hpp"
#include "support/process.hpp"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace cybele;
using namespace cybele::definitions;

namespace {

const std::string kLintHead = "Bootstrap: localimage\nFrom: /b\n"; // lines 1 and 2

LintReport lint_of(const std::string& text, const LintOptions& options = {}) {
    return lint_definition(text, "x.def", options);
}

const Finding* find(const LintReport& report, std::string_view rule) {
    for (const Finding& finding : report.findings) {
        if (finding.rule == rule) {
            return &finding;
        }
    }
    return nullptr;
}

/// A text that breaks a rule, and one that does the same without breaking it.
struct LintRow {
    const char* rule;
    std::string bad;
    std::size_t line;
    std::string good;
    const char* dialect = "apptainer";
};

std::string post(const std::string& body) {
    return kLintHead + "%post\n" + body + "\n";
}
std::string environment(const std::string& body) {
    return kLintHead + "%environment\n" + body + "\n";
}
std::string docker(const std::string& from) {
    return "Bootstrap: docker\nFrom: " + from + "\n";
}

const std::vector<LintRow> kLintRows = {
    {"CD001", post("cat <<E\n%wheel ALL\nE"), 5, post("cat <<E\n${E-}%wheel ALL\nE")},
    {"CD002", post("cat <<E\nBootstrap: x\nE"), 5, post("cat <<E\n Bootstrap: x\nE")},
    {"CD003",
     kLintHead + "%arguments\na=1\n%post\necho 'x#y {{ a }}'\n",
     6,
     kLintHead + "%arguments\na=1\n%post\n# b {{ a }}\n"},
    {"CD004", kLintHead + "%enviroment\nexport A=1\n", 3, kLintHead + "%environment\nexport A=1\n"},
    {"CD005", "Bootstrap: localimage\nForm: /b\n", 2, kLintHead},
    {"CD006", kLintHead + " %post\ntrue\n", 3, kLintHead + "%post\ntrue\n"},
    {"CD007", post(std::string(64100, 'x')), 3, post(std::string(63000, 'x'))},
    {"CD008",
     "Bootstrap: localimage\nFrom: /x\\\n%post\ntrue\n",
     2,
     "Bootstrap: localimage\nFrom: /x\\\ny\n%post\ntrue\n"},
    {"CD009", "\xEF\xBB\xBF" + kLintHead, 1, kLintHead},
    {"CD010", post("echo a\r"), 4, post("echo a")},
    {"CD011", post(std::string("echo a\0b", 8)), 4, post("echo ab")},
    {"CD012", "Bootstrap: localimage\nFrom: x#y\n", 2, "Bootstrap: localimage\nFrom: x # y\n"},
    {"CD013", "From: /b\n", 1, kLintHead},
    {"CD014", kLintHead + "From: /c\n", 3, kLintHead},
    {"CD015", kLintHead + "%test\ntrue\n%test\ntrue\n", 5, kLintHead + "%test\ntrue\n"},
    {"CD016",
     kLintHead + "%post -u\ntrue\n%post\ntrue\n",
     5,
     kLintHead + "%post -u\ntrue\n%post -u\ntrue\n"},
    {"CD017", kLintHead + "%files from a b\n/a /b\n", 3, kLintHead + "%files\n/a /b\n"},
    {"CD018",
     kLintHead + "Stage: a\n%files from a\n/x /y\n",
     4,
     kLintHead + "Stage: a\n" + kLintHead + "%files from a\n/x /y\n"},
    {"CD019",
     kLintHead + "Stage: a\n" + kLintHead + "Stage: a\n",
     4,
     kLintHead + "Stage: a\n" + kLintHead + "Stage: b\n"},
    {"CD020", kLintHead + "%arguments\na=1 # one\n", 4, kLintHead + "%arguments\n# one\na=1\n"},
    {"CD021", post("echo {{ a }}"), 4, kLintHead + "%arguments\na=1\n%post\necho {{ a }}\n"},
    {"CD022", post("echo {{ a }}"), 4, post("echo a"), "singularity3"},
    {"CD023", kLintHead + "%labels\nA=b\n", 4, kLintHead + "%labels\nA b\n"},
    {"CD024", "Bootstrap: Docker\nFrom: a:1\n", 1, "Bootstrap: docker\nFrom: a:1\n"},
    {"CD025", "Bootstrap:\nFrom: /b\n", 1, kLintHead},
    {"CD026", "# nothing\n", 1, kLintHead},
    {"CD028", kLintHead + "OSVersion: bookworm\n", 3, kLintHead + "Fingerprints: 0\n"},
    {"CD029", "Bootstrap: docker\n%post\ntrue\n", 1, "Bootstrap: debootstrap\nOSVersion: sid\n"},
    {"CD111",
     kLintHead + "%post\nb\n%post\ncat <<EOF\na\n EOF\nmake\n",
     6,
     kLintHead + "%post\ncat <<-'A' <<B; echo $((1<<2))\n\tA\nB\n%runscript\n#!/usr/bin/python3\n" +
         "print(1 <<a)\n%post\ncat <<E\n%post\nE\n"},
    {"CD101",
     kLintHead + "%post -c /bin/bash\ntrue\ntrue\n",
     3,
     kLintHead + "%post -c /bin/bash -eu\ntrue\n"},
    {"CD102", post("#!/bin/bash\ntrue"), 4, post("true")},
    {"CD103",
     kLintHead + "%runscript\n\n#!/bin/bash\nexec a \"$@\"\n",
     5,
     kLintHead + "%runscript\n#!/bin/bash\nexec a \"$@\"\n"},
    {"CD104", post("false | tee x"), 4, post("echo a | tee x")},
    {"CD105", post("exit 0\ntrue"), 4, post("exit 3\ntrue || exit\nexit 0")},
    {"CD106",
     kLintHead + "%runscript\npython3 a.py\n",
     4,
     kLintHead + "%runscript\nexec python3 a.py \"$@\"\n"},
    {"CD108", post("true"), 3, post("umask 022")},
    {"CD109", kLintHead + "%post -c\ntrue\n", 3, kLintHead + "%post -u\ntrue\n"},
    {"CD201",
     docker("debian:12") + "%environment\nexport LD_LIBRARY_PATH=/x:$LD_LIBRARY_PATH\n",
     4,
     docker("debian:12") +
         "%environment\nexport LD_LIBRARY_PATH=/x${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}\n"},
    {"CD202", environment("A=1"), 4, environment("A=1\nexport A")},
    {"CD203", environment("export A=$(date)"), 4, environment("export A=1")},
    {"CD204",
     docker("debian:12") + "%environment\nexport A=\"$HOSTVAR\"\n",
     4,
     environment("export A=\"$HOME\"")},
    {"CD205", environment("source /x"), 4, environment(". /x")},
    {"CD206", environment("exit 3"), 4, environment("export A=3")},
    {"CD207",
     environment("export DEBIAN_FRONTEND=noninteractive"),
     4,
     post("export DEBIAN_FRONTEND=noninteractive")},
    {"CD208",
     docker("debian:12") + "%post\nexport A=1\n%runscript\nexec $A \"$@\"\n",
     4,
     docker("debian:12") + "%post\nexport JAVA_HOME=/opt/java\n%runscript\nexec a \"$@\"\n"},
    {"CD209", environment("export A=x y"), 4, environment("export A='x y'")},
    {"CD210",
     docker("debian:12") + "%environment\nexport A=1\n%post\necho $A\n",
     6,
     docker("debian:12") + "%environment\nexport A=1\n%post\nA=2\n%post\necho $A\n"},
    {"CD211",
     post("pip install --no-cache-dir a==1"),
     4,
     environment("export PYTHONNOUSERSITE=1") + "%post\npip install a==1\n"},
    {"CD301", docker("debian"), 2, docker("debian:12")},
    {"CD302", docker("debian:latest"), 2, docker("localhost:5000/debian:12")},
    {"CD303", docker("debian:12"), 2, docker("debian@sha256:0")},
    {"CD304", post("apt-get install a=1 b=1"), 4, post("apt-get install -y a=1 b=1")},
    {"CD305", post("apt-get install -y a"), 4, post("apt-get install -y a=1")},
    {"CD306",
     post("apt-get install -y a=1"),
     4,
     post("apt-get install -y --no-install-recommends a=1")},
    {"CD307",
     post("apt-get install -y a=1"),
     4,
     post("apt-get install -y a=1\nrm -rf /var/lib/apt/lists/*")},
    {"CD308",
     post("curl -O https://x.example/a"),
     4,
     post("curl -O https://x.example/a\nsha256sum -c a.sum")},
    {"CD309",
     post("curl https://x.example/a | sh"),
     4,
     post("echo 'curl https://x.example/a | sh'")},
    {"CD310", post("wget http://x.example/a"), 4, post("wget https://x.example/a")},
    {"CD203",
     environment("export A=\"a`x`$(id -u)\""),
     4,
     environment("export A='$(x)' B='`x`' C=\"\\$(x)\" D=$((1+1)) E=/a/$(id -un)/`hostname`")},
    {"CD210",
     docker("debian:12") + "%environment\nexport MODULES=1\n%post\necho ${MODULES:+x}$MODULES\n",
     6,
     environment("export MODULES=1\n%post\nX=/x${MODULES:+:$MODULES} Y=${MODULES+${MODULES}}")},
    {"CD311", post("apt-key add a"), 4, post("echo apt-key")},
    {"CD312", environment("export API_TOKEN=abc"), 4, environment("export API_TOKEN=$X")},
    {"CD313", post("apt-get -y dist-upgrade"), 4, post("apt-get update")},
    {"CD314", post("sudo true"), 4, post("true")},
    {"CD315", post("conda install a=1"), 4, post("conda install -y a=1")},
    {"CD315",
     post("apt-get update\napt-get upgrade"),
     5,
     post("apt-get -y upgrade\nyum update -y\nzypper -n up\nyes | apt upgrade\napt update")},
    {"CD315", post("yum update curl"), 4, post("yum -y update curl\nyum check-update")},
    {"CD401", kLintHead + "%files\n/a # note\n", 4, kLintHead + "%files\n# note\n/a\n"},
    {"CD402",
     docker("debian:12") + "%files\n/a.c /f\n/b /f\n",
     5,
     docker("debian:12") + "%setup\nmkdir $APPTAINER_ROOTFS/g\n%files\n/a.c /f/\n/b /f/\n" +
         "*.h /usr/local/bin\na.c /g\nb.c /g\nc.c /f\nd.c /f\n"},
    {"CD403", kLintHead + "%files\n/a /f\n/a /f\n", 5, kLintHead + "%files\n/a /f\n/b /g\n"},
    {"CD404", kLintHead + "%files\n/a ~/x\n", 4, kLintHead + "%files\n/a /x\n"},
    {"CD501", kLintHead + "%files\n/a /tmp/x\n", 4, kLintHead + "%files\n/a /opt/x\n"},
    {"CD502",
     post("apt-get install -y mpich openmpi-bin"),
     4,
     post("apt-get install -y openmpi-bin libopenmpi-dev")},
    {"CD504",
     post("cd openmpi-5.0.7\n./configure --with-pmi"),
     5,
     post("cd openmpi-4.1.6\n./configure --with-pmi")},
    {"CD505",
     post("cd openmpi-4.0.5\n./configure --with-pmix=/opt/pmix-4.2"),
     5,
     post("cd openmpi-4.1.6\n./configure --with-pmix=/opt/pmix-4.2")},
    {"CD506", environment("export OMP_NUM_THREADS=4"), 4, environment("export A=4")},
    {"CD507", kLintHead + "%setup\ntrue\n", 3, kLintHead + "%post\ntrue\n"},
};

} // namespace

TEST_CASE("each rule is told at its line, and not where the text is right") {
    for (const LintRow& row : kLintRows) {
        CAPTURE(row.rule);
        LintOptions options;
        options.parse.dialect = *parse_dialect(row.dialect);
        const LintReport bad = lint_of(row.bad, options);
        const Finding* finding = find(bad, row.rule);
        REQUIRE(finding != nullptr);
        REQUIRE(finding->fault.where);
        CHECK(finding->fault.where->line == row.line);
        CHECK(finding->fault.where->column >= 1);
        CHECK_FALSE(finding->fault.help.empty());
        const LintReport good = lint_of(row.good, options);
        CHECK(good.is_accepted);
        CHECK(find(good, row.rule) == nullptr);
    }
}

TEST_CASE("what the runtime and the bases know is not reported") {
    const std::vector<std::pair<const char*, std::string>> rows = {
        {"CD104", post("apt-get update && apt-get install -y a")},
        {"CD104", post("if make | grep x; then true; fi\ncurl a | tar xz\n(a && b)\na && b || c")},
        {"CD104", post("set +e\na | b\nset -e")},
        {"CD104", post("export A=1 && echo a && make\ntrue")},
        {"CD104", post("rm -r /tmp/a | true\nwget -O - https://a | perl - b")},
        {"CD106", kLintHead + "%runscript\nfortune | cowsay\n"},
        {"CD106", kLintHead + "%runscript\nexec echo a\n"},
        {"CD106", kLintHead + "%runscript\nif [ $1 = a ]; then a; fi\necho usage\n"},
        {"CD106", kLintHead + "%runscript\nexec a \"${@}\"\n"},
        {"CD106", kLintHead + "%runscript\nfor i in 1 2; do\n  a $i \"$@\"\ndone\n"},
        {"CD016", kLintHead + "%environment # a\nexport A=1\n%environment # b\nexport B=1\n"},
        {"CD101", kLintHead + "%post -c /bin/bash\nexport A=1\nset -euo pipefail\nmake\n"},
        {"CD101", kLintHead + "%post -c /bin/bash\n\tapt-get update && apt-get upgrade -y\n"},
        {"CD104",
         post("dpkg-query -W | sed 's#:.*##' | sort > x || true\necho $a | tr a b | sort")},
        {"CD304", post("conda install a b\nmamba install c\napt-get install time\napt install -f")},
        {"CD103", kLintHead + "%runscript\n\n#!/bin/sh\nexec a \"$@\"\n"},
        {"CD202", environment("GREEN='\\e[0;32m'")},
        {"CD202", docker("own/cuda:1") + "%environment\nNVIDIA_VISIBLE_DEVICES=all\n"},
        {"CD204",
         docker("debian:12") + "%environment\nexport D=/x/$USER/$PBS_JOBID/$SLURM_JOB_ID\n"},
        {"CD506", environment("OMP_NUM_THREADS=5")},
        {"CD201", docker("debian:12") + "%post\nexport LD_LIBRARY_PATH=/x:$LD_LIBRARY_PATH\n"},
        {"CD201",
         docker("nvidia/cuda:12") + "%environment\nexport LD_LIBRARY_PATH=/x:$LD_LIBRARY_PATH\n"},
        {"CD202", environment("PATH=/x:$PATH")},
        {"CD202", environment("A=1") + "%environment\nexport A\n"},
        {"CD202", environment("XDG_RUNTIME_DIR=\"\"")},
        {"CD202", environment("SINGULARITY_SHELL=/bin/bash\nSHELL=/bin/bash")},
        {"CD206", environment("if [ -n \"$A\" ]; then exit 1; fi\n[ -n \"$B\" ] || exit 1")},
        {"CD206", environment("set -- --login")},
        {"CD210",
         docker("debian:12") +
             "%environment\nexport MODULES=1\n%post\nexport MODULES=/x:$MODULES\n"},
        {"CD402", docker("debian:12") + "%files\n*.sh /.\n/a # b\n/c # d\n"},
        {"CD402", docker("ubuntu:16.04") + "%files\na.gz /var/local\nb.py /var/local\n"},
        {"CD304", post("apt-get install")},
        {"CD208", post("export CPPFLAGS=-I/x JAVA_HOME=/opt/java")},
        {"CD304", post("yes | apt-get install a\napt-get -qqy install b\nyum -ym install c")},
        {"CD304",
         post("apt-get install -y\\\n  a\nconda config --set always_yes yes\n"
              "conda install b")},
        {"CD304", post("conda run -n a python -m ipykernel install")},
        {"CD304", post("apt-get install libcudnn8=8.9.4.* libcudnn8-dev=8.9.4.*")},
        {"CD304", post("apt-get install -v a b")},
        {"CD402", docker("rockylinux:9") + "%files\n/a*.rpm /etc/yum.repos.d\n/b*.exe /b.exe\n"},
        {"CD304", post("apt-get install ./a.deb ./b.deb\napt-get install a${VERSION}")},
        {"CD501", kLintHead + "%files\na.tgz /tmp/a.tgz\n%post\ntar xf /tmp/a.tgz\n"},
        {"CD506", environment("export OMPI_DIR=/opt/ompi OMP_NUM_THREADS=${OMP_NUM_THREADS:-1}")},
        {"CD506",
         environment(
             "export UCX_WARN_UNUSED_ENV_VARS=n OMPI_MCA_btl_base_warn_component_unused=0")},
        {"CD507", kLintHead + "%setup\n\n# nothing\n"},
        {"CD015", kLintHead + "%exprot A=1\n%exprot B=2\n"},
        {"CD104",
         post(". /opt/x.sh && make\nwget -O - https://a | bzcat | tar x\nnm a | grep -q b")},
        {"CD104", post("a | b || true\nnm a | grep -q b || exit 1\ncurl https://a | python3.11")},
        {"CD106", kLintHead + "%runscript\nexport A=1\nconda activate a\n"},
        {"CD106",
         kLintHead + "%runscript\nall=(\"a\" \"b\"\n  \"c\")\nfor i in \"${all[@]}\"; do\n"
                     "  if [ -e \"$i\" ]; then echo \"$i\"; fi\ndone\n"},
        {"CD201", environment("export PKG_CONFIG_PATH=/x:$PKG_CONFIG_PATH")},
        {"CD202", environment("DEBIAN_FRONTEND=noninteractive")},
        {"CD207", environment("DEBIAN_FRONTEND=noninteractive")},
        {"CD204", environment("for d in /a /b; do export P=\"$P:$d\"; done")},
        {"CD209", environment("export A={{ A }}\nexport B=1 \\\n  export C=2\nexport D=1 `#d e`")},
        {"CD208",
         docker("debian:12") + "Stage: build\n%post\nexport LD_LIBRARY_PATH=/opt/lib\n" +
             docker("debian:12")},
        {"CD304", post("conda install -yc a b\nyum -ty install c\napt-get install --reinstall d")},
        {"CD312",
         environment("export A=1\n# --app.token=''\n") + "%runscript\na --app.token='' -b\n"},
        {"CD312", environment("export ALLOW_EMPTY_PASSWORD=yes")},
        {"CD312", kLintHead + "%help\nadd --env HF_TOKEN=<token>.\n"},
        {"CD314", kLintHead + "%setup\nsudo cp a b\n"},
        {"CD314", post("sudo -u a b\nsudo -Eu a b\nsudo --user=a b")},
        {"CD310", post("wget http://a.example/b\necho 1 b | sha256sum -c -")},
        {"CD310", post("apt-get -y --force-yes autoremove")},
        {"CD310", post("apt-get -y --allow-unauthenticated update")},
        {"CD311", post("apt-key list")},
        {"CD311", post("apt-key adv --export --no-emit-version -a A")},
        {"CD104", post("case $m in\n  a|b)\n  make;;\n  c | d) make;;\nesac\ntrue")},
        {"CD104", post("case $m in a|b) true;; x/c|d) true;; esac\ntrue")},
        {"CD104", post("{ make && make install; } || exit 1\ntrue")},
        {"CD104", post("{\n  make && make install\n} || { echo no; exit 1; }\ntrue")},
        {"CD104", post("f() {\n  make && make install\n}\nf\ntrue")},
        {"CD104", post("if { a && b; }; then c; fi\ntrue")},
        {"CD402", docker("debian:12") + "%files\na.sh .\nb.sh .\n"},
        {"CD501", kLintHead + "%files\na.tgz /home/deps/a.tgz\n"},
        {"CD313", post("yum -y update curl\ndnf upgrade -y bash")},
        {"CD002", kLintHead + "%post\ncat <<-E\n\ta\n\tE\n" + kLintHead},
        {"CD401", kLintHead + "%files\n/a /b # note\n"},
        {"CD502", post("apt-get install -y libopenmpi-dev mpich-doc")}};
    for (const auto& [rule, text] : rows) {
        CAPTURE(rule);
        CAPTURE(text);
        CHECK(find(lint_of(text), rule) == nullptr);
    }
    CHECK(find(lint_of(post("a && b\ntrue")), "CD104") != nullptr);
    CHECK(find(lint_of(post("{ a && b; }\ntrue")), "CD104") != nullptr);
    CHECK(find(lint_of(post("f() {\n  a && b\n  c\n}\nf")), "CD104") != nullptr);
    CHECK(
        find(lint_of(post("case $m in\n  a|b)\n  c | d;;\nesac\ntrue")), "CD104")->fault.message ==
        "a failure of 'c' in this pipeline is not seen");
    CHECK(find(lint_of(post("apt-get -q install a b")), "CD304") != nullptr);
    CHECK(find(lint_of(docker("debian:12") + "%environment\nexport D=/x/$SET_BY_NONE\n"),
               "CD204") != nullptr);
    CHECK(find(lint_of(kLintHead + "%runscript\na\necho done\n"), "CD106")->fault.message ==
          "%runscript drops the arguments it is given");
    CHECK(find(lint_of(kLintHead + "%runscript\na\necho done\nsync\n"), "CD106")->fault.message ==
          "%runscript drops the arguments it is given");
    CHECK(find(lint_of(kLintHead + "%runscript\n(a &) && (b)\n"), "CD106")->fault.message ==
          "%runscript drops the arguments it is given");
    CHECK(find(lint_of(post("apt-get install $A")), "CD304") != nullptr);
    CHECK(find(lint_of(post("yum install a")), "CD304") != nullptr);
    CHECK(find(lint_of(post("apt-get install a")), "CD315") != nullptr);
    CHECK(find(lint_of(post("conda install -cy a b")), "CD315") != nullptr);
    CHECK(find(lint_of(kLintHead + "%post -c /bin/bash\nif a; then b; fi\n"), "CD101") != nullptr);
    CHECK(find(lint_of(environment("OMP_NUM_THREADS=5\nexport OMP_NUM_THREADS")), "CD506") !=
          nullptr);
    CHECK(find(lint_of(post("a | grep b | c")), "CD104") != nullptr);
    CHECK(find(lint_of(post("curl https://a | python3.11")), "CD309") != nullptr);
    CHECK(find(lint_of(environment("export A_TOKEN=abc '' ")), "CD312") != nullptr);
}

TEST_CASE("a note is said once per file, with the number of the others") {
    const LintReport report = lint_of(post("apt-get install -y a\napt-get install -y b"));
    CHECK(std::count_if(report.findings.begin(), report.findings.end(), [](const Finding& one) {
              return one.rule == "CD305";
          }) == 1);
    CHECK(find(report, "CD305")->fault.message.ends_with(" (and 1 more in this file)"));
}

TEST_CASE("every rule of the table is used by a test") {
    std::set<std::string_view> tested = {
        "CD027", "CD107", "CD110", "CD112", "CD405"}; // in cases of their own
    for (const LintRow& row : kLintRows) {
        tested.insert(row.rule);
    }
    for (const Rule* rule : all_rules()) {
        CAPTURE(rule->id);
        CHECK(tested.contains(rule->id));
        CHECK_FALSE(rule->title.empty());
        CHECK_FALSE(rule->why.empty());
        CHECK_FALSE(rule->fix.empty());
        CHECK_FALSE(rule->source.empty());
        CHECK(find_rule(rule->id) == rule);
    }
    CHECK(find_rule("cd012") == find_rule("CD012"));
    CHECK(find_rule("CD999") == nullptr);
}

TEST_CASE("a build argument that nothing uses is refused, as Apptainer does") {
    LintOptions options;
    options.parse.arguments = {{"a", "1"}};
    CHECK(find(lint_of(kLintHead, options), "CD027") != nullptr);
    CHECK_FALSE(lint_of(kLintHead, options).is_accepted);
    CHECK(lint_of(post("echo {{ a }}"), options).is_accepted);
    options.parse.arguments = {{"token", "1"}};
    CHECK(find(lint_of(post("echo {{ token }}"), options), "CD312") != nullptr);
}

TEST_CASE("sources are looked for where the caller can") {
    LintOptions options;
    options.has_source = [](const std::string& path) { return path == "/there"; };
    const std::string text = kLintHead + "%files\n/there /a\n/gone /b\n/g*ne /c/\n";
    const LintReport report = lint_of(text, options);
    REQUIRE(find(report, "CD405") != nullptr);
    CHECK(find(report, "CD405")->fault.where->line == 5);
    CHECK(report.is_accepted);
    options.folder = "/home/u/project";
    CHECK(find(lint_of(kLintHead + "%files\nhere /a\n", options), "CD405")->fault.because ==
          "a relative source begins where the build is called, here in /home/u/project");
}

TEST_CASE("comments pass rules over, but never a refusal") {
    CHECK(find(lint_of("Bootstrap: docker\nFrom: debian # cybelectl: ignore CD301\n"), "CD301") ==
          nullptr);
    CHECK(
        find(lint_of("Bootstrap: docker\n# cybelectl: ignore CD301, CD302\n# more\nFrom: debian\n"),
             "CD301") == nullptr);
    CHECK(find(lint_of("Bootstrap: docker\n# cybelectl: ignore CD302\nFrom: debian\n"), "CD301") !=
          nullptr);
    CHECK(find(lint_of("# cybelectl: ignore-file CD301\nBootstrap: docker\n\nFrom: debian\n"),
               "CD301") == nullptr);
    const LintReport refused =
        lint_of("# cybelectl: ignore-file CD004\n" + kLintHead + "%enviroment\n");
    CHECK_FALSE(refused.is_accepted);
    CHECK(find(refused, "CD004") != nullptr);
}

TEST_CASE("a second Bootstrap is reported, because it begins another stage") {
    const LintReport report = lint_of("Bootstrap: docker\nBootstrap: library\nFrom: a:1\n");
    const Finding* finding = find(report, "CD029");
    REQUIRE(finding != nullptr);
    CHECK(finding->fault.where->line == 1);
    CHECK(finding->fault.because == "the Bootstrap of line 2 begins another stage");
    CHECK(find(lint_of(kLintHead), "CD029") == nullptr);
    CHECK(find(lint_of(post("cat <<EOF")), "CD111") != nullptr);
}

TEST_CASE("near names are suggested") {
    const auto help = [](const std::string& text, const char* rule) {
        const LintReport report = lint_of(text);
        const Finding* finding = find(report, rule);
        REQUIRE(finding != nullptr);
        return finding->fault.help;
    };
    CHECK(help(kLintHead + "%enviroment\n", "CD004") == "did you mean '%environment'?");
    CHECK(help("Bootstrap: localimage\nForm: /b\n", "CD005") == "did you mean 'From'?");
    CHECK(help(kLintHead + "%env\n", "CD004") == "did you mean '%environment'?");
    CHECK(help(kLintHead + "%run\n", "CD004") == "did you mean '%runscript'?");
    CHECK(help(kLintHead + "% environment\nexport A=1\n", "CD006") == "write '%environment'");
    CHECK(help("From: a:1\nBootstrap: docker\n", "CD013") ==
          "move line 2, 'Bootstrap: docker', above this one");
    CHECK(help("Bootstrap: ubuntu\n", "CD024") == "write 'Bootstrap: docker' and 'From: ubuntu'");
    CHECK(help("Bootstrap: dokcer\n", "CD024") == "did you mean 'docker'?");
    CHECK(help(kLintHead + "Stage: build\n" + kLintHead + "%files from biuld\n/a\n", "CD018") ==
          "did you mean 'build'?");
    CHECK(help(kLintHead + "%post\xC2\xA0\ntrue\n", "CD006") ==
          "write '%post', and what follows after one space");
}

TEST_CASE("reports: text, JSON, SARIF") {
    std::vector<FileReport> files;
    files.push_back({"x.def", lint_of(docker("debian") + "%enviroment\n")});
    const std::string text = report_text(files[0].report, false);
    CHECK(text.find("error[CD004]: '%enviroment' is not a section\n --> x.def:3:1\n") !=
          std::string::npos);
    CHECK(text.find("  | %enviroment\n") != std::string::npos);
    const auto json = nlohmann::json::parse(report_json(files));
    CHECK(json["files"][0]["accepted"] == false);
    CHECK(json["files"][0]["findings"].back()["rule"] == "CD004");
    const auto sarif = nlohmann::json::parse(report_sarif(files));
    CHECK(sarif["version"] == "2.1.0");
    const auto& run = sarif["runs"][0];
    CHECK(run["tool"]["driver"]["rules"].size() == all_rules().size());
    const auto& result = run["results"].back();
    CHECK(result["ruleId"] == "CD004");
    CHECK(result["level"] == "error");
    CHECK(result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "x.def");
    CHECK(result["locations"][0]["physicalLocation"]["region"]["startLine"] == 3);
}

TEST_CASE("the reference page of the rules is what the table says") {
    const std::string page = CYBELE_SOURCE_DIR "/docs/reference/definition-rules.md";
    if (std::getenv("CYBELE_ACCEPT") != nullptr && std::getenv("CI") == nullptr) { // NOLINT
        REQUIRE(write_file(page, rules_page()));
    }
    const auto written = read_file(page);
    REQUIRE(written);
    CHECK(*written == rules_page());
}
