/* Asks whether there is something to read, again and again. */
#include <poll.h>
#include <unistd.h>
static int look(int fd) {
	struct pollfd p = {fd, POLLIN, 0};
	return poll(&p, 1, 0);
}
int main(void) {
	int fds[2];
	if (pipe(fds)) return 1;
	for (;;) look(fds[0]);
}
