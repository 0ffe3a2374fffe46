/*
 * echo_client ADDRESS PORT CONNECTIONS BYTES SECONDS
 *
 * The least that a load generator in C does: one thread, an epoll, one request
 * under way on each connection, a recv and a send for each, a time stamp and a
 * histogram of latencies. lab load is held against it by load.sh.
 *
 * It prints: requests seconds cpu_seconds p50_us p99_us
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { BUCKETS = 1 << 16, EVENTS = 512, RECV = 256 << 10 };

struct peer {
	int fd;
	size_t got;
	long long sent;
};

static long long now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static double cpu(void)
{
	struct rusage u;
	getrusage(RUSAGE_SELF, &u);
	return u.ru_utime.tv_sec + u.ru_stime.tv_sec + (u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static unsigned char *message;
static size_t length;

static void ask(struct peer *p)
{
	p->sent = now();
	for (size_t off = 0; off < length;) {
		ssize_t n = send(p->fd, message + off, length - off, MSG_NOSIGNAL);
		if (n < 0 && errno != EINTR)
			die("send");
		if (n > 0)
			off += n;
	}
}

int main(int argc, char **argv)
{
	static unsigned histogram[BUCKETS]; /* of microseconds */
	static unsigned char buf[RECV];
	struct epoll_event events[EVENTS];

	if (argc != 6) {
		fprintf(stderr, "usage: echo_client ADDRESS PORT CONNECTIONS BYTES SECONDS\n");
		return 2;
	}
	int conns = atoi(argv[3]);
	length = strtoul(argv[4], NULL, 10);
	double seconds = atof(argv[5]);
	if (conns < 1 || conns > 10000 || length < 1 || length > 65536 || seconds <= 0 || seconds > 600) {
		fprintf(stderr, "echo_client: an argument is out of range\n");
		return 2;
	}
	message = malloc(length);
	memset(message, 'x', length);
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(atoi(argv[2]))};
	if (inet_pton(AF_INET, argv[1], &to.sin_addr) != 1) {
		fprintf(stderr, "echo_client: %s is no address\n", argv[1]);
		return 2;
	}
	struct peer *peers = calloc(conns, sizeof *peers);
	int ep = epoll_create1(EPOLL_CLOEXEC);
	for (int i = 0; i < conns; i++) {
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
		if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof to) != 0)
			die("connect");
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
		peers[i].fd = fd;
		struct epoll_event e = {.events = EPOLLIN | EPOLLET, .data.ptr = &peers[i]};
		if (epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e) != 0)
			die("epoll_ctl");
	}
	long long began = now(), end = began + (long long)(seconds * 1e9), requests = 0, at = began;
	double before = cpu();
	for (int i = 0; i < conns; i++)
		ask(&peers[i]);
	while (at < end) {
		int n = epoll_wait(ep, events, EVENTS, 1000);
		if (n < 0 && errno != EINTR)
			die("epoll_wait");
		if (n == 0) {
			fprintf(stderr, "echo_client: no answer for a second\n");
			return 1;
		}
		for (int i = 0; i < n; i++) {
			struct peer *p = events[i].data.ptr;
			ssize_t got = recv(p->fd, buf, sizeof buf, MSG_DONTWAIT);
			if (got == 0) {
				fprintf(stderr, "echo_client: the server hung up\n");
				return 1;
			}
			if (got < 0) {
				if (errno == EAGAIN || errno == EINTR)
					continue;
				die("recv");
			}
			p->got += got;
			if (p->got < length)
				continue;
			p->got -= length;
			at = now();
			long long us = (at - p->sent) / 1000;
			histogram[us < BUCKETS ? us : BUCKETS - 1]++;
			requests++;
			ask(p);
		}
	}
	double used = cpu() - before;
	long long sum = 0;
	int p50 = -1, p99 = -1;
	for (int i = 0; i < BUCKETS && p99 < 0; i++) {
		sum += histogram[i];
		if (p50 < 0 && sum * 2 >= requests)
			p50 = i;
		if (sum * 100 >= requests * 99)
			p99 = i;
	}
	printf("%lld %.3f %.4f %d %d\n", requests, (at - began) / 1e9, used, p50, p99);
	return 0;
}
