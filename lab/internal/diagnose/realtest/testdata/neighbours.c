/* Two threads count, each in a counter of its own, beside the other's. */
#include <pthread.h>
static unsigned long counters[2];
static void *count(void *own) {
	for (unsigned long i = 0;; i++)
		if (i % 3) __atomic_fetch_add((unsigned long *)own, i, __ATOMIC_SEQ_CST);
	return 0;
}
int main(void) {
	pthread_t t;
	pthread_create(&t, 0, count, &counters[0]);
	count(&counters[1]);
}
