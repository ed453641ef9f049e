# Runs a program in a terminal of 100 columns. For each step it waits until the program has said a text, and then types keys.
# The first argument is the steps as JSON: [{"expect": "...", "send": "..."}]; the rest is the program. Says what was written, and
# how it ended.
import fcntl, json, os, pty, re, select, struct, sys, termios, time

steps = json.loads(sys.argv[1])
pid, terminal = pty.fork()
if pid == 0:
    os.execvp(sys.argv[2], sys.argv[2:])
fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
escapes = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[()][A-Z0-9]|\x1b[=>]")
said = b""
seen = 0
deadline = time.monotonic() + 50
failed = None
while True:
    text = escapes.sub("", said.decode("utf-8", "ignore"))
    while steps and steps[0]["expect"] in text[seen:]:
        step = steps.pop(0)
        seen = text.index(step["expect"], seen) + len(step["expect"])
        os.write(terminal, step["send"].encode())
    if not select.select([terminal], [], [], 0.2)[0]:
        if time.monotonic() > deadline:
            failed = steps[0]["expect"] if steps else "the end"
            os.kill(pid, 9)
            break
        continue
    try:
        chunk = os.read(terminal, 65536)
    except OSError:
        break
    if not chunk:
        break
    said += chunk
_, status = os.waitpid(pid, 0)
print(json.dumps({"text": escapes.sub("", said.decode("utf-8", "ignore")), "raw": said.decode("utf-8", "ignore"), "failed": failed,
                  "left": steps, "code": os.WEXITSTATUS(status) if os.WIFEXITED(status) else None}))
