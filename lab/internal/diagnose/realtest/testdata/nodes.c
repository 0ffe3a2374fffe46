/* Allocates each node of short lists by itself. */
#include <stdlib.h>
struct node { struct node *next; long value[6]; };
static struct node *push(struct node *list) {
	struct node *n = malloc(sizeof *n);
	n->next = list;
	return n;
}
static void drop(struct node *n) {
	while (n) { struct node *next = n->next; free(n); n = next; }
}
int main(void) {
	for (;;) {
		struct node *list = 0;
		for (int i = 0; i < 500; i++) list = push(list);
		drop(list);
	}
}
