/* Waits for the disk after each record. */
#include <stdio.h>
#include <unistd.h>
static void append(int fd, const char *record, int n) {
	if (pwrite(fd, record, n, 0) != n || fsync(fd)) _exit(1);
}
int main(void) {
	char record[200] = "record";
	int fd = fileno(tmpfile());
	for (;;) append(fd, record, sizeof record);
}
