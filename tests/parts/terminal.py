# SPDX-License-Identifier: Apache-2.0
"""Runs a program at a terminal of its own: python3 terminal.py [WORD]… -- COMMAND…

Whenever the output ends with a prompt ("...: "), the next WORD is typed. Prints what the terminal shows, and exits with
the program's code.
"""
import os
import pty
import sys

split = sys.argv.index("--")
words, command = sys.argv[1:split], sys.argv[split + 1 :]
pid, terminal = pty.fork()
if pid == 0:
    os.execvp(command[0], command)
shown = b""
while True:
    try:
        piece = os.read(terminal, 4096)
    except OSError:  # the program has closed it
        break
    sys.stdout.buffer.write(piece)
    shown += piece
    if words and shown.endswith(b": "):
        os.write(terminal, words.pop(0).encode() + b"\n")
        shown = b""
sys.stdout.buffer.flush()
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
