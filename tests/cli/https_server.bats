# SPDX-License-Identifier: Apache-2.0
# The server behind `cybelectl bridge run`, without a bridge: its connections, and the command that answers each. Half a minute.
load ../parts/suite.bash
load ../parts/serve.bash

setup() {
    enter_place
    helper=${CYBELECTL%/*}/../libexec/cybelectl-http
}
teardown() {
    end_servers
    leave_place
}

# serve_https COMMAND…: starts the server with a certificate of its own (server.pem); each connection is answered by the command.
serve_https() {
    mkfifo in
    "$helper" --serve <in >out 2>errors 3>&- &
    server=$!
    running+=("$server")
    exec {held}>in
    jq -nc '{address: "127.0.0.1", port: 0, names: ["localhost"], certificate: "", key: "", clients: "", command: $ARGS.positional}' \
        --args -- "$@" >&"$held"
    wait_for 10 test -s out
    port=$(jq .port out)
    jq -r .certificate out >server.pem
}

connections() { pgrep -c -P "$server" || :; }
has_none() { [[ $(connections) == 0 ]]; }

@test "a client that resumes its TLS session is answered" {
    serve_https /bin/sh -c 'read -r _; printf "200 text/plain\nhello\n"'
    local version
    for version in tls1_2 tls1_3; do
        rm -f session
        run openssl s_client -connect "127.0.0.1:$port" -CAfile server.pem "-$version" -sess_out session -ign_eof \
            <<<$'GET / HTTP/1.1\r\n\r'
        assert_line hello
        [[ -s session ]] || continue
        run openssl s_client -connect "127.0.0.1:$port" -CAfile server.pem "-$version" -sess_in session -ign_eof \
            <<<$'GET / HTTP/1.1\r\n\r'
        assert_line hello
    done
}

@test "a command that does not end by SIGTERM does not hold its connection" {
    # shellcheck disable=SC2016,SC2154
    serve_https /bin/sh -c 'trap "" TERM; echo $$ >'"$place"'/pid; read -r _; printf "200 text/plain\nhello\n"; exec >&-; while :; do sleep 1.'"$unique"'; done'
    run curl -s --cacert server.pem --resolve "localhost:$port:127.0.0.1" "https://localhost:$port/"
    assert_output hello
    wait_for 20 has_none
    run ! kill -0 "$(<pid)"
}

@test "exec of an https image takes the certificates of --ca-file and of the setting" {
    serve_https /bin/sh -c 'read -r _; printf "200 text/plain\nhello\n"'
    refuses 255 "$CYBELECTL" exec "https://localhost:$port/app.sif" true
    assert_output --partial 'CYBELE_CA_FILE'
    refuses 255 "$CYBELECTL" exec --ca-file server.pem "https://localhost:$port/app.sif" true
    assert_output --partial 'is not a SIF'
    CYBELE_CA_FILE=server.pem refuses 255 "$CYBELECTL" exec "https://localhost:$port/app.sif" true
    assert_output --partial 'is not a SIF'
}
