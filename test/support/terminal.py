# Runs a command in a terminal of its own: terminal.py COLUMNS ROWS COMMAND…; what to do comes as lines of JSON on the standard input:
# {"wait": "text"} until it shows, {"send": "keys"} as typed, {"resize": [columns, rows]}. What the terminal showed goes to stdout, as it came.
import fcntl, json, os, pty, select, signal, struct, sys, termios, time

SECONDS = 60


def size(fd, columns, rows):
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


steps = [json.loads(line) for line in sys.stdin if line.strip()]
child, fd = pty.fork()
if child == 0:
    size(0, int(sys.argv[1]), int(sys.argv[2]))
    os.execvp(sys.argv[3], sys.argv[3:])

shown, seen, end = b"", 0, time.monotonic() + SECONDS
while True:
    if steps and "wait" not in steps[0]:
        step = steps.pop(0)
        if "send" in step:
            os.write(fd, step["send"].encode())
        else:
            size(fd, *step["resize"])
            os.kill(child, signal.SIGWINCH)
        continue
    if steps:
        at = shown.find(steps[0]["wait"].encode(), seen)
        if at >= 0:
            seen = at + len(steps.pop(0)["wait"].encode())
            continue
    if time.monotonic() > end:
        os.kill(child, signal.SIGKILL)
        sys.stderr.write("waited in vain for %r\n" % (steps[0] if steps else "its end"))
        break
    if select.select([fd], [], [], 0.5)[0]:
        try:
            data = os.read(fd, 65536)
        except OSError:  # Linux: the other side is closed
            break
        if not data:
            break
        shown += data
sys.stdout.buffer.write(shown)
sys.stdout.flush()
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
