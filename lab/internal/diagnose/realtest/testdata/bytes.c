/* Writes a line to a pipe one byte at a time. */
#include <fcntl.h>
#include <unistd.h>
static void put(int fd, char c) { if (write(fd, &c, 1) != 1) _exit(1); }
int main(void) {
	int fd = open("/dev/null", O_WRONLY);
	for (;;)
		for (int i = 0; i < 20; i++) put(fd, 'a' + i);
}
