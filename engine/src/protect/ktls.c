#include "protect/ktls.h"

#include <errno.h>
#include <linux/tls.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sodium.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Types of records, and the alert that ends a connection (RFC 8446, 5.1 and 6). */
#define TYPE_ALERT   21
#define TYPE_DATA    23
#define WARNING      1
#define CLOSE_NOTIFY 0

static const char ulp[] = "tls";

/* A socket that is not connected cannot have it: the kernel says so where it knows it. */
int ktls_check(struct failure *failure)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP);
	if (fd < 0)
		fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP);
	if (fd < 0)
		return failure_set_errno(failure, errno, "socket");
	int error = setsockopt(fd, IPPROTO_TCP, TCP_ULP, ulp, sizeof(ulp)) != 0 ? errno : 0;
	(void)close(fd);
	if (error == 0 || error == ENOTCONN)
		return 0;
	if (error == ENOENT)
		return failure_set(failure, "the kernel of this host has no TLS (CONFIG_TLS; as a "
					    "module: modprobe tls); --protect aead needs none");
	return failure_set_errno(failure, error, "TCP_ULP tls");
}

int ktls_open(int fd, bool seals, const struct protect_keys *keys, struct failure *failure)
{
	struct tls12_crypto_info_aes_gcm_256 info = {
	    .info = {.version = TLS_1_3_VERSION, .cipher_type = TLS_CIPHER_AES_GCM_256}};
	_Static_assert(sizeof(info.key) == sizeof(keys->key), "AES-256");
	_Static_assert(sizeof(info.salt) + sizeof(info.iv) == sizeof(keys->iv), "a whole nonce");
	memcpy(info.key, keys->key, sizeof(info.key));
	memcpy(info.salt, keys->iv, sizeof(info.salt));
	memcpy(info.iv, keys->iv + sizeof(info.salt), sizeof(info.iv));
	int status = setsockopt(fd, IPPROTO_TCP, TCP_ULP, ulp, sizeof(ulp));
	if (status == 0)
		status = setsockopt(fd, SOL_TLS, seals ? TLS_TX : TLS_RX, &info, sizeof(info));
	int error = errno;
	sodium_memzero(&info, sizeof(info));
	if (status != 0)
		return failure_set_errno(failure, error,
					 "the kernel does not take the keys of TLS 1.3 with "
					 "AES-256-GCM (--protect ktls)");
	return 0;
}

int ktls_count(uint64_t *records, uint64_t bytes)
{
	uint64_t more = bytes / TLS_PAYLOAD_BYTES + (bytes % TLS_PAYLOAD_BYTES != 0 ? 1 : 0);
	if (more > TLS_KEY_RECORDS - *records)
		return EKEYEXPIRED;
	*records += more;
	return 0;
}

/* Room for the one byte that says the type of a record. */
union type_control {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(sizeof(uint8_t))];
};

int ktls_send_end(int fd)
{
	uint8_t alert[2] = {WARNING, CLOSE_NOTIFY};
	struct iovec part = {.iov_base = alert, .iov_len = sizeof(alert)};
	union type_control control = {0};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = &control,
				 .msg_controllen = sizeof(control)};
	struct cmsghdr *type = CMSG_FIRSTHDR(&message);
	type->cmsg_level = SOL_TLS;
	type->cmsg_type = TLS_SET_RECORD_TYPE;
	type->cmsg_len = CMSG_LEN(sizeof(uint8_t));
	*CMSG_DATA(type) = TYPE_ALERT;
	for (;;) {
		ssize_t sent = sendmsg(fd, &message, MSG_NOSIGNAL);
		if (sent == (ssize_t)sizeof(alert))
			return 0;
		if (sent >= 0 || errno != EINTR)
			return sent < 0 ? errno : EIO;
	}
}

/* Calls that returned payload have its type, too; none is payload of an older kernel. */
static uint8_t type_read(struct msghdr *message)
{
	const struct cmsghdr *type = CMSG_FIRSTHDR(message);
	if (type != NULL && type->cmsg_level == SOL_TLS && type->cmsg_type == TLS_GET_RECORD_TYPE)
		return *CMSG_DATA(type);
	return TYPE_DATA;
}

/* What the kernel says of records of other sizes, or that begin otherwise. */
static bool is_forged(int error)
{
	return error == EINVAL || error == EMSGSIZE || error == EBADMSG;
}

ssize_t ktls_read(int fd, void *bytes, size_t room, int flags, bool *ended)
{
	union type_control control;
	struct iovec part = {.iov_base = bytes, .iov_len = room};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = &control,
				 .msg_controllen = sizeof(control)};
	ssize_t got = recvmsg(fd, &message, flags);
	if (got < 0 && is_forged(errno))
		errno = EBADMSG;
	if (got <= 0 || type_read(&message) == TYPE_DATA)
		return got;
	const uint8_t *alert = bytes;
	*ended = type_read(&message) == TYPE_ALERT && got == 2 && alert[1] == CLOSE_NOTIFY;
	if (*ended)
		return 0;
	errno = EBADMSG;
	return -1;
}
