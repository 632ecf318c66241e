"""Types each line of standard input into redis-cli, in a terminal, and prints the hint that follows it.

Arguments: the path of redis-cli, the port of the server. A line is never sent: Ctrl-U takes it back.
"""

import fcntl, os, pty, re, signal, struct, sys, termios

COLUMNS = 2000


def main(program, port, lines):
    child, terminal = pty.fork()
    if child == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 50, COLUMNS, 0, 0))
        os.environ.update(TERM="xterm", REDISCLI_HISTFILE="/dev/null", REDISCLI_RCFILE="/dev/null")
        os.execv(program, [program, "-p", port])
    prompt = f"127.0.0.1:{port}> "
    # How the line editor draws a line with nothing behind the prompt.
    empty = f"{prompt}\r\x1b[{len(prompt)}C"
    shown = ""

    def read_to(end):
        nonlocal shown
        while not shown.endswith(end):
            shown += os.read(terminal, 65536).decode()

    read_to(prompt)
    for line in lines:
        shown = ""
        os.write(terminal, f"{line}\x15".encode())
        read_to(empty)
        # The last drawing before the empty one has the whole line.
        drawn = shown.removesuffix(empty).split(prompt)[-1]
        text = re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", drawn).replace("\r", "")
        print(text.removeprefix(line))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


main(sys.argv[1], sys.argv[2], sys.stdin.read().splitlines())
