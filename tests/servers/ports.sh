# Ports for servers that tests stop and start again. Scripts source this file.
# shellcheck shell=bash

# free_ports COUNT: prints ports that nobody listens on. They are below the range from which the kernel takes ports for
# outgoing connections. Otherwise a connection could take such a port while its server is down, and even connect to
# itself.
free_ports() {
  python3 -c '
import random, socket, sys
first_given = int(open("/proc/sys/net/ipv4/ip_local_port_range").read().split()[0])
found = {}
while len(found) < int(sys.argv[1]):
    port = random.randrange(min(10000, first_given // 2), first_given)
    try:
        one = socket.socket()
        one.bind(("127.0.0.1", port))
        found[port] = one
    except OSError:
        pass
print(*found)' "$1"
}
