// Threads enter what they computed into a table, behind a lock for readers and writers.
#include <pthread.h>

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static unsigned long table[64];

static unsigned long compute(unsigned long x) {
	for (int i = 0; i < 20000; i++)
		x = x * 6364136223846793005ul + 1;
	return x;
}

static void enter(unsigned long at) {
	pthread_rwlock_wrlock(&lock);
	table[at % 64] = compute(at);
	pthread_rwlock_unlock(&lock);
}

static void *work(void *none) {
	for (unsigned long i = 0;; i++)
		enter(i);
}

int main(void) {
	pthread_t t;
	for (int i = 1; i < 8; i++)
		pthread_create(&t, 0, work, 0);
	work(0);
}
