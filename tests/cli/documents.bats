# SPDX-License-Identifier: Apache-2.0
# The documents: every command in them is run by a test and names only existing commands and options; every link leads somewhere, in the
# files and in the one HTML page; the index is complete; the English is plain, also in the texts of the program. Half a minute. What
# the console blocks print: pages.bats, integration/tutorials.bats.
load ../parts/suite.bash

setup() { work_place; }
teardown() { leave_place; }

# What the blocks of README.md and docs/examples print.
cybelectl() { "$CYBELECTL" "$@"; }

@test "every command of every document is run by a test" {
    run "$repo/tests/docs/list-commands"
    assert_success
    assert_output --regexp '^[0-9]+ commands, each run by a test$'
}

@test "the commands of README.md that need no cluster" {
    cybelectl init demo
    cp "$(fixture)/hello-mpi.sif" demo/demo.sif
    cybelectl job render demo --scheduler slurm | bash -n
    cybelectl kube render demo --kind TorqueJob >/dev/null
    CYBELE_STORE=$place/store cybelectl image add demo/demo.sif demo:1.0
    printf '#!/bin/bash\n#SBATCH -n 2\n#SBATCH --output=%%x-%%j.out\nset -euo pipefail\ntrue\n' >old.sh
    cybelectl job convert old.sh -o job.yaml
    mkdir recipes jobs && cp demo/demo.yaml recipes/ && cp -r demo/src recipes/ && cd "$place"
    cybelectl generate .
    cybelectl generate . --check
}

@test "README.md: at most 90 lines of 100 characters, 12 links, and the three columns are what is rendered" {
    cd "$place"
    cybelectl init demo
    cybelectl recipe render demo/demo.yaml >demo.def
    cybelectl job render demo --scheduler slurm >demo.sh
    run python3 - "$repo/README.md" demo/demo.yaml demo.def demo.sh <<'END'
import re, sys
text = open(sys.argv[1], encoding="utf-8").read()
lines = text.splitlines()
print(len(lines) <= 90, max(len(line) for line in lines if not line.startswith("|")) <= 100, text.count("](") >= 12)
block = re.search(r"```text\n(.*?)```", text, re.S).group(1).splitlines()
starts = [match.start() for match in re.finditer("-+", block[1])] + [101]
rendered = [{line.strip() for line in open(name, encoding="utf-8")} for name in sys.argv[2:]]
shown = 0
for line in block[2:]:
    for column in range(3):
        cell = line[starts[column]:starts[column + 1]].strip()
        shown += 1
        if not any(one == cell or cell.endswith("…") and one.startswith(cell[:-1].rstrip()) for one in rendered[column]):
            print("not rendered:", column, cell)
print(shown)
END
    assert_success
    assert_output $'True True True\n27'
}

@test "the example Sites: a serial, a hybrid and a GPU job of each render, or are refused for what the Site says" {
    local site queue rendered=0
    printf 'kind: Job\nname: serial\nimage: a.sif\ncommand: [prog]\nlaunch: serial\nresources: {time: 10 min}\n' >serial.yaml
    printf 'kind: Job\nname: hybrid\nimage: a.sif\ncommand: [prog]\nlaunch: mpi\nresources: {nodes: 2, tasks-per-node: 4, cpus-per-task: 2}\n' >hybrid.yaml
    for site in "$repo"/docs/examples/sites/*.yaml; do
        cybelectl job render serial.yaml --site "$site" >serial.sh
        bash -n serial.sh
        rendered=$((rendered + 1))
        if [[ $site == */laptop.yaml ]]; then
            run -3 cybelectl job render hybrid.yaml --site "$site"
            assert_line --partial "\`nodes\` cannot be expressed in local"
        else
            cybelectl job render hybrid.yaml --site "$site" >hybrid.sh 2>warnings
            bash -n hybrid.sh
            rendered=$((rendered + 1))
        fi
        while read -r queue; do
            printf 'kind: Job\nname: gpu\nimage: a.sif\ncommand: [prog]\nlaunch: serial\nqueue: %s\nresources: {gpus-per-node: 2, time: 10 min}\n' \
                "$queue" >gpu.yaml
            cybelectl job render gpu.yaml --site "$site" >gpu.sh 2>warnings
            grep -qE "^#(SBATCH --partition=|PBS -q )$queue\$" gpu.sh
            rendered=$((rendered + 1))
        done < <(sed -nE 's/^ +- \{name: ([a-z_-]+),.* gpus-per-node: .*/\1/p' "$site")
    done
    assert_equal "$rendered" 16
}

@test "the commands of the example lolcow, and of the page on installing" {
    cp "$repo"/docs/examples/lolcow/* .
    cybelectl kube render job.yaml --site site.yaml -o ours.yaml
    cybelectl kube render job.yaml --site site.yaml --batch cow.sh -o theirs.yaml
    # shellcheck disable=SC1090
    source <(cybelectl completion bash)
    declare -F _cybelectl
}

@test "links lead somewhere, the index has each page once, pages begin with their use and end with their neighbours" {
    run "$repo/tests/docs/check-pages"
    assert_success
    assert_output --regexp '^[0-9]+ pages, [0-9]+ links$'
}

@test "a dead link, a page that the index lacks, a page without its form, an old version and an old name are reported with file and line" {
    git init -q site && cd site
    mkdir -p docs/reference docs/design
    printf '%s\n' '# Index' '' '[a](reference/a.md) [none](none.md) [part](reference/a.md#nothing)' >docs/README.md
    printf '%s\n' '# A' '' 'After reading this page you can do A.' '' '## See also' '' '[b](b.md), [index](../README.md)' >docs/reference/a.md
    printf '%s\n' '# B' '' 'B is in cybelectl-1.1.0-linux-x86_64.tar.xz.' '' '[a](a.md)' >docs/reference/b.md
    printf '%s\n' '# Short' >docs/design/short.md
    echo 'project(cybelectl VERSION 1.2.0 LANGUAGES CXX C)' >CMakeLists.txt
    mkdir -p area && touch area/CMakeLists.txt && echo 'int present();' >area/file.hpp
    printf '%s\n' '# area' '' '`file` has `present()`, `Class::absent()` and `--options`.' >area/README.md
    run "$repo/tests/docs/check-pages" .
    assert_failure
    assert_output - <<'END'
docs/README.md:3: a link to docs/none.md, which does not exist
docs/README.md:3: a link to docs/reference/a.md#nothing, which has no such heading
docs/README.md:1: docs/design/short.md is listed 0 times, not once
docs/README.md:1: docs/reference/b.md is listed 0 times, not once
docs/design/short.md:1: 1 lines, not between 40 and 80
docs/reference/b.md:3: the page does not begin with what its reader can do: After reading this page you can ...
docs/reference/b.md:5: the page does not end with "See also" and links to its neighbours
area/README.md:3: `Class::absent` is neither a file nor a name in area/
docs/reference/b.md:3: cybelectl 1.1.0, not 1.2.0, which CMakeLists.txt has
END
}

@test "the documents are in plain English: no phrase of phrases.tsv, lines of 100 characters, paragraphs of five lines" {
    run "$repo/tests/docs/check-prose"
    assert_success
    assert_output 'no findings'
}

@test "a phrase is reported with its place and what to write, across lines, in tables and lists, not in code" {
    printf '%s\n' '# A page' '' 'An error is told' 'at' 'once, `is told` not.' '' '* it is no' '  image' '' '| a | lies in |' \
        '```' 'told' '```' >page.md
    run "$repo/tests/docs/check-prose" "$place/page.md"
    assert_failure
    assert_line --partial "page.md:3: 'told': write report,"
    assert_line --partial "page.md:4: 'at once': write immediately"
    assert_line --partial "page.md:7: 'is no': write"
    assert_line --partial "page.md:10: 'lies': write"
    assert_equal "${#lines[@]}" 4
    {
        printf '%0101d\n\n' 0
        printf 'one\n%.0s' {1..6}
    } >long.md
    run "$repo/tests/docs/check-prose" "$place/long.md"
    assert_failure
    assert_line --partial 'long.md:1: 101 characters'
    assert_line --partial 'long.md:3: a paragraph of 6 lines'
}

@test "the README of a folder of sources is prose too" {
    mkdir -p tree/tests/docs tree/area/module
    git init -q tree
    cp "$repo"/tests/docs/{check-prose,phrases.tsv} tree/tests/docs
    touch tree/tests/docs/generated.tsv
    printf '%s\n' '# area/module' '' 'An error is told.' >tree/area/module/README.md
    run tree/tests/docs/check-prose
    assert_failure
    assert_output --partial "area/module/README.md:3: 'told': write report,"
}

@test "errors, rules, fields and help are in plain English: no phrase of phrases.tsv in a string or the help of a command" {
    run "$repo/tests/docs/check-texts"
    assert_success
    assert_output 'no findings'
}

@test "a phrase of a string is reported with its place: joined strings are read as one, comments, code and paths are not" {
    printf '%s\n' 'auto a = fail("it is " // told' '               "told twice");' 'auto b = " wants " + x;' 'auto c = "`is told` here";' \
        'auto d = "rm /var/kept now";' '/* is told */ auto e = R"(it is' 'no file)";' "auto f = '\"';" 'auto g = "{} is no {}";' \
        'auto h = "\"told\" is it";' 'auto i = "kept";' >texts.cpp
    run "$repo/tests/docs/check-texts" "$place/texts.cpp"
    assert_failure
    assert_line --partial "texts.cpp:1: 'told': write report,"
    assert_line --partial "texts.cpp:1: 'twice': write"
    assert_line --partial "texts.cpp:3: 'wants': write requires"
    assert_line --partial "texts.cpp:6: 'is no': write"
    assert_line --partial "texts.cpp:9: 'is no': write"
    assert_line --partial "texts.cpp:10: 'told': write"
    assert_equal "${#lines[@]}" 6
}

@test "a phrase in a rendered script is reported: comments and messages are read, directives and commands are not" {
    printf '%s\n' '#!/bin/told' '#SBATCH --comment=told' 'told "$told" # told of it' "refuse 'it is told'" 'echo "{{told}} on $(told it)"' >texts.sh
    run "$repo/tests/docs/check-texts" "$place/texts.sh"
    assert_failure
    assert_line --partial "texts.sh:3: 'told': write report,"
    assert_line --partial "texts.sh:4: 'told': write report,"
    assert_equal "${#lines[@]}" 2
}

@test "a phrase in the help of a command is reported with the command" {
    printf '%s\n' '#!/usr/bin/env bash' "if [[ \$1 == help ]]; then printf 'verb%s\\n' {1..60}; else echo 'Options:';" \
        "    [[ \$1 != verb7 ]] || printf '  %-25s %s\\n' '-o FILE' 'a file that is' '' 'told'; fi" >program
    chmod +x program
    CYBELECTL=$place/program run "$repo/tests/docs/check-texts"
    assert_failure
    assert_line "cybelectl verb7 --help, line 3: 'told': write report, show, print, state; \"tell apart\": distinguish"
    assert_equal "$(grep -c '^cybelectl' <<<"$output")" 1
}

@test "one HTML page of all pages: links lead somewhere, nothing is loaded, each page is in it, wide tables fit a phone" {
    "$repo/packaging/page" page.html
    run python3 - "$repo" page.html <<'END'
import glob, html.parser, sys

class Reader(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.names, self.links, self.loaded, self.loose = [], [], [], 0
        self.is_record, self.columns, self.records = False, 0, 0

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        if "id" in found:
            self.names.append(found["id"])
        if tag == "a":
            self.links.append(found.get("href", ""))
        if tag == "link" or not found.get("src", "data:").startswith("data:"):
            self.loaded.append(str(attributes))
        if tag == "table":
            self.is_record, self.columns = "records" in (found.get("class") or ""), 0
        # On a phone a row of three columns or more is a record, and its values have their titles.
        self.columns += tag == "th"
        if tag == "td" and self.columns > 2:
            self.records += self.is_record
            self.loose += not (self.is_record and "data-label" in found)

reader = Reader()
reader.feed(open(sys.argv[2], encoding="utf-8").read())
names = set(reader.names)
for link in reader.links:
    if not (link[1:] in names if link.startswith("#") else link.startswith("https://")):
        print("dead link:", link)
print(*(f"twice: {name}" for name in names if reader.names.count(name) > 1), sep="\n", end="")
print(*reader.loaded, sep="\n", end="")
for page in glob.glob(sys.argv[1] + "/docs/reference/*.md") + glob.glob(sys.argv[1] + "/docs/refusals/[a-z]*.md"):
    if page.rsplit("/", 1)[1][:-3] not in names:
        print("not in it:", page)
if reader.loose or reader.records < 1000:
    print("values of wide tables without a title:", reader.loose, "with:", reader.records)
print(len(reader.links) > 60)
END
    assert_output True
}

@test "the page's search finds a section by its words" {
    "$repo/packaging/page" page.html
    # The page's own function, on sections as its script makes them, by a JavaScript engine without a browser.
    {
        sed -n '/^function search/,/^}/p' page.html
        cat <<'END'
function of(page, title, text) {
  return { id: title, title_low: title.toLowerCase(), low: (page + " " + title + " " + text).toLowerCase() };
}
var sections = [of("exec", "Binds", "a folder of the host"), of("run", "Other", "binds, a folder"), of("sign", "Keys", "passphrase")];
function names(hits) { return hits.map(function (section) { return section.id; }).join(" "); }
print(names(search(["binds"])));
print(names(search(["folder", "host"])));
print(search(["nothing", "binds"]).length);
END
    } >search.js
    run mujs search.js
    assert_output "$(printf '%s\n' 'Binds Other' 'Binds' '0')"
}

@test "each function of the rendered scripts is described on their page, and no other" {
    local page=$repo/docs/reference/scripts.md
    sed -nE 's/^([a-z_]+)\(\) \{.*/\1/p' "$repo"/templates/script/*.mustache "$repo"/schedulers/dialects/*.mustache |
        sort -u | grep -vx main >functions
    sed -n '/^| function |/,/^$/p' "$page" | cut -d '|' -f 2 | grep -o '[a-z_]*[a-z]' | sort -u | grep -vx function >described
    assert [ "$(wc -l <functions)" -gt 50 ]
    diff functions described
}

@test "glossary: each word stands once, in order" {
    sed -nE '4,$s/^\| ([^|]*[^| ]) +\|.*/\1/p' "$repo/docs/glossary.md" | grep -v '^word$\|^-' >words
    assert [ "$(wc -l <words)" -gt 40 ]
    LC_ALL=C.UTF-8 sort -f words | diff words -
    assert_equal "$(sort words | uniq -d)" ""
}

@test "the recording of the first minute is the drawing of its text" {
    "$repo/tests/docs/record-terminal" --check
    python3 -c '
import sys, xml.dom.minidom
xml.dom.minidom.parse(sys.argv[1])' "$repo/docs/pictures/first-minute.svg"
    cp -r "$repo/tests/docs" "$place/docs-of-tests"
    mkdir -p "$place/tree/tests" "$place/tree/docs"
    mv "$place/docs-of-tests" "$place/tree/tests/docs"
    cp -r "$repo/docs/pictures" "$place/tree/docs/pictures"
    sed -i 's/rank 0 of 2/rank 0 of 3/' "$place/tree/docs/pictures/first-minute.txt"
    run "$place/tree/tests/docs/record-terminal" --check
    assert_failure 1
}
