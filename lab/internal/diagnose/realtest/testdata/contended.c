/* Computes with a lock held. */
#include <pthread.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned long total;
static void update(void) {
	pthread_mutex_lock(&lock);
	for (unsigned i = 0; i < 100000; i++) total = total * 31 + i;
	pthread_mutex_unlock(&lock);
}
static void *work(void *unused) { for (;;) update(); return unused; }
int main(void) {
	pthread_t t;
	for (int i = 0; i < 8; i++) pthread_create(&t, 0, work, 0);
	pthread_join(t, 0);
}
