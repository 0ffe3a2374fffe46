/* Holds a lock while a record is stored, which takes a millisecond. */
#include <pthread.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void store(void) {
	pthread_mutex_lock(&lock);
	usleep(1000);
	pthread_mutex_unlock(&lock);
}
static void *work(void *unused) { for (;;) store(); return unused; }
int main(void) {
	pthread_t t;
	for (int i = 0; i < 7; i++) pthread_create(&t, 0, work, 0);
	pthread_join(t, 0);
}
