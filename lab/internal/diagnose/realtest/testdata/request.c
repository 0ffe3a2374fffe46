/* Sends the head and the body of a request in two writes, and waits for the reply. */
#include <arpa/inet.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
static void serve(int conn) {
	char buf[4096];
	for (int got = 0, n; (n = read(conn, buf, sizeof buf)) > 0;)
		for (got += n; got >= 40; got -= 40)
			if (write(conn, "ok", 2) != 2) _exit(1);
	_exit(0);
}
static void ask(int conn) {
	char head[8] = "head", body[32] = "body", reply[64];
	if (write(conn, head, sizeof head) != 8 || write(conn, body, sizeof body) != 32 || read(conn, reply, sizeof reply) <= 0) _exit(1);
}
int main(void) {
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof to;
	int l = socket(AF_INET, SOCK_STREAM, 0), conn = socket(AF_INET, SOCK_STREAM, 0);
	if (bind(l, (void *)&to, n) || listen(l, 1) || getsockname(l, (void *)&to, &n) || connect(conn, (void *)&to, n)) return 1;
	if (fork() == 0) serve(accept(l, 0, 0));
	for (;;) ask(conn);
}
